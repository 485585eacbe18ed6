"""Reads what ran on accelerators: kernels, each with the op that it ran for, and copies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.parts.transfers import Transfer, are_sound
from tfprof_widget.ingest.xspace.accelerators import ACCELERATOR, accelerator_of
from tfprof_widget.ingest.xspace.events import MOVING
from tfprof_widget.ingest.xspace.hlo import Op, Programs, op_of, read_programs
from tfprof_widget.ingest.xspace.space import (
    HOSTS,
    PICOS_A_NANO,
    STREAM,
    XLA_COPIES,
    XLA_OPS,
    ReadPlane,
    ReadSpace,
    profile_started,
    read_stats,
)
from tfprof_widget.lib.arrays import ABSENT, Flags, Integers, distinct, numbered
from tfprof_widget.profiles.devices import KernelRuns

_ENDS_OF_A_COPY = 2
_LINE_TYPES = re.compile(r"\((?P<types>[\w,]*)\)", re.ASCII)
_COPY = "Memcpy"
_HOST = "cpu:0"
_LONGEST_NUMBER = 19


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels of accelerators: their ops, devices and launches are indices into `ops`, `devices` and `launched`.

    `launched` have no node yet. `delay` is how long after the host began to launch a kernel it began, negative if that
    is not known.
    """

    op: Integers
    device: Integers
    stream: Integers
    start: Integers
    duration: Integers
    launch: Integers
    delay: Integers
    ops: Sequence[Op]
    devices: Sequence[str]
    launched: Sequence[KernelRuns]


class Copy(NamedTuple):
    """A copy from or to an accelerator, or within it; `name` is the executed name of what made the tensor."""

    direction: str
    name: str
    source: str
    target: str
    start: int
    duration: int
    bytes: int

    def as_transfer(self, node: str) -> Transfer:
        """The copy as a profile has it, of a tensor of this node.

        >>> Copy("H2D", "x", "cpu:0", "gpu:0", 5, 3, 64).as_transfer("x")[:3]
        ('MEMCPYHtoD', '/job:localhost/replica:0/task:0/device:cpu:0', '/job:localhost/replica:0/task:0/device:gpu:0')
        """
        kind = f"MEMCPY{self.direction[0]}to{self.direction[2]}"
        ends = ACCELERATOR.format(self.source), ACCELERATOR.format(self.target)
        return Transfer(kind, *ends, node, self.start, self.duration, self.bytes)


def read_streams(space: ReadSpace, profiling_started: int = 0) -> tuple[Kernels, list[Copy]]:
    """What ran on accelerators, from the lines of streams and of XLA's ops: others repeat them in other groupings."""
    origin = profile_started(space.message, profiling_started)
    planes = [(plane, device) for plane in space.planes if (device := accelerator_of(plane.message))]
    programs = read_programs(space.message) if planes else {}  # a host's recording may have notes on many programs
    reader = _StreamReader(programs, _launched(space.planes if planes else (), origin))
    for plane, device in planes:
        start = plane.start_nanos(origin)
        reader.add_streams(plane, device, start)
        reader.add_xla_ops(plane, device, start)
        reader.add_xla_copies(plane, device, start)
    return reader.kernels(), reader.copies


class _Launched(NamedTuple):
    """When the host began to launch what has these numbers on streams; sorted by number."""

    number: Integers
    start: Integers

    def delays(self, number: Integers, start: Integers) -> Integers:
        """How long after its launch each kernel began; negative if its launch was not seen, or came later."""
        if not len(self.number):
            return np.full(len(number), ABSENT, np.int64)
        place = np.minimum(np.searchsorted(self.number, number), len(self.number) - 1)
        found: Integers = np.where(self.number[place] == number, start - self.start[place], ABSENT)
        return found


def _launched(planes: Sequence[ReadPlane], origin: int) -> _Launched:
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for plane in planes:
        if plane.name.startswith(HOSTS):
            number = plane.events.numbers("correlation_id")
            rows = np.flatnonzero(number)
            found.append((number[rows], plane.start_nanos(origin)[rows]))
    number, start = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((start, number))
    numbers, first = np.unique(number[order], return_index=True)
    return _Launched(numbers, start[order[first]])


