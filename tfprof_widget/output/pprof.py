"""A code view as the `pprof` tool reads it: a sample a graph node, with the selected measures for its values."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any

from tfprof_widget.engine.measures import BYTES, TIMES, measures
from tfprof_widget.engine.view import View
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.messages import message_class
from tfprof_widget.options import Options
from tfprof_widget.output.numbers import whole
from tfprof_widget.output.pprof_samples import Frame, samples_of
from tfprof_widget.visible import visible

MEASURES = (*TIMES, *BYTES, "params", "float_ops")
# How native tfprof labels the name of a sample's graph node.
NODE_LABEL = "graph node:"


def selected_measures(options: Options) -> tuple[str, ...]:
    """The measures that are selected, of which there must be one.

    >>> selected_measures(Options.of(select=["device", "bytes"]))
    ('bytes',)
    >>> selected_measures(Options.of(select=["device"]))
    Traceback (most recent call last):
        ...
    ValueError: pprof: select is ['device'], but must hold one of micros, accelerator_micros, ...
    """
    found = tuple(name for name in options.select if name in MEASURES)
    if not found:
        raise ValueError(f"pprof: select is {list(options.select)}, but must hold one of {', '.join(MEASURES)}")
    return found


def pprof_profile(view: View) -> bytes:
    """The gzipped profile of a code view.

    >>> from tfprof_widget.demo import demo_profile
    >>> gzip.decompress(pprof_profile(demo_profile().view("code", select=["micros"])))[:2]
    b'\\n\\x04'
    """
    selected = selected_measures(view.options)
    profile = message_class("Profile")()
    tables = _Tables(profile)
    profile.sample_type.add(type=tables.string("count"), unit=tables.string("count"))
    for name in selected:
        profile.sample_type.add(type=tables.string(name), unit=tables.string(_unit(name, view.options)))
    chosen = view.options.order_by if view.options.order_by in selected else selected[0]
    profile.default_sample_type = tables.string(chosen)
    _add_samples(profile, tables, view, selected)
    profile.string_table.extend(tables.strings)
    return gzip.compress(profile.SerializeToString(), mtime=0)


def _add_samples(profile: Any, tables: _Tables, view: View, selected: Sequence[str]) -> None:
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


def _values(view: View, name: str, nodes: list[int]) -> list[int]:
    """The measure of some nodes, in whole nanoseconds or microseconds, bytes or counts."""
    found = measures(view.profile, view.options)
    factor = NANOS_A_MICRO if name in TIMES and view.options.timing == "exact" else 1
    column, unit = found.columns[name].tolist(), found.unit(name)
    return [whole(column[node] * factor, unit) for node in nodes]


class _Tables:
    """Numbers strings, functions and locations, each once, and adds the latter two to the profile."""

    def __init__(self, profile: Any) -> None:
        self.strings: dict[str, int] = {"": 0}
        self._profile = profile
        self._functions: dict[tuple[str, str, int], int] = {}
        self._locations: dict[tuple[int, int], int] = {}

    def string(self, text: str) -> int:
        return self.strings.setdefault(visible(text), len(self.strings))

    def location(self, frame: Frame) -> int:
        key = self._function(frame), frame.line
        if key not in self._locations:
            self._locations[key] = len(self._locations) + 1
            added = self._profile.location.add(id=self._locations[key])
            added.line.add(function_id=key[0], line=frame.line)
        return self._locations[key]

    def _function(self, frame: Frame) -> int:
        key = frame.file, frame.function, frame.function_line
        if key not in self._functions:
            self._functions[key] = len(self._functions) + 1
            # With the module's name before it, as natively: `__init__` alone would say little.
            module = frame.file.rpartition("/")[2].rpartition(".")[0] or frame.file.rpartition("/")[2]
            self._profile.function.add(
                id=self._functions[key],
                name=self.string(f"{module}:{frame.function}"),
                filename=self.string(frame.file),
                start_line=frame.function_line,
            )
        return self._functions[key]
