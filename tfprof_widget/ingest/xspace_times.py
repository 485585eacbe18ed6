"""Looks moments up: what was last started then, and whether something was under way all along."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Generic, TypeVar

Started = TypeVar("Started")


class Timeline(Generic[Started]):
    """Things by when they started; each goes on until the next.

    >>> timeline = Timeline([(20, "b"), (10, "a")])
    >>> timeline.at(15), timeline.at(20), timeline.at(5), timeline.before(5)
    ('a', 'b', 'a', None)
    """

    def __init__(self, started: Iterable[tuple[int, Started]]) -> None:
        ordered = sorted(started, key=lambda each: each[0])
        self.starts = [start for start, _ in ordered]
        self.things = [thing for _, thing in ordered]

    def before(self, moment: int) -> Started | None:
        """What was last started by then, if anything was."""
        place = bisect_right(self.starts, moment) - 1
        return self.things[place] if place >= 0 else None

    def at(self, moment: int) -> Started:
        """What was last started by then, or what is first."""
        return self.things[max(bisect_right(self.starts, moment) - 1, 0)]


class Intervals:
    """Stretches of time, which may overlap.

    >>> intervals = Intervals([(0, 10), (5, 20), (30, 40)])
    >>> intervals.contain(8, 15), intervals.contain(15, 25)
    (True, False)
    """

    def __init__(self, intervals: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(intervals):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def contain(self, start: int, end: int) -> bool:
        """Whether one of them, or several on end, hold all the time from `start` to `end`."""
        place = bisect_right(self.starts, start) - 1
        return place >= 0 and end <= self.ends[place]
