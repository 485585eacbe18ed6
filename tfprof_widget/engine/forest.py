"""Holds a tree after accounting: its kept places, which of them count themselves, and how often each row counts."""

from __future__ import annotations

from dataclasses import dataclass

from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.lib.arrays import Flags, Integers


@dataclass(frozen=True, eq=False)
class Forest:
    """The kept places of a tree with the rows that count, and how often each row counts.

    A place that is kept but not accounted is there only because of the places below it.
    """

    tree: Tree
    accounted: Flags
    weight: Integers

    @classmethod
    def of(cls, tree: Tree, accounted: Flags, kept: Flags, weight: Integers) -> Forest:
        """Contract a tree to the places that are kept and the rows whose weight is not 0; the root always stays."""
        kept = kept.copy()
        kept[0] = True
        accounted[0] = False
        counted = weight > 0
        return cls(tree.contracted(kept, counted), accounted[kept], weight[counted])


def any_below(tree: Tree, marked: Flags) -> Flags:
    """Whether a place or any place below it is marked.

    >>> import numpy as np
    >>> tree = Tree("abcd", np.array([-1, 0, 1, 0]), np.array([]), np.array([]))
    >>> any_below(tree, np.array([False, False, True, False])).tolist()
    [True, True, True, False]
    """
    count = prefix_sums(marked)
    result: Flags = count[tree.end] > count[:-1]
    return result
