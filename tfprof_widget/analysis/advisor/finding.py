"""Defines what this package's checkers find: the cause in a sentence, where it can be seen, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfprof_widget.profiles.options import TABS, Options


@dataclass(frozen=True)
class Evidence:
    """Where a finding can be seen: a view or another tab of the widget, its options, and the rows to look at.

    >>> print(Evidence("op", {"order_by": "micros", "show_name_regexes": ["Pad"]}))
    op -order_by micros -show_name_regexes Pad
    >>> print(Evidence("timeline", selection=("loss",)))
    timeline (loss)
    """

    view: str
    options: Mapping[str, Any] = field(default_factory=dict)
    selection: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.view not in TABS:
            raise ValueError(f"view has no {self.view!r}; choose from {', '.join(TABS)}")
        Options.of(**self.options)

    def __str__(self) -> str:
        """The view and options as they are typed on the command line, followed by the rows."""
        return " ".join([self.view, *self._flags(), *([f"({', '.join(self.selection)})"] if self.selection else [])])

    def _flags(self) -> Iterator[str]:
        for name, value in self.options.items():
            text = ",".join(value) if isinstance(value, list | tuple) else str(value)
            yield f"-{name} {shlex.quote(text)}"


@dataclass(frozen=True)
class Finding:
    """A finding of a checker; its text is a report of an AdviceProto.

    >>> print(Finding("Pads take half of the time.", Evidence("op"), "Let the convolution pad."))
    Pads take half of the time.
      fix: Let the convolution pad.
      see: op
    """

    cause: str
    evidence: Evidence
    fix: str

    def __str__(self) -> str:
        return f"{self.cause}\n  fix: {self.fix}\n  see: {self.evidence}"
