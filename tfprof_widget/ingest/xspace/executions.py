"""Finds executions among the events, with their memory and their exchanges with other devices."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tfprof_widget.ingest.parts.names import HOST, ExecutedNames, without_body_numbers
from tfprof_widget.ingest.parts.nodes import NodeTable
from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.accelerators import ACCELERATOR, Copy
from tfprof_widget.ingest.xspace.events import (
    HOST_PLANE,
    PICOS_A_NANO,
    Event,
    Kind,
    Thread,
    absolute_nanos,
    count_of,
    profile_started,
    read_stats,
)
from tfprof_widget.lib.arrays import LARGEST_INTEGER
from tfprof_widget.lib.messages import AttrValue, SealedAttribute, SealedGraph
from tfprof_widget.profiles.accelerators import Allocator
from tfprof_widget.profiles.devices import accelerator_of_allocator

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XEvent, XPlane, XSpace

_EXECUTED: frozenset[Kind] = frozenset({"op", "async op", "iterator", "eager run"})


@dataclass
class OpSpan:
    """One execution with its allocations; `own` is its time without the executions inside it.

    `input_shapes` are as TensorFlow writes them, such as `(float[2,3];int32[])`, or empty.
    """

    kind: Kind
    name: str
    op: str
    thread: Thread
    start: int
    end: int
    own: int
    input_shapes: str = ""
    memory: list[Event] = field(default_factory=list)


@dataclass
class _Open:
    """An event that has not ended yet; an eager op has no execution beside what runs in it."""

    event: Event
    execution: OpSpan | None


def executions(thread: Thread) -> Iterator[OpSpan]:
    """The executions of a thread by start; ops that an eager op runs on the same thread belong to it.

    An allocation on an accelerator outside of all executions is a span of the kind "allocation", with the name of its
    op: of ops of GPUs, TensorFlow records most on the stream only.

    >>> inner = Event("op", "a/b", "Mul", 12, 3, {})
    >>> outer = Event("op", "a", "While", 10, 10, {})
    >>> [(each.name, each.own) for each in executions(Thread(0, "worker", [outer, inner]))]
    [('a', 7), ('a/b', 3)]
    """
    found: list[OpSpan] = []
    opened: list[_Open] = []
    for event in thread.events:
        while opened and opened[-1].event.end <= event.start and not _is_moment_within(event, opened[-1].event):
            opened.pop()
        around = next((each.execution for each in reversed(opened) if each.execution is not None), None)
        if event.kind in ("allocation", "release"):
            if around is not None:
                around.memory.append(event)
            elif event.kind == "allocation" and (name := str(event.stats.get("tf_op", ""))) and accelerator_of(event):
                found.append(OpSpan(event.kind, name, "", thread, event.start, event.start, 0, memory=[event]))
            continue
        execution = _execution(event, thread, opened, around)
        opened.append(_Open(event, execution))
        if execution is not None:
            found.append(execution)
            if around is not None:
                around.own -= min(execution.end, around.end) - execution.start
    return iter(found)


def _is_moment_within(event: Event, outer: Event) -> bool:
    """Whether an event without duration lies at the end of another event."""
    return not event.duration and event.start == outer.end and event.kind in ("allocation", "release")


def _execution(event: Event, thread: Thread, opened: Sequence[_Open], around: OpSpan | None) -> OpSpan | None:
    if event.kind not in _EXECUTED:
        return None
    name, op = event.name, event.op
    if event.kind == "eager run":
        eager = next((each.event for each in reversed(opened) if each.event.kind == "eager op"), None)
        if eager is None or eager.is_call or (around is not None and around.kind == "eager run"):
            return None
        name, op = eager.name, eager.op
    elif event.kind == "op" and around is not None and around.kind == "eager run":
        return None
    elif event.kind == "async op" and around is not None and (around.name, around.op) == (name, op):
        return None  # the start of the op around it, which every fully recorded event has
    return OpSpan(
        event.kind, name, op, thread, event.start, event.end, event.duration, str(event.stats.get("shape", ""))
    )


@dataclass
class SpanMemory:
    """The bytes of one execution."""

    requested: int = 0
    peak: int = 0
    residual: int = 0
    output: int = 0
    bytes_in_use: int = 0


class Record(NamedTuple):
    """An allocation or release: when (nanoseconds), its bytes (negative if released), and on which device."""

    nanos: int
    size: int
    address: int
    on_accelerator: bool


def add_up(events: Iterable[Event]) -> SpanMemory:
    """The memory of an execution from the allocations and releases in it, in their order.

    Releases of the execution's own memory reduce its residual bytes; other releases belong to the owners of the memory.

    >>> def event(kind, address, size, **more):
    ...     return Event(kind, "", "", 5000, 0, {"addr": address, "requested_bytes": size, **more})
    >>> events = [event("allocation", 1, 8), event("allocation", 2, 4, region_type="output"), event("release", 1, 8)]
    >>> memory = add_up(events)
    >>> memory.requested, memory.peak, memory.residual, memory.output
    (12, 12, 4, 4)
    """
    memory = SpanMemory()
    live: dict[int, int] = {}
    for event in events:
        record = record_of(event)
        if event.kind == "release":
            memory.residual -= live.pop(record.address, 0)
            continue
        live[record.address] = record.size
        memory.requested += record.size
        memory.residual += record.size
        memory.peak = max(memory.peak, memory.residual)
        memory.output += record.size if event.stats.get("region_type") == "output" else 0
        if record.on_accelerator:
            memory.bytes_in_use = max(memory.bytes_in_use, count_of(event.stats, "bytes_allocated"))
    return memory


def record_of(event: Event) -> Record:
    """The allocation or release in an event of the allocator.

    >>> record_of(Event("release", "", "", 5000, 0, {"addr": 1, "requested_bytes": 8}))
    Record(nanos=5000, size=-8, address=1, on_accelerator=False)
    """
    size = count_of(event.stats, "requested_bytes")
    return Record(
        event.start,
        -size if event.kind == "release" else size,
        count_of(event.stats, "addr"),
        bool(accelerator_of(event)),
    )


def accelerator_of(event: Event) -> str:
    """The accelerator whose memory an allocator's event is of, such as `gpu:0`; empty if it is the host's.

    >>> accelerator_of(Event("release", "", "", 5000, 0, {"allocator_name": "GPU_0_bfc"}))
    'gpu:0'
    >>> accelerator_of(Event("release", "", "", 5000, 0, {"allocator_name": "gpu_host_bfc"}))
    ''
    """
    return accelerator_of_allocator(str(event.stats.get("allocator_name", "")))


def allocators_in(events: Iterable[Event], capacities: Mapping[str, int]) -> Iterator[Allocator]:
    """How much memory each allocator had in use, by what its own events tell of all its memory.

    >>> event = Event("allocation", "", "", 5000, 0, {"allocator_name": "GPU_0_bfc", "bytes_allocated": 4096})
    >>> [(each.name, each.peak_bytes) for each in allocators_in([event], {})]
    [('GPU_0_bfc', 4096)]
    """
    found: dict[str, list[tuple[int, int]]] = {}
    devices: dict[str, str] = {}
    for event in events:
        in_use = count_of(event.stats, "bytes_allocated") + count_of(event.stats, "bytes_reserved")
        name = str(event.stats.get("allocator_name", ""))
        if name and 0 < in_use <= LARGEST_INTEGER:
            found.setdefault(name, []).append((event.start, in_use))
            devices.setdefault(name, accelerator_of(event))
    for name, points in found.items():
        device = ACCELERATOR.format(devices[name]) if devices[name] else HOST
        yield Allocator.of(name, device, capacities.get(device, 0), points)


def held(allocations: Iterable[tuple[int, Record]], releases: Iterable[Record]) -> list[tuple[int, Record]]:
    """The allocations with their owners, and their releases with the same owner, in order of time.

    Any thread may release memory that another one allocated. Releases of memory without an owner are left out.

    >>> first, again = Record(10, 8, 1, False), Record(30, 4, 1, False)
    >>> found = held([(7, first), (9, again)], [Record(5, -2, 1, False), Record(20, -8, 1, False)])
    >>> [(owner, record.nanos, record.size) for owner, record in found]
    [(7, 10, 8), (7, 20, -8), (9, 30, 4)]
    """
    live: dict[int, tuple[int, int]] = {}
    found: list[tuple[int, Record]] = []
    events = [*allocations, *((None, record) for record in releases)]
    for owner, record in sorted(events, key=lambda event: event[1].nanos):
        if owner is not None:
            live[record.address] = (owner, record.size)
            found.append((owner, record))
        elif record.address in live:
            owner, size = live.pop(record.address)
            found.append((owner, record._replace(size=-size)))
    return found


# The bytes of TensorFlow's types by their numbers; strings and resources have none.
_WIDTHS: Mapping[int, int] = {
    **dict.fromkeys((4, 6, 10, 11, 12), 1),  # uint8, int8, bool, qint8, quint8
    **dict.fromkeys((5, 14, 17, 19), 2),  # int16, bfloat16, uint16, half
    **dict.fromkeys((1, 3, 13, 22), 4),  # float, int32, qint32, uint32
    **dict.fromkeys((2, 8, 9, 23), 8),  # double, complex64, int64, uint64
    18: 16,  # complex128
}
_TYPE = ("T", "dtype", "Tout", "DstT", "out_type")


def tensor_sizes(
    names: Iterable[str], columns: NodeTable, shapes: Sequence[tuple[int, ...]], graph: SealedGraph
) -> dict[str, int]:
    """The bytes of the outputs of these nodes, as far as they are known."""
    wanted = frozenset(names)
    widths = {node.name: _width(node.attr) for node in graph.node if node.name in wanted}
    found = {}
    for name, outputs in zip(columns.names, columns.output_shapes, strict=True):
        shape = shapes[outputs[0]] if name in wanted and outputs and outputs[0] >= 0 else ()
        if shape and min(shape) >= 0 and widths.get(name):
            found[name] = math.prod(shape) * widths[name]
    return found


def _width(attributes: Iterable[bytes]) -> int:
    """The bytes of one element, 0 if they are not known."""
    types = {}
    for sealed in attributes:
        entry = SealedAttribute.FromString(sealed)
        if entry.key in _TYPE:
            types[entry.key] = AttrValue.FromString(entry.value).type
    return next((_WIDTHS.get(types[key], 0) for key in _TYPE if key in types), 0)


class Exchange(NamedTuple):
    """A tensor that a device got, or a collective that it took part in; `name` is the executed one."""

    kind: str
    name: str
    source: str
    target: str
    start: int
    end: int


_ASKED, _CAME = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
_COLLECTIVE = re.compile(r"Collective\w+|Nccl\w+", re.ASCII)
_SEND = re.compile(r"(?P<name>[^:]{1,4096})/_(?P<number>\d{1,9}):_(?:Host)?Send", re.ASCII)
_RECEIVES = frozenset({"_Recv", "_HostRecv"})
_KEY_PARTS = 5


class _End(NamedTuple):
    """When a waiting op began or ended, and in which run of an executor."""

    kind: str
    name: str
    run: int
    at: int


def read_exchanges(space: XSpace, profiling_started: int = 0) -> Iterator[Exchange]:
    """The receives and collectives in an XSpace of which beginning and end were recorded."""
    origin = profile_started(space, profiling_started)
    for plane in space.planes:
        if not plane.name.startswith(HOST_PLANE):
            continue
        names = {key: each.name for key, each in plane.event_metadata.items()}
        sends = dict(_sends(plane, names))
        groups = dict(_groups(plane, names))
        asked: dict[tuple[str, str, int], deque[int]] = {}
        for begun in sorted(_ends(plane, names, _ASKED, origin), key=lambda end: end.at):
            asked.setdefault(begun[:3], deque()).append(begun.at)
        for ended in sorted(_ends(plane, names, _CAME, origin), key=lambda end: end.at):
            begins = asked.get(ended[:3])
            source, target, name = sends.get(ended.name, ("", "", ""))
            if not begins or begins[0] > ended.at or (ended.kind in _RECEIVES and not source):
                continue
            source, name = source or groups.get(ended.name, "collective"), name or ended.name
            yield Exchange(ended.kind, name, source, target, begins.popleft(), ended.at)


def named_transfers(
    exchanges: Sequence[tuple[int, Exchange | Copy]],
    names: ExecutedNames,
    sizes: Callable[[Iterable[str]], Mapping[str, int]],
) -> Iterator[tuple[int, Transfer]]:
    """The exchanges as a profile has them, by step, with the nodes that made the tensors and the known bytes."""
    nodes = {name: _node(name, names) for name in {each.name for _, each in exchanges}}
    known = sizes(nodes.values()) if nodes else {}
    for step, each in exchanges:
        node = nodes[each.name]
        if isinstance(each, Copy):
            yield step, each.as_transfer(node)
            continue
        ends = each.source.lower(), (each.target or HOST).lower()
        transfer = Transfer(each.kind, *ends, node, each.start, each.end - each.start, known.get(node, 0))
        if transfer.is_sound:
            yield step, transfer


def _node(name: str, names: ExecutedNames) -> str:
    key = without_body_numbers(name)
    return names.node("", key) or names.unknown(key)


def _ends(plane: XPlane, names: dict[int, str], which: str, origin: int) -> Iterator[_End]:
    """The beginnings, or the ends, of the ops that wait for other devices."""
    for event, base in _events(plane, names, origin, lambda name: name == which):
        stats = read_stats(plane, event.stats)
        kind, run = str(stats.get("kernel_type", "")), stats.get("step_id", 0)
        if (kind in _RECEIVES or _COLLECTIVE.fullmatch(kind)) and isinstance(run, int):
            yield _End(kind, str(stats.get("name", "")), run, base + event.offset_ps // PICOS_A_NANO)


def _sends(plane: XPlane, names: dict[int, str]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """The source device, the target device and the sending op of each receive, by its name."""
    for event, _ in _events(plane, names, 0, lambda name: _SEND.fullmatch(name) is not None):
        found = _SEND.fullmatch(names[event.metadata_id])
        stats = read_stats(plane, event.stats)
        parts = str(stats.get("key", "")).split(";")
        if found is not None and len(parts) == _KEY_PARTS:
            received = f"{found['name']}/_{int(found['number']) + 1}"
            yield received, (parts[0], parts[2], str(stats.get("from", found["name"])))


def _groups(plane: XPlane, names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """The group of devices of each collective, by its name."""
    for event, _ in _events(plane, names, 0, lambda name: _COLLECTIVE.fullmatch(name.rpartition(":")[2]) is not None):
        group = read_stats(plane, event.stats).get("group_key")
        if isinstance(group, int):
            yield names[event.metadata_id].rpartition(":")[0], f"collective group {group}"


def _events(plane: XPlane, names: dict[int, str], origin: int, wanted: Any) -> Iterator[tuple[XEvent, int]]:
    """The events with a wanted name, each with the time from which its own time counts."""
    keys = {key for key, name in names.items() if wanted(name)}
    for line in plane.lines if keys else ():
        base = absolute_nanos(line.timestamp_ns, origin)
        yield from ((event, base) for event in _of(line.events, keys))


def _of(events: Iterable[XEvent], keys: set[int]) -> Iterator[XEvent]:
    return (event for event in events if event.metadata_id in keys)
