"""Picks the events of an XSpace that say what ran: ops, eager ops, `tf.data` iterators, kernels and allocations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from tfprof_widget.messages import XEvent, XPlane, XSpace

Kind = Literal["op", "async op", "iterator", "eager op", "eager run", "allocation", "release"]

PICOS_A_NANO = 1000
DATA_THREADS = "tf_data_"

_OP = re.compile(r"(?P<name>[A-Za-z0-9._][\w.\\/>-]*):(?P<type>[A-Z_]\w*)", re.ASCII)
_FIXED: dict[str, Kind] = {
    "EagerExecute": "eager op",
    "KernelAndDeviceFunc::Run": "eager run",
    "KernelAndDeviceOp::Run": "eager run",
    "ExecutorState::ProcessAsync::Start": "async op",
    "MemoryAllocation": "allocation",
    "MemoryDeallocation": "release",
}
_PASSED_ON = frozenset({"_Arg", "_DeviceArg", "_DeviceRetval", "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send"})
"""Ops that the runtime adds to move values around."""

_ITERATOR = "Iterator::"
_GPU = re.compile(r"/device:(GPU:\d+)", re.IGNORECASE)
_STREAM = "Stream "
_DROPPED_STATS = frozenset({"dropped_traces", "dropped_events"})
_DROPPED = re.compile(r"(\d+)\D*\bdropped\b|\bdropped\b\D*(\d+)", re.IGNORECASE)


class Event(NamedTuple):
    """What ran, on which thread or stream, when (nanoseconds since the epoch) and for how long."""

    kind: Kind
    name: str
    op: str
    start: int
    duration: int
    stats: dict[str, Any]

    @property
    def end(self) -> int:
        """When it ended."""
        return self.start + self.duration

    @property
    def is_call(self) -> bool:
        """Whether Python called a function."""
        return bool(self.stats.get("is_func"))


class Kernel(NamedTuple):
    """A kernel of an accelerator, and the op that it ran for."""

    name: str
    op: str
    device: str
    stream: int
    start: int
    duration: int


@dataclass(frozen=True)
class Thread:
    """A thread of the host and its events that are of use, outer ones first."""

    number: int
    name: str
    events: list[Event]

    @property
    def is_of_data(self) -> bool:
        """Whether it belongs to `tf.data`."""
        return self.name.startswith(DATA_THREADS)


def host_threads(space: XSpace) -> Iterator[Thread]:
    """The threads of the host, numbered in the order they were recorded.

    >>> from tfprof_widget.messages import XSpace
    >>> space = XSpace()
    >>> plane = space.planes.add(name="/host:CPU")
    >>> plane.event_metadata[7].name = "layer/MatMul:MatMul"
    >>> line = plane.lines.add(name="worker", timestamp_ns=1000)
    >>> _ = line.events.add(metadata_id=7, offset_ps=5_000, duration_ps=2_000)
    >>> next(host_threads(space)).events[0][:5]
    ('op', 'layer/MatMul', 'MatMul', 1005, 2)
    """
    origin = _origin(space)
    number = count()
    for plane in space.planes:
        if not plane.name.startswith("/host:CPU"):
            continue
        told: dict[int, int] = {}
        kinds = {key: known for key, each in plane.event_metadata.items() if (known := _kind(each.name))}
        for line in plane.lines:
            base = _absolute(line.timestamp_ns, origin)
            events = [_event(plane, each, base, told, *kinds[each.metadata_id]) for each in _known(line.events, kinds)]
            events = [each for each in events if each.op not in _PASSED_ON]
            events.sort(key=lambda event: (event.start, -event.duration))
            yield Thread(next(number), line.display_name or line.name, events)


def kernels(space: XSpace) -> Iterator[Kernel]:
    """The kernels that ran on GPUs, of the lines that are streams: others repeat them in other groupings."""
    origin = _origin(space)
    for plane in space.planes:
        device = _GPU.search(plane.name)
        if device is None:
            continue
        for line in plane.lines:
            if not (line.display_name or line.name).startswith(_STREAM):
                continue
            base = _absolute(line.timestamp_ns, origin)
            for event in line.events:
                stats = _stats(plane, [*plane.event_metadata[event.metadata_id].stats, *event.stats])
                name, op = _kernel_op(stats, plane.event_metadata[event.metadata_id].name)
                start = base + event.offset_ps // PICOS_A_NANO
                yield Kernel(name, op, device[1].lower(), line.id, start, event.duration_ps // PICOS_A_NANO)


def dropped_events(space: XSpace) -> int:
    """How many events the tracers say that they dropped.

    >>> from tfprof_widget.messages import XSpace
    >>> dropped_events(XSpace(warnings=["GPU: 12 events were dropped."]))
    12
    """
    counted = 0
    for plane in space.planes:
        stats = _stats(plane, plane.stats)
        counted += sum(int(value) for name, value in stats.items() if name in _DROPPED_STATS and str(value).isdecimal())
    for text in (*space.errors, *space.warnings):
        counted += sum(int(first or second) for first, second in _DROPPED.findall(text))
    return counted


def _kind(name: str) -> tuple[Kind, str, str] | None:
    """What an event of that name is, and which op it names; None for those of no use, which most are."""
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed, "", ""
    if name.startswith(_ITERATOR):
        return "iterator", name, name.rpartition("::")[2].partition("[")[0]
    op = _OP.fullmatch(name)
    if op is None or op["type"] in _PASSED_ON:
        return None
    return "op", op["name"], op["type"]


def _known(events: Iterable[XEvent], kinds: dict[int, Any]) -> Iterator[XEvent]:
    return (event for event in events if event.metadata_id in kinds)


def _event(plane: XPlane, event: XEvent, base: int, told: dict[int, int], kind: Kind, name: str, op: str) -> Event:
    """An event; of the many executions of one op only the earliest is read in full, for the shapes that it tells.

    Threads come one after the other, so that an earlier one may follow: `told` are the starts of those read.
    """
    start = base + event.offset_ps // PICOS_A_NANO
    is_repeated = kind == "op" and start >= told.get(event.metadata_id, start + 1)
    stats = {} if is_repeated or kind == "iterator" else _stats(plane, event.stats)
    if kind == "op" and stats:
        told[event.metadata_id] = start
    if kind == "async op":
        name, op = str(stats.get("name", "")), str(stats.get("kernel_type", ""))
    elif kind == "eager op":
        name = op = str(stats.get("eager_op", ""))
    return Event(kind, name, op, start, event.duration_ps // PICOS_A_NANO, stats)


def _stats(plane: XPlane, stats: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for stat in stats:
        field = stat.WhichOneof("value")
        if field is None:
            continue
        value = getattr(stat, field)
        found[plane.stat_metadata[stat.metadata_id].name] = (
            plane.stat_metadata[value].name if field == "ref_value" else value
        )
    return found


def _kernel_op(stats: dict[str, Any], kernel: str) -> tuple[str, str]:
    """The name and type of the op that a kernel ran for; the kernel's own name where that is not known."""
    for key in ("tf_op", "kernel_annotation", "name"):
        written = str(stats.get(key, "")).rpartition("::")[2].partition("#")[0]
        op = _OP.fullmatch(written)
        if op is not None:
            return op["name"], op["type"]
    # as the names of copies are in a RunMetadata, which makes no nodes of them
    return (kernel.upper(), kernel) if kernel.lower().startswith("memcpy") else (kernel, kernel)


def _origin(space: XSpace) -> int:
    """When profiling started, which the times of recent TensorFlow count from; 0 where it is not said."""
    for plane in space.planes:
        start = _stats(plane, plane.stats).get("profile_start_time")
        if start is not None:
            return int(start)
    return 0


def _absolute(nanos: int, origin: int) -> int:
    """Nanoseconds since the epoch, of a time that may count from the start of profiling."""
    return nanos if nanos >= origin else origin + nanos
