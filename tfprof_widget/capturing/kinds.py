"""Counts the steps of TensorFlow 2 programs by their kinds, and how long they took."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from tfprof_widget.capturing.recorded import Runs
from tfprof_widget.capturing.sampling import Choice

LOOP = ": "


@dataclass
class Kind:
    """The steps of one kind that have ended, and how long they took; `resting_until` is a number of a step.

    >>> kind = Kind("train", None)
    >>> for number, seconds in enumerate([8.0, 2.0, 1.0]):
    ...     kind.add(Run("train", kind, Choice(number, traced=number < 2), number, 0.0), seconds)
    >>> kind.runs().run_seconds, kind.traced, kind.untraced, kind.warm_ups
    (1.0, 2, 1, 1)
    """

    name: str
    owner: Any
    seen: int = 0
    traced: int = 0
    untraced: int = 0
    warm_ups: int = 0
    untraced_seconds: float = 0.0
    traced_seconds: float = 0.0
    warm_up_seconds: float = 0.0
    resting_until: int = 0

    def add(self, run: Run, seconds: float) -> None:
        """Add a step that has ended."""
        self.seen += 1
        self.traced += run.choice.traced
        if run.is_warm_up:
            self.warm_ups += 1
            self.warm_up_seconds += seconds
        elif run.choice.traced:
            self.traced_seconds += seconds
        else:
            self.untraced += 1
            self.untraced_seconds += seconds

    def runs(self) -> Runs:
        """As a result has it."""
        return Runs(
            name=self.name,
            seen=self.seen,
            traced=self.traced,
            untraced_seconds=self.untraced_seconds,
            traced_seconds=self.traced_seconds,
            warm_up_seconds=self.warm_up_seconds,
            untraced=self.untraced,
            warm_ups=self.warm_ups,
        )


@dataclass
class Run:
    """A step that has begun; `number` is that of the recorded step, None if it is not recorded."""

    key: Hashable
    kind: Kind
    choice: Choice
    number: int | None
    started: float
    is_traced_anew: bool = False

    @property
    def is_warm_up(self) -> bool:
        """Whether it was the first of its kind, or traced a function, so that others do not take as long."""
        return self.choice.warm_up or self.is_traced_anew

    @property
    def is_of_loop(self) -> bool:
        """Whether a loop of a library's makes the steps, so that all of a step is in its function."""
        return LOOP in self.kind.name
