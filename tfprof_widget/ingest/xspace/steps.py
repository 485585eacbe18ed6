"""Finds the steps of an XSpace, the step of each moment, and the settings of tf.data's stages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.names import iterator_node, python_name
from tfprof_widget.ingest.xspace.events import HOST_PLANE, ITERATOR
from tfprof_widget.ingest.xspace.space import (
    DEVICES,
    STEPS,
    XLA_PROGRAMS,
    ReadPlane,
    ReadSpace,
    profile_started,
    read_space,
)
from tfprof_widget.ingest.xspace.wire import NumberCodes
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Flags, Integers
from tfprof_widget.lib.intervals import last_started
from tfprof_widget.profiles.program import StageSettings

BEFORE = "before the first step"

_MARK = "step_num"
_CALL = "EagerExecute"
_GROUP = "group_id"
_SEVERAL = 2
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)
_LARGEST_STEP = 10**9


@dataclass(frozen=True)
class Step:
    """A step of the program: what runs from its start (nanoseconds since the epoch) to the start of the next step.

    If `is_eager`, the step has only the ops that Python ran one by one between other steps; functions and iterators
    that still run then belong to the step before. Several steps may share a number.
    """

    number: int
    name: str
    start: int
    is_eager: bool = False


class _Span(NamedTuple):
    """A possible step: a time that the program marked with a number, or a call of a function."""

    start: int
    end: int
    name: str
    number: int | None


def read_steps(xspace: Any) -> tuple[Step, ...]:
    """The steps in an XSpace, if it has any; what ran before the first one is another step.

    The first of these sources that has steps is used: the lines of steps that accelerators have if TensorFlow grouped
    events; marks by `tf.profiler.experimental.Trace` with a `step_num`, as Keras and its TensorBoard callback make; the
    XLA programs that an accelerator ran; the functions that Python called. Steps keep their numbers unless several
    steps have the same number.
    """
    space = read_space(xspace)
    found = _by_start(_spans(space))
    spans = (
        _by_start(_grouped(space))
        or _outermost([span for span in found if span.number is not None])
        or _by_start(_programs(space))
        or _outermost(found)
    )
    if not spans:
        return ()
    numbers = _numbers(spans)
    before = Step(max(numbers) + 1, BEFORE, 0)
    return (before, *(Step(number, span.name, span.start) for number, span in zip(numbers, spans, strict=True)))


def _by_start(spans: Iterable[_Span]) -> list[_Span]:
    found = (span for span in spans if 0 <= span.start <= LARGEST_INTEGER)
    return sorted(found, key=lambda span: (span.start, -span.end))


def _grouped(space: ReadSpace) -> Iterator[_Span]:
    """The steps of accelerators' lines of steps, if there are several.

    A step begins with the first event of its group, because the host prepares it before the accelerator begins.
    """
    names: dict[int, str] = {}
    for plane in space.planes:
        rows = _rows_of(plane, STEPS)
        rows = rows[plane.events.has_number(_GROUP)[rows]]
        place, texts = plane.events.values("step_name", rows)
        texts = [*map(str, texts), ""]
        groups = plane.events.numbers(_GROUP)[rows].tolist()
        names.update({group: texts[at] for group, at in zip(groups, place.tolist(), strict=True)})
    if len(names) < _SEVERAL:
        return
    origin = profile_started(space.message)
    first = np.full(len(names), LARGEST_INTEGER, np.int64)
    last = -first
    codes = NumberCodes({group: code for code, group in enumerate(names)})
    for plane in space.planes:
        code = codes.of(plane.events.numbers(_GROUP))
        rows = np.flatnonzero((code >= 0) & plane.events.has_number(_GROUP))
        began = plane.start_nanos(origin)[rows]
        np.minimum.at(first, code[rows], began)
        np.maximum.at(last, code[rows], began + plane.nanos[rows])
    for (group, told), start, end in zip(names.items(), first.tolist(), last.tolist(), strict=True):
        name, _, number = told.rpartition(" ")
        yield _Span(start, end, name, int(number) if _DIGITS.fullmatch(number) else group)


def _programs(space: ReadSpace) -> Iterator[_Span]:
    """The XLA programs in the order in which accelerators ran them; the same run on several accelerators is one span.

    >>> list(_programs(read_space(b"")))
    []
    """
    origin = profile_started(space.message)
    times: Counter[tuple[str, str]] = Counter()
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for plane in space.planes:
        rows = _rows_of(plane, XLA_PROGRAMS)
        starts, names = plane.start_nanos(origin)[rows], plane.event_names(rows)
        ends = starts + plane.nanos[rows]
        for program, start, end in zip(names, starts.tolist(), ends.tolist(), strict=True):
            times[plane.name, program] += 1
            key = program, times[plane.name, program]
            first, last = spans.get(key, (start, end))
            spans[key] = min(first, start), max(last, end)
    for (program, _), (start, end) in spans.items():
        yield _Span(start, end, program.partition("(")[0], None)


def _rows_of(plane: ReadPlane, line_name: str) -> Integers:
    """The events of a device's lines with this name."""
    is_asked = np.array([line.name == line_name for line in plane.message.lines], np.bool_)
    if not plane.name.startswith(DEVICES) or not is_asked.any():
        return np.zeros(0, np.int64)
    return np.flatnonzero(is_asked[plane.events.line])


