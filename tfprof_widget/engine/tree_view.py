"""The views that are trees (scope, graph, code): display, order, then the shown rows' columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.display import Display, shown_places
from tfprof_widget.engine.forest import Forest
from tfprof_widget.engine.measures import MEASURES, Measures
from tfprof_widget.engine.order import depths, nearest_above, ordered
from tfprof_widget.engine.tree import prefix_sums
from tfprof_widget.engine.view import Columns, View
from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers


@dataclass(frozen=True, eq=False)
class Shown:
    """The shown places in preorder, with their nesting among themselves."""

    forest: Forest
    places: Integers
    size: Integers
    parent: Integers
    depth: Integers

    @classmethod
    def of(cls, forest: Forest, places: Integers) -> Shown:
        """Find the nesting of the places, of which the first is the root."""
        size = np.searchsorted(places, forest.tree.end[places]) - np.arange(len(places))
        depth = depths(size)
        return cls(forest, places, size, _parents(forest, places, depth), depth)

    def over(self, values: Integers) -> Integers:
        """The sums of the values of the shown places over each shown subtree."""
        prefix = prefix_sums(values)
        result: Integers = prefix[np.arange(len(values)) + self.size] - prefix[:-1]
        return result

    def count_below(self, marked: Flags) -> Integers:
        """How many marked places, shown or not, are in each subtree."""
        count = prefix_sums(marked.astype(np.int64))
        result: Integers = count[self.forest.tree.end[self.places]] - count[self.places]
        return result


def tree_view(profile: Profile, view: str, options: Options, display: Display, measures: Measures) -> View:
    """The rows of a tree view: the shown places, ordered, with their own values and totals."""
    forest, sums = display.forest, display.sums
    shown = Shown.of(forest, shown_places(display, options))
    displayed_only = options.account_displayed_op_only and view != "code"

    def total(measure: str) -> Integers:
        match measure:
            case "hidden":
                accounted = forest.accounted
                return shown.count_below(accounted) - shown.over(accounted[shown.places].astype(np.int64))
            case "definitions":
                # Native counts the root itself only where it counts shown rows.
                return shown.size if displayed_only else shown.count_below(forest.kept)
        own = sums.own(measure, shown.places)
        return shown.over(own) if displayed_only else sums.total(measure, shown.places)

    totals = Columns((*MEASURES, "definitions", "hidden"), total)
    order = ordered(shown.parent, shown.size, _key(view, options, shown, totals))
    places = shown.places[order]
    position = np.empty(len(order) + 1, np.int64)
    position[order] = np.arange(len(order))
    position[-1] = -1
    return View(
        profile=profile,
        view=view,
        options=options,
        tree=forest.tree,
        places=places,
        parent=position[shown.parent[order]],
        depth=shown.depth[order],
        accounted=forest.accounted[places],
        weight=forest.weight,
        own=Columns(MEASURES, lambda measure: sums.own(measure, places)),
        total=Columns(totals.names, lambda measure: totals[measure][order]),
        grand_total=Columns(totals.names, lambda measure: totals[measure][:1]),
        scale=measures.scale,
        time_scale=measures.time_scale,
    )


def _parents(forest: Forest, places: Integers, depth: Integers) -> Integers:
    """The position among the shown places of the nearest one above each; mostly that is simply its parent."""
    position = np.full(len(forest.tree), -1, np.int64)
    position[places] = np.arange(len(places))
    parent = position[forest.tree.parent[places]]
    parent[0] = -1
    return parent if (parent[1:] >= 0).all() else nearest_above(depth)


def _key(view: str, options: Options, shown: Shown, totals: Columns) -> Integers:
    forest = shown.forest
    if options.order_by in MEASURES:
        return -totals[options.order_by]
    if options.order_by == "depth":
        return forest.depth[shown.places]
    if options.order_by == "occurrence" and view == "code":
        picked = prefix_sums((forest.weight > 0).astype(np.int64))
        start = forest.tree.row_start
        key: Integers = picked[start[shown.places]] - picked[start[shown.places + 1]]
        return key
    return forest.tree.name_rank[shown.places]
