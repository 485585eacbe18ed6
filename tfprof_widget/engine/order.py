"""The order of the shown rows: siblings by `order_by`, each followed by its own rows."""

from __future__ import annotations

import numpy as np

from tfprof_widget.tables import Integers

LARGEST_INTEGER = 2**63 - 1


def depths(size: Integers) -> Integers:
    """How many subtrees each row lies in, from the sizes of the subtrees in preorder.

    >>> depths(np.array([4, 2, 1, 1])).tolist()
    [0, 1, 2, 1]
    """
    change = np.zeros(len(size) + 1, np.int64)
    change[1:] += 1
    change -= np.bincount(np.arange(len(size)) + size, minlength=len(size) + 1)
    return np.cumsum(change[:-1])


def nearest_above(depth: Integers) -> Integers:
    """The parent of each row: the last row before it that is one level higher, -1 for the root.

    >>> nearest_above(np.array([0, 1, 2, 1, 2, 2])).tolist()
    [-1, 0, 1, 0, 3, 3]
    """
    count = np.int64(len(depth))
    levels = np.argsort(depth, kind="stable")
    keys = depth[levels] * count + levels
    wanted = (depth - 1) * count + np.arange(count)
    found = np.searchsorted(keys, wanted) - 1
    parent = levels[np.maximum(found, 0)]
    parent[depth == 0] = -1
    return parent


def ordered(parent: Integers, size: Integers, key: Integers) -> Integers:
    """The rows in the order to show them: under each parent by ascending key, ties as they were.

    `size` counts the rows of each subtree. The place of a row is the sum, over itself and all above
    it, of one plus the sizes of the siblings before.

    >>> parent, size = np.array([-1, 0, 1, 0]), np.array([4, 2, 1, 1])
    >>> ordered(parent, size, np.array([0, 5, 0, 3])).tolist()
    [0, 3, 1, 2]
    """
    count = len(parent)
    by_parent = _by_parent(parent, key)
    sizes = size[by_parent]
    before = np.cumsum(sizes) - sizes
    first = np.flatnonzero(np.diff(parent[by_parent], prepend=-2))
    group = np.repeat(before[first], np.diff(first, append=count))
    offset = np.empty(count, np.int64)
    offset[by_parent] = before - group + 1
    change = np.zeros(count + 1, np.int64)
    change[:count] = offset
    np.subtract.at(change, np.arange(count) + size, offset)
    place = np.cumsum(change[:count]) - 1
    result = np.empty(count, np.int64)
    result[place] = np.arange(count)
    return result


def _by_parent(parent: Integers, key: Integers) -> Integers:
    """A stable sort by parent and then key; by one number that holds both, where they fit into one."""
    lowest = int(key.min())
    span = int(key.max()) - lowest + 1
    if span * (len(parent) + 1) > LARGEST_INTEGER:
        return np.lexsort((key, parent))
    return np.argsort((parent + 1) * span + (key - lowest), kind="stable")
