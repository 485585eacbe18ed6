"""Reads an XSpace into a table of what ran, step by step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.names import without_body_numbers
from tfprof_widget.ingest.xspace.accelerators import (
    Copy,
    Kernel,
    Launch,
    read_accelerators,
    read_streams,
    unread_devices,
)
from tfprof_widget.ingest.xspace.events import (
    Event,
    Kind,
    Thread,
    count_of,
    dropped_events,
    host_threads,
    read_notes,
)
from tfprof_widget.ingest.xspace.executions import (
    Exchange,
    OpSpan,
    Record,
    accelerator_of,
    add_up,
    allocators_in,
    executions,
    held,
    read_exchanges,
    record_of,
)
from tfprof_widget.ingest.xspace.hlo import Frame
from tfprof_widget.ingest.xspace.steps import Step, numbers_at, steps_at, steps_to_read
from tfprof_widget.lib.arrays import NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.intervals import Intervals, last_started
from tfprof_widget.lib.messages import as_message
from tfprof_widget.lib.safely import pause_gc
from tfprof_widget.profiles.accelerators import Accelerator, Allocator

Ran = Literal["op", "data op", "eager part", "iterator", "eager run", "kernel", "symbol"]
"""The kinds, in this order: an op of a function or session; an op of `tf.data`; an op that may belong to an eager op;
an iterator of `tf.data`; an eager op; a kernel of an accelerator; a kernel that names no op."""

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


@dataclass
class KernelOp:
    """An op with kernels: where Python made it, how many kernels ran for it, and their float operations as told."""

    stack: tuple[Frame, ...] = ()
    runs: int = 0
    float_ops: int = 0


@dataclass(frozen=True, eq=False)
class TraceTable:
    """The executions in an XSpace, a row for each; this takes a small part of the XSpace's memory.

    `label` are indices into `labels`, which are in the order first met. `step` are numbers of steps, and `step_names`
    their names. `memory` has a row for each execution that allocated: the execution's row, and the bytes that `MEMORY`
    names. `allocations` has a row for each allocation and for each release within the step, by any thread: the row of
    the execution that allocated, the microsecond, the bytes (negative if released), and whether on an accelerator.
    `functions` are the runtime's names of all functions that Python called. `input_shapes` has the shapes that an op
    ran with, by its executed name and type, as TensorFlow writes them, each with the steps in which most executions had
    them. `exchanges` are transfers between devices, copies and collectives, each with the number of its step. `notes`
    say what went wrong. `allocators` tell how much memory each allocator had in use.
    `kernels` are the ops with kernels, by name and type. `launches` has a row for each kernel: its execution's row, an
    index into `launched`, and the delay of its launch. `accelerators` tell what they can do.
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
    input_shapes: Mapping[tuple[str, str], Mapping[str, Sequence[int]]] = field(default_factory=dict)
    exchanges: tuple[tuple[int, Exchange | Copy], ...] = ()
    notes: tuple[str, ...] = ()
    allocators: tuple[Allocator, ...] = ()
    kernels: Mapping[tuple[str, str], KernelOp] = field(default_factory=dict)
    launches: Integers = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    launched: tuple[Launch, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()

    def renumbered(self, numbers: Mapping[int, int], names: Mapping[int, str]) -> TraceTable:
        """The same executions in steps of other numbers, which are to have these names."""
        known = np.array(sorted(numbers), np.int64)
        new = np.array([numbers[number] for number in known.tolist()], np.int64)
        shapes = {
            key: {written: [numbers[step] for step in steps if step in numbers] for written, steps in told.items()}
            for key, told in self.input_shapes.items()
        }
        exchanges = tuple((numbers[step], each) for step, each in self.exchanges if step in numbers)
        step = new[np.searchsorted(known, self.step)].astype(np.int32)
        return replace(self, step=step, step_names=names, input_shapes=shapes, exchanges=exchanges)

    @property
    def nbytes(self) -> int:
        """The bytes of the columns."""
        columns = (self.label, self.step, self.start, self.duration, self.thread, self.memory, self.allocations)
        return sum(column.nbytes for column in (*columns, self.launches))


_RAN: dict[Kind, Ran] = {"iterator": "iterator", "eager run": "eager run"}


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
        exchanges: list[Exchange | Copy] = []
        ordered = sorted(steps, key=lambda step: step.start)
        of_memory: list[Event] = []
        for thread in host_threads(space, profiling_started, list(steps_to_read(ordered))):
            rows.add_thread(thread)
            of_memory += (event for event in thread.events if event.kind in ("allocation", "release"))
        for each in read_streams(space, profiling_started):
            if isinstance(each, Copy):
                exchanges.append(each)
            else:
                rows.add_kernel(each)
        rows.add_loose()
        columns = rows.columns(ordered, dropped_events(space))
        exchanges += read_exchanges(space, profiling_started)
        step = numbers_at(_column([each.start for each in exchanges]), ordered)
        accelerators = read_accelerators(space)
        return replace(
            columns,
            exchanges=tuple(zip(step.tolist(), exchanges, strict=True)),
            notes=(*read_notes(space), *unread_devices(space)),
            kernels=rows.kernels,
            allocators=tuple(allocators_in(of_memory, {each.name: each.memory_bytes for each in accelerators})),
            accelerators=accelerators,
        )


@dataclass
class _Rows:
    """The executions as they are found; `kinds` are labels without what is only known after all are found.

    `shapes` are the shapes that an op ran with, with its name and type; `shaped` and `shaped_since` have a row for each
    execution of which they are known. `loose` are allocations outside of all executions, by the op's name and run;
    `on_host` are the names of ops that the host executed, and `kernels` the ops with kernels, by name and type.
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
    shapes: dict[tuple[str, str, str], int] = field(default_factory=dict)
    shaped: list[int] = field(default_factory=list)
    shaped_since: list[int] = field(default_factory=list)
    calls: list[tuple[int, str]] = field(default_factory=list)
    loose: dict[tuple[str, int], list[OpSpan]] = field(default_factory=dict)
    on_host: set[str] = field(default_factory=set)
    kernels: dict[tuple[str, str], KernelOp] = field(default_factory=dict)
    launches: list[tuple[int, int, int]] = field(default_factory=list)
    launched: dict[Launch, int] = field(default_factory=dict)

    def add_thread(self, thread: Thread) -> None:
        """Add what ran on a thread of the host."""
        plain: Ran = "data op" if thread.is_of_data else "op"
        for each in executions(thread):
            if each.kind == "allocation":
                self.loose.setdefault((each.name, count_of(each.memory[0].stats, "id")), []).append(each)
                continue
            device = self._add_memory(each.memory) if each.memory else ""
            if each.kind == "op":
                self.on_host.add(each.name)
            if each.input_shapes:
                known = (without_body_numbers(each.name), each.op, each.input_shapes)
                self.shaped.append(self.shapes.setdefault(known, len(self.shapes)))
                self.shaped_since.append(each.start)
            self._add(
                (_RAN.get(each.kind, plain), each.name, each.op, device if each.kind == "op" else ""),
                each.start,
                each.end,
                max(each.own, 0),
                thread.number,
            )
        self.releases += [record_of(event) for event in thread.events if event.kind == "release"]
        self.calls += [(event.start, event.op) for event in thread.events if event.kind == "eager op" and event.is_call]

    def _add_memory(self, events: Sequence[Event]) -> str:
        """Add the memory of the next execution; gives the accelerator that it was on, if any."""
        memory = add_up(events)
        row = len(self.kind)
        self.memory.append((row, *(getattr(memory, name.removesuffix("_bytes")) for name in MEMORY)))
        self.allocations += [(row, record_of(event)) for event in events if event.kind == "allocation"]
        return next(filter(None, map(accelerator_of, events)), "")

    def add_loose(self) -> None:
        """Add an execution for what an op allocated, if only its kernels were recorded.

        It takes a nanosecond: no time at all would mean that its time is not known.
        """
        types = dict(self.kernels.keys())
        for (name, _), spans in self.loose.items():
            if name not in self.on_host:
                first = spans[0]
                device = self._add_memory([event for each in spans for event in each.memory])
                kind: tuple[Ran, str, str, str] = ("op", name, types.get(name, name), device)
                self._add(kind, first.start, first.start + 1, 1, first.thread.number)

    def add_kernel(self, kernel: Kernel) -> None:
        """Add what ran on an accelerator."""
        op = kernel.of
        known = self.kernels.setdefault((op.name, op.op), KernelOp(op.stack))
        known.runs += 1
        known.float_ops += op.float_ops
        launch = self.launched.setdefault(kernel.launch, len(self.launched))
        self.launches.append((len(self.kind), launch, kernel.delay))
        kind: tuple[Ran, str, str, str] = ("symbol" if op.is_symbol else "kernel", op.name, op.op, kernel.device)
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
        step, is_in_eager_step = steps_at(start, is_eager, steps)
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
            input_shapes=self._input_shapes(steps),
            launches=_column(self.launches).reshape(-1, 3),
            launched=tuple(self.launched),
        )

    def _input_shapes(self, steps: Sequence[Step]) -> dict[tuple[str, str], dict[str, list[int]]]:
        """The shapes that each op ran with; of several in a step those that came most often, else first."""
        since = _column(self.shaped_since)
        step = numbers_at(since, steps)
        order = np.argsort(since, kind="stable")
        shapes = list(self.shapes)
        seen = (step * len(shapes) + _column(self.shaped))[order]
        codes, first, times = np.unique(seen, return_index=True, return_counts=True)
        usual: dict[tuple[str, str], dict[int, tuple[int, int, str]]] = {}
        for code, earliest, count in zip(codes.tolist(), first.tolist(), times.tolist(), strict=True):
            number, (name, op, written) = code // len(shapes), shapes[code % len(shapes)]
            of_steps = usual.setdefault((name, op), {})
            of_steps[number] = max(of_steps.get(number, (0, 0, "")), (count, -earliest, written))
        found: dict[tuple[str, str], dict[str, list[int]]] = {}
        for key, of_steps in usual.items():
            for number, (_, _, written) in of_steps.items():
                found.setdefault(key, {}).setdefault(written, []).append(number)
        return found

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
        released_in = numbers_at(nanos, steps)
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


def _column(values: Iterable[Any]) -> Integers:
    try:
        return np.array(values if isinstance(values, list) else list(values), np.int64)
    except OverflowError:
        raise ProfileError("xspace: it has a time or size beyond 2**63 - 1; it is damaged: record it again") from None


_SHAPE = re.compile(r"\w+\[(\d{0,18}(?:,\d{0,18})*)\]")


def read_input_shapes(told: str) -> tuple[tuple[int, ...] | None, ...]:
    """The shapes in `(float[2,3];int32[])`, where a scalar is `(1,)`; None for what is no plain tensor.

    >>> read_input_shapes("(float[2,3];int32[];)"), read_input_shapes("()")
    (((2, 3), (1,), None), ())
    """
    inside = told.removeprefix("(").removesuffix(")")
    return tuple(map(_input_shape, inside.split(";"))) if inside else ()


def _input_shape(written: str) -> tuple[int, ...] | None:
    match = _SHAPE.fullmatch(written)
    return None if match is None else tuple(map(int, filter(None, match[1].split(",")))) or (1,)
