"""Makes the rows of the tree views (scope, graph, code, layers): selects and orders places, and fills columns."""

from __future__ import annotations

import numpy as np

from tfprof_widget.engine.display import Display, visible_places
from tfprof_widget.engine.order import ordered
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import nearest_above, prefix_sums, subtree_sizes
from tfprof_widget.engine.view import Columns, ViewData
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options


def tree_view(profile: ProfileData, view: str, options: Options, display: Display) -> ViewData:
    """The rows of a tree view: the shown places, ordered, with their own values and totals."""
    sums, forest = display.sums, display.sums.forest
    # Native tfprof's code view ignores the option, and so does `timing='tfprof'`.
    heeded = view != "code" or options.timing == "exact"
    displayed_only = options.account_displayed_op_only and heeded
    visible = visible_places(display, options)
    places = _in_order(view, options, sums, visible, displayed_only)
    total = _displayed_totals(sums, places) if displayed_only else _totals(sums, places)
    return ViewData(
        profile=profile,
        view=view,
        options=options,
        forest=forest,
        places=places,
        own=Columns(tuple(sums.measures.columns), lambda measure: sums.own(measure)[places]),
        total=total,
        grand_total=Columns(total.names, lambda name: total[name][:1]),
        scale=sums.measures.scale,
        time_scale=sums.measures.time_scale,
    )


def _in_order(view: str, options: Options, sums: Sums, visible: Flags, displayed_only: bool) -> Integers:
    """The visible places in the order in which they are shown.

    If every place above a visible place is visible too, and totals do not depend on what is visible, the order is that
    of all places without the others.
    """
    tree = sums.forest.tree
    places = np.flatnonzero(visible)
    own_order = sums.ordering(options.order_by) if displayed_only else ""
    is_closed = visible[tree.parent[places[1:]]].all()
    if is_closed and not own_order:
        order = sums.order(options.order_by, view)
        return order[visible[order]]
    size = subtree_sizes(tree.end, places)
    if is_closed:
        parent = np.searchsorted(places, tree.parent[places])
        parent[0] = -1
    else:
        parent = nearest_above(size)
    if own_order:
        key = -_over_subtrees(sums.own(own_order)[places], size)
    else:
        key = sums.key(options.order_by, view)[places]
    return places[ordered(parent, size, key)]


def _totals(sums: Sums, places: Integers) -> Columns:
    """Totals over all accounted places, shown or not."""
    tree = sums.forest.tree

    def make(name: str) -> Integers:
        match name:
            case "definitions":  # all places except the root, which is no graph node
                count: Integers = tree.end[places] - places - (places == 0)
                return count
            case "hidden":
                return _hidden(sums, places)
        return sums.total(name)[places]

    return Columns((*sums.measures.columns, "definitions", "hidden"), make)


def _displayed_totals(sums: Sums, places: Integers) -> Columns:
    """Totals over the shown rows only."""

    def make(name: str) -> Integers:
        if name == "hidden":
            return _hidden(sums, places)
        rows = np.argsort(places)
        preorder = places[rows]
        size = subtree_sizes(sums.forest.tree.end, preorder)
        # Only here native tfprof counts the root among the definitions.
        values = size if name == "definitions" else _over_subtrees(sums.own(name)[preorder], size)
        result = np.empty(len(places), np.int64)
        result[rows] = values
        return result

    return Columns((*sums.measures.columns, "definitions", "hidden"), make)


def _over_subtrees(values: Integers, size: Integers) -> Integers:
    """The sums of the values of rows in preorder over each subtree."""
    prefix = prefix_sums(values)
    result: Integers = prefix[np.arange(len(values)) + size] - prefix[:-1]
    return result


def _hidden(sums: Sums, places: Integers) -> Integers:
    """How many accounted places of each subtree are not shown."""
    tree = sums.forest.tree
    hidden = sums.forest.accounted.copy()
    hidden[places] = False
    count = prefix_sums(hidden)
    result: Integers = count[tree.end[places]] - count[places]
    return result
