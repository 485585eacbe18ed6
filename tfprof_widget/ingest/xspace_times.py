"""Looks moments up: what was last started then, and whether something was under way all along."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfprof_widget.tables import ABSENT, Flags, Integers


def last_started(starts: Sequence[int] | Integers, moments: Integers) -> Integers:
    """The place among the starts, which ascend, of what was last started by each moment.

    >>> last_started([10, 20], np.array([5, 10, 15, 20])).tolist()
    [-1, 0, 0, 1]
    """
    found: Integers = np.searchsorted(np.asarray(starts, np.int64), moments, side="right") + ABSENT
    return found


class Intervals:
    """Stretches of time, which may overlap.

    >>> intervals = Intervals(np.array([5, 0, 30]), np.array([20, 10, 40]))
    >>> intervals.contain(np.array([8, 15, 30]), np.array([15, 25, 40])).tolist()
    [True, False, True]
    """

    def __init__(self, starts: Integers, ends: Integers) -> None:
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        first = np.flatnonzero(np.concatenate([np.ones(min(len(starts), 1), np.bool_), starts[1:] > ends[:-1]]))
        self.starts = starts[first]
        self.ends = ends[np.append(first[1:], len(starts))[: len(first)] - 1]

    def contain(self, starts: Integers, ends: Integers) -> Flags:
        """Whether one of them, or several on end, hold all the time from each start to its end."""
        if not len(self.starts):
            return np.zeros(len(starts), np.bool_)
        place = last_started(self.starts, starts)
        held: Flags = (place >= 0) & (ends <= self.ends[place])
        return held