class _Told(NamedTuple):
    """What some events of a plane tell: the line, the name and the stats of each different one.

    `number` has for each event which of the different ones it is.
    """

    number: Integers
    lines: list[str]
    names: list[str]
    stats: list[dict[str, Any]]

    @classmethod
    def by(cls, plane: ReadPlane, rows: Integers, stats: Sequence[str]) -> _Told:
        """The events in these rows, which differ by their line, their name and these stats."""
        events, lines = plane.events, plane.lines
        places, values = zip(*(events.values(stat, rows) for stat in stats), strict=True)
        first, number = numbered(events.line[rows], events.metadata[rows], *places)
        keys = events.metadata[rows[first]].tolist()
        of_names = {key: read_stats(plane.message, plane.message.event_metadata[key].stats) for key in set(keys)}
        told = [
            of_names[key]
            | {name: known[at[row]] for name, at, known in zip(stats, places, values, strict=True) if at[row] >= 0}
            for key, row in zip(keys, first.tolist(), strict=True)
        ]
        of_lines = [lines[line] for line in events.line[rows[first]].tolist()]
        return cls(number, of_lines, plane.event_names(rows[first]), told)


class _StreamReader:
    """Collects kernels and copies, and reads what many of them tell alike only once."""

    def __init__(self, programs: Programs, launched: _Launched) -> None:
        self._programs, self._launched = programs, launched
        self._ops: dict[Op, int] = {}
        self._launches: dict[KernelRuns, int] = {}
        self._devices: list[str] = []
        self._columns: list[tuple[Integers, ...]] = [(np.zeros(0, np.int64),) * 7]
        self.copies: list[Copy] = []

    def kernels(self) -> Kernels:
        """All kernels that were added."""
        op, device, stream, start, duration, launch, delay = map(np.concatenate, zip(*self._columns, strict=True))
        told = list(self._ops), self._devices, list(self._launches)
        return Kernels(op, device, stream, start, duration, launch, delay, *told)

    def add_streams(self, plane: ReadPlane, device: str, start: Integers) -> None:
        """Add the kernels and copies on the streams of a plane; `start` has all its events."""
        rows = _rows_of(plane, [line for line in plane.lines if line.startswith(STREAM)])
        told = _Told.by(plane, rows, _READ_OF_KERNELS)
        ops = self._ops_of(told)
        copies = [
            _copy(stats, name, device) if _has_only_copies(line) or "memcpy_details" in stats else None
            for line, name, stats in zip(told.lines, told.names, told.stats, strict=True)
        ]
        is_copy = self._add_copies(copies, told.number, start[rows], plane.nanos[rows])
        works = np.array([not (op.is_symbol or op.op in MOVING) for op in ops], np.bool_)[told.number]
        kept = np.flatnonzero(~is_copy | works)  # what an op copies while it computes is its work
        rows, number = rows[kept], told.number[kept]
        delay = self._launched.delays(plane.events.numbers("correlation_id")[rows], start[rows])
        launches = _launches_of(told, ops)
        self._add(plane, device, rows, ops, launches, number, start[rows], plane.nanos[rows], delay)

    def _ops_of(self, told: _Told) -> list[Op]:
        """The op of each different kernel; an op that runs several kernels on a stream does its work once."""
        says = [
            (name, line, *map(stats.get, _NAMING))
            for line, name, stats in zip(told.lines, told.names, told.stats, strict=True)
        ]
        of = zip(says, told.names, told.stats, strict=True)
        ops = {each: op_of(stats, name, self._programs) for each, name, stats in of}
        several = Counter(each[1:] for each in ops)
        return [ops[each].done_by(several[each[1:]]) for each in says]

    def _add_copies(
        self, copies: Sequence[Copy | None], number: Integers, start: Integers, duration: Integers
    ) -> Flags:
        """Add the plausible copies of events, of which `number` tells what they are; gives which events are copies."""
        size = np.array([ABSENT if copy is None else copy.bytes for copy in copies], np.int64)[number]
        is_copy: Flags = are_sound(start, duration, size)
        times = zip(number[is_copy].tolist(), start[is_copy].tolist(), duration[is_copy].tolist(), strict=True)
        for code, began, lasted in times:
            copy = copies[code]
            if copy is not None:
                self.copies.append(copy._replace(start=began, duration=lasted))
        return is_copy

    def _add(
        self,
        plane: ReadPlane,
        device: str,
        rows: Integers,
        ops: Sequence[Op],
        launches: Sequence[KernelRuns],
        number: Integers,
        *times: Integers,
    ) -> None:
        """Add the kernels in these rows; `number` tells which of the ops and launches each has."""
        if device not in self._devices:
            self._devices.append(device)
        op = np.array([self._ops.setdefault(each, len(self._ops)) for each in ops], np.int64)
        launch = np.array([self._launches.setdefault(each, len(self._launches)) for each in launches], np.int64)
        streams = np.array([line.id for line in plane.message.lines], np.int64)
        start, duration, delay = times
        of_device = np.full(len(rows), self._devices.index(device), np.int64)
        stream = streams[plane.events.line[rows]]
        self._columns.append((op[number], of_device, stream, start, duration, launch[number], delay))

    def add_xla_ops(self, plane: ReadPlane, device: str, start: Integers) -> None:
        """Add the ops that XLA runs on a device of its own; an op's time is without ops that it runs within."""
        events, metadata = plane.events, plane.message.event_metadata
        for line in (number for number, name in enumerate(plane.lines) if name == XLA_OPS):
            rows = np.flatnonzero(events.line == line)
            rows = rows[np.lexsort((-events.duration[rows], events.offset[rows]))]
            keys, number = distinct(events.metadata[rows])
            ops, launches = [], []
            for each in map(metadata.__getitem__, keys.tolist()):
                stats = read_stats(plane.message, each.stats)
                stats.setdefault("hlo_op", each.display_name or each.name.lstrip("%").partition(" ")[0])
                ops.append(op_of(stats, each.name, self._programs))
                launch = KernelRuns("", "", 0, str(stats["hlo_op"]), accessed_bytes=ops[-1].accessed_bytes)
                launches.append(launch)
            duration = _without_inner(events.offset[rows].tolist(), events.duration[rows].tolist())
            delay = np.full(len(rows), ABSENT, np.int64)
            self._add(plane, device, rows, ops, launches, number, start[rows], duration, delay)

    def add_xla_copies(self, plane: ReadPlane, device: str, start: Integers) -> None:
        """Add the copies that run beside XLA's ops."""
        rows = _rows_of(plane, [XLA_COPIES])
        told = _Told.by(plane, rows, ("shape_with_layout", "hlo_category", "bytes_accessed"))
        copies = [_copy_of_xla(stats, name, device) for stats, name in zip(told.stats, told.names, strict=True)]
        self._add_copies(copies, told.number, start[rows], plane.nanos[rows])


