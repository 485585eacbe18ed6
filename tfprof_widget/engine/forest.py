"""The views that are trees (scope, graph, code): account, display, order, then the shown rows' columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.display import Display, shown_places
from tfprof_widget.engine.measures import MEASURES, Measures
from tfprof_widget.engine.order import nearest_above, ordered
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import Tree, above, prefix_sums
from tfprof_widget.engine.view import View
from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Indices, Integers


@dataclass(frozen=True, eq=False)
class Forest:
    """A tree after accounting: which places count themselves, which are kept, and how often each row counts."""

    tree: Tree
    accounted: Flags
    kept: Flags
    weight: Integers


def any_below(tree: Tree, marked: Flags) -> Flags:
    """Whether a place or any place below it is marked.

    >>> tree = Tree("abcd", np.array([-1, 0, 1, 0]), np.array([]), np.array([]))
    >>> any_below(tree, np.array([False, False, True, False])).tolist()
    [True, True, True, False]
    """
    count = prefix_sums(marked.astype(np.int64))
    result: Flags = count[tree.end] > count[:-1]
    return result


def forest_view(
    profile: Profile, view: str, options: Options, forest: Forest, display: Display, measures: Measures
) -> View:
    """The rows of a tree view: the shown places, ordered, with their own values and totals."""
    shown = Shown(forest, display.sums, shown_places(display, options))
    displayed_only = options.account_displayed_op_only and view != "code"
    totals = {measure: shown.total(measure, displayed_only) for measure in MEASURES}
    order = ordered(shown.parent, shown.size, _key(view, options, shown, totals))
    places = shown.places[order]
    position = np.empty(len(order) + 1, np.int64)
    position[order] = np.arange(len(order))
    position[-1] = -1
    tree = forest.tree
    member_start, members = _members(forest, places)
    return View(
        profile=profile,
        view=view,
        options=options,
        names=tuple(tree.names[place] for place in places.tolist()),
        parent=position[shown.parent[order]],
        depth=shown.depth[order],
        node=tree.single[places],
        accounted=forest.accounted[places],
        own={measure: shown.own[measure][order] for measure in MEASURES},
        total={measure: values[order] for measure, values in totals.items()},
        definitions=shown.definitions(displayed_only)[order],
        hidden=shown.hidden()[order],
        grand_total={measure: int(values[0]) for measure, values in totals.items()},
        scale=measures.scale,
        time_scale=measures.time_scale,
        member_start=member_start,
        members=members,
    )


class Shown:
    """The shown places in preorder, with their nesting among themselves and their values."""

    def __init__(self, forest: Forest, sums: Sums, places: Integers) -> None:
        self.forest, self.sums, self.places = forest, sums, places
        self.size = np.searchsorted(places, forest.tree.end[places]) - np.arange(len(places))
        change = np.zeros(len(places) + 1, np.int64)
        change[1:] += 1
        np.subtract.at(change, np.arange(len(places)) + self.size, 1)
        self.depth = np.cumsum(change[:-1])
        self.parent = nearest_above(self.depth)
        self.own = {measure: sums.own(measure, places) for measure in MEASURES}

    def total(self, measure: str, displayed_only: bool) -> Integers:
        """The totals, over all that is accounted or over what is shown."""
        return self._over_shown(self.own[measure]) if displayed_only else self.sums.total(measure, self.places)

    def definitions(self, displayed_only: bool) -> Integers:
        """How many places each total counts; native counts the root itself only where it counts shown rows."""
        return self.size if displayed_only else self._kept_below()

    def hidden(self) -> Integers:
        """How many accounted places of each subtree are not shown."""
        accounted = self.forest.accounted.astype(np.int64)
        count = prefix_sums(accounted)
        inside: Integers = count[self.forest.tree.end[self.places]] - count[self.places]
        return inside - self._over_shown(accounted[self.places])

    def _over_shown(self, values: Integers) -> Integers:
        prefix = prefix_sums(values)
        result: Integers = prefix[np.arange(len(values)) + self.size] - prefix[:-1]
        return result

    def _kept_below(self) -> Integers:
        count = prefix_sums(self.forest.kept.astype(np.int64))
        result: Integers = count[self.forest.tree.end[self.places]] - count[self.places]
        return result


def _key(view: str, options: Options, shown: Shown, totals: dict[str, Integers]) -> Integers:
    if options.order_by in totals:
        return -totals[options.order_by]
    if options.order_by == "depth":
        return above(shown.forest.tree, shown.forest.kept)[shown.places]
    if options.order_by == "occurrence" and view == "code":
        return -_member_count(shown.forest, shown.places)
    return shown.forest.tree.name_rank[shown.places]


def _member_count(forest: Forest, places: Integers) -> Integers:
    picked = prefix_sums((forest.weight > 0).astype(np.int64))
    start = forest.tree.row_start
    result: Integers = picked[start[places + 1]] - picked[start[places]]
    return result


def _members(forest: Forest, places: Integers) -> tuple[Integers, Indices]:
    """The counted graph nodes of the places, place by place, and where those of each place start."""
    start, tree = prefix_sums(_member_count(forest, places)), forest.tree
    counts = np.diff(tree.row_start)[places]
    first = prefix_sums(counts)
    rows = np.repeat(tree.row_start[places] - first[:-1], counts) + np.arange(first[-1])
    return start, tree.rows[rows[forest.weight[rows] > 0]]
