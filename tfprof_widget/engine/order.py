"""Sorts siblings by a key, each followed by the rows below it."""

from __future__ import annotations

import numpy as np

from tfprof_widget.lib.arrays import LARGEST_INTEGER, Integers


def ordered(parent: Integers, size: Integers, key: Integers) -> Integers:
    """The rows in the order in which they are shown: under each parent by ascending key; ties keep their order.

    The rows come in preorder, the root first; `size` counts the rows of each subtree. The place of a row
    is the sum, over itself and all above it, of one plus the sizes of the siblings before.

    >>> parent, size = np.array([-1, 0, 1, 0]), np.array([4, 2, 1, 1])
    >>> ordered(parent, size, np.array([0, 5, 0, 3])).tolist()
    [0, 3, 1, 2]
    """
    count = len(parent)
    by_parent = _by_parent(parent, key)
    # Narrow integers, because memory decides the speed; sums that overflow cancel out in the differences.
    sizes = size.astype(np.int32)[by_parent]
    before = np.cumsum(sizes, dtype=np.int32) - sizes
    # The sum before a group of siblings is at its first sibling, which is found by its parent.
    sorted_parent = parent[by_parent]
    first = np.zeros(count + 1, np.int32)
    first[sorted_parent[::-1]] = before[::-1]
    offset = np.empty(count, np.int32)
    offset[by_parent] = before - first[sorted_parent] + 1
    change = np.zeros(count + 1, np.int32)
    change[:count] = offset
    np.subtract.at(change, np.arange(count) + size, offset)
    place = np.cumsum(change[:count], dtype=np.int32) - 1
    result = np.empty(count, np.int64)
    result[place] = np.arange(count)
    return result


def _by_parent(parent: Integers, key: Integers) -> Integers:
    """A stable sort by parent and then by key; both are put into one number if they fit."""
    lowest = int(key.min())
    span = int(key.max()) - lowest + 1
    if span * (len(parent) + 1) > LARGEST_INTEGER:
        return np.lexsort((key, parent))
    return np.argsort((parent + 1) * span + (key - lowest), kind="stable")
