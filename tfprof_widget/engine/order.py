"""The order of the shown rows: siblings by `order_by`, each followed by its own rows."""

from __future__ import annotations

import numpy as np

from tfprof_widget.tables import Integers


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
    by_parent = np.lexsort((key, parent))
    sizes = size[by_parent]
    before = np.cumsum(sizes) - sizes
    first = np.flatnonzero(np.diff(parent[by_parent], prepend=-2))
    group = np.repeat(before[first], np.diff(first, append=count))
    offset = np.empty(count, np.int64)
    offset[by_parent] = before - group + 1
    change = np.zeros(count + 1, np.int64)
    change[:count] += offset
    np.subtract.at(change, np.arange(count) + size, offset)
    place = np.cumsum(change[:count]) - 1
    result = np.empty(count, np.int64)
    result[place] = np.arange(count)
    return result
