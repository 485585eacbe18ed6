"""Reads an XSpace into a table of what ran, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.names import python_name, without_body_numbers
from tfprof_widget.ingest.xspace.events import (
    HOST_PLANE,
    PICOS_A_NANO,
    Kind,
    StreamEvent,
    Thread,
    absolute_nanos,
    dropped_events,
    host_threads,
    kernels,
    profile_started,
    read_notes,
    read_stats,
)
from tfprof_widget.ingest.xspace.executions import Exchange, Record, add_up, executions, held, read_exchanges, record_of
from tfprof_widget.lib.arrays import LARGEST_INTEGER, NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.intervals import Intervals, last_started
from tfprof_widget.lib.messages import as_message
from tfprof_widget.lib.safely import pause_gc

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XPlane, XSpace

Ran = Literal["op", "data op", "eager part", "iterator", "eager run", "kernel"]
"""The kinds, in this order: an op of a function or session; an op of `tf.data`; an op that may belong to an eager op;
an iterator of `tf.data`; an eager op; a kernel of an accelerator."""

MEMORY = ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes", "bytes_in_use")


class Label(NamedTuple):
    """What ran: its executed name, its type, and the function that Python had called last.

    >>> Label("op", "__inference_step_1", "dense/MatMul", "MatMul").device
    ''
    """

    kind: Ran
    function: str
    name: str
    op: str
    device: str = ""


@dataclass(frozen=True, eq=False)
class TraceTable:
    """The executions in an XSpace, a row for each; this takes a small part of the XSpace's memory.

    `label` are indices into `labels`, which are in the order first met. `step` are numbers of steps, and `step_names`
    their names. `memory` has a row for each execution that allocated: the execution's row, and the bytes that `MEMORY`
    names. `allocations` has a row for each allocation and for each release within the step, by any thread: the row of
    the execution that allocated, the microsecond, the bytes (negative if released), and whether on an accelerator.
    `functions` are the runtime's names of all functions that Python called. `input_shapes` has the shapes of the first
    execution of each op, by its executed name and type, as TensorFlow writes them. `exchanges` are transfers between
    devices and collectives, each with the number of its step. `notes` say what went wrong.
    """

    labels: tuple[Label, ...]
    label: Indices
    step: Indices
    start: Integers
    duration: Integers
    thread: Integers
    memory: Integers
    allocations: Integers
    step_names: Mapping[int, str]
    functions: frozenset[str]
    dropped: int
    input_shapes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    exchanges: tuple[tuple[int, Exchange], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes of the columns."""
        columns = (self.label, self.step, self.start, self.duration, self.thread, self.memory, self.allocations)
        return sum(column.nbytes for column in columns)


_RAN: dict[Kind, Ran] = {"iterator": "iterator", "eager run": "eager run"}


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


def read_xspace(xspace: Any, steps: Sequence[Step] = (), profiling_started: int = 0) -> TraceTable:
    """The executions in an XSpace by step; without steps all are in step 0.

    An execution's time leaves out executions inside it on the same thread. `profiling_started` is for an XSpace that
    does not say from when its times count.

    >>> read_xspace(b"").labels
    ()
    >>> read_xspace(b"truncated")
    Traceback (most recent call last):
    ...
    tfprof_widget.ProfileError: xspace: these 9 bytes are no XSpace (...); ...
    """
    with pause_gc():
        space = as_message(xspace, "XSpace", "xspace")
        rows = _Rows()
        for thread in host_threads(space, profiling_started):
            rows.add_thread(thread)
        for kernel in kernels(space, profiling_started):
            rows.add_kernel(kernel)
        ordered = sorted(steps, key=lambda step: step.start)
        columns = rows.columns(ordered, dropped_events(space))
        exchanges = list(read_exchanges(space, profiling_started))
        asked = _column([each.start for each in exchanges])
        step, _ = _steps(asked, np.zeros(len(asked), np.bool_), ordered)
        by_step = tuple(zip(step.tolist(), exchanges, strict=True))
        return replace(columns, exchanges=by_step, notes=read_notes(space))


