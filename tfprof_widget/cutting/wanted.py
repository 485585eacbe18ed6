"""Which nodes are wanted by themselves before the others."""

from __future__ import annotations

import numpy as np

from tfprof_widget.cutting.limits import Wanted
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.tree import Tree, above
from tfprof_widget.options import EVERYTHING
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags


def wanted_nodes(profile: Profile, tree: Tree, wanted: Wanted) -> Flags:
    """The nodes of the op type in the scope, and those whose names match; none where nothing is wanted.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.engine.evaluate import view_tree
    >>> demo = demo_profile()
    >>> flags = wanted_nodes(demo, view_tree(demo, "scope"), Wanted(scope="layer1", op="MatMul"))
    >>> [demo.nodes.names[node] for node in np.flatnonzero(flags)]
    ['layer1/MatMul']
    """
    return _in_scope(profile, tree, wanted) | _matching(profile, tree, wanted)


def _in_scope(profile: Profile, tree: Tree, wanted: Wanted) -> Flags:
    if wanted.scope is None:
        return np.zeros(len(profile.nodes), np.bool_)
    found = np.ones(len(profile.nodes), np.bool_)
    if wanted.scope:
        found = _nodes_of(tree, _within(tree, np.array([name == wanted.scope for name in tree.names])))
    if wanted.op:
        found &= np.array([op == wanted.op for op in profile.nodes.ops])[profile.nodes.op]
    return found


def _matching(profile: Profile, tree: Tree, wanted: Wanted) -> Flags:
    if not wanted.has_regexes:
        return np.zeros(len(profile.nodes), np.bool_)
    names = profile.memory.kept("wanted names", lambda: Names(tree.names))
    places = names.matching("show_name_regexes", wanted.show_name_regexes)
    if wanted.start_name_regexes not in (EVERYTHING, ()):
        places &= _within(tree, names.matching("start_name_regexes", wanted.start_name_regexes))
    return _nodes_of(tree, places)


def _within(tree: Tree, marked: Flags) -> Flags:
    """The marked places and all below them."""
    return marked | (above(tree.end, marked) > 0)


def _nodes_of(tree: Tree, places: Flags) -> Flags:
    """The nodes at the marked places."""
    found = np.zeros(len(tree.rows), np.bool_)
    found[tree.rows] = np.repeat(places, tree.row_count)
    return found