def _spans(space: ReadSpace) -> Iterator[_Span]:
    """The steps that events mark, and the functions that Python called."""
    origin = profile_started(space.message)
    for plane in space.planes:
        if not plane.name.startswith(HOST_PLANE):
            continue
        events = plane.events
        calls = {key: 0 for key, each in plane.names.items() if each == _CALL}
        is_call = (NumberCodes(calls).of(events.metadata) >= 0) & (events.numbers("is_func") != 0)
        is_mark = events.has_number(_MARK)
        rows = np.flatnonzero(is_mark | is_call)
        place, functions = events.values("eager_op", rows)
        texts = [python_name(str(each)) for each in functions] + [""]
        starts, marks = plane.start_nanos(origin)[rows], is_mark[rows].tolist()
        ends, numbers = (starts + plane.nanos[rows]).tolist(), events.numbers(_MARK)[rows].tolist()
        called = [texts[at] for at in place.tolist()]
        rest = zip(starts.tolist(), ends, marks, plane.event_names(rows), called, numbers, strict=True)
        for start, end, is_marked, name, function, number in rest:
            yield _Span(start, end, name if is_marked else function, number if is_marked else None)


def _outermost(spans: Iterable[_Span]) -> list[_Span]:
    """The spans that do not begin within another span; they are sorted."""
    found: list[_Span] = []
    for span in spans:
        if not found or span.start >= found[-1].end:
            found.append(span)
    return found


def _numbers(spans: Sequence[_Span]) -> list[int]:
    given = [span.number for span in spans if span.number is not None and 0 <= span.number <= _LARGEST_STEP]
    return given if len(set(given)) == len(spans) else list(range(len(spans)))


def steps_at(start: Integers, is_eager: Flags, steps: Sequence[Step]) -> tuple[Integers, Flags]:
    """The number of each execution's step, and whether the last step that began before it is eager."""
    if not steps:
        return np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    at = np.maximum(last_started([step.start for step in steps], start), 0)
    number = np.array([step.number for step in steps])[at]
    others = [step for step in steps if not step.is_eager]
    before = last_started([step.start for step in others], start)
    in_other = (before >= 0) & ~is_eager
    number[in_other] = np.array([step.number for step in others])[before[in_other]]
    return number, np.array([step.is_eager for step in steps], np.bool_)[at]


def numbers_at(moments: Integers, steps: Sequence[Step]) -> Integers:
    """The number of the step in which each moment lies.

    >>> numbers_at(np.array([5, 25]), [Step(7, "a", 0), Step(8, "b", 20)]).tolist()
    [7, 8]
    """
    return steps_at(moments, np.zeros(len(moments), np.bool_), steps)[0]


def stages_in(space: ReadSpace) -> Iterator[StageSettings]:
    """The settings of each stage that has some: the largest in its events, because TensorFlow may tune them meanwhile.

    >>> from tfprof_widget.ingest.xspace.space import read_space
    >>> from tfprof_widget.lib.messages import XSpace
    >>> told = {"buffer_limit": 4, "buffered_elements": 3, "autotune": "true"}
    >>> stats = [{"metadata_id": 1, "int64_value": 4}, {"metadata_id": 2, "int64_value": 3}]
    >>> event = {"metadata_id": 7, "stats": [*stats, {"metadata_id": 3, "str_value": "true"}]}
    >>> names = {number: {"name": name} for number, name in enumerate(told, 1)}
    >>> plane = {"name": "/host:CPU", "lines": [{"events": [event]}], "stat_metadata": names}
    >>> plane["event_metadata"] = {7: {"name": "Iterator::Root::Prefetch"}}
    >>> list(stages_in(read_space(XSpace(planes=[plane]))))
    [StageSettings(node='tf.data/Root/Prefetch', buffer=4, filled=3.0, parallelism=0, is_tuned=True)]
    """
    for plane in space.planes:
        if plane.name.startswith(HOST_PLANE):
            yield from _stages_of(plane)


def _stages_of(plane: ReadPlane) -> Iterator[StageSettings]:
    events = plane.events
    stages: dict[str, list[int]] = {}
    for key, name in plane.names.items():
        if name.startswith(ITERATOR):
            stages.setdefault(iterator_node(name), []).append(key)
    rows = np.flatnonzero(np.isin(events.metadata, [key for keys in stages.values() for key in keys]))
    of_rows = events.metadata[rows]
    names = ("buffer_limit", "buffer_size", "parallelism", "buffered_elements")
    limit, size, parallelism, buffered = (np.maximum(events.numbers(name)[rows], 0) for name in names)
    place, texts = events.values("autotune", rows)
    is_tuned = np.array([*(str(text).lower() == "true" for text in texts), False], np.bool_)[place]
    for node, keys in stages.items():
        own = np.isin(of_rows, keys)
        buffer = max(int(limit[own].max(initial=0)), int(size[own].max(initial=0)))
        at_once = int(parallelism[own].max(initial=0))
        if buffer or at_once:
            filled = float(buffered[own].mean()) if buffer else 0.0
            yield StageSettings(node, buffer, filled, at_once, bool(is_tuned[own].any()))
