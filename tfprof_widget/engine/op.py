"""Ranks op types for the op view: a row's total is its own value and those of all rows after it."""

from __future__ import annotations

import numpy as np

from tfprof_widget.engine.account import Forest, row_weights
from tfprof_widget.engine.display import Display, thresholds
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.engine.view import Columns, ViewData
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import EVERYTHING, Options


def op_tree(profile: ProfileData) -> Tree:
    """A flat tree with a place for each op type, in byte order, and its graph nodes in byte order of name."""
    nodes = profile.nodes
    counts = np.bincount(nodes.op, minlength=len(nodes.ops)).astype(np.int64)
    return Tree(
        names=(ROOT_NAME, *nodes.ops),
        parent=np.array([-1, *(0 for _ in nodes.ops)], np.int32),
        rows=np.argsort(nodes.op, kind="stable").astype(np.int32),
        row_start=np.concatenate(([0], prefix_sums(counts))),
    )


def op_forest(profile: ProfileData, tree: Tree, options: Options) -> Forest:
    """The op types after accounting: those with an accounted node."""
    weight = row_weights(profile, options)[tree.rows]
    picked = prefix_sums(weight > 0)
    accounted = picked[tree.row_start[1:]] > picked[tree.row_start[:-1]]
    return Forest.of(tree, accounted, accounted, weight)


def op_view(profile: ProfileData, options: Options, display: Display) -> ViewData:
    """The rows of the op view: sort the op types, sum from the last to the first, then choose what to show."""
    sums = display.sums
    places = _ranking(sums, options.order_by)
    ranked = _totals_of(sums, places)
    shown = _shown(options, display, places, ranked)
    if options.account_displayed_op_only:
        total = grand = _totals_of(sums, places[shown])
    else:
        total, grand = Columns(ranked.names, lambda name: ranked[name][shown]), ranked
    places = places[shown]
    return ViewData(
        profile=profile,
        view="op",
        options=options,
        forest=sums.forest,
        places=places,
        own=Columns(MEASURES, lambda measure: sums.own(measure)[places]),
        total=total,
        grand_total=Columns(grand.names, lambda name: grand[name] if len(grand[name]) else np.zeros(1, np.int64)),
        scale=sums.measures.scale,
        time_scale=sums.measures.time_scale,
    )


def _ranking(sums: Sums, order_by: str) -> Integers:
    places = np.arange(1, len(sums.forest.tree))
    if measure := sums.ordering(order_by):
        return places[np.argsort(-sums.own(measure)[1:], kind="stable")]
    if order_by == "occurrence":
        return places[np.argsort(-sums.forest.tree.row_count[1:], kind="stable")]
    return places


def _totals_of(sums: Sums, places: Integers) -> Columns:
    """The totals of some op types, each with those of all op types after it."""

    def make(name: str) -> Integers:
        if name == "hidden":
            return np.zeros(len(places), np.int64)
        own = sums.forest.tree.row_count if name == "definitions" else sums.own(name)
        total: Integers = np.cumsum(own[places][::-1])[::-1]
        return total

    return Columns((*MEASURES, "definitions", "hidden"), make)


def _shown(options: Options, display: Display, places: Integers, total: Columns) -> Integers:
    """The ranked rows that are shown: the start row and at most `max_depth` more, up to the first trimmed one."""
    names = display.names

    def matching(option: str) -> Flags:
        return names.matching(option, getattr(options, option))[places]

    first, last = 0, len(places)
    if options.start_name_regexes not in ((), EVERYTHING):
        first = _first(matching("start_name_regexes"), 0)
    if options.trim_name_regexes:
        last = _first(matching("trim_name_regexes"), first)
    rows = np.arange(first, min(last, first + options.max_depth + 1))
    visible: list[Flags] = []
    if options.show_name_regexes != EVERYTHING:
        visible.append(matching("show_name_regexes"))
    if options.hide_name_regexes:
        visible.append(~matching("hide_name_regexes"))
    if display.devices is not None:
        visible.append(display.devices[places])
    if options.min_occurrence > 0:
        visible.append(display.sums.forest.tree.row_count[places] >= options.min_occurrence)
    for measure, least in thresholds(options, display.sums.measures):
        if measure != "runs":
            visible.append(total[measure] >= least)
    for each in visible:
        rows = rows[each[rows]]
    return rows


def _first(marked: Flags, start: int) -> int:
    found = np.flatnonzero(marked[start:])
    return start + int(found[0]) if len(found) else len(marked)
