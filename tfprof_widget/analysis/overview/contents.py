"""Makes the overview of a profile: a sentence on what takes the time, the cell and a step in parts, and all steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfprof_widget.analysis.account.budget import TimeBudget, time_budget
from tfprof_widget.analysis.account.python import line_times
from tfprof_widget.analysis.account.step import recorded_steps
from tfprof_widget.analysis.advisor.finding import Finding, share_of_whole
from tfprof_widget.analysis.overview.sentence import CELL_NAMES, STANDS_OUT, sentence_on
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.text import is_of_library, written_seconds
from tfprof_widget.profiles.cell import STEP_PARTS, TRACED, CellRuns, CellTimes
from tfprof_widget.profiles.data import ProfileData

MOST_BARS = 120
"""So many bars of steps are told apart on the screen; beyond that, a bar stands for several steps."""

SLOW = 2
"""A step that takes so many times the median is an outlier."""

_STEP_ORDER = ("input", *(part for part in STEP_PARTS if part != "input"))  # as a step goes: its batch comes first
_STEP_NAMES = {"idle": "nothing runs"}


@dataclass(frozen=True)
class Part:
    """A part of a bar: its key in the budget, its name on the screen, its time and its share in percent.

    `detail` says where most of it went, if that is known.
    """

    key: str
    name: str
    nanos: int
    share: int
    detail: str = ""


@dataclass(frozen=True, eq=False)
class StepBars:
    """All steps as bars, a row each: its first step, how many it stands for, their median time, the longest of them.

    `traced` is the number in the profile of a step in it of which ops were recorded, else ABSENT.
    """

    bars: tuple[tuple[int, int, int, int, int], ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Overview:
    """What is shown first of a profile; `leading` is the finding that the sentence tells, None if it tells none."""

    sentence: str
    leading: Finding | None
    cell: tuple[Part, ...]
    step: tuple[Part, ...]
    steps: StepBars

    def to_browser(self) -> Mapping[str, Any]:
        """What js/src/data/graphs.ts reads."""
        return {
            "sentence": self.sentence,
            "leads": self.leading is not None,
            "cell": [list(vars(part).values()) for part in self.cell],
            "step": [list(vars(part).values()) for part in self.step],
            "bars": self.steps.bars,
            "steps": self.steps.facts,
        }


def overview(profile: ProfileData, findings: Sequence[Finding] = ()) -> Overview:
    """The overview of a profile, with what the checkers found in it.

    >>> from tfprof_widget.demo import demo_profile
    >>> shown = overview(demo_profile())
    >>> [f"{part.name} {part.share} %" for part in shown.step]
    ['forward 30 %', 'backward 39 %', 'update 18 %', 'runtime 13 %']
    >>> shown.sentence
    'A step takes 365.1 µs, and 84 % of its op time is in the layer layer1, made at train.py:10. To make ...
    """
    budget = time_budget(profile)
    leading = max(findings, key=lambda each: share_of_whole(each, profile), default=None)
    if leading is not None and share_of_whole(leading, profile) < STANDS_OUT:
        leading = None
    return Overview(
        sentence=sentence_on(profile, budget, leading),
        leading=leading,
        cell=_cell_parts(profile, budget),
        step=_parts((part, _STEP_NAMES.get(part, part), budget.step.get(part, 0.0), "") for part in _STEP_ORDER),
        steps=_step_bars(profile, budget),
    )


def percents(sizes: Sequence[int]) -> list[int]:
    """The shares in whole percent, rounded so that they add up to 100.

    >>> percents([1, 1, 1]), percents([996, 2, 2]), percents([0])
    ([34, 33, 33], [100, 0, 0], [0])
    """
    whole = sum(sizes)
    if not whole:
        return [0] * len(sizes)
    found = [100 * size // whole for size in sizes]
    # The places whose share lost most by being cut get the percent that are left.
    order = sorted(range(len(sizes)), key=lambda place: (-(100 * sizes[place] % whole), place))
    for place in order[: 100 - sum(found)]:
        found[place] += 1
    return found


def _parts(told: Iterable[tuple[str, str, float, str]]) -> tuple[Part, ...]:
    found = [(key, name, round(1e9 * seconds), detail) for key, name, seconds, detail in told if seconds > 0]
    shares = percents([nanos for _, _, nanos, _ in found])
    return tuple(
        Part(key, name, nanos, share, detail) for (key, name, nanos, detail), share in zip(found, shares, strict=True)
    )


def _cell_parts(profile: ProfileData, budget: TimeBudget) -> tuple[Part, ...]:
    cell = profile.cell
    if cell is None:
        return ()
    count = sum(int((~runs.is_first).sum()) for runs in cell.runs)
    names = {**CELL_NAMES, **({"steps": f"{count:,} steps"} if count > 1 else {})}
    details = {"python": _of_python(cell)}
    return _parts((part, names[part], seconds, details.get(part, "")) for part, seconds in budget.cell.items())


def _of_python(cell: CellTimes) -> str:
    """The line at which most of the Python between steps was seen, with its text."""
    line = next((each.line for each in line_times(cell.looks)), None)
    if line is None or not line.file or is_of_library(line.file):
        return ""
    return f"{line.place} {line.source.strip()}".strip()


def _step_bars(profile: ProfileData, budget: TimeBudget) -> StepBars:
    cell = profile.cell
    runs = cell.runs_of(profile.main_kind) if cell is not None else None
    if runs is None or not len(runs):
        runs = _recorded_alone(profile)
    if not len(runs):
        return StepBars((), ())
    size = -(-len(runs) // MOST_BARS)
    bars = []
    for first in range(0, len(runs), size):
        nanos, step = runs.nanos[first : first + size], runs.step[first : first + size]
        traced = next((each for each in step.tolist() if each != ABSENT), ABSENT)
        bars.append((first, len(nanos), round(float(np.median(nanos))), int(nanos.max()), traced))
    return StepBars(tuple(bars), tuple(_facts(runs, budget)))


def _recorded_alone(profile: ProfileData) -> CellRuns:
    """The recorded steps as runs, where no cell was captured."""
    recorded = recorded_steps(profile)
    numbers = {row: profile.steps[step] for row, step in enumerate(recorded.step.tolist())}
    marks = dict.fromkeys(numbers, TRACED)
    return CellRuns.of("", np.arange(len(recorded)), recorded.nanos, marks, numbers)


def _facts(runs: CellRuns, budget: TimeBudget) -> Iterator[str]:
    """What there is to say of all steps: the median, 95 % of them, the first, outliers, and how many were traced."""
    later = runs.nanos[~runs.is_first] if (~runs.is_first).any() else runs.nanos
    steady = runs.nanos[runs.is_steady] if runs.is_steady.any() else later
    usual = budget.step_seconds or float(np.median(steady)) / 1e9
    yield f"median {written_seconds(usual)}"
    if len(steady) > 1:
        yield f"95 % below {written_seconds(float(np.quantile(steady, 0.95)) / 1e9)}"
    if len(later) < len(runs.nanos):
        yield f"the first {written_seconds(int(runs.nanos[0]) / 1e9)}"
    outliers = int((steady > SLOW * np.median(steady)).sum())
    if outliers:
        yield f"{outliers:,} outlier{'s' * (outliers > 1)} above {SLOW} times the median"
    yield f"{int(runs.is_traced.sum()):,} of {len(runs):,} traced"