@dataclass
class _Rows:
    """The executions as they are found; `kinds` are labels without what is only known after all are found.

    `input_shapes` are those of the earliest execution, with its start: the last batch may be smaller.
    """

    kinds: dict[tuple[Ran, str, str, str], int] = field(default_factory=dict)
    kind: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    memory: list[tuple[int, ...]] = field(default_factory=list)
    allocations: list[tuple[int, Record]] = field(default_factory=list)
    releases: list[Record] = field(default_factory=list)
    input_shapes: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    calls: list[tuple[int, str]] = field(default_factory=list)

    def add_thread(self, thread: Thread) -> None:
        """Add what ran on a thread of the host."""
        plain: Ran = "data op" if thread.is_of_data else "op"
        for each in executions(thread):
            if each.memory:
                memory = add_up(each.memory)
                row = len(self.kind)
                self.memory.append((row, *(getattr(memory, name.removesuffix("_bytes")) for name in MEMORY)))
                self.allocations += [(row, record_of(event)) for event in each.memory if event.kind == "allocation"]
            if each.input_shapes:
                key, told = (without_body_numbers(each.name), each.op), (each.start, each.input_shapes)
                self.input_shapes[key] = min(self.input_shapes.get(key, told), told)
            self._add(
                (_RAN.get(each.kind, plain), each.name, each.op, ""),
                each.start,
                each.end,
                max(each.own, 0),
                thread.number,
            )
        self.releases += [record_of(event) for event in thread.events if event.kind == "release"]
        self.calls += [(event.start, event.op) for event in thread.events if event.kind == "eager op" and event.is_call]

    def add_kernel(self, kernel: StreamEvent) -> None:
        """Add what ran on an accelerator."""
        kind: tuple[Ran, str, str, str] = ("kernel", kernel.name, kernel.op, kernel.device)
        self._add(kind, kernel.start, kernel.start + kernel.duration, kernel.duration, kernel.stream)

    def _add(self, kind: tuple[Ran, str, str, str], start: int, end: int, duration: int, thread: int) -> None:
        self.kind.append(self.kinds.setdefault(kind, len(self.kinds)))
        self.start.append(start)
        self.end.append(end)
        self.duration.append(duration)
        self.thread.append(thread)

    def columns(self, steps: Sequence[Step], dropped: int) -> TraceTable:
        """The table of all that was found; the steps are sorted."""
        start = _column(self.start)
        is_eager = self._are("eager run")
        step, is_in_eager_step = _steps(start, is_eager, steps)
        labels, label = self._labels(start, is_eager, is_in_eager_step)
        return TraceTable(
            labels=labels,
            label=label.astype(np.int32),
            step=step.astype(np.int32),
            start=start,
            duration=_column(self.duration),
            thread=_column(self.thread),
            memory=_column(self.memory).reshape(-1, 1 + len(MEMORY)),
            allocations=self._held(step, is_eager, steps),
            step_names={step.number: step.name for step in steps},
            functions=frozenset(function for _, function in self.calls),
            dropped=dropped,
            input_shapes={key: shapes for key, (_, shapes) in self.input_shapes.items()},
        )

    def _are(self, *kinds: Ran) -> Flags:
        """Whether each execution is of one of these kinds."""
        flags = np.array([kind[0] in kinds for kind in self.kinds], np.bool_)
        return flags[_column(self.kind)] if len(flags) else flags

    def _held(self, step: Integers, is_eager: Flags, steps: Sequence[Step]) -> Integers:
        """The allocations and releases, without releases after the step: that memory counts as held to its end.

        Eager steps with one number are one step, which goes on after other steps: all releases of eager ops are in it.
        """
        found = held(self.allocations, self.releases)
        row, nanos = _column([row for row, _ in found]), _column([record.nanos for _, record in found])
        size = _column([record.size for _, record in found])
        is_accelerated = _column([record.on_accelerator for _, record in found])
        released_in, _ = _steps(nanos, np.zeros(len(nanos), np.bool_), steps)
        is_of_step = (size >= 0) | is_eager[row] | (released_in == step[row])
        held_in_step: Integers = np.stack([row, nanos // NANOS_A_MICRO, size, is_accelerated], axis=1)[is_of_step]
        return held_in_step

    def _labels(self, start: Integers, is_eager: Flags, is_in_eager_step: Flags) -> tuple[tuple[Label, ...], Integers]:
        """The labels in the order first met, and the label of each execution.

        What threads did for an eager op is in its time already, unless it turns out to be an op of a function.
        """
        end = _column(self.end)
        within = Intervals.of(start[is_eager], end[is_eager]).hold(start, end)
        is_part = self._are("op") & (is_in_eager_step | within)
        calls = sorted(self.calls)
        functions = ["", *dict.fromkeys(function for _, function in calls)]
        place = {function: number for number, function in enumerate(functions)}
        called = _column([0, *(place[function] for _, function in calls)])
        function = called[last_started(_column([call for call, _ in calls]), start) + 1]
        function[self._are("iterator", "eager run")] = 0
        combined = (_column(self.kind) * len(functions) + function) * 2 + is_part
        found, first, label = np.unique(combined, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        kinds = list(self.kinds)
        labels = (
            _label(kinds[code // 2 // len(functions)], functions[code // 2 % len(functions)], is_part=bool(code % 2))
            for code in found[order].tolist()
        )
        return tuple(labels), rank[label]


def _label(known: tuple[Ran, str, str, str], function: str, *, is_part: bool) -> Label:
    kind, name, op, device = known
    key = name if kind in ("iterator", "eager run") else without_body_numbers(name)
    return Label("eager part" if is_part else kind, function, key, op, device)


def _steps(start: Integers, is_eager: Flags, steps: Sequence[Step]) -> tuple[Integers, Flags]:
    """The number of each execution's step, and whether the last step that began before it is eager."""
    if not steps:
        return np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    at = np.maximum(last_started([step.start for step in steps], start), 0)
    number = _column([step.number for step in steps])[at]
    others = [step for step in steps if not step.is_eager]
    before = last_started([step.start for step in others], start)
    in_other = (before >= 0) & ~is_eager
    number[in_other] = _column([step.number for step in others])[before[in_other]]
    return number, np.array([step.is_eager for step in steps], np.bool_)[at]


def _column(values: Iterable[Any]) -> Integers:
    try:
        return np.array(values if isinstance(values, list) else list(values), np.int64)
    except OverflowError:
        raise ProfileError("xspace: it has a time or size beyond 2**63 - 1; it is damaged: record it again") from None


BEFORE = "before the first step"

_MARK = "step_num"
_CALL = "EagerExecute"
_LARGEST_STEP = 10**9


class _Span(NamedTuple):
    """A possible step: a time that the program marked with a number, or a call of a function."""

    start: int
    end: int
    name: str
    number: int | None


def read_steps(space: XSpace) -> tuple[Step, ...]:
    """The steps in an XSpace, if it has any; what ran before the first one is another step.

    Steps are marked by `tf.profiler.experimental.Trace` with a `step_num`, as Keras and its TensorBoard callback do.
    They keep their numbers unless several have the same number.
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