def _rows_of(plane: ReadPlane, lines: Collection[str]) -> Integers:
    """The rows of the events on these lines of a plane."""
    is_asked = np.array([*(line in lines for line in plane.lines), False], np.bool_)
    return np.flatnonzero(is_asked[plane.events.line])


def _without_inner(offset: Sequence[int], lasted: Sequence[int]) -> Integers:
    """The nanoseconds of each op without the ops within; ops are by offset, outer ones first, in picoseconds."""
    found = [each // PICOS_A_NANO for each in lasted]
    opened: list[tuple[int, int]] = []
    for place, (began, took) in enumerate(zip(offset, lasted, strict=True)):
        while opened and opened[-1][0] <= began:
            opened.pop()
        if opened and began + took <= opened[-1][0]:
            outer = opened[-1][1]
            found[outer] = max(found[outer] - took // PICOS_A_NANO, 0)
        opened.append((began + took, place))
    return np.array(found, np.int64)


_IN_HOST_MEMORY = re.compile(r"S\(5\)")


def _copy_of_xla(stats: Mapping[str, Any], name: str, device: str) -> Copy | None:
    """The copy that an event is, if it is one; the first of its shapes is what is written."""
    shapes = str(stats.get("shape_with_layout", "")).split("}, ")
    if stats.get("hlo_category") != "copy-start" or len(shapes) < _ENDS_OF_A_COPY:
        return None
    target, source = (_HOST if _IN_HOST_MEMORY.search(shape) else device for shape in shapes[:2])
    direction = "2".join("H" if end == _HOST else "D" for end in (source, target))
    size = stats.get("bytes_accessed", 0)
    return Copy(
        direction, name.lstrip("%").partition(" ")[0], source, target, 0, 0, size if isinstance(size, int) else 0
    )


_DETAILS = re.compile(r"(\w+):([\d,]{1,64})")


def _details(written: str) -> tuple[str, str, int, int, int]:
    """How a kernel is launched, as KernelRuns has it, in the words of TensorFlow and XLA, on CUDA and ROCm.

    >>> _details("regs:16 shm:64 grid:1,1,1 block:1024,1,1 occ_pct:50")
    ('1,1,1', '1024,1,1', 16, 64, 50)
    """
    told = dict(_DETAILS.findall(written))
    numbers = {name: int(value) for name, value in told.items() if value.isdigit() and len(value) < _LONGEST_NUMBER}
    shared = sum(numbers.get(name, 0) for name in ("shm", "static_shared", "dynamic_shared", "group_mem"))
    return told.get("grid", ""), told.get("block", ""), numbers.get("regs", 0), shared, numbers.get("occ_pct", 0)


def _launches_of(told: _Told, ops: Sequence[Op]) -> list[KernelRuns]:
    """How each different kernel is launched."""
    written = [str(stats.get("kernel_details", "")) for stats in told.stats]
    details = {each: _details(each) for each in set(written)}
    return [
        KernelRuns("", "", 0, name, *details[each], op.accessed_bytes)
        for name, each, op in zip(told.names, written, ops, strict=True)
    ]


# By these an event says of which op it is, and by the rest how it ran.
_NAMING = ("tf_op", "annotation", "name", "hlo_op", "hlo_module", "program_id", "flops", "source_stack")
_READ_OF_KERNELS = (*_NAMING, "kernel_details", "memcpy_details")


def _has_only_copies(line: str) -> bool:
    """Whether a stream has copies only, by the types that its name tells: `Stream #15(MemcpyH2D)`."""
    types = _LINE_TYPES.search(line)
    named = types["types"].split(",") if types is not None else []
    return bool(named) and all(each.startswith(_COPY) for each in named)


# Where a copy came from and went to, in TensorFlow's words for the event and in those for the memory at both ends.
_DIRECTIONS = (
    (re.compile(r"H2D|HostToDevice|HtoD", re.IGNORECASE), "H2D"),
    (re.compile(r"D2H|DeviceToHost|DtoH", re.IGNORECASE), "D2H"),
    (re.compile(r"P2P|PeerToPeer|PtoP", re.IGNORECASE), "P2P"),
    (re.compile(r"D2D|DeviceToDevice|DtoD", re.IGNORECASE), "D2D"),
)
_ENDS = re.compile(r"kind_src:(?P<source>\w+) kind_dst:(?P<target>\w+)")
_ON_HOST = frozenset({"pageable", "pinned"})
_SIZE = re.compile(r"\b(?:size|bytes|num_bytes):(\d{1,18})\b")
_TO = re.compile(r"\bdest:(\d{1,9})\b")
_FROM = re.compile(r"\bfrom=([^,#]+)")
_EDGE = re.compile(r"\bedge_name=(?:edge_\d+_)?([^,#]+)")


def _copy(stats: Mapping[str, Any], name: str, device: str) -> Copy:
    details = str(stats.get("memcpy_details", ""))
    size = _SIZE.search(details)
    annotation = str(stats.get("annotation", stats.get("tf_op", "")))
    tensor = _FROM.search(annotation) or _EDGE.search(annotation)
    made_by = tensor[1] if tensor is not None else op_of(stats, "").name
    direction = _direction(details, name)
    source, target = _copied_between(direction, device, details)
    return Copy(direction, made_by, source, target, 0, 0, int(size[1]) if size is not None else 0)


def _copied_between(direction: str, device: str, details: str) -> tuple[str, str]:
    """The processors that a copy came from and went to; of two accelerators the details name the second."""
    to = _TO.search(details)
    other = f"{device.partition(':')[0]}:{to[1]}" if direction == "P2P" and to is not None else device
    return _HOST if direction[0] == "H" else device, _HOST if direction[2] == "H" else other


def _direction(details: str, name: str) -> str:
    ends = _ENDS.search(details)
    if ends is not None:
        return "2".join("H" if ends[end] in _ON_HOST else "D" for end in ("source", "target"))
    return next((direction for pattern, direction in _DIRECTIONS if pattern.search(name)), "D2D")
