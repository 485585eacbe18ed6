"""Finds the steps of a program in the XSpace alone: those that the program marked, else the calls of its functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfprof_widget.ingest.xspace import Step
from tfprof_widget.ingest.xspace_events import HOST_PLANE, PICOS_A_NANO, absolute_nanos, profile_started, read_stats
from tfprof_widget.ingest.xspace_names import function_label
from tfprof_widget.integers import LARGEST_INTEGER

if TYPE_CHECKING:
    from tfprof_widget.messages import XPlane, XSpace

BEFORE = "before the first step"

_MARK = "step_num"
_CALL = "EagerExecute"
_LARGEST_STEP = 10**9


class _Span(NamedTuple):
    """What may be a step: a time that the program marked by a number, or a call of a function."""

    start: int
    end: int
    name: str
    number: int | None


def read_steps(space: XSpace) -> tuple[Step, ...]:
    """The steps that an XSpace tells of, none if it tells of none; what ran before the first is one more.

    Steps are marked by `tf.profiler.experimental.Trace` with a `step_num`, as Keras and its TensorBoard callback do.
    They keep their numbers, unless several have the same.

    >>> from tfprof_widget.messages import XSpace
    >>> read_steps(XSpace())
    ()
    """
    times = (span for span in _spans(space) if 0 <= span.start <= LARGEST_INTEGER)
    found = sorted(times, key=lambda span: (span.start, -span.end))
    spans = _outermost([span for span in found if span.number is not None] or found)
    if not spans:
        return ()
    numbers = _numbers(spans)
    before = Step(max(numbers) + 1, BEFORE, 0)
    return (before, *(Step(number, span.name, span.start) for number, span in zip(numbers, spans, strict=True)))


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
    """What an event marks or calls; all events of one name mark steps if its first one does."""
    stats = read_stats(plane, event.stats)
    number = stats.get(_MARK)
    is_mark = isinstance(number, int)
    name = _name(plane, event)
    if not is_mark and not (name == _CALL and stats.get("is_func")):
        return None
    start = base + event.offset_ps // PICOS_A_NANO
    label = name if is_mark else function_label(str(stats.get("eager_op", "")))
    return _Span(start, start + event.duration_ps // PICOS_A_NANO, label, int(str(number)) if is_mark else None)


def _name(plane: XPlane, event: Any) -> str:
    return plane.event_metadata[event.metadata_id].name


def _outermost(spans: Iterable[_Span]) -> list[_Span]:
    """The spans that begin in none of the others; they are in their order."""
    found: list[_Span] = []
    for span in spans:
        if not found or span.start >= found[-1].end:
            found.append(span)
    return found


def _numbers(spans: Sequence[_Span]) -> list[int]:
    given = [span.number for span in spans if span.number is not None and 0 <= span.number <= _LARGEST_STEP]
    return given if len(set(given)) == len(spans) else list(range(len(spans)))
