"""Computes with stretches of time: union, gaps, overlap, containment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfprof_widget.lib.arrays import ABSENT, Flags, Integers


@dataclass(frozen=True, eq=False)
class Intervals:
    """Disjoint stretches in order of time, each from `start` up to `end`.

    >>> Intervals.of(np.array([5, 0, 2]), np.array([6, 3, 4])).drawn()
    '0-4 5-6'
    """

    start: Integers
    end: Integers

    @classmethod
    def of(cls, start: Integers, end: Integers) -> Intervals:
        """The union of these stretches; a stretch that ends before it starts is empty."""
        # There is a gap before a start if as many stretches have ended by then as have started. So starts and ends are
        # sorted separately, which takes a fraction of the time that sorting the pairs takes.
        start, end = np.sort(start), np.maximum(start, end)
        end.sort()
        last = np.flatnonzero(start[1:] > end[:-1])
        return cls(np.concatenate([start[:1], start[last + 1]]), np.concatenate([end[last], end[-1:]]))

    @property
    def length(self) -> int:
        """The time that the stretches cover.

        >>> Intervals.of(np.array([0, 2]), np.array([3, 4])).length
        4
        """
        return int((self.end - self.start).sum())

    def without(self, other: Intervals) -> Intervals:
        """The parts of these stretches that `other` does not cover.

        >>> one, other = Intervals.of(np.array([0]), np.array([9])), Intervals.of(np.array([2, 8]), np.array([4, 12]))
        >>> one.without(other).drawn()
        '0-2 4-8'
        """
        # To sort takes a fraction of the time that numpy.unique takes, which hashes whole numbers.
        bounds = np.sort(np.concatenate([self.start, self.end, other.start, other.end]))
        bounds = bounds[np.diff(bounds, prepend=bounds[:1] - 1) > 0]
        start, end = bounds[:-1], bounds[1:]
        kept = self.covers(start) & ~other.covers(start)
        return Intervals.of(start[kept], end[kept])

    def shared(self, other: Intervals) -> int:
        """The time that both cover.

        >>> one, other = Intervals.of(np.array([0]), np.array([9])), Intervals.of(np.array([2, 8]), np.array([4, 12]))
        >>> one.shared(other)
        3
        """
        return self.length - self.without(other).length

    def gaps(self, shortest: int = 1) -> Intervals:
        """The gaps between these stretches that are at least `shortest` long.

        >>> Intervals.of(np.array([0, 4, 9]), np.array([3, 5, 10])).gaps(2).drawn()
        '5-9'
        """
        return Intervals(self.end[:-1], self.start[1:]).at_least(shortest)

    def covers(self, moment: Integers) -> Flags:
        """Whether a stretch contains each moment.

        >>> Intervals.of(np.array([0, 4]), np.array([3, 5])).covers(np.array([2, 3, 4])).tolist()
        [True, False, True]
        """
        if not len(self.start):
            return np.zeros(len(moment), np.bool_)
        place = np.searchsorted(self.start, moment, "right") - 1
        found: Flags = (place >= 0) & (moment < self.end[place])
        return found

    def hold(self, start: Integers, end: Integers) -> Flags:
        """Whether one of these stretches contains each of the stretches given by `start` and `end` as a whole.

        >>> some = Intervals.of(np.array([5, 0, 30]), np.array([20, 10, 40]))
        >>> some.hold(np.array([8, 15]), np.array([15, 25])).tolist()
        [True, False]
        """
        if not len(self.start):
            return np.zeros(len(start), np.bool_)
        place = last_started(self.start, start)
        found: Flags = (place >= 0) & (end <= self.end[place])
        return found

    def at_least(self, length: int) -> Intervals:
        """The stretches that are at least `length` long.

        >>> Intervals.of(np.array([0, 5]), np.array([3, 6])).at_least(2).drawn()
        '0-3'
        """
        kept = self.end - self.start >= length
        return Intervals(self.start[kept], self.end[kept])

    def at_most(self, length: int) -> Intervals:
        """The stretches that are at most `length` long.

        >>> Intervals.of(np.array([0, 5]), np.array([3, 6])).at_most(2).drawn()
        '5-6'
        """
        kept = self.end - self.start <= length
        return Intervals(self.start[kept], self.end[kept])

    def drawn(self) -> str:
        """The stretches as text, for tests.

        >>> Intervals.of(np.array([0]), np.array([3])).drawn()
        '0-3'
        """
        return " ".join(f"{start}-{end}" for start, end in zip(self.start.tolist(), self.end.tolist(), strict=True))


def last_started(starts: Sequence[int] | Integers, moments: Integers) -> Integers:
    """The index of the last start at or before each moment; the starts ascend.

    >>> last_started([10, 20], np.array([5, 10, 15, 20])).tolist()
    [-1, 0, 0, 1]
    """
    found: Integers = np.searchsorted(np.asarray(starts, np.int64), moments, side="right") + ABSENT
    return found
