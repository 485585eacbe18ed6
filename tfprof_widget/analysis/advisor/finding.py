"""Defines what checkers find: the cause in a sentence, where it can be seen, what to do, and a patch to copy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from tfprof_widget.analysis.own_statements import CodeChange
from tfprof_widget.lib.errors import value_error
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
class Finding:
    """A finding of a checker; its text is a report of an AdviceProto.

    What it is about takes the share `of_cell` of the cell's wall time, or the share `of_step` of a step's; both are 0
    if that is not known. Of what `is_needed` none of that can be saved. `line` is the user's line that it names, and
    `patch` what to change there, if that is mechanical.

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

    def __str__(self) -> str:
        lines = [self.cause, f"fix: {self.fix}", f"see: {self.evidence}"]
        if self.evidence.selection:
            lines.append(f"rows: {', '.join(self.evidence.selection)}")
        if self.patch is not None:
            lines.append(str(self.patch).replace("\n", "\n  "))
        return "\n  ".join(lines)


LEAST_OF_CELL = 0.03
"""What takes a smaller share of the cell is not said: nobody would notice it gone."""


def share_of_whole(finding: Finding, profile: ProfileData) -> float:
    """The share of the cell that a finding is about; of a step where no cell was captured.

    >>> from tfprof_widget.demo import demo_profile
    >>> share_of_whole(Finding("A step waits.", Evidence("op"), "Let it not.", of_step=0.25), demo_profile())
    0.25
    """
    cell = profile.cell
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
