"""Tells what a window of the profiler will cost by what the last ones did, and so how many steps it may hold."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_STEPS = 2
"""A first step sets up, so that another is needed; nothing is known of what they cost."""

MOST_STEPS = 8

EMPTY_SECONDS = 0.004
"""What a window costs that holds nearly nothing."""


@dataclass
class WindowCosts:
    """What a step cost in the window that was closed last, by the kind of the window's first step.

    >>> costs = WindowCosts()
    >>> costs.add("train", 2, 0.204)
    >>> costs.of_one("train"), costs.affordable_steps("train", 0.504), costs.affordable_steps("train", 9.0)
    (0.104, 5, 8)
    """

    _seconds: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, steps: int, seconds: float) -> None:
        """Take note of what a window cost."""
        self._seconds[kind] = max(seconds - EMPTY_SECONDS, 0.0) / steps

    def of_one(self, kind: str) -> float:
        """What a window of one step of this kind costs, as far as that is known.

        >>> WindowCosts().of_one("train")
        0.004
        """
        return EMPTY_SECONDS + self._seconds.get(kind, 0.0)

    def affordable_steps(self, kind: str, seconds: float) -> int:
        """How many steps a window may hold that is to cost so much, at least one.

        >>> WindowCosts().affordable_steps("train", 9.0), WindowCosts().affordable_steps("train", -1.0)
        (2, 1)
        """
        if seconds <= 0:
            return 1
        each = self._seconds.get(kind)
        if each is None:
            return FIRST_STEPS
        affordable = (seconds - EMPTY_SECONDS) / each if each else MOST_STEPS
        return int(max(1, min(affordable, MOST_STEPS)))
