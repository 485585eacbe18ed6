"""Types integer arrays, refuses sums that 64 bits cannot hold, and finds the median of numbers that are not kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.errors import ProfileError

LARGEST_INTEGER = 2**63 - 1
NANOS_A_MICRO = 1000
_PART = 2**20


def check_sum(name: str, *columns: NDArray[Any], factor: int = 1) -> None:
    """Refuse values whose sum, times `factor`, does not fit 64 bits: it would wrap around without an error.

    >>> check_sum("bytes", np.array([2**62]), np.array([2**62]))
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: bytes: the values add up to more than 2**63 - 1, ...
    """
    roughly = sum(np.abs(part.astype(np.float64)).sum() for column in columns for part in _parts(column)) * factor
    if roughly * 1.001 < LARGEST_INTEGER:
        return
    if sum(abs(value) for column in columns for value in column.tolist()) * factor > LARGEST_INTEGER:
        raise ProfileError(
            f"{name}: the values add up to more than 2**63 - 1, which no 64-bit count can hold; "
            "the run metadata or the shapes of the graph are damaged: record them again"
        )


def _parts(column: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The column in pieces: a copy of the whole column in another type might not fit into memory."""
    for first in range(0, len(column), _PART):
        yield column[first : first + _PART]


Integers = NDArray[np.int64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

ABSENT = -1


def distinct(values: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """The different values, sorted, and the index of each value among them: np.unique, quicker for small integers.

    >>> [each.tolist() for each in distinct(np.array([9, 5, 9]))]
    [[5, 9], [1, 0, 1]]
    """
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if values.min() >= 0 and (largest := int(values.max())) < 4 * len(values):
        is_there = np.zeros(largest + 1, np.bool_)
        is_there[values] = True
        found = np.flatnonzero(is_there)
        return found, (np.cumsum(is_there) + ABSENT)[values]
    found, place = np.unique(values, return_inverse=True)
    return found, place.reshape(-1)


def numbered(*columns: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """The first row of each different combination of values, and the number of each row's combination.

    Combinations are numbered in the order of their values.

    >>> [each.tolist() for each in numbered(np.array([1, 1, 0, 1]), np.array([7, 8, 9, 7]))]
    [[2, 0, 1], [1, 2, 0, 1]]
    """
    of_all, count = np.zeros(len(columns[0]), np.int64), 1
    for column in columns if len(of_all) else ():
        if (column == column[0]).all():
            continue
        values, place = distinct(column)
        if count * len(values) > LARGEST_INTEGER:
            used, of_all = distinct(of_all)
            count = len(used)
        of_all, count = of_all * len(values) + place, count * len(values)
    combinations, number = distinct(of_all)
    first = np.zeros(len(combinations), np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return first, number


def in_order(*columns: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """As `numbered`, but combinations are numbered in the order in which they come first.

    >>> [each.tolist() for each in in_order(np.array([9, 5, 9]))]
    [[0, 1], [0, 1, 0]]
    """
    first, number = numbered(*columns)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[number]


class RunningMedian:
    """The median of numbers of which none are kept but five: the P² algorithm of Jain and Chlamtac (1985).

    >>> running = RunningMedian()
    >>> for number in range(1, 1000):
    ...     running.add(float(number % 100))
    >>> 48 < running.value < 52
    True
    """

    __slots__ = ("_heights", "_places", "_wanted")

    def __init__(self) -> None:
        self._heights: list[float] = []
        self._places = [0, 1, 2, 3, 4]
        self._wanted = [0.0, 1.0, 2.0, 3.0, 4.0]

    @property
    def value(self) -> float | None:
        """The median so far, None before the first number."""
        middle = self.middle
        return None if middle is None else (middle[0] + middle[1]) / 2

    @property
    def middle(self) -> tuple[float, float] | None:
        """The two numbers between which the median lies, twice the same if it is one of them; None before the first."""
        heights = self._heights
        return (heights[(len(heights) - 1) // 2], heights[len(heights) // 2]) if heights else None

    @property
    def lower_quartile(self) -> float | None:
        """What three quarters of the numbers exceed, nearly; None before the first number."""
        heights = self._heights
        return heights[len(heights) // 4] if heights else None

    def add(self, number: float) -> None:
        """Take one more number."""
        heights, places = self._heights, self._places
        if len(heights) < len(places):
            heights.append(number)
            heights.sort()
            return
        heights[0], heights[4] = min(heights[0], number), max(heights[4], number)
        for place in range(1, 5):
            places[place] += place == 4 or number < heights[place]
            self._wanted[place] += place / 4
        for place in (1, 2, 3):
            self._move(place)

    def _move(self, place: int) -> None:
        """Move a marker by one place if it is that far from where it should be, along a parabola or else a line."""
        heights, places = self._heights, self._places
        behind, ahead = places[place] - places[place - 1], places[place + 1] - places[place]
        away = self._wanted[place] - places[place]
        if not ((away >= 1 and ahead > 1) or (away <= -1 and behind > 1)):
            return
        step = 1 if away > 0 else -1
        up = (heights[place + 1] - heights[place]) / ahead
        down = (heights[place] - heights[place - 1]) / behind
        height = heights[place] + step * ((behind + step) * up + (ahead - step) * down) / (behind + ahead)
        if not heights[place - 1] < height < heights[place + 1]:
            height = heights[place] + step * (up if step > 0 else down)
        heights[place] = height
        places[place] += step
