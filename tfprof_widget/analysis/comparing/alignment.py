"""Aligns sequences whose items have keys, as lines of two versions of a text are aligned."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tfprof_widget.lib.arrays import ABSENT, Floats

MOST_COMPARED = 250_000
"""So many pairs of items are compared one by one where no item is unlike all others."""

Keys = Sequence[int]


def best_in_order(likeness: Floats) -> list[tuple[int, int]]:
    """The pairs of rows and columns, rising in both, that are most alike together.

    >>> best_in_order(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    [(0, 0), (1, 2)]
    """
    rows, columns = likeness.shape
    best = np.zeros((rows + 1, columns + 1))
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            paired = likeness[row, column] + best[row + 1, column + 1]
            best[row, column] = max(paired, best[row + 1, column], best[row, column + 1])
    found = []
    row = column = 0
    while row < rows and column < columns:
        if best[row, column] == best[row + 1, column]:
            row += 1
        elif best[row, column] == best[row, column + 1]:
            column += 1
        else:
            found.append((row, column))
            row, column = row + 1, column + 1
    return found


def only_ones(keys: Keys, rows: Iterable[int]) -> dict[int, int]:
    """The rows whose key no other of these rows has, by key.

    >>> only_ones([7, 8, 7], range(3))
    {8: 1}
    """
    found: dict[int, int] = {}
    for row in rows:
        found[keys[row]] = ABSENT if keys[row] in found else row
    return {key: row for key, row in found.items() if row != ABSENT}


def longest_rising(values: Sequence[int]) -> list[int]:
    """The places of a longest rising subsequence.

    >>> longest_rising([3, 1, 2, 9, 4])
    [1, 2, 4]
    """
    tails: list[int] = []
    places: list[int] = []
    previous = [ABSENT] * len(values)
    for place, value in enumerate(values):
        at = bisect_left(tails, value)
        previous[place] = places[at - 1] if at else ABSENT
        tails[at : at + 1] = [value]
        places[at : at + 1] = [place]
    found = places[-1:]
    while found and previous[found[-1]] != ABSENT:
        found.append(previous[found[-1]])
    return found[::-1]


def align(left: list[int], right: list[int], own: Keys, others: Keys, take: Callable[[int, int], bool]) -> None:
    """Take rows with equal keys in order: from both ends, then around those unlike all others, and so on between.

    A pair that `take` refuses is passed over.

    >>> taken = {}
    >>> align([0, 1, 2], [0, 1, 2, 3], [5, 6, 7], [5, 9, 6, 7], lambda row, other: taken.update({row: other}) is None)
    >>> taken
    {0: 0, 2: 3, 1: 2}
    """
    pending = [(left, right)]
    while pending:
        left, right = pending.pop()
        first = 0
        while first < min(len(left), len(right)) and own[left[first]] == others[right[first]]:
            if not take(left[first], right[first]):
                break
            first += 1
        left, right = left[first:], right[first:]
        last = 0
        while last < min(len(left), len(right)) and own[left[-1 - last]] == others[right[-1 - last]]:
            if not take(left[-1 - last], right[-1 - last]):
                break
            last += 1
        left, right = left[: len(left) - last], right[: len(right) - last]
        if not left or not right:
            continue
        theirs, at = only_ones(others, right), {row: place for place, row in enumerate(right)}
        alone = only_ones(own, left).keys() & theirs.keys()
        shared = [(place, at[theirs[own[row]]]) for place, row in enumerate(left) if own[row] in alone]
        anchors = [shared[place] for place in longest_rising([place for _, place in shared])]
        if not anchors and len(left) * len(right) <= MOST_COMPARED:
            anchors = _common(left, right, own, others)
            for place, other in anchors:
                take(left[place], right[other])
            continue
        start = (0, 0)
        pieces = []
        for place, other in [*anchors, (len(left), len(right))]:
            pieces.append((left[start[0] : place], right[start[1] : other]))
            if place < len(left):
                take(left[place], right[other])
            start = place + 1, other + 1
        pending.extend(reversed(pieces if anchors else []))


def _common(left: list[int], right: list[int], own: Keys, others: Keys) -> list[tuple[int, int]]:
    """The places of a longest common subsequence of keys."""
    best = np.zeros((len(left) + 1, len(right) + 1), np.int32)
    numbers: dict[int, int] = {}
    first = np.array([numbers.setdefault(own[row], len(numbers)) for row in left])
    second = np.array([numbers.setdefault(others[row], len(numbers)) for row in right])
    for place in range(len(left) - 1, -1, -1):
        equal = np.where(second == first[place], best[place + 1, 1:] + 1, 0)
        best[place, :-1] = np.maximum.accumulate(np.maximum(equal, best[place + 1, :-1])[::-1])[::-1]
    found = []
    place = other = 0
    while place < len(left) and other < len(right):
        if first[place] == second[other] and best[place, other] == best[place + 1, other + 1] + 1:
            found.append((place, other))
            place, other = place + 1, other + 1
        elif best[place + 1, other] >= best[place, other + 1]:
            place += 1
        else:
            other += 1
    return found
