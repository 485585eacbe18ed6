"""A tree in preorder: a subtree is a range, so that sums over subtrees are differences of prefix sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.tables import Flags, Indices, Integers

ROOT_NAME = "_TFProfRoot"

Number = TypeVar("Number", np.int64, np.int32)


@dataclass(frozen=True, eq=False)
class Tree:
    """Places in preorder, the root first; `rows` lists the graph nodes of each place, place by place.

    The subtree of place `i` is `i` up to `end[i]`; its own graph nodes are `rows[row_start[i]:row_start[i + 1]]`.
    """

    names: Sequence[str]
    parent: Indices
    rows: Indices
    row_start: Integers

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def end(self) -> Integers:
        """Where the subtree of each place ends.

        >>> Tree("abcd", np.array([-1, 0, 1, 0]), np.array([]), np.array([])).end.tolist()
        [4, 3, 3, 4]
        """
        return subtree_end(self.parent)

    @cached_property
    def name_rank(self) -> Integers:
        """The position of each place's name among all names, for ordering by name."""
        rank = np.empty(len(self), np.int64)
        order = sorted(range(len(self)), key=self.names.__getitem__)
        rank[order] = np.arange(len(self))
        return rank

    @cached_property
    def single(self) -> Indices:
        """The graph node of each place that has exactly one, else -1 (scope and graph view)."""
        count = np.diff(self.row_start)
        node = np.full(len(self), -1, np.int32)
        node[count == 1] = self.rows[self.row_start[:-1][count == 1]]
        return node


def subtree_end(parent: NDArray[np.integer]) -> Integers:
    """Where each subtree ends, from the parents in preorder: one pass from the last place to the first.

    >>> subtree_end(np.array([-1, 0, 1, 1, 0])).tolist()
    [5, 4, 3, 4, 5]
    """
    end = list(range(1, len(parent) + 1))
    parents = parent.tolist()
    for place in range(len(end) - 1, 0, -1):
        above = parents[place]
        if end[place] > end[above]:
            end[above] = end[place]
    return np.array(end, np.int64)


def above(tree: Tree, marked: NDArray[np.integer] | Flags) -> Integers:
    """The sum of `marked` over the ancestors of each place, the place itself left out.

    >>> tree = Tree("abcd", np.array([-1, 0, 1, 0]), np.array([]), np.array([]))
    >>> above(tree, np.array([1, 1, 1, 1])).tolist()
    [0, 1, 2, 1]
    """
    weight = marked.astype(np.int64)
    change = np.zeros(len(tree) + 1, np.int64)
    change[1:] += weight
    places = np.flatnonzero(weight)
    np.subtract.at(change, tree.end[places], weight[places])
    return np.cumsum(change[:-1])


def prefix_sums(values: NDArray[np.int64]) -> Integers:
    """The sums of the first 0, 1, 2, ... values.

    >>> prefix_sums(np.array([5, 2])).tolist()
    [0, 5, 7]
    """
    sums = np.empty(len(values) + 1, np.int64)
    sums[0] = 0
    np.cumsum(values, out=sums[1:])
    return sums
