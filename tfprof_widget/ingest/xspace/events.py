"""Finds events of ops, iterators and allocations on the host by their names, and reads errors and warnings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.xspace.accelerators import accelerator_of
from tfprof_widget.ingest.xspace.space import Events, ReadPlane, ReadSpace, profile_started, read_stats
from tfprof_widget.ingest.xspace.threads import DATA, HostThread, host_thread
from tfprof_widget.ingest.xspace.wire import NumberCodes
from tfprof_widget.lib.arrays import ABSENT, Flags, Integers, numbered
from tfprof_widget.lib.errors import shortened
from tfprof_widget.profiles.devices import RESTRICTED_COUNTERS, accelerator_of_allocator

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XSpace


class Kind(IntEnum):
    """The kinds of events on the host."""

    OP = 0
    ASYNC_OP = 1
    ITERATOR = 2
    EAGER_OP = 3
    EAGER_RUN = 4
    ALLOCATION = 5
    RELEASE = 6


_HAS_SHAPE = np.isin(np.arange(len(Kind)), (Kind.OP, Kind.ASYNC_OP, Kind.EAGER_RUN))
"""For each kind of event, whether the shapes of its inputs are read."""

HOST_PLANE = "/host:CPU"

OP = re.compile(r"(?P<name>[A-Za-z0-9._][\w.\\/>-]*):(?P<type>[A-Z_]\w*)", re.ASCII)
# A function that XLA compiled runs as an op with the function's name, which may have any characters: `<lambda>` is one.
_COMPILED = re.compile(r"(?P<name>(?P<type>__[^\s:]+)):(?P=type)")
_FIXED: dict[str, Kind] = {
    "EagerExecute": Kind.EAGER_OP,
    "KernelAndDeviceFunc::Run": Kind.EAGER_RUN,
    "KernelAndDeviceOp::Run": Kind.EAGER_RUN,
    "ExecutorState::ProcessAsync::Start": Kind.ASYNC_OP,
    "MemoryAllocation": Kind.ALLOCATION,
    "MemoryDeallocation": Kind.RELEASE,
}
MOVING = frozenset({"_Arg", "_DeviceArg", "_DeviceRetval", "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send"})
"""Ops that the runtime adds to move values around."""

ITERATOR = "Iterator::"
_COUNT = re.compile(r"\d{1,18}")
_DROPPED_STATS = frozenset({"dropped_traces", "dropped_events"})
# Few words lie between the number and `dropped`, and the number fits 64 bits; a warning may have any length.
_DROPPED = re.compile(r"(?<!\d)(\d{1,18})(?!\d)\D{0,99}\bdropped\b|\bdropped\b\D{0,99}(\d{1,18})(?!\d)", re.IGNORECASE)


class Memory(NamedTuple):
    """Allocations and releases in the order of the events: addresses, requested bytes, bytes in use and reserved.

    `event` has rows of HostEvents. `op` and `allocator` are indices into texts, ABSENT if there is none; `run` is a
    number of the op's run. `device` has indices into the accelerators, ABSENT for memory of the host.
    """

    event: Integers
    is_release: Flags
    address: Integers
    size: Integers
    in_use: Integers
    reserved: Integers
    run: Integers
    is_output: Flags
    op: Integers
    allocator: Integers
    device: Integers


@dataclass(frozen=True, eq=False)
class HostEvents:
    """The events of the host by thread and then by time, outer events first.

    `name` has indices into `names`, which are pairs of name and op type. `shape` has indices into `shapes`, ABSENT if
    the shape is not known, and `thread` indices into `threads`. Times are in nanoseconds since the epoch. `is_call`
    says whether an event is Python's call of a function.
    """

    kind: Integers
    name: Integers
    start: Integers
    duration: Integers
    thread: Integers
    shape: Integers
    is_call: Flags
    threads: Sequence[HostThread]
    names: Sequence[tuple[str, str]]
    shapes: Sequence[str]
    memory: Memory
    memory_ops: Sequence[str]
    allocators: Sequence[str]
    accelerators: Sequence[str]

    @property
    def end(self) -> Integers:
        """When each event ended."""
        found: Integers = self.start + self.duration
        return found

    @property
    def is_of_data(self) -> Flags:
        """Whether each thread belongs to `tf.data`."""
        return np.array([thread.role == DATA for thread in self.threads], np.bool_)


def host_events(space: ReadSpace, profiling_started: int = 0) -> HostEvents:
    """The events of the threads of the host, which are numbered in the order in which they were recorded.

    >>> from tfprof_widget.ingest.xspace.space import read_space
    >>> from tfprof_widget.lib.messages import XSpace
    >>> line = {"timestamp_ns": 1000, "events": [{"metadata_id": 7, "offset_ps": 5_000, "duration_ps": 2_000}]}
    >>> plane = {"name": "/host:CPU", "lines": [line], "event_metadata": {7: {"name": "layer/MatMul:MatMul"}}}
    >>> events = host_events(read_space(XSpace(planes=[plane])))
    >>> events.names, events.name.tolist(), events.start.tolist(), events.duration.tolist()
    ([('layer/MatMul', 'MatMul')], [0], [1005], [2])
    """
    accelerators = (accelerator_of(plane.message).partition(":")[0] for plane in space.planes)
    reader = _HostReader(profile_started(space.message, profiling_started), next(filter(None, accelerators), ""))
    for plane in space.planes:
        if plane.name.startswith(HOST_PLANE):
            reader.add(plane)
    return reader.events()


class _Columns(NamedTuple):
    """The columns of HostEvents."""

    kind: Integers
    name: Integers
    start: Integers
    duration: Integers
    thread: Integers
    shape: Integers
    is_call: Flags


class _HostReader:
    """Reads the useful events of planes of the host; each text is kept once."""

    def __init__(self, origin: int, accelerator: str) -> None:
        self._origin, self._accelerator = origin, accelerator
        self._names: dict[tuple[str, str], int] = {}
        self._shapes: dict[str, int] = {}
        self._ops: dict[str, int] = {}
        self._allocators: dict[str, int] = {}
        self._accelerators: dict[str, int] = {}
        self._threads: list[HostThread] = []
        none, flags = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self._columns = [_Columns(none, none, none, none, none, none, flags)]
        self._memory = [Memory(none, flags, none, none, none, none, none, flags, none, none, none)]

    def add(self, plane: ReadPlane) -> None:
        """Add the events of a plane."""
        events = plane.events
        told = {key: known for key, each in plane.names.items() if (known := _kind(each))}
        kind = NumberCodes({key: known[0] for key, known in told.items()}).of(events.metadata)
        name = NumberCodes({key: self._name(*known[1:]) for key, known in told.items()}).of(events.metadata)
        self._read_names(events, kind, name)
        rows = np.flatnonzero(name >= 0)
        kind, start = kind[rows], plane.start_nanos(self._origin)[rows]
        shape = np.full(len(rows), ABSENT, np.int64)
        has_shape = np.flatnonzero(_HAS_SHAPE[kind])
        shape[has_shape] = _coded(events, "shape", rows[has_shape], self._shapes)
        thread = events.line[rows] + np.int64(len(self._threads))
        is_call = events.numbers("is_func")[rows] != 0
        before = sum(len(each.kind) for each in self._columns)
        self._memory.append(self._read_memory(events, rows, kind, before))
        self._columns.append(_Columns(kind, name[rows], start, plane.nanos[rows], thread, shape, is_call))
        numbers = (line.id for line in plane.message.lines)
        self._threads += map(host_thread, plane.lines, numbers)

    def _name(self, name: str, op: str) -> int:
        return ABSENT if op in MOVING else self._names.setdefault((name, op), len(self._names))

    def _read_names(self, events: Events, kind: Integers, name: Integers) -> None:
        """Fill in the names that events have as stats."""
        for which, *stats in ((Kind.ASYNC_OP, "name", "kernel_type"), (Kind.EAGER_OP, "eager_op", "eager_op")):
            rows = np.flatnonzero(kind == which)
            known: dict[str, int] = {}
            names, types = (_coded(events, stat, rows, known) for stat in stats)
            texts = [*known, ""]
            first, number = numbered(names, types)
            codes = [self._name(texts[names[row]], texts[types[row]]) for row in first.tolist()]
            name[rows] = np.array(codes, np.int64)[number]

    def _read_memory(self, events: Events, rows: Integers, kind: Integers, before: int) -> Memory:
        """The allocations and releases in these rows; `before` is the number of events in earlier planes."""
        of_memory = np.flatnonzero(kind >= Kind.ALLOCATION)
        told = rows[of_memory]
        regions = {"output": 0}
        named = _coded(events, "allocator_name", told, self._allocators)
        allocator = np.where(named >= 0, named, self._numbered_allocators(events, told))
        return Memory(
            event=of_memory + before,
            is_release=kind[of_memory] == Kind.RELEASE,
            address=events.numbers("addr")[told],
            size=events.numbers("requested_bytes")[told],
            in_use=events.numbers("bytes_allocated")[told],
            reserved=events.numbers("bytes_reserved")[told],
            run=events.numbers("id")[told],
            is_output=_coded(events, "region_type", told, regions) == regions["output"],
            op=np.where(named >= 0, _coded(events, "tf_op", told, self._ops), ABSENT),  # TPUs name none of the program
            allocator=allocator,
            device=self._devices_of(allocator),
        )

    def _numbered_allocators(self, events: Events, rows: Integers) -> Integers:
        """The allocators of a TPU's memory, which have the TPU's number on the host in place of a name."""
        place, numbers = events.values("index_on_host", rows)
        if not self._accelerator:
            return np.full(len(rows), ABSENT, np.int64)
        names = [f"{self._accelerator.upper()}_{number}" for number in numbers]
        codes = [self._allocators.setdefault(name, len(self._allocators)) for name in names]
        return np.array([*codes, ABSENT], np.int64)[place]

    def _devices_of(self, allocator: Integers) -> Integers:
        """The accelerator of each allocator."""
        told = [accelerator_of_allocator(name) for name in self._allocators]
        codes = [self._accelerators.setdefault(each, len(self._accelerators)) if each else ABSENT for each in told]
        return np.array([*codes, ABSENT], np.int64)[allocator]

    def events(self) -> HostEvents:
        """All events in their order."""
        columns, memory = _Columns._make(_joined(self._columns)), Memory._make(_joined(self._memory))
        order = np.lexsort((-columns.duration, columns.start, columns.thread))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        memory = memory._replace(event=place[memory.event])
        in_order = np.argsort(memory.event)
        return HostEvents(
            **{name: column[order] for name, column in columns._asdict().items()},
            threads=list(self._threads),
            names=list(self._names),
            shapes=list(self._shapes),
            memory=Memory._make(column[in_order] for column in memory),
            memory_ops=list(self._ops),
            allocators=list(self._allocators),
            accelerators=list(self._accelerators),
        )


def _joined(parts: Sequence[tuple[NDArray[Any], ...]]) -> Sequence[NDArray[Any]]:
    """The columns of all parts; they are not copied if only one part has rows."""
    with_rows = [part for part in parts if len(part[0])] or parts[:1]
    return with_rows[0] if len(with_rows) == 1 else [np.concatenate(each) for each in zip(*with_rows, strict=True)]


def _coded(events: Events, stat: str, rows: Integers, known: dict[str, int]) -> Integers:
    """The texts of a stat as indices into `known`, which takes new texts; ABSENT for events without the stat."""
    place, values = events.values(stat, rows)
    codes = [known.setdefault(text, len(known)) if (text := str(value)) else ABSENT for value in values]
    return np.array([*codes, ABSENT], np.int64)[place]


def dropped_events(space: XSpace) -> int:
    """The number of events that the tracers report as dropped.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> dropped_events(XSpace(warnings=["GPU: 12 events were dropped."]))
    12
    """
    counted = 0
    for plane in space.planes:
        stats = read_stats(plane, plane.stats)
        counted += sum(int(stats[name]) for name in _DROPPED_STATS & stats.keys() if _COUNT.fullmatch(str(stats[name])))
    for text in (*space.errors, *space.warnings):
        counted += sum(int(first or second) for first, second in _DROPPED.findall(text))
    return counted


def tells_of_dropped(text: str) -> bool:
    """Whether a warning reports dropped events, which `dropped_events` counts.

    >>> tells_of_dropped("GPU: 12 events were dropped."), tells_of_dropped("no GPU")
    (True, False)
    """
    return _DROPPED.search(text) is not None


def _kind(name: str) -> tuple[Kind, str, str] | None:
    """The kind of an event with this name, and the op that it names; None for other events, which are most."""
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed, "", ""
    if name.startswith(ITERATOR):
        return Kind.ITERATOR, name, name.rpartition("::")[2].partition("[")[0]
    op = OP.fullmatch(name) or _COMPILED.fullmatch(name)
    if op is None or op["type"] in MOVING:
        return None
    return Kind.OP, op["name"], op["type"]


MOST_NOTES = 5
MOST_NAMED = 3
_LONGEST_TEXT = 300
_OF_NO_USE = "No GPU detected"
_FIXES = (
    (
        re.compile(r"load libcupti", re.IGNORECASE),
        "CUPTI comes with CUDA: install it, and put its directory on LD_LIBRARY_PATH before Python starts",
    ),
    (
        re.compile(r"cupti|privilege", re.IGNORECASE),
        RESTRICTED_COUNTERS,
    ),
)
_NUMBER = re.compile(r"\d+")


def read_notes(space: XSpace) -> tuple[str, ...]:
    """The errors and warnings of an XSpace, without those on dropped events, which `dropped_events` counts.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> read_notes(XSpace(warnings=["the clock went back"]))
    ("TensorFlow's profiler says: the clock went back",)
    """
    texts = (" ".join(text.split()) for text in (*space.errors, *space.warnings))
    return once_each(_note(text) for text in texts if text and _OF_NO_USE not in text and not tells_of_dropped(text))


def once_each(notes: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_NOTES notes; of notes that differ only in numbers, only the first counts.

    >>> once_each(["2 lost", "3 lost", "late"])
    ('2 lost', 'late')
    """
    found: dict[str, str] = {}
    for note in notes:
        found.setdefault(_NUMBER.sub("0", note), note)
    return tuple(found.values())[:MOST_NOTES]


def notes_on(told: Iterable[str], compiled: Collection[str]) -> tuple[str, ...]:
    """The notes of traces, and a note on the functions in them that XLA compiled.

    >>> notes_on([], ["train_step"])[0].partition(",")[0]
    "XLA compiled 'train_step' to one op"
    """
    notes = once_each(told)
    if not compiled:
        return notes
    names = sorted(compiled)
    said = ", ".join(map(repr, names[:MOST_NAMED])) + (" …" if len(names) > MOST_NAMED else "")
    each = " each" if len(names) > 1 else ""
    return (
        *notes,
        f"XLA compiled {said} to one op{each}, so the ops inside show no time. "
        "To see the time of each op, profile with jit_compile=False, which Keras's compile takes too",
    )


def _note(text: str) -> str:
    fix = next((fix for pattern, fix in _FIXES if pattern.search(text)), "")
    said = f"TensorFlow's profiler says: {shortened(text, _LONGEST_TEXT)}"
    return f"{said.rstrip('.')}; {fix}" if fix else said
