"""Decides which nodes count and how often, by `account_type_regexes`, and contracts a tree to what counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import EVERYTHING, Options
from tfprof_widget.profiles.tables import Lists


def accounted(profile: ProfileData, options: Options) -> Flags:
    """Whether one of each node's types matches one of `account_type_regexes`.

    >>> from tfprof_widget.demo import demo_profile
    >>> int(accounted(demo_profile(), Options.of(account_type_regexes=["MatMul"])).sum())
    6
    """
    if options.account_type_regexes == EVERYTHING:
        return np.ones(len(profile.nodes), np.bool_)
    return times_accounted(profile, options) > 0


def times_accounted(profile: ProfileData, options: Options) -> Integers:
    """How many of `account_type_regexes` match a type of each node.

    Native tfprof's op and code views count a node once for every regex that matches it; so does `timing='tfprof'`.
    """
    count = np.zeros(len(profile.nodes), np.int64)
    types = type_names(profile)
    for regex in options.account_type_regexes:
        count += _any_of(profile.nodes.types, types.matching_one("account_type_regexes", regex))
    return count


def type_names(profile: ProfileData) -> Names:
    """The profile's names of types, which keep the answers to regexes."""
    return profile.cache.kept("types", lambda: Names(profile.nodes.type_names))


def row_weights(profile: ProfileData, options: Options) -> Integers:
    """How often the rows of op and code view count each node: 0, 1 or, with `timing='tfprof'`, more times."""
    if options.account_type_regexes == EVERYTHING:
        return np.ones(len(profile.nodes), np.int64)
    times = times_accounted(profile, options)
    return times if options.timing == "tfprof" else np.minimum(times, 1)


def _any_of(lists: Lists, marked: Flags) -> Flags:
    """Whether each list holds a marked value; no list is empty, because every node has its op as a type."""
    return np.logical_or.reduceat(marked[lists.values], lists.start[:-1])


@dataclass(frozen=True, eq=False)
class Forest:
    """The kept places of a tree with the rows that count, and how often each does.

    A place is kept, but not accounted, if it is there only for the sake of what is below it.
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
