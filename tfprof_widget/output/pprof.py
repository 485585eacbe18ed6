"""Writes a code view as a gzipped profile for the tool pprof."""

from __future__ import annotations

import gzip
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfprof_widget.engine.code import GRADIENT_SUFFIX, forward_name
from tfprof_widget.engine.measures import BYTES, TIMES, measures
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.tree import Tree
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import NANOS_A_MICRO, Integers
from tfprof_widget.lib.errors import value_error
from tfprof_widget.lib.messages import message_class
from tfprof_widget.lib.text import visible, whole
from tfprof_widget.profiles.options import Options


@dataclass(frozen=True)
class SampleFrame:
    """A line of code and its function; in the frame of a gradient the function's name ends in GRADIENT_SUFFIX."""

    file: str
    line: int
    function: str
    function_line: int


@dataclass(frozen=True, eq=False)
class Samples:
    """Each counted graph node, its place in the code view, and the stack of each place, innermost frame first."""

    nodes: Integers
    places: Integers
    stacks: Mapping[int, tuple[SampleFrame, ...]]


def samples_of(view: ViewData) -> Samples:
    """Each node that a code view counts, at the innermost shown frame in which it was made.

    >>> from tfprof_widget.demo import demo_profile
    >>> samples = samples_of(demo_profile().view("code"))
    >>> len(samples.nodes), samples.stacks[int(samples.places[0])][0].function
    (78, 'from_node_def')
    """
    tree = view.forest.tree
    place = np.repeat(np.arange(len(tree)), tree.row_count)
    shown_above = np.array(_innermost_shown(tree, view.places), np.int64)[place]
    counted = shown_above > 0
    if view.options.account_displayed_op_only and view.options.timing == "exact":
        counted &= shown_above == place
    frames = _frames(view)
    stacks: dict[int, tuple[SampleFrame, ...]] = {0: ()}
    for row, above in zip(np.argsort(view.places).tolist(), _parents(view), strict=True):
        shown = int(view.places[row])
        if shown:
            stacks[shown] = (frames[shown], *stacks[above])
    return Samples(tree.rows[counted].astype(np.int64), shown_above[counted], stacks)


def _parents(view: ViewData) -> list[int]:
    """For each shown place, in preorder, the shown place above it."""
    order = np.argsort(view.places)
    parent = view.parent[order]
    above: list[int] = np.where(parent >= 0, view.places[parent], 0).tolist()
    return above


def _innermost_shown(tree: Tree, places: Integers) -> list[int]:
    """For each place, itself if it is shown, or else the nearest shown place above; the root is always shown."""
    shown = np.zeros(len(tree), np.bool_)
    shown[places] = True
    found: list[int] = []
    for place, (is_shown, parent) in enumerate(zip(shown.tolist(), tree.parent.tolist(), strict=True)):
        found.append(place if is_shown or parent < 0 else found[parent])
    return found


def _frames(view: ViewData) -> dict[int, SampleFrame]:
    """The frame of each shown place; if several frames have the same text, the frame of the first node."""
    tree, traces = view.forest.tree, view.profile.traces_in(chosen_steps(view.profile, view.options))
    forward = _forward_rows(view.profile.nodes.names, traces.forward, tree)
    names, strings = tree.names, traces.strings
    found = {}
    for place in view.places[view.places > 0].tolist():
        first = forward[tree.row_start[place] : tree.row_start[tree.end[place]]].min()
        frame = traces.stacks[traces.stack[first]][tree.depth[place] - 1]
        suffix = GRADIENT_SUFFIX if names[place].endswith(GRADIENT_SUFFIX) else ""
        found[place] = SampleFrame(
            file=strings[traces.file[frame]],
            line=int(traces.line[frame]),
            function=strings[traces.function[frame]] + suffix,
            function_line=max(0, int(traces.function_line[frame])),
        )
    return found


def _forward_rows(names: Sequence[str], given: Mapping[int, int], tree: Tree) -> Integers:
    """For each row of the tree the node whose stack applies: the row's own, or for a gradient the forward node's."""
    rows = tree.rows.astype(np.int64)
    is_gradient = np.array([name.endswith(GRADIENT_SUFFIX) for name in tree.names])
    for position in np.flatnonzero(np.repeat(is_gradient, tree.row_count)).tolist():
        row = int(rows[position])
        rows[position] = given[row] if row in given else bisect_left(names, forward_name(names[row]) or "")
    return rows


