"""Makes the overview of a profile: a sentence on what takes the time, the cell and a step in parts, and all steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tfprof_widget.analysis.account.budget import TimeBudget, time_budget
from tfprof_widget.analysis.account.python import line_times
from tfprof_widget.analysis.account.step import recorded_steps
from tfprof_widget.analysis.advisor.finding import Finding, share_of_whole
from tfprof_widget.analysis.own_statements import line_of_layer
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.roles import GraphRoles
from tfprof_widget.lib.arrays import ABSENT, Integers
from tfprof_widget.lib.text import is_of_library, written_seconds
from tfprof_widget.profiles.cell import PARTLY_TRACED, RAISED, STEP_PARTS, TRACED, CellRuns, CellTimes, CodeLine
from tfprof_widget.profiles.data import EAGER, FIRST, ProfileData
from tfprof_widget.profiles.options import Options

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
    'A step takes 365.1 µs, and 84 % of its op time is spent in the layer layer1, train.py:10. To shorten ...
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
    return cell_parts(budget.cell, count, {"python": _of_python(cell)})


def cell_parts(
    cell: Mapping[str, float], steps: int, details: Mapping[str, str] = MappingProxyType({})
) -> tuple[Part, ...]:
    """The parts of a cell's seconds by their names on the screen, in which so many steps ran after the first.

    >>> [f"{part.name} {part.share} %" for part in cell_parts({"first": 0.5, "steps": 1.5}, 312)]
    ['first steps 25 %', '312 steps 75 %']
    """
    names = {**CELL_NAMES, **({"steps": f"{steps:,} steps"} if steps > 1 else {})}
    return _parts((part, names[part], seconds, details.get(part, "")) for part, seconds in cell.items())


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
    """What there is to say of all steps: the median, 95 % of them, the first, outliers, and how many were traced.

    Steps that raised do not count here, nor in the head line, where those that were traced in part do.
    """
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
    traced, counted = (runs.mark & (TRACED | PARTLY_TRACED)) > 0, (runs.mark & RAISED) == 0
    yield f"{int((traced & counted).sum()):,} of {int(counted.sum()):,} traced"


STANDS_OUT = 0.05
"""What a finding is about leads the overview from this share of the cell on."""

HEAVY = 2 / 3
"""A layer with this share of the op time is what a step is made of; smaller ones are told as the costliest only."""

FEWEST_LAYERS = 3
"""Of fewer layers one has most of the time anyway."""

REPEATED = 4
"""An op that runs so often in a step is in a loop."""

NEARLY_ALL = 0.95
"""What is left without something that has a larger share than this is no figure to promise."""

LONGEST_ADVICE = 120
"""Of what to do so many letters are read at a glance."""

CELL_NAMES = {
    "tracing": "building functions",
    "first": "first steps",
    "steps": "steps",
    "python": "Python between steps",
    "input": "waiting for input",
    "tfprof": "tfprof",
    "other": "not accounted for",
}


def sentence_on(profile: ProfileData, budget: TimeBudget, leading: Finding | None) -> str:
    """What takes the time: what the leading finding says, or where none leads one layer, or that nothing stands out.

    >>> from tfprof_widget.analysis.account.budget import time_budget
    >>> from tfprof_widget.demo import demo_profile
    >>> sentence_on(demo_profile(), time_budget(demo_profile()), None)
    'A step takes 365.1 µs, and 84 % of its op time is spent in the layer layer1, train.py:10. To shorten ...
    """
    return _sentence(profile, budget) if leading is None else _of_finding(leading, profile, budget)


def _sentence(profile: ProfileData, budget: TimeBudget) -> str:
    """What takes the time where no finding leads: one layer, or that nothing stands out."""
    if not budget.step_seconds:
        return _without_steps(profile, budget)
    which = "The first step" if profile.main_kind.endswith(FIRST) else "A step"
    step = f"{which} takes {written_seconds(budget.step_seconds)}"
    layer = _costliest_layer(profile)
    nothing = f"Nothing stands out. {_largest(budget)}{step}"
    if layer is None:
        return f"{nothing}."
    if layer.share >= HEAVY and layer.count >= FEWEST_LAYERS:
        return _of_layer(layer, step)
    name, share = max((layer.name, layer.share), layer.beside, key=lambda each: each[1])
    part, where = ("layer", "") if name == layer.name else ("op type", ", in no layer")
    most = f"its costliest {part} is {name}, with {round(100 * share)} % of the op time{where}"
    return f"{nothing}; {most}."


_PYTHON_AND_OPS = "Python and the ops that it runs one by one"


def _largest(budget: TimeBudget, python: str = CELL_NAMES["python"]) -> str:
    """The two parts that take most of the cell; empty if no cell was captured."""
    if not budget.cell_seconds:
        return ""
    found = sorted(budget.cell.items(), key=lambda each: -each[1])[:2]
    said = " and ".join(
        f"{round(100 * seconds / budget.cell_seconds)} % are {python if part == 'python' else CELL_NAMES[part]}"
        for part, seconds in found
        if seconds
    )
    return f"Of the cell's {written_seconds(budget.cell_seconds)}, {said}. "


def _of_finding(finding: Finding, profile: ProfileData, budget: TimeBudget) -> str:
    share = share_of_whole(finding, profile)
    what, whole = ("the cell", budget.cell_seconds) if budget.cell_seconds else ("a step", budget.step_seconds)
    rest = f"{written_seconds(whole * (1 - share))} instead of {written_seconds(whole)}"
    gain = f" Without this {what} would take {rest}." if whole and share < NEARLY_ALL and not finding.is_needed else ""
    return f"{finding.cause} {first_advice(finding.fix)}{gain}"


_CLAUSE_END = re.compile(r"; |\. ")


def first_advice(fix: str) -> str:
    """The first thing that a fix says to do, as a sentence.

    >>> first_advice("Save less often; or save weights only. That is smaller.")
    'Save less often.'
    """
    clause = _CLAUSE_END.split(fix, maxsplit=1)[0]
    if len(clause) > LONGEST_ADVICE:  # the details are on the card
        clause = clause.split(": ", maxsplit=1)[0]
    return clause.rstrip(".") + "."


def _without_steps(profile: ProfileData, budget: TimeBudget) -> str:
    if not budget.cell_seconds:
        count = len(profile.nodes)
        return f"No step was recorded, so no times are known. The graph has {count:,} node{'' if count == 1 else 's'}."
    nanos = measures(profile, Options.of(run_name_regexes=[re.escape(EAGER)])).columns["micros"]
    runs_steps = budget.cell.get("steps", 0.0) > 0 or budget.cell.get("first", 0.0) > 0
    if profile.main_kind != EAGER or runs_steps or not nanos.any():
        return f"{_largest(budget)}No step was recorded."
    name, share = _largest_beside(profile, nanos, int(nanos.sum()))
    most = f"its costliest op type is {name}, with {round(100 * share)} % of the op time"
    return f"{_largest(budget, python=_PYTHON_AND_OPS)}No function runs in it; {most}."


@dataclass(frozen=True)
class _CostlyLayer:
    """A layer, its share of the op time, of how many layers it is one, its line, and the ops that a loop in it runs.

    `beside` is the op type that takes most in no layer, with its share.
    """

    name: str
    type: str
    share: float
    count: int
    line: CodeLine | None
    looped: int
    beside: tuple[str, float]


def _of_layer(layer: _CostlyLayer, step: str) -> str:
    kind = f" ({layer.type})" if layer.type else ""
    where = f", {layer.line.place}" if layer.line is not None else ""
    said = f"{step}, and {round(100 * layer.share)} % of its op time is spent in the layer {layer.name}{kind}{where}."
    rest = f"all other layers together take {round(100 * (1 - layer.share))} %"
    if layer.looped:
        return (
            f"{said} A loop in this layer runs {layer.looped:,} ops a step, one after another. Unroll the loop, or use "
            f"a layer that computes all time steps at once: {rest}."
        )
    return f"{said} To shorten a step, make this layer smaller: {rest}."


def _costliest_layer(profile: ProfileData) -> _CostlyLayer | None:
    """The layer with the largest part of the op time of steady steps; None if nothing is known of layers."""
    steady = SteadySteps.of(profile)
    layers = node_layers(profile)
    inside = layers.layer >= 0
    is_layer = np.array([bool(kind) for kind in layers.types], np.bool_)
    nanos = measures(profile, Options.of(**steady.options)).columns["micros"]  # of all ops, as in the table of layers
    total = int(nanos.sum())
    sums = np.zeros(len(layers.names), np.int64)
    np.add.at(sums, layers.layer[inside], nanos[inside])
    sums[~is_layer] = 0
    if not total or not sums.any():
        return None
    place = int(sums.argmax())
    own = layers.layer == place
    nodes = np.flatnonzero(own & (nanos > 0))
    runs = np.bincount(steady.node, minlength=len(own))[nodes] / max(len(steady.steps), 1)
    return _CostlyLayer(
        name=layers.names[place],
        type="" if layers.types[place] == "scope" else layers.types[place],
        share=int(sums[place]) / total,
        count=int(np.count_nonzero(sums)),
        line=_line_of_layer(profile, layers.names[place], layers.types[place])
        or _line_of(profile, nodes[np.argsort(-nanos[nodes], kind="stable")]),
        looped=round(runs[runs >= REPEATED].sum()),
        beside=_largest_beside(profile, np.where(inside & is_layer[layers.layer], 0, nanos), total),
    )


def _largest_beside(profile: ProfileData, nanos: Integers, total: int) -> tuple[str, float]:
    """The op type with most of the time of ops in no layer, and its share of the op time."""
    sums = np.bincount(profile.nodes.op, nanos, len(profile.nodes.ops))
    place = int(sums.argmax())
    return profile.nodes.ops[place], float(sums[place]) / total


def _line_of_layer(profile: ProfileData, name: str, kind: str) -> CodeLine | None:
    """The line that makes a layer of a model, where Keras' own loop calls it; None of what is none."""
    layer = next((each for each in profile.model_layers if (each.name, each.type) == (name, kind)), None)
    return None if layer is None else line_of_layer(profile.own_code, layer, profile.model_layers)


def _line_of(profile: ProfileData, nodes: Integers) -> CodeLine | None:
    """The user's innermost line that made one of some nodes, or its forward node: the first that is known."""
    traces, forward = profile.traces, GraphRoles.of(profile).forward
    for node in nodes.tolist():
        stack = int(traces.stack[forward.get(node, node)])
        for frame in reversed(traces.stacks[stack].tolist() if stack >= 0 else []):
            file = traces.strings[traces.file[frame]]
            if not is_of_library(file):
                return CodeLine(file, int(traces.line[frame]), traces.strings[traces.function[frame]])
    return None
