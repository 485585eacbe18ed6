"""Decides which places of a tree are shown, by the name regexes, the thresholds and the depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.measures import BYTES, TIMES, Measures
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import above
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.profiles.options import EVERYTHING, Options

OWN_THRESHOLDS = ("params", "float_ops", "runs")


@dataclass(frozen=True, eq=False)
class Display:
    """All that decides whether a place is shown: the names and sums of the places, and two rules of the view.

    `own_thresholds`: scope and graph view compare thresholds on parameters, float operations and runs with the place
    itself; code view compares them with its subtree, and ignores the one on runs. `cuts_itself`: code view hides a
    trimmed place and its subtree; the other views hide only what is below it.
    """

    names: Names
    sums: Sums
    devices: Flags | None
    own_thresholds: bool
    cuts_itself: bool


def visible_places(display: Display, options: Options) -> Flags:
    """Whether each place is shown; the root always is."""
    tree, names = display.sums.forest.tree, display.names
    depth = tree.depth
    visible: Flags | None = None
    if options.start_name_regexes != EVERYTHING:
        start = names.matching("start_name_regexes", options.start_name_regexes)
        depth, visible = _started(tree.end, depth, start)
    if options.trim_name_regexes:
        trimmed = names.matching("trim_name_regexes", options.trim_name_regexes)
        visible = _trimmed(tree.end, visible, trimmed, display.cuts_itself)
    shallow: Flags = depth < options.max_depth
    visible = shallow if visible is None else visible & shallow
    if options.show_name_regexes != EVERYTHING:
        visible = visible & names.matching("show_name_regexes", options.show_name_regexes)
    if options.hide_name_regexes:
        visible = visible & ~names.matching("hide_name_regexes", options.hide_name_regexes)
    if display.devices is not None:
        visible = visible & display.devices
    for measure, least in thresholds(options, display.sums.measures):
        if display.own_thresholds and measure in OWN_THRESHOLDS:
            visible &= display.sums.own(measure) >= least
        elif measure != "runs":
            visible &= display.sums.total(measure) >= least
    visible[0] = True
    return visible


def _started(end: Integers, depth: Integers, start: Flags) -> tuple[Integers, Flags]:
    """Depths counted from the topmost matching places, and whether each place is at or below one of these."""
    start = start.copy()
    start[0] = False
    start &= above(end, start) == 0
    skipped = np.where(start, depth - 1, 0)
    visible: Flags = start | (above(end, start) > 0)
    return depth - skipped - above(end, skipped), visible


def _trimmed(end: Integers, visible: Flags | None, trimmed: Flags, cuts_itself: bool) -> Flags:
    """Whether each place is visible and not below a trimmed place that is visible."""
    if trimmed[0]:
        return np.zeros(len(trimmed), np.bool_)
    if visible is not None:
        trimmed = trimmed & visible
    kept: Flags = above(end, trimmed) == 0
    if cuts_itself:
        kept &= ~trimmed
    return kept if visible is None else kept & visible


def thresholds(options: Options, measures: Measures) -> list[tuple[str, int]]:
    """The measures that have a threshold, each with its threshold in units of the column."""
    asked = [(measure, getattr(options, option)) for measure, option in _THRESHOLDS]
    return [(measure, least * measures.unit(measure)) for measure, least in asked if least > 0]


_THRESHOLDS = (
    *((measure, f"min_{measure}") for measure in (*TIMES, *BYTES, "params", "float_ops")),
    ("runs", "min_occurrence"),
)
