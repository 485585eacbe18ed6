"""Reads an XSpace into a table of what ran, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.names import without_body_numbers
from tfprof_widget.ingest.xspace.accelerators import ACCELERATOR, read_accelerators, unread_devices
from tfprof_widget.ingest.xspace.events import HostEvents, Kind, dropped_events, host_events, read_notes
from tfprof_widget.ingest.xspace.exchanges import Exchange, read_exchanges
from tfprof_widget.ingest.xspace.executions import (
    HostExecutions,
    add_up,
    allocators_in,
    executions,
    held,
    loose_runs,
)
from tfprof_widget.ingest.xspace.hlo import Frame
from tfprof_widget.ingest.xspace.kernels import Copy, Kernels, read_streams
from tfprof_widget.ingest.xspace.space import read_space
from tfprof_widget.ingest.xspace.steps import Step, numbers_at, stages_in, steps_at
from tfprof_widget.ingest.xspace.threads import HostThread
from tfprof_widget.lib.arrays import (
    ABSENT,
    LARGEST_INTEGER,
    NANOS_A_MICRO,
    Flags,
    Indices,
    Integers,
    in_order,
    numbered,
)
from tfprof_widget.lib.intervals import Intervals, last_started
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.profiles.devices import SUMS, Accelerator, Allocator, KernelRuns
from tfprof_widget.profiles.program import StageSettings

Ran = Literal["op", "data op", "eager part", "iterator", "eager run", "kernel", "symbol"]
"""The kinds, in this order: an op of a function or session; an op of `tf.data`; an op that may belong to an eager op;
an iterator of `tf.data`; an eager op; a kernel of an accelerator; a kernel that names no op."""

_HALF = 32
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

    @property
    def is_compiled(self) -> bool:
        """Whether this is a function that XLA compiled: it is executed as an op with the function's name.

        >>> Label("op", "__inference_f_1", "__inference_f_1", "__inference_f_1").is_compiled
        True
        """
        return self.kind != "symbol" and self.name == self.op and self.op.startswith("__")


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
    `functions` are the runtime's names of all functions that Python called. `input_shape` are indices into
    `input_shapes`, the shapes that executions took in, as TensorFlow writes them; the first one is empty, of
    executions of which they are not known. `thread` are indices into `threads`, and numbers of streams for kernels.
    `exchanges` are transfers between devices, copies and collectives, each with the number of its step. `notes` say
    what went wrong. `allocators` tell how much memory each allocator had in use. `kernels` are the ops with
    kernels, by name and type. `launches` has a row for each kernel: its execution's row, an index into `launched`,
    the delay of its launch, and its float operations. `accelerators` tell what they can do, and `stages` how those
    of tf.data were set. `eager_float_ops` has the rows of ops that Python ran one by one, and the float operations
    of each.
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
    input_shape: Indices
    input_shapes: tuple[str, ...]
    threads: tuple[HostThread, ...] = ()
    exchanges: tuple[tuple[int, Exchange | Copy], ...] = ()
    notes: tuple[str, ...] = ()
    allocators: tuple[Allocator, ...] = ()
    kernels: Mapping[tuple[str, str], KernelOp] = field(default_factory=dict)
    launches: Integers = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    launched: tuple[KernelRuns, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    stages: tuple[StageSettings, ...] = ()
    eager_float_ops: Integers = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def renumbered(self, numbers: Mapping[int, int], names: Mapping[int, str]) -> TraceTable:
        """The same executions in steps of other numbers, which are to have these names."""
        known = np.array(sorted(numbers), np.int64)
        new = np.array([numbers[number] for number in known.tolist()], np.int64)
        exchanges = tuple((numbers[step], each) for step, each in self.exchanges if step in numbers)
        step = new[np.searchsorted(known, self.step)].astype(np.int32)
        return replace(self, step=step, step_names=names, exchanges=exchanges)

    def kernel_runs(self, nodes: Sequence[str]) -> Iterator[KernelRuns]:
        """The kernels of each node, those of a stream that were launched alike together; `nodes` are those of labels.

        >>> list(read_xspace(b"").kernel_runs([]))
        []
        """
        row, launch, delay, _ = self.launches.T
        first, of = numbered(self.label[row], self.thread[row], launch)
        sums = np.zeros((len(SUMS), len(first)), np.int64)
        for added, values in zip(sums, (1, self.duration[row], delay >= 0, np.maximum(delay, 0)), strict=True):
            np.add.at(added, of, values)
        for at, counts in zip(first.tolist(), sums.T.tolist(), strict=True):
            label = self.label[row[at]]
            yield self.launched[launch[at]]._replace(
                node=nodes[label],
                device=ACCELERATOR.format(self.labels[label].device),
                stream=int(self.thread[row[at]]),
                **dict(zip(SUMS, counts, strict=True)),
            )

    def float_ops_told(self, nodes: Sequence[str]) -> Iterator[tuple[tuple[str, int], int]]:
        """The float operations of each node in each step, where any are told of its kernels, or of it as an eager op.

        `nodes` are those of the labels.
        """
        row, float_ops = np.concatenate([self.launches[:, [0, 3]], self.eager_float_ops]).T
        is_told = np.zeros(len(self.labels), np.bool_)
        is_told[self.label[row[float_ops > 0]]] = True
        chosen = np.flatnonzero(is_told[self.label[row]])
        row, float_ops = row[chosen], float_ops[chosen]
        first, of = numbered(self.label[row], self.step[row])
        halves = np.zeros((2, len(first)), np.int64)  # sums of these fit
        for added, values in zip(halves, (float_ops >> _HALF, float_ops & ((1 << _HALF) - 1)), strict=True):
            np.add.at(added, of, values)
        found: Counter[tuple[str, int]] = Counter()  # several labels may be one node's
        for at, upper, lower in zip(row[first].tolist(), *halves.tolist(), strict=True):
            found[nodes[self.label[at]], int(self.step[at])] += (upper << _HALF) + lower
        yield from ((of_node, min(each, LARGEST_INTEGER)) for of_node, each in found.items())

    @property
    def nbytes(self) -> int:
        """The bytes of the columns."""
        columns = (self.label, self.step, self.start, self.duration, self.thread, self.memory, self.allocations)
        return sum(column.nbytes for column in (*columns, self.launches, self.input_shape, self.eager_float_ops))


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
        space = read_space(xspace)
        ordered = sorted(steps, key=lambda step: step.start)
        events = host_events(space, profiling_started)
        kernels, copies = read_streams(space, profiling_started)
        table = _Rows.of(events, kernels).table(ordered)
        exchanges: list[Exchange | Copy] = [*copies, *read_exchanges(space, profiling_started)]
        step = numbers_at(np.array([each.start for each in exchanges], np.int64), ordered)
        accelerators = read_accelerators(space.message)
        return replace(
            table,
            dropped=dropped_events(space.message),
            exchanges=tuple(zip(step.tolist(), exchanges, strict=True)),
            notes=(*read_notes(space.message), *unread_devices(space)),
            allocators=tuple(allocators_in(events, {each.name: each.memory_bytes for each in accelerators})),
            accelerators=accelerators,
            stages=tuple(stages_in(space)),
        )


_KnownKind = tuple[Ran, str, str, str]
"""A label without what is only known after all executions are found: kind, executed name, type, device."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """All executions: those on the host, kernels, and one for each run of an op of which only kernels were recorded.

    `kind` are indices into `kinds`. `of_memory` has the row of the execution of each allocation and release.
    """

    events: HostEvents
    kernels: Kernels
    executed: HostExecutions
    of_memory: Integers
    kinds: Sequence[_KnownKind]
    kind: Integers
    start: Integers
    end: Integers
    duration: Integers
    thread: Integers

    @classmethod
    def of(cls, events: HostEvents, kernels: Kernels) -> _Rows:
        """The executions in their order."""
        executed = executions(events)
        first, run = loose_runs(events, executed)
        before = len(executed.event) + len(kernels.op)
        of_memory = np.where(run >= 0, before + run, executed.of_memory)
        device = np.full(before + len(first), ABSENT, np.int64)
        rows = np.flatnonzero((of_memory >= 0) & (events.memory.device >= 0))[::-1]  # the first of an execution is last
        device[of_memory[rows]] = events.memory.device[rows]
        at = events.memory.event[first]
        start = np.concatenate([events.start[executed.event], kernels.start, events.start[at]])
        once = np.ones(len(first), np.int64)  # no time at all would mean that its time is not known
        taken = np.concatenate([events.duration[executed.event], kernels.duration, once])
        known: dict[_KnownKind, int] = {}
        kind = [
            np.array([known.setdefault(each, len(known)) for each in kinds], np.int64)[number]
            for kinds, number in (
                _host_kinds(events, executed, device[: len(executed.event)]),
                _kernel_kinds(kernels),
                _loose_kinds(events, kernels, first, device[before:]),
            )
        ]
        return cls(
            *(events, kernels, executed, of_memory, list(known), np.concatenate(kind)),
            *(start, start + taken),
            duration=np.concatenate([executed.own, kernels.duration, once]),
            thread=np.concatenate([events.thread[executed.event], kernels.stream, events.thread[at]]),
        )

    def table(self, steps: Sequence[Step]) -> TraceTable:
        """The table of all executions; the steps are sorted."""
        is_eager = self._are("eager run")
        step, is_in_eager_step = steps_at(self.start, is_eager, steps)
        labels, label = self._labels(is_eager, is_in_eager_step)
        input_shapes, input_shape = self._input_shapes()
        kernels = self.kernels
        row = len(self.executed.event) + np.arange(len(kernels.op))
        float_ops = np.array([op.float_ops for op in kernels.ops], np.int64)
        return TraceTable(
            labels=labels,
            label=label.astype(np.int32),
            step=step.astype(np.int32),
            start=self.start,
            duration=self.duration,
            thread=self.thread,
            memory=add_up(self.events.memory, self.of_memory),
            allocations=self._held(step, is_eager, steps),
            step_names={step.number: step.name for step in steps},
            functions=frozenset(function for _, function in self._calls()),
            dropped=0,
            input_shape=input_shape.astype(np.int32),
            input_shapes=input_shapes,
            threads=tuple(self.events.threads),
            kernels=_ops_with_kernels(kernels),
            launches=np.stack([row, kernels.launch, kernels.delay, float_ops[kernels.op]], axis=1),
            launched=tuple(kernels.launched),
        )

    def _calls(self) -> list[tuple[int, str]]:
        """When Python called a function, and its name."""
        events = self.events
        rows = np.flatnonzero((events.kind == Kind.EAGER_OP) & events.is_call)
        names = (events.names[code][1] for code in events.name[rows].tolist())
        return sorted(zip(events.start[rows].tolist(), names, strict=True))

    def _input_shapes(self) -> tuple[tuple[str, ...], Integers]:
        """The shapes that executions took in, in the order first met after the empty one, and that of each."""
        told = np.full(1 + len(self.kind), ABSENT, np.int64)
        told[1 : 1 + len(self.executed.event)] = self.events.shape[self.executed.event]
        first, number = in_order(told)
        texts = [*self.events.shapes, ""]
        return tuple(texts[code] for code in told[first].tolist()), number[1:]

    def _are(self, *kinds: Ran) -> Flags:
        """Whether each execution is of one of these kinds."""
        flags = np.array([*(kind[0] in kinds for kind in self.kinds), False], np.bool_)
        return flags[self.kind]

    def _held(self, step: Integers, is_eager: Flags, steps: Sequence[Step]) -> Integers:
        """The allocations and releases, without releases after the step: that memory counts as held to its end.

        Eager steps with one number are one step, which goes on after other steps: all releases of eager ops are in it.
        """
        found = held(self.events, self.of_memory)
        row, nanos, size, _ = found.T
        is_of_step = (size >= 0) | is_eager[row] | (numbers_at(nanos, steps) == step[row])
        kept: Integers = found[is_of_step]
        kept[:, 1] //= NANOS_A_MICRO
        return kept

    def _labels(self, is_eager: Flags, is_in_eager_step: Flags) -> tuple[tuple[Label, ...], Integers]:
        """The labels in the order first met, and the label of each execution.

        What threads did for an eager op is in its time already, unless it turns out to be an op of a function.
        """
        within = Intervals.of(self.start[is_eager], self.end[is_eager]).hold(self.start, self.end)
        is_part = self._are("op") & (is_in_eager_step | within)
        calls = self._calls()
        functions = ["", *dict.fromkeys(function for _, function in calls)]
        place = {function: number for number, function in enumerate(functions)}
        called = np.array([0, *(place[function] for _, function in calls)], np.int64)
        function = called[last_started([call for call, _ in calls], self.start) + 1]
        function[self._are("iterator", "eager run")] = 0
        first, number = in_order(self.kind, function, is_part.astype(np.int64))
        labels = (
            _label(self.kinds[self.kind[row]], functions[function[row]], is_part=bool(is_part[row]))
            for row in first.tolist()
        )
        return tuple(labels), number


def _label(known: _KnownKind, function: str, *, is_part: bool) -> Label:
    kind, name, op, device = known
    key = name if kind in ("iterator", "eager run") else without_body_numbers(name)
    return Label("eager part" if is_part else kind, function, key, op, device)


_RAN: tuple[Ran, ...] = ("op", "data op", "iterator", "eager run")


def _host_kinds(events: HostEvents, executed: HostExecutions, device: Integers) -> tuple[list[_KnownKind], Integers]:
    """The kinds of executions on the host, and that of each; `device` is the accelerator that each allocated on."""
    kind, devices = events.kind[executed.event], [*events.accelerators, ""]
    ran = np.where(kind == Kind.ITERATOR, 2, np.where(kind == Kind.EAGER_RUN, 3, 0))
    ran += (ran == 0) & events.is_of_data[events.thread[executed.event]]
    device = np.where(kind == Kind.OP, device, ABSENT)
    first, number = numbered(ran, executed.name, device)
    rows = zip(ran[first].tolist(), executed.name[first].tolist(), device[first].tolist(), strict=True)
    return [(_RAN[code], *events.names[name], devices[of]) for code, name, of in rows], number


def _kernel_kinds(kernels: Kernels) -> tuple[list[_KnownKind], Integers]:
    first, number = numbered(kernels.op, kernels.device)
    ops = [kernels.ops[code] for code in kernels.op[first].tolist()]
    devices = [kernels.devices[code] for code in kernels.device[first].tolist()]
    told = zip(ops, devices, strict=True)
    return [("symbol" if op.is_symbol else "kernel", op.name, op.op, device) for op, device in told], number


def _loose_kinds(
    events: HostEvents, kernels: Kernels, first: Integers, device: Integers
) -> tuple[list[_KnownKind], Integers]:
    """The kinds of executions of which only memory and kernels were recorded, by the first allocation of each."""
    types, devices = {op.name: op.op for op in kernels.ops}, [*events.accelerators, ""]
    names = [events.memory_ops[op] for op in events.memory.op[first].tolist()]
    kinds: list[_KnownKind] = [
        ("op", name, types.get(name, name), devices[of]) for name, of in zip(names, device.tolist(), strict=True)
    ]
    return kinds, np.arange(len(kinds))


def _ops_with_kernels(kernels: Kernels) -> dict[tuple[str, str], KernelOp]:
    """The ops of kernels by name and type."""
    found: dict[tuple[str, str], KernelOp] = {}
    for op, runs in zip(kernels.ops, np.bincount(kernels.op, minlength=len(kernels.ops)).tolist(), strict=True):
        if runs:
            known = found.setdefault((op.name, op.op), KernelOp(op.stack))
            known.runs += runs
            known.float_ops += runs * op.float_ops
    return found
