"""Defines what checkers find: the cause in a sentence, where it can be seen, what to do, and a patch to copy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from tfprof_widget.analysis.own_statements import CodeChange
from tfprof_widget.analysis.replay.prediction import what_if
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.text import written_seconds
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import TABS, Options

# The command and options that show at the prompt, as far as text can, what a tab of the widget shows.
_TYPED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "timeline": ("scope", {"output": "timeline:outfile=timeline.json"}),
    "workers": ("scope", {"order_by": "micros", "select": ["micros", "device"]}),
}


@dataclass(frozen=True)
class Evidence:
    """Where a finding can be seen: a view or another tab of the widget, its options, and the rows to look at.

    >>> print(Evidence("op", {"order_by": "micros", "show_name_regexes": ["Pad"]}))
    op -order_by micros -show_name_regexes Pad
    >>> print(Evidence("timeline", selection=("loss",)))
    scope -output timeline:outfile=timeline.json
    """

    view: str
    options: Mapping[str, Any] = field(default_factory=dict)
    selection: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.view not in TABS:
            raise value_error(f"view has no {self.view!r}; choose from {', '.join(TABS)}")
        Options.of(**self.options)

    def __str__(self) -> str:
        """The line to type at the prompt `tfprof>`; for a timeline it writes a file that browsers show."""
        command, options = _TYPED.get(self.view, (self.view, {}))
        return " ".join([command, *_flags({**options, **self.options})])


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        words = value if isinstance(value, list | tuple) else [value]
        text = ",".join(str(word).replace(",", r"\x2c") for word in words)  # commas part the words of a list
        yield f"-{name} {shlex.quote(text)}"


@dataclass(frozen=True)
class Gain:
    """What a step takes without what a finding is about, in seconds, as a replay of recorded steps predicts.

    >>> print(Gain(0.0012, 0.0011, 0.0013, 0.0015))
    Replayed without this, a step takes 1.20 ms instead of 1.50 ms, between 1.10 ms and 1.30 ms.
    """

    seconds: float
    low: float
    high: float
    replayed: float

    @property
    def share(self) -> float:
        """The share of the step that is saved."""
        return max(round(1 - self.seconds / self.replayed, 9), 0.0)

    def __str__(self) -> str:
        step, low, high, now = map(written_seconds, (self.seconds, self.low, self.high, self.replayed))
        return f"Replayed without this, a step takes {step} instead of {now}, between {low} and {high}."


@dataclass(frozen=True)
class Finding:
    """A finding of a checker; its text is a report of an AdviceProto.

    What it is about takes the share `of_cell` of the cell's wall time, or the share `of_step` of a step's; both are 0
    if that is not known. Of what `is_needed` none of that can be saved. `line` is the user's line that it names, and
    `patch` what to change there, if that is mechanical. `gain` is what a step would gain, if that can be predicted.

    >>> print(Finding("Pads take half of the time.", Evidence("op"), "Let the convolution pad."))
    Pads take half of the time.
      fix: Let the convolution pad.
      see: op
    """

    cause: str
    evidence: Evidence
    fix: str
    of_cell: float = 0.0
    of_step: float = 0.0
    line: CodeLine | None = None
    patch: CodeChange | None = None
    is_needed: bool = False
    gain: Gain | None = None

    def __str__(self) -> str:
        lines = [self.cause, f"fix: {self.advised}", f"see: {self.evidence}"]
        if self.evidence.selection:
            lines.append(f"rows: {', '.join(self.evidence.selection)}")
        if self.patch is not None:
            lines.append(str(self.patch).replace("\n", "\n  "))
        return "\n  ".join(lines)

    @property
    def advised(self) -> str:
        """What to do, and what that would bring where it can be predicted."""
        return self.fix if self.gain is None else f"{self.fix} {self.gain}"


MOST_REPLAYED = 50_000
"""Advice replays so many executions at most, since it is made before anything is shown."""


def with_gain(finding: Finding, profile: ProfileData, changes: Mapping[str, float]) -> Finding:
    """The finding with what a step would gain by these changes, if replaying the steps of the profile holds.

    >>> from tfprof_widget.demo import demo_profile
    >>> print(with_gain(Finding("Much.", Evidence("op"), "Less."), demo_profile(), {"type:MatMul": 0}).gain)
    Replayed without this, a step takes ...
    """
    if len(profile.executions) > MOST_REPLAYED:
        return finding
    try:
        found = what_if(profile, changes)
    except (ProfileError, ValueError):
        return finding
    return replace(finding, gain=Gain(found.seconds, found.low, found.high, found.replayed))


LEAST_OF_CELL = 0.03
"""What takes a smaller share of the cell is not said: nobody would notice it gone."""


def share_of_whole(finding: Finding, profile: ProfileData) -> float:
    """The share of the cell that a finding is about, or would save; of a step where no cell was captured.

    >>> from tfprof_widget.demo import demo_profile
    >>> share_of_whole(Finding("A step waits.", Evidence("op"), "Let it not.", of_step=0.25), demo_profile())
    0.25
    """
    cell = profile.cell
    if finding.gain is not None:
        of_steps = cell.part("steps") / cell.nanos if cell is not None and cell.nanos else 1.0
        return finding.gain.share * of_steps
    if finding.of_cell or cell is None or not cell.nanos:
        return min(finding.of_cell or finding.of_step, 1.0)
    return min(finding.of_step, 1.0) * cell.part("steps") / cell.nanos


Findings = Callable[[ProfileData], Iterator[Finding]]


def felt(checker: Findings) -> Findings:
    """Makes a checker say nothing of what takes less than LEAST_OF_CELL of the captured cell.

    >>> from dataclasses import replace
    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.profiles.cell import CellTimes
    >>> demo = demo_profile()
    >>> waits = felt(lambda profile: iter([Finding("A step waits.", Evidence("op"), "Let it not.", of_step=0.25)]))
    >>> cells = [CellTimes.of({"steps": steps, "first": 100 - steps}) for steps in (10, 20)]
    >>> [len(list(waits(replace(demo, cells=(cell,))))) for cell in cells]
    [0, 1]
    """

    @wraps(checker)
    def of_what_is_felt(profile: ProfileData) -> Iterator[Finding]:
        return (found for found in checker(profile) if share_of_whole(found, profile) >= LEAST_OF_CELL)

    return of_what_is_felt
