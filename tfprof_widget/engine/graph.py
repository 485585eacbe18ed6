"""Grows the tree of the graph view: a depth-first walk along inputs, from the nodes that are no node's input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfprof_widget.engine.account import Forest, accounted
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.tree import ROOT_NAME, Tree
from tfprof_widget.lib.errors import LONGEST_QUOTE, ProfileError, shortened
from tfprof_widget.profiles.data import ProfileData, ProfileTables, nodes_alone
from tfprof_widget.profiles.options import Options
from tfprof_widget.profiles.tables import Lists


def graph_tree(names: Sequence[str], inputs: Lists) -> Tree:
    """The spanning tree in the order of the walk; a cycle whose nodes feed no other node is not reached.

    >>> inputs = Lists(np.array([0, 0, 1, 3]), np.array([0, 0, 1]))  # b(a), c(a, b)
    >>> tree = graph_tree(["a", "b", "c"], inputs)
    >>> list(zip(tree.names, tree.parent.tolist()))
    [('_TFProfRoot', -1), ('c', 0), ('a', 1), ('b', 1)]
    """
    rows, parents = _walk(len(names), inputs)
    return Tree(
        names=(ROOT_NAME, *(names[row] for row in rows)),
        parent=np.array([-1, *parents], np.int32),
        rows=np.array(rows, np.int32),
        row_start=np.array([0, *range(len(rows) + 1)], np.int64),
    )


def graph_forest(profile: ProfileData, tree: Tree, options: Options) -> Forest:
    """The graph tree after accounting; only accounted places are kept, and others pass their children up."""
    marked = np.zeros(len(tree), np.bool_)
    marked[1:] = accounted(profile, options)[tree.rows]
    return Forest.of(tree, marked, marked, marked[1:].astype(np.int64))


def cone(profile: ProfileTables, name_regexes: Sequence[str]) -> ProfileTables:
    """The tables of the nodes whose names match and of all that these depend on, by data or control.

    In the graph view of the whole graph, each node is below the first node that reaches it. What a loss depends on may
    thus be below another node; in the cone of the loss it is below the loss.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(cone(demo_profile(), ["layer1/Relu"]).nodes), len(demo_profile().nodes)
    (8, 81)
    """
    nodes = profile.nodes
    pending = np.flatnonzero(Names(nodes.names).matching("cone", name_regexes)).tolist()
    if not pending:
        told = shortened(", ".join(map(repr, name_regexes)), LONGEST_QUOTE) or "nothing"
        raise ProfileError(f"cone: no node's whole name matches {told}; `nodes.names` lists all names")
    is_in_cone = np.zeros(len(nodes), np.bool_)
    while pending:
        node = pending.pop()
        if node >= 0 and not is_in_cone[node]:  # an input that the graph lacks is -1
            is_in_cone[node] = True
            pending.extend(nodes.inputs[node].tolist())
    return nodes_alone(profile, is_in_cone)


def _walk(count: int, inputs: Lists) -> tuple[list[int], list[int]]:
    """The nodes in the order first reached, and the place from which each was reached."""
    start, source = inputs.start.tolist(), inputs.values.tolist()
    consumed = set(source)
    met = bytearray(count + 1)
    met[-1] = 1  # an input that the graph lacks has index -1
    rows: list[int] = []
    parents: list[int] = []
    for root in range(count):
        if root in consumed:
            continue
        pending = [(root, 0)]
        while pending:
            row, parent = pending.pop()
            if met[row]:
                continue
            met[row] = 1
            rows.append(row)
            parents.append(parent)
            first, last = start[row], start[row + 1]
            if last > first:
                place = len(rows)
                pending.extend([(each, place) for each in reversed(source[first:last]) if not met[each]])
    return rows, parents
