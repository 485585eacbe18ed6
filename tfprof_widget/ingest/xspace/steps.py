"""Finds the steps of an XSpace, and the step of each moment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.names import python_name
from tfprof_widget.ingest.xspace.events import (
    DEVICES,
    HOST_PLANE,
    PICOS_A_NANO,
    absolute_nanos,
    profile_started,
    read_stats,
)
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Flags, Integers
from tfprof_widget.lib.intervals import last_started

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XEvent, XPlane, XSpace

BEFORE = "before the first step"

_MARK = "step_num"
_CALL = "EagerExecute"
_STEPS = "Steps"
_GROUP = "group_id"
_SEVERAL = 2
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)
_LARGEST_STEP = 10**9


_READ_OF_A_NAME = 4


@dataclass(frozen=True)
class Step:
    """A step of the program: what runs from its start (nanoseconds since the epoch) to the start of the next step.

    A step that `is_eager` has only the ops that Python ran one by one between other steps: functions and iterators that
    still run then belong to the step before. Several steps may have one number.
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


def read_steps(space: XSpace) -> tuple[Step, ...]:
    """The steps in an XSpace, if it has any; what ran before the first one is another step.

    Accelerators have lines of steps, if TensorFlow grouped what belongs together. Else steps are marked by
    `tf.profiler.experimental.Trace` with a `step_num`, as Keras and its TensorBoard callback do; else they are the
    programs of XLA that an accelerator ran, or else the functions that Python called. They keep their numbers unless
    several have the same number.
    """
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


def _grouped(space: XSpace) -> Iterator[_Span]:
    """The steps of accelerators' lines of steps, if there are several; a step begins with the first event of its group.

    The host prepares a step before the accelerator begins it.
    """
    names: dict[int, str] = {}
    for plane, _, event in _events(space, DEVICES, _STEPS):
        stats = read_stats(plane, event.stats)
        if isinstance(stats.get(_GROUP), int):
            names[int(str(stats[_GROUP]))] = str(stats.get("step_name", ""))
    if len(names) < _SEVERAL:
        return
    spans: dict[int, tuple[int, int]] = {}
    for plane, start, event in _events(space, "/", ""):
        group = read_stats(plane, event.stats).get(_GROUP)
        if isinstance(group, int) and group in names:
            first, last = spans.get(group, (start, start))
            spans[group] = min(first, start), max(last, start + event.duration_ps // PICOS_A_NANO)
    for group, (start, end) in spans.items():
        name, _, number = names[group].rpartition(" ")
        yield _Span(start, end, name, int(number) if _DIGITS.fullmatch(number) else group)


def _programs(space: XSpace) -> Iterator[_Span]:
    """The programs of XLA in the order in which accelerators ran them, each on all of them at once.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> list(_programs(XSpace()))
    []
    """
    times: Counter[tuple[str, str]] = Counter()
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for plane, start, event in _events(space, DEVICES, "XLA Modules"):
        program = _name(plane, event)
        times[plane.name, program] += 1
        key = program, times[plane.name, program]
        end = start + event.duration_ps // PICOS_A_NANO
        first, last = spans.get(key, (start, end))
        spans[key] = min(first, start), max(last, end)
    for (program, _), (start, end) in spans.items():
        yield _Span(start, end, program.partition("(")[0], None)


def _events(space: XSpace, planes: str, line_name: str) -> Iterator[tuple[XPlane, int, XEvent]]:
    """The events of the lines with this name, or of all, on the planes whose names begin so, and when they began."""
    origin = profile_started(space)
    for plane in space.planes:
        for line in plane.lines if plane.name.startswith(planes) else ():
            if not line_name or line.name == line_name:
                base = absolute_nanos(line.timestamp_ns, origin)
                for event in line.events:
                    yield plane, base + event.offset_ps // PICOS_A_NANO, event


def _spans(space: XSpace) -> Iterator[_Span]:
    origin = profile_started(space)
    for plane in space.planes:
        if not plane.name.startswith(HOST_PLANE):
            continue
        told: dict[int, bool] = {}
        for line in plane.lines:
            base = absolute_nanos(line.timestamp_ns, origin)
            for event in line.events:
                if told.get(event.metadata_id, True):
                    span = _span(plane, event, base)
                    told.setdefault(event.metadata_id, span is not None or _name(plane, event) == _CALL)
                    if span is not None:
                        yield span


def _span(plane: XPlane, event: Any, base: int) -> _Span | None:
    """The step that an event marks, or the function that it calls; events of one name are all alike in this."""
    stats = read_stats(plane, event.stats)
    number = stats.get(_MARK)
    is_mark = isinstance(number, int)
    name = _name(plane, event)
    if not is_mark and not (name == _CALL and stats.get("is_func")):
        return None
    start = base + event.offset_ps // PICOS_A_NANO
    label = name if is_mark else python_name(str(stats.get("eager_op", "")))
    return _Span(start, start + event.duration_ps // PICOS_A_NANO, label, int(str(number)) if is_mark else None)


def _name(plane: XPlane, event: Any) -> str:
    return plane.event_metadata[event.metadata_id].name


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


def steps_to_read(steps: Iterable[Step]) -> Iterator[tuple[int, bool]]:
    """When each step began, and whether the input shapes in it are to be read: of many few."""
    times: Counter[str] = Counter()
    for step in steps:
        times[step.name] += 1
        number = times[step.name]
        yield step.start, number <= _READ_OF_A_NAME or not number & (number - 1)
