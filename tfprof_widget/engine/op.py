"""The op view: one row an op type, each row's total its own and that of all rows after it."""

from __future__ import annotations

import numpy as np

from tfprof_widget.engine.account import row_weights
from tfprof_widget.engine.display import reaches, thresholds
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.measures import MEASURES, Measures
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.engine.view import Columns, View
from tfprof_widget.options import EVERYTHING, Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers


def op_tree(profile: Profile) -> Tree:
    """A flat tree: a place an op type, in byte order, with its graph nodes in byte order of name."""
    nodes = profile.nodes
    counts = np.bincount(nodes.op, minlength=len(nodes.ops)).astype(np.int64)
    return Tree(
        names=(ROOT_NAME, *nodes.ops),
        parent=np.array([-1, *(0 for _ in nodes.ops)], np.int32),
        rows=np.argsort(nodes.op, kind="stable").astype(np.int32),
        row_start=np.concatenate(([0], prefix_sums(counts))),
    )


def op_view(
    profile: Profile, options: Options, tree: Tree, names: Names, devices: Flags | None, measures: Measures
) -> View:
    """The rows of the op view: sort the op types, sum from the last to the first, then choose what to show."""
    weight = row_weights(profile, options)[tree.rows]
    sums = Sums(tree, measures, weight)
    picked = prefix_sums((weight > 0).astype(np.int64))
    members = picked[tree.row_start[1:]] - picked[tree.row_start[:-1]]
    places = np.arange(1, len(tree))
    if options.account_type_regexes != EVERYTHING:
        places = places[members[places] > 0]
    places = places[np.argsort(_key(options, sums, places, members[places]), kind="stable")]
    before = Columns(MEASURES, lambda measure: _from_here_on(sums.own(measure, places)))
    shown = places[_shown(options, names, places, before, members, devices, measures)]
    if options.account_displayed_op_only:
        counted, rows = shown, np.arange(len(shown))
    else:
        counted, rows = places, np.flatnonzero(np.isin(places, shown))
    own = Columns(MEASURES, lambda measure: sums.own(measure, shown))
    total = Columns(
        (*MEASURES, "definitions", "hidden"),
        lambda name: _total(name, sums, counted, members)[rows],
    )
    grand = Columns(total.names, lambda name: _grand_total(_total(name, sums, counted, members)))
    return View(
        profile=profile,
        view="op",
        options=options,
        tree=tree,
        places=shown,
        parent=np.full(len(shown), -1, np.int64),
        depth=np.zeros(len(shown), np.int64),
        accounted=np.ones(len(shown), np.bool_),
        weight=weight,
        own=own,
        total=total,
        grand_total=grand,
        scale=measures.scale,
        time_scale=measures.time_scale,
    )


def _total(name: str, sums: Sums, places: Integers, members: Integers) -> Integers:
    if name == "hidden":
        return np.zeros(len(places), np.int64)
    return _from_here_on(members[places] if name == "definitions" else sums.own(name, places))


def _grand_total(total: Integers) -> Integers:
    return total[:1] if len(total) else np.zeros(1, np.int64)


def _key(options: Options, sums: Sums, places: Integers, members: Integers) -> Integers:
    if options.order_by in MEASURES:
        return -sums.own(options.order_by, places)
    if options.order_by == "occurrence":
        return -members
    return np.arange(len(members))


def _from_here_on(values: Integers) -> Integers:
    result: Integers = np.cumsum(values[::-1])[::-1]
    return result


def _shown(
    options: Options,
    names: Names,
    places: Integers,
    total: Columns,
    members: Integers,
    devices: Flags | None,
    measures: Measures,
) -> Integers:
    """Which of the sorted rows are shown: from the start row to the first trimmed one, `max_depth` rows on."""
    first, last = 0, len(places)
    if options.start_name_regexes not in ((), EVERYTHING):
        first = _first(names.matching("start_name_regexes", options.start_name_regexes)[places])
    if options.trim_name_regexes:
        last = first + _first(names.matching("trim_name_regexes", options.trim_name_regexes)[places[first:]])
    last = min(last, first + options.max_depth + 1)
    rows = np.arange(first, max(first, last))
    wanted = thresholds(options, measures)
    wanted.pop("runs", None)
    visible = reaches(rows, wanted, lambda measure, rows: total[measure][rows])
    visible &= members[places[rows]] >= options.min_occurrence
    visible &= names.matching("show_name_regexes", options.show_name_regexes)[places[rows]]
    visible &= ~names.matching("hide_name_regexes", options.hide_name_regexes)[places[rows]]
    if devices is not None:
        visible &= devices[places[rows]]
    return rows[visible]


def _first(marked: Flags) -> int:
    found = np.flatnonzero(marked)
    return int(found[0]) if len(found) else len(marked)
