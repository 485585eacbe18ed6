"""Which places of a tree are shown: the answer to the name regexes, the thresholds and the depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.forest import Forest
from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.measures import BYTES, TIMES, Measures
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.tree import Tree, above
from tfprof_widget.options import EVERYTHING, Options
from tfprof_widget.tables import Flags, Integers


@dataclass(frozen=True, eq=False)
class Display:
    """What decides about showing: the tree after accounting, its names and its sums.

    `own_thresholds`: scope and graph view compare parameters, float operations and runs of the place
    itself, code view those of its subtree (and no runs). `cuts_itself`: in code view a place that is
    trimmed or too deep goes with its subtree, in the others only what is below it.
    """

    forest: Forest
    names: Names
    sums: Sums
    devices: Flags | None
    own_thresholds: bool
    cuts_itself: bool


def shown_places(display: Display, options: Options) -> Integers:
    """The places to show, in preorder; the root is always the first."""
    forest, tree, names = display.forest, display.forest.tree, display.names
    visible = forest.kept.copy()
    depth = forest.depth + 2
    if options.start_name_regexes != EVERYTHING:
        start = _topmost(tree, names.matching("start_name_regexes", options.start_name_regexes) & visible)
        before = above(tree, np.where(start, depth - 2, 0)) + np.where(start, depth - 2, 0)
        depth -= before
        visible &= start | (above(tree, start) > 0)
    if options.trim_name_regexes:
        visible &= ~_trimmed(display, options, visible)
    visible &= depth <= options.max_depth
    if options.show_name_regexes != EVERYTHING:
        visible &= names.matching("show_name_regexes", options.show_name_regexes)
    if options.hide_name_regexes:
        visible &= ~names.matching("hide_name_regexes", options.hide_name_regexes)
    if display.devices is not None:
        visible &= display.devices
    places = np.flatnonzero(visible)
    places = places[_reached(display, places, options)]
    return np.concatenate((np.zeros(1, np.int64), places))


def _reached(display: Display, places: Integers, options: Options) -> Flags:
    wanted = thresholds(options, display.sums.measures)
    if not display.own_thresholds:
        wanted.pop("runs", None)

    def value(measure: str, places: Integers) -> Integers:
        of_itself = display.own_thresholds and measure in ("params", "float_ops", "runs")
        return display.sums.own(measure, places) if of_itself else display.sums.total(measure, places)

    return reaches(places, wanted, value)


def _topmost(tree: Tree, marked: Flags) -> Flags:
    marked[0] = False
    topmost: Flags = marked & (above(tree, marked) == 0)
    return topmost


def _trimmed(display: Display, options: Options, visible: Flags) -> Flags:
    marked = display.names.matching("trim_name_regexes", options.trim_name_regexes)
    if marked[0]:
        return np.ones(len(marked), np.bool_)
    inside = marked & visible
    below = above(display.forest.tree, inside) > 0
    return below | inside if display.cuts_itself else below


def reaches(rows: Integers, wanted: Mapping[str, int], value: Callable[[str, Integers], Integers]) -> Flags:
    """Whether each row has at least the wanted value of every measure.

    >>> columns = {"micros": np.array([5, 1]), "bytes": np.array([0, 9])}
    >>> reaches(np.arange(2), {"micros": 2}, lambda measure, rows: columns[measure][rows]).tolist()
    [True, False]
    """
    reached = np.ones(len(rows), np.bool_)
    for measure, least in wanted.items():
        reached &= value(measure, rows) >= least
    return reached


def thresholds(options: Options, measures: Measures) -> dict[str, int]:
    """The thresholds that ask for something, in the units of the measures' columns."""
    asked = {measure: int(getattr(options, f"min_{measure}")) for measure in (*TIMES, *BYTES, "params", "float_ops")}
    asked["runs"] = options.min_occurrence
    return {measure: least * measures.unit(measure) for measure, least in asked.items() if least > 0}
