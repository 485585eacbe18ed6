"""Builds the tree of the scope view from the parts of names; a scope that is not a node gets a place of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfprof_widget.engine.account import Forest, accounted, any_below
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.lib.arrays import Indices
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

# The type that native tfprof gives to scopes that are not nodes; `account_type_regexes` can match it.
SCOPE_TYPE = "_kTFScopeParent"


def scope_tree(names: Sequence[str]) -> Tree:
    """The tree of the parts of names, which are sorted and distinct.

    >>> tree = scope_tree(["a/b", "a/c/d", "e"])
    >>> list(zip(tree.names, tree.parent.tolist()))
    [('_TFProfRoot', -1), ('a', 0), ('a/b', 1), ('a/c', 1), ('a/c/d', 3), ('e', 0)]
    """
    row_of = {name: row for row, name in enumerate(names)}
    scopes = _missing_scopes(row_of)
    ordered = sorted([*names, *scopes], key=_parts_key(names))
    rows = [row_of.get(name, -1) for name in ordered]
    is_row = np.array([False, *(row >= 0 for row in rows)])
    return Tree(
        names=(ROOT_NAME, *ordered),
        parent=_parents(ordered),
        rows=np.array([row for row in rows if row >= 0], np.int32),
        row_start=prefix_sums(is_row),
    )


def scope_forest(profile: ProfileData, tree: Tree, options: Options) -> Forest:
    """The scope tree after accounting; a place is kept if it or a place below it is accounted."""
    node = tree.single
    scopes = Names([SCOPE_TYPE]).matching("account_type_regexes", options.account_type_regexes)
    marked = np.full(len(tree), scopes[0])
    marked[node >= 0] = accounted(profile, options)[node[node >= 0]]
    kept = any_below(tree, marked)
    return Forest.of(tree, marked, kept, kept[node >= 0].astype(np.int64))


def _missing_scopes(names: dict[str, int]) -> set[str]:
    missing: set[str] = set()
    new = {name.rpartition("/")[0] for name in names if "/" in name} - names.keys()
    while new:
        missing |= new
        new = {name.rpartition("/")[0] for name in new if "/" in name} - names.keys() - missing
    return missing


def _parts_key(names: Sequence[str]) -> Callable[[str], list[str] | str]:
    """A sort key that puts each scope right before the names in it: the end of a part sorts before any character."""
    if any("\0" in name for name in names):
        return lambda name: name.split("/")
    return lambda name: name.replace("/", "\0")


def _parents(ordered: list[str]) -> Indices:
    place_of = {name: place for place, name in enumerate(ordered, start=1)}
    parents = [place_of[name.rpartition("/")[0]] if "/" in name else 0 for name in ordered]
    return np.array([-1, *parents], np.int32)
