"""The op view: one row an op type, each row's total its own and that of all rows after it."""

from __future__ import annotations

import numpy as np

from tfprof_widget.engine.account import row_weights
from tfprof_widget.engine.display import reaches, thresholds
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.measures import MEASURES, Measures
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.engine.view import View
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
    own = {measure: sums.own(measure, places) for measure in MEASURES}
    order = np.argsort(_key(options, own, members[places]), kind="stable")
    places = places[order]
    own = {measure: values[order] for measure, values in own.items()}
    total = {measure: _from_here_on(values) for measure, values in own.items()}
    shown = _shown(options, names, places, total, members, devices, measures)
    root = total if not options.account_displayed_op_only else {}
    own = {measure: values[shown] for measure, values in own.items()}
    if options.account_displayed_op_only:
        total = root = {measure: _from_here_on(values) for measure, values in own.items()}
    else:
        total = {measure: values[shown] for measure, values in total.items()}
    return _view(profile, options, measures, tree, weight, places[shown], own, total, root)


def _key(options: Options, own: dict[str, Integers], members: Integers) -> Integers:
    if options.order_by in own:
        return -own[options.order_by]
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
    total: dict[str, Integers],
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


def _view(
    profile: Profile,
    options: Options,
    measures: Measures,
    tree: Tree,
    weight: Integers,
    places: Integers,
    own: dict[str, Integers],
    total: dict[str, Integers],
    root: dict[str, Integers],
) -> View:
    lists = [tree.rows[start:end][weight[start:end] > 0] for start, end in _ranges(tree, places)]
    count = len(places)
    return View(
        profile=profile,
        view="op",
        options=options,
        names=tuple(tree.names[place] for place in places.tolist()),
        parent=np.full(count, -1, np.int64),
        depth=np.zeros(count, np.int64),
        node=np.full(count, -1, np.int32),
        accounted=np.ones(count, np.bool_),
        own=own,
        total=total,
        definitions=np.array([len(each) for each in lists], np.int64),
        hidden=np.zeros(count, np.int64),
        grand_total={measure: int(values[0]) if len(values) else 0 for measure, values in root.items()},
        scale=measures.scale,
        time_scale=measures.time_scale,
        member_start=prefix_sums(np.array([len(each) for each in lists], np.int64)),
        members=np.concatenate([np.zeros(0, np.int32), *lists]),
    )


def _ranges(tree: Tree, places: Integers) -> list[tuple[int, int]]:
    return list(zip(tree.row_start[places].tolist(), tree.row_start[places + 1].tolist(), strict=True))
