"""Stores a tree in preorder: a subtree is a range, so sums over subtrees are differences of prefix sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.order import ordered
from tfprof_widget.lib.arrays import Flags, Indices, Integers

ROOT_NAME = "_TFProfRoot"


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
        """Where the subtree of each place ends."""
        return subtree_end(self.parent)

    @cached_property
    def depth(self) -> Integers:
        """The number of places above each place."""
        return above(self.end, np.ones(len(self), np.int64))

    @cached_property
    def name_rank(self) -> Integers:
        """The position of each place's name among all names, for ordering by name."""
        rank = np.empty(len(self), np.int64)
        rank[sorted(range(len(self)), key=self.names.__getitem__)] = np.arange(len(self))
        return rank

    @cached_property
    def size(self) -> Integers:
        """How many places each subtree has."""
        return self.end - np.arange(len(self))

    @cached_property
    def by_name(self) -> Integers:
        """All places, siblings in the order of their names."""
        return ordered(self.parent.astype(np.int64), self.size, self.name_rank)

    @cached_property
    def row_count(self) -> Integers:
        """How many graph nodes each place has itself."""
        return np.diff(self.row_start)

    @cached_property
    def single(self) -> Indices:
        """The graph node of each place that has exactly one, else -1 (scope and graph view)."""
        node = np.full(len(self), -1, np.int32)
        node[self.row_count == 1] = self.rows[self.row_start[:-1][self.row_count == 1]]
        return node

    def contracted(self, kept: Flags, counted: Flags) -> Tree:
        """The tree of the kept places and counted rows; places below a dropped one go to the next kept place above.

        The root has to be kept, and the rows of dropped places must not be counted.

        >>> tree = Tree("abcd", np.array([-1, 0, 1, 0]), np.array([5, 6, 7]), np.array([0, 0, 1, 2, 3]))
        >>> smaller = tree.contracted(np.array([True, False, True, True]), np.array([False, True, True]))
        >>> smaller.names, smaller.parent.tolist(), smaller.rows.tolist(), smaller.row_start.tolist()
        (('a', 'c', 'd'), [-1, 0, 0], [6, 7], [0, 0, 1, 2])
        """
        if kept.all() and counted.all():
            return self
        places = np.flatnonzero(kept)
        parent = nearest_above(subtree_sizes(self.end, places))
        row_start = prefix_sums(counted)[self.row_start]
        return Contracted(
            names=tuple([self.names[place] for place in places.tolist()]),
            parent=parent.astype(np.int32),
            rows=self.rows[counted],
            row_start=np.append(row_start[:-1][kept], row_start[-1]),
            whole=self,
            places=places,
        )


@dataclass(frozen=True, eq=False)
class Contracted(Tree):
    """Some places of a whole tree; it takes from the whole tree what would be slower to compute place by place."""

    whole: Tree
    places: Integers

    @cached_property
    def end(self) -> Integers:
        """Where the subtree of each place ends."""
        return np.arange(len(self)) + subtree_sizes(self.whole.end, self.places)

    @cached_property
    def name_rank(self) -> Integers:
        """The position of each place's name among all names, for ordering by name."""
        rank = np.empty(len(self), np.int64)
        rank[np.argsort(self.whole.name_rank[self.places])] = np.arange(len(self))
        return rank


def subtree_end(parent: NDArray[np.integer]) -> Integers:
    """Where each subtree ends, from the parents in preorder: one pass from the last place to the first.

    >>> subtree_end(np.array([-1, 0, 1, 1, 0])).tolist()
    [5, 4, 3, 4, 5]
    """
    end = list(range(1, len(parent) + 1))
    parents = parent.tolist()
    for place in range(len(end) - 1, 0, -1):
        if end[place] > end[parents[place]]:
            end[parents[place]] = end[place]
    return np.array(end, np.int64)


def above(end: Integers, weight: Integers | Flags) -> Integers:
    """The sum of the weights of each place's ancestors, without its own weight.

    >>> above(np.array([4, 3, 3, 4]), np.array([1, 1, 1, 1])).tolist()
    [0, 1, 2, 1]
    """
    change = np.zeros(len(end) + 1, np.int64)
    change[1:] = weight
    np.subtract.at(change, end, weight)
    return np.cumsum(change[:-1])


def subtree_sizes(end: Integers, places: Integers) -> Integers:
    """How many of these places, given in preorder, are in the subtree of each of them.

    >>> subtree_sizes(np.array([6, 5, 4, 4, 5, 6]), np.array([0, 2, 3, 5])).tolist()
    [4, 2, 1, 1]
    """
    sizes: Integers = np.searchsorted(places, end[places]) - np.arange(len(places))
    return sizes


def nearest_above(size: Integers) -> Integers:
    """The parent of each row, from the sizes of the subtrees; rows are in preorder, the root first.

    >>> nearest_above(np.array([4, 2, 1, 1])).tolist()
    [-1, 0, 1, 0]
    """
    rows = np.arange(len(size))
    depth = above(rows + size, np.ones(len(size), np.int64))
    levels = np.argsort(depth, kind="stable")
    keys = depth[levels] * len(size) + levels
    # The parent is the last row before it that is one level higher.
    found = np.searchsorted(keys, (depth - 1) * len(size) + rows) - 1
    parent = levels[np.maximum(found, 0)]
    parent[depth == 0] = -1
    return parent


def prefix_sums(values: Integers | Flags) -> Integers:
    """The sums of the first 0, 1, 2, ... values.

    >>> prefix_sums(np.array([5, 2])).tolist()
    [0, 5, 7]
    """
    sums = np.empty(len(values) + 1, np.int64)
    sums[0] = 0
    np.cumsum(values, out=sums[1:])
    return sums
