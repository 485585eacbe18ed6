"""A tree after accounting: which of its places count, and which are kept because something below them counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfprof_widget.engine.tree import Tree, above, prefix_sums
from tfprof_widget.tables import Flags, Integers


@dataclass(frozen=True, eq=False)
class Forest:
    """Which places of a tree count themselves, which are kept, and how often each row counts."""

    tree: Tree
    accounted: Flags
    kept: Flags
    weight: Integers

    @cached_property
    def depth(self) -> Integers:
        """The number of kept places above each place."""
        return above(self.tree, self.kept)


def any_below(tree: Tree, marked: Flags) -> Flags:
    """Whether a place or any place below it is marked.

    >>> tree = Tree("abcd", np.array([-1, 0, 1, 0]), np.array([]), np.array([]))
    >>> any_below(tree, np.array([False, False, True, False])).tolist()
    [True, True, True, False]
    """
    count = prefix_sums(marked.astype(np.int64))
    result: Flags = count[tree.end] > count[:-1]
    return result