MEASURES = (*TIMES, *BYTES, "params", "float_ops")
# The label under which native tfprof gives the name of a sample's graph node.
NODE_LABEL = "graph node:"


def selected_measures(options: Options) -> tuple[str, ...]:
    """The selected measures; raises if there are none.

    >>> selected_measures(Options.of(select=["device", "bytes"]))
    ('bytes',)
    >>> selected_measures(Options.of(select=["device"]))
    Traceback (most recent call last):
        ...
    ValueError: pprof: select is ['device'], but must hold one of micros, accelerator_micros, ...
    """
    found = tuple(name for name in options.select if name in MEASURES)
    if not found:
        raise value_error(f"pprof: select is {list(options.select)}, but must hold one of {', '.join(MEASURES)}")
    return found


def pprof_profile(view: ViewData) -> bytes:
    """The gzipped profile of a code view.

    >>> from tfprof_widget.demo import demo_profile
    >>> gzip.decompress(pprof_profile(demo_profile().view("code", select=["micros"])))[:2]
    b'\\n\\x04'
    """
    selected = selected_measures(view.options)
    profile = message_class("Profile")()
    tables = PprofTables(profile)
    profile.sample_type.add(type=tables.string("count"), unit=tables.string("count"))
    for name in selected:
        profile.sample_type.add(type=tables.string(name), unit=tables.string(_unit(name, view.options)))
    chosen = view.options.order_by if view.options.order_by in selected else selected[0]
    profile.default_sample_type = tables.string(chosen)
    _add_samples(profile, tables, view, selected)
    profile.string_table.extend(tables.strings)
    return gzip.compress(profile.SerializeToString(), mtime=0)


def _add_samples(profile: Any, tables: PprofTables, view: ViewData, selected: Sequence[str]) -> None:
    samples = samples_of(view)
    stacks = {place: [tables.location(frame) for frame in stack] for place, stack in samples.stacks.items()}
    values = [_values(view, name, samples.nodes.tolist()) for name in selected]
    label = tables.string(NODE_LABEL)
    for node, place, *counts in zip(samples.nodes.tolist(), samples.places.tolist(), *values, strict=True):
        sample = profile.sample.add(location_id=stacks[place], value=[1, *counts])
        sample.label.add(key=label, str=tables.string(view.profile.nodes.names[node]))


def _unit(name: str, options: Options) -> str:
    if name in TIMES:
        return "nanoseconds" if options.timing == "exact" else "microseconds"
    return "bytes" if name in BYTES else "count"


def _values(view: ViewData, name: str, nodes: list[int]) -> list[int]:
    """The measure of some nodes, in whole nanoseconds or microseconds, bytes or counts."""
    found = measures(view.profile, view.options)
    factor = NANOS_A_MICRO if name in TIMES and view.options.timing == "exact" else 1
    column, unit = found.columns[name].tolist(), found.unit(name)
    return [whole(column[node] * factor, unit) for node in nodes]


class PprofTables:
    """Numbers each distinct string, function and location, and adds functions and locations to the profile.

    >>> tables = PprofTables(message_class("Profile")())
    >>> tables.string("count"), tables.string("bytes"), tables.string("count")
    (1, 2, 1)
    """

    def __init__(self, profile: Any) -> None:
        self.strings: dict[str, int] = {"": 0}
        self._profile = profile
        self._functions: dict[tuple[str, str, int], int] = {}
        self._locations: dict[tuple[int, int], int] = {}

    def string(self, text: str) -> int:
        """The number of a string."""
        return self.strings.setdefault(visible(text), len(self.strings))

    def location(self, frame: SampleFrame) -> int:
        """The number of the location of a frame."""
        key = self._function(frame), frame.line
        if key not in self._locations:
            self._locations[key] = len(self._locations) + 1
            added = self._profile.location.add(id=self._locations[key])
            added.line.add(function_id=key[0], line=frame.line)
        return self._locations[key]

    def _function(self, frame: SampleFrame) -> int:
        key = frame.file, frame.function, frame.function_line
        if key not in self._functions:
            self._functions[key] = len(self._functions) + 1
            # The module's name comes first, as in native tfprof: `__init__` alone would say little.
            module = frame.file.rpartition("/")[2].rpartition(".")[0] or frame.file.rpartition("/")[2]
            self._profile.function.add(
                id=self._functions[key],
                name=self.string(f"{module}:{frame.function}"),
                filename=self.string(frame.file),
                start_line=frame.function_line,
            )
        return self._functions[key]
