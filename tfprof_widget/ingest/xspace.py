"""Reads an XSpace, the trace of TensorFlow 2's profiler, into the columns that a RunMetadata gives, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfprof_widget.ingest.run_metadata import RunColumns
from tfprof_widget.ingest.wire import as_message
from tfprof_widget.ingest.xspace_events import Event, Kernel, Thread, dropped_events, host_threads, kernels
from tfprof_widget.ingest.xspace_executions import Execution, executions
from tfprof_widget.ingest.xspace_memory import Memory, add_up
from tfprof_widget.ingest.xspace_names import (
    DATA_SCOPE,
    EAGER_SCOPE,
    ExecutedNames,
    executed_key,
    iterator_node,
)
from tfprof_widget.ingest.xspace_times import Intervals, Timeline
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.tables import Integers

HOST = "/job:localhost/replica:0/task:0/device:cpu:0"
ACCELERATOR = "/job:localhost/replica:0/task:0/device:{}"
STREAMS = "/device:{}/stream:all"


@dataclass(frozen=True)
class Step:
    """A step of the program: all that runs from its start (nanoseconds since the epoch) to the next one's.

    One that `is_eager` is what Python ran op by op between other steps, and nothing else while there are any: functions
    and iterators run on for the step before. Several may have one number.
    """

    number: int
    name: str
    start: int
    is_eager: bool = False


@dataclass(frozen=True)
class XSpaceRuns:
    """What was read: each step's executions, the type of the kernel that each node ran, and the events lost.

    A node that ran a kernel of another type in another function is two: `variants` gives the original of the second.
    """

    runs: list[tuple[int, RunColumns]]
    ops: dict[str, str]
    variants: dict[str, str]
    dropped: int


@dataclass
class _Rows:
    """The executions of a step as they are found."""

    names: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)

    def add(self, name: str, device: str, start: int, duration: int, thread: int, memory: Memory) -> None:
        self.names.append(name)
        self.devices.append(device)
        self.start.append(start)
        self.duration.append(duration)
        self.thread.append(thread)
        self.memory.append(memory)


def read_xspace(
    xspace: Any,
    steps: Sequence[Step] = (),
    names: ExecutedNames | None = None,
    ops: Mapping[str, str] | None = None,
) -> XSpaceRuns:
    """The executions in an XSpace by step; without steps they are all step 0.

    `names` are those of the nodes, `ops` are their types in other traces; what has no name there is named by layer.
    Iterators of `tf.data` and the ops that they run are in a scope `tf.data`, ops that Python ran one by one in a scope
    `eager`. An execution's time is its own: what ran inside of it on the same thread is not in it.

    >>> read_xspace(b"").runs
    []
    >>> read_xspace(b"truncated")
    Traceback (most recent call last):
    ...
    tfprof_widget.errors.ProfileError: xspace: these 9 bytes are no XSpace (...); ...
    """
    space = as_message(xspace, "XSpace", "xspace")
    threads = host_threads(space)
    reader = _Reader(steps, names or ExecutedNames(), _calls(threads), ops or {})
    run_by = [(kernel, reader.kernel_node(kernel)) for kernel in kernels(space)]
    reader.placed.update({node: ACCELERATOR.format(kernel.device) for kernel, node in run_by})
    reader.add_host([each for thread in threads for each in executions(thread)])
    for kernel, node in run_by:
        row = reader.rows(kernel.start)
        row.add(node, STREAMS.format(kernel.device), kernel.start, kernel.duration, kernel.stream, Memory())
    return XSpaceRuns(
        runs=[(number, _columns(rows)) for number, rows in reader.of_step.items()],
        ops=reader.ops,
        variants=reader.variants,
        dropped=dropped_events(space),
    )


class _Reader:
    """Gives each execution its step and its node."""

    def __init__(
        self, steps: Sequence[Step], names: ExecutedNames, calls: Sequence[Event], ops: Mapping[str, str]
    ) -> None:
        self.steps = Timeline([(step.start, step) for step in steps] or [(0, Step(0, "", 0))])
        self.other_steps = Timeline([(step.start, step) for step in steps if not step.is_eager])
        self.calls = Timeline([(call.start, call.op) for call in calls])
        self.names = names
        self.of_step: dict[int, _Rows] = {}
        self.ops = dict(ops)
        self.variants: dict[str, str] = {}
        self.placed: dict[str, str] = {}

    def rows(self, moment: int, *, is_eager: bool = False) -> _Rows:
        """Where an execution that started then belongs."""
        step = self.steps.at(moment)
        if not is_eager:
            step = self.other_steps.before(moment) or step
        return self.of_step.setdefault(step.number, _Rows())

    def known_node(self, key: str, moment: int) -> str | None:
        """The node that functions have for a name that was executed then."""
        return self.names.node(self.calls.before(moment) or "", key)

    def kernel_node(self, kernel: Kernel) -> str:
        """The node that a kernel ran for."""
        key = executed_key(kernel.name)
        return self.typed_node(self.known_node(key, kernel.start) or self.names.unknown(key), kernel.op)

    def typed_node(self, node: str, op: str) -> str:
        """The node of that name and type."""
        if self.ops.setdefault(node, op) == op:
            return node
        variant = f"{node}/{op}"
        self.variants[variant] = node
        return self.typed_node(variant, op)

    def add_host(self, found: Sequence[Execution]) -> None:
        """Add what ran on the host; what threads did for an eager op is in its time already."""
        eager = Intervals((each.start, each.end) for each in found if each.kind == "eager run")
        for each in found:
            node = self._host_node(each)
            if node is None:
                node = self.names.unknown(executed_key(each.name))
                if each.thread.is_of_data:
                    node = f"{DATA_SCOPE}/{node}"
                elif self.steps.at(each.start).is_eager or eager.contain(each.start, each.end):
                    continue
            node = self.typed_node(node, each.op)
            device = self.placed.get(node, HOST)
            rows = self.rows(each.start, is_eager=each.kind == "eager run")
            rows.add(node, device, each.start, max(each.own, 0), each.thread.number, add_up(each.memory))

    def _host_node(self, execution: Execution) -> str | None:
        if execution.kind == "iterator":
            return iterator_node(execution.name)
        if execution.kind == "eager run":
            return f"{EAGER_SCOPE}/{execution.name}"
        return self.known_node(executed_key(execution.name), execution.start)


def executed_functions(xspace: Any) -> frozenset[str]:
    """The runtime's names of the functions that Python called.

    >>> executed_functions(b"")
    frozenset()
    """
    return frozenset(call.op for call in _calls(host_threads(as_message(xspace, "XSpace", "xspace"))))


def _calls(threads: Sequence[Thread]) -> list[Event]:
    """The calls of functions from Python."""
    found = [
        event
        for thread in threads
        for event in thread.events
        if event.kind == "eager op" and event.stats.get("is_func")
    ]
    return sorted(found, key=lambda event: event.start)


def _columns(rows: _Rows) -> RunColumns:
    devices = tuple(dict.fromkeys(rows.devices))
    code_of = {device: code for code, device in enumerate(devices)}
    start, duration = _column(rows.start), _column(rows.duration)
    records = [(execution, *record) for execution, memory in enumerate(rows.memory) for record in memory.records]
    table = np.array(records, np.int64).reshape(-1, 4)
    nothing = np.zeros(len(rows.names), np.int64)
    return RunColumns(
        names=rows.names,
        devices=devices,
        device=_column([code_of[device] for device in rows.devices]),
        values={
            "start_micros": start // NANOS_A_MICRO,
            "duration_micros": duration // NANOS_A_MICRO,
            "start_nanos": start,
            "duration_nanos": duration,
            "thread": _column(rows.thread),
            "requested_bytes": _column([memory.requested for memory in rows.memory]),
            "peak_bytes": _column([memory.peak for memory in rows.memory]),
            "residual_bytes": _column([memory.residual for memory in rows.memory]),
            "output_bytes": _column([memory.output for memory in rows.memory]),
            "temporary_bytes": nothing,
            "persistent_bytes": nothing,
            "bytes_in_use": _column([memory.bytes_in_use for memory in rows.memory]),
        },
        outputs={
            "execution": np.zeros(0, np.int64),
            "slot": np.zeros(0, np.int64),
            "bytes": np.zeros(0, np.int64),
            "address": np.zeros(0, np.uint64),
            "shape": np.zeros(0, np.int64),
        },
        allocations={
            "execution": table[:, 0],
            "micros": table[:, 1],
            "bytes": table[:, 2],
            "on_accelerator": table[:, 3].astype(np.bool_),
        },
    )


def _column(values: list[int]) -> Integers:
    return np.array(values, np.int64)
