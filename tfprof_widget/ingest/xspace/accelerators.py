"""Reads what ran on accelerators: kernels, each with the op that it ran for, and copies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.events import (
    DEVICES,
    MOVING,
    PICOS_A_NANO,
    StatReader,
    absolute_nanos,
    profile_started,
    read_stats,
)
from tfprof_widget.ingest.xspace.hlo import Op, Programs, op_of, read_programs
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER
from tfprof_widget.profiles.accelerators import Accelerator

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XEvent, XLine, XPlane, XSpace

ACCELERATOR = "/job:localhost/replica:0/task:0/device:{}"
STREAMS = "/device:{}/stream:all"

_DEVICE = re.compile(r"/device:(?P<kind>GPU|TPU|CUSTOM):(?P<number>\w+)", re.IGNORECASE | re.ASCII)
_STREAM = "Stream "
_XLA_OPS, _XLA_COPIES = "XLA Ops", "Async XLA Ops"
_ENDS_OF_A_COPY = 2
_LINE_TYPES = re.compile(r"\((?P<types>[\w,]*)\)", re.ASCII)
_COPY = "Memcpy"
_HOST = "cpu:0"
_HOSTS = "/host:"
_LONGEST_NUMBER = 19


class Launch(NamedTuple):
    """A kernel by its name, and how it is launched, as `KernelRuns` has it."""

    kernel: str
    grid: str = ""
    block: str = ""
    registers: int = 0
    shared_bytes: int = 0
    occupancy_percent: int = 0


class Kernel(NamedTuple):
    """A kernel of an accelerator, and the op that it ran for.

    `delay` is how long after the host began to launch it the kernel began; ABSENT if that is not known.
    """

    of: Op
    device: str
    stream: int
    start: int
    duration: int
    launch: Launch = Launch("")
    delay: int = ABSENT


def unread_devices(space: XSpace) -> Iterator[str]:
    """A note that names the devices of which nothing that they recorded is read, if there are such.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> space = XSpace(planes=[{"name": "/device:DSP:0", "lines": [{"name": "Jobs", "events": [{"duration_ps": 1}]}]}])
    >>> list(unread_devices(space))
    ['/device:DSP:0: its events are not read, for none of its lines is one of streams or of ops of XLA']
    """
    names = [
        plane.name
        for plane in space.planes
        if plane.name.startswith(DEVICES)
        and any(line.events for line in plane.lines)
        and not (_accelerator_of(plane) and any(map(_is_read, plane.lines)))
    ]
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{names[0]}{more}: its events are not read, for none of its lines is one of streams or of ops of XLA"


def _is_read(line: XLine) -> bool:
    name = line.display_name or line.name
    return name.startswith(_STREAM) or name in (_XLA_OPS, _XLA_COPIES)


def _accelerator_of(plane: XPlane) -> str:
    """The accelerator that a plane is of, such as `gpu:0`; empty if it is of none."""
    found = _DEVICE.search(plane.name)
    return f"{found['kind']}:{found['number']}".lower() if found is not None else ""


# What planes tell, by the names of TensorFlow's xplane_schema.cc: the field of `Accelerator`, and its units.
_FACTS = {
    "clock_rate": ("clock_hertz", 1e3),
    "core_count": ("cores", 1),
    "memory_size": ("memory_bytes", 1),
    "memory_bandwidth": ("bytes_per_second", 1),
    "peak_hbm_bw_gigabytes_per_second": ("bytes_per_second", 1e9),
    "peak_teraflops_per_second": ("float_ops_per_second", 1e12),
}


def read_accelerators(space: XSpace) -> tuple[Accelerator, ...]:
    """The accelerators in the recording that tell anything of themselves.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> space = XSpace(planes=[{"name": "/device:GPU:0", "stats": [{"metadata_id": 1, "uint64_value": 1_530_000}]}])
    >>> space.planes[0].stat_metadata[1].name = "clock_rate"
    >>> [(each.name.rpartition("/")[2], each.clock_hertz) for each in read_accelerators(space)]
    [('device:gpu:0', 1530000000)]
    """
    found = []
    for plane in space.planes:
        stats = read_stats(plane, plane.stats) if _accelerator_of(plane) else {}
        known: dict[str, Any] = {}
        for name, (fact, unit) in _FACTS.items():
            value = stats.get(name)
            if isinstance(value, int | float) and 0 < value * unit <= LARGEST_INTEGER:
                known[fact] = round(value * unit)
        model = str(stats.get("device_type_string", stats.get("device_vendor", "")))
        if model:
            known["model"] = model
        if isinstance(stats.get("compute_cap_major"), int):
            known["compute_capability"] = f"{stats['compute_cap_major']}.{stats.get('compute_cap_minor', 0)}"
        if known.keys() - {"model"}:  # of an accelerator that did nothing, some planes tell the vendor
            found.append(Accelerator(ACCELERATOR.format(_accelerator_of(plane)), **known))
    return tuple(found)


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


def read_streams(space: XSpace, profiling_started: int = 0) -> Iterator[Kernel | Copy]:
    """What ran on accelerators, from the lines of streams and of XLA's ops: others repeat them in other groupings."""
    origin = profile_started(space, profiling_started)
    planes = [(plane, device) for plane in space.planes if (device := _accelerator_of(plane))]
    programs = read_programs(space) if planes else {}  # a host's recording may have notes on many programs
    launched = _launched(space, origin) if planes else {}
    for plane, device in planes:
        for line in plane.lines:
            name = line.display_name or line.name
            if name.startswith(_STREAM):
                yield from _of_stream(plane, line, device, origin, programs, launched)
            elif name == _XLA_OPS:
                yield from _of_xla(plane, line, device, origin, programs)
            elif name == _XLA_COPIES:
                yield from _copies_of_xla(plane, line, device, origin)


def _of_xla(plane: XPlane, line: XLine, device: str, origin: int, programs: Programs) -> Iterator[Kernel]:
    """The ops that XLA runs on a device of its own, such as a TPU; an op's time is without ops that it runs within."""
    base = absolute_nanos(line.timestamp_ns, origin)
    known: dict[int, tuple[Op, Launch]] = {}
    found: list[Kernel] = []
    opened: list[tuple[int, int]] = []
    timed = ((event, *_by_device_clock(plane, event)) for event in line.events)
    for event, offset, lasted in sorted(timed, key=lambda each: (each[1], -each[2])):
        if event.metadata_id not in known:
            metadata = plane.event_metadata[event.metadata_id]
            stats = read_stats(plane, metadata.stats)
            stats.setdefault("hlo_op", metadata.display_name or metadata.name.lstrip("%").partition(" ")[0])
            known[event.metadata_id] = op_of(stats, metadata.name, programs), Launch(str(stats["hlo_op"]))
        duration = lasted // PICOS_A_NANO
        while opened and opened[-1][0] <= offset:
            opened.pop()
        if opened and offset + lasted <= opened[-1][0]:
            outer = found[opened[-1][1]]
            found[opened[-1][1]] = outer._replace(duration=max(outer.duration - duration, 0))
        opened.append((offset + lasted, len(found)))
        start = base + event.offset_ps // PICOS_A_NANO  # by the clock of other lines, such as those of programs
        of, launch = known[event.metadata_id]
        found.append(Kernel(of, device, line.id, start, duration, launch))
    return iter(found)


def _by_device_clock(plane: XPlane, event: XEvent) -> tuple[int, int]:
    """When an event began and how long it took, in picoseconds; a TPU tells both by a finer clock of its own."""
    stats = read_stats(plane, event.stats)
    offset, lasted = stats.get("device_offset_ps"), stats.get("device_duration_ps")
    if isinstance(offset, int) and isinstance(lasted, int):
        return offset, lasted
    return event.offset_ps, event.duration_ps


_IN_HOST_MEMORY = re.compile(r"S\(5\)")


def _copies_of_xla(plane: XPlane, line: XLine, device: str, origin: int) -> Iterator[Copy]:
    """The copies that run beside XLA's ops; the first of the two shapes is what is written."""
    base = absolute_nanos(line.timestamp_ns, origin)
    for event in line.events:
        metadata = plane.event_metadata[event.metadata_id]
        stats = read_stats(plane, [*metadata.stats, *event.stats])
        shapes = str(stats.get("shape_with_layout", "")).split("}, ")
        if stats.get("hlo_category") != "copy-start" or len(shapes) < _ENDS_OF_A_COPY:
            continue
        target, source = (_HOST if _IN_HOST_MEMORY.search(shape) else device for shape in shapes[:2])
        direction = "2".join("H" if end == _HOST else "D" for end in (source, target))
        start, duration = base + event.offset_ps // PICOS_A_NANO, event.duration_ps // PICOS_A_NANO
        size = stats.get("bytes_accessed", 0)
        copied = Copy(
            *(direction, metadata.name.lstrip("%").partition(" ")[0], source, target, start, duration),
            size if isinstance(size, int) else 0,
        )
        if copied.as_transfer("").is_sound:
            yield copied


_CORRELATION = "correlation_id"


def _launched(space: XSpace, origin: int) -> dict[int, int]:
    """When the host began to launch what ran on streams, by the number that both events have."""
    found: dict[int, int] = {}
    for plane in space.planes:
        key = next((key for key, each in plane.stat_metadata.items() if each.name == _CORRELATION), None)
        if key is None or not plane.name.startswith(_HOSTS):
            continue
        told: dict[int, bool] = {}
        for line in plane.lines:
            base = absolute_nanos(line.timestamp_ns, origin)
            for event in line.events:
                if not told.get(event.metadata_id, True):  # events of one name are alike in this
                    continue
                number = 0
                for stat in event.stats:
                    if stat.metadata_id == key:
                        number = stat.int64_value or stat.uint64_value
                        break
                told.setdefault(event.metadata_id, number != 0)
                if number:
                    start = base + event.offset_ps // PICOS_A_NANO
                    found[number] = min(found.get(number, start), start)
    return found


_DETAILS = re.compile(r"(\w+):([\d,]{1,64})")


def _launch_of(kernel: str, details: str) -> Launch:
    """The launch in the words of TensorFlow and XLA, on CUDA and ROCm: `regs:16 shm:0 grid:1,1,1 block:1024,1,1`."""
    told = dict(_DETAILS.findall(details))
    numbers = {name: int(value) for name, value in told.items() if value.isdigit() and len(value) < _LONGEST_NUMBER}
    shared = sum(numbers.get(name, 0) for name in ("shm", "static_shared", "dynamic_shared", "group_mem"))
    return Launch(
        *(kernel, told.get("grid", ""), told.get("block", ""), numbers.get("regs", 0)),
        *(shared, numbers.get("occ_pct", 0)),
    )


# By these an event says of which op it is, and by the rest how and when it ran.
_NAMING = ("tf_op", "annotation", "name", "hlo_op", "hlo_module", "program_id", "flops", "source_stack")
_READ_OF_KERNELS = frozenset({*_NAMING, _CORRELATION, "kernel_details", "memcpy_details"})


def _of_stream(
    plane: XPlane, line: XLine, device: str, origin: int, programs: Programs, launched: Mapping[int, int]
) -> Iterator[Kernel | Copy]:
    types = _LINE_TYPES.search(line.display_name or line.name)
    named = types["types"].split(",") if types is not None else []
    only_copies = bool(named) and all(each.startswith(_COPY) for each in named)
    base = absolute_nanos(line.timestamp_ns, origin)
    launches: dict[tuple[str, str], Launch] = {}
    ops: dict[tuple[Any, ...], Op] = {}
    kernels: list[tuple[tuple[Any, ...], Kernel]] = []
    told_of: dict[int, tuple[str, dict[str, Any]]] = {}
    reader = StatReader(plane, _READ_OF_KERNELS)
    for event in line.events:
        known = told_of.get(event.metadata_id)
        if known is None:
            metadata = plane.event_metadata[event.metadata_id]
            known = told_of[event.metadata_id] = metadata.name, reader.read(metadata.stats)
        symbol, stats = known[0], known[1] | reader.read(event.stats)
        start, duration = base + event.offset_ps // PICOS_A_NANO, event.duration_ps // PICOS_A_NANO
        copy = None
        if only_copies or "memcpy_details" in stats:
            copy = _copy(stats, symbol, device, start, duration)
            if copy is not None:
                yield copy
        says = (symbol, *map(stats.get, _NAMING))
        of = ops.get(says) or ops.setdefault(says, op_of(stats, symbol, programs))
        if copy is None or not (of.is_symbol or of.op in MOVING):  # what an op copies while it computes is its work
            told = symbol, str(stats.get("kernel_details", ""))
            launch = launches.get(told) or launches.setdefault(told, _launch_of(*told))
            since = launched.get(stats.get(_CORRELATION, 0), start + 1)
            delay = start - since if since <= start else ABSENT
            kernels.append((says, Kernel(of, device, line.id, start, duration, launch, delay)))
    several = Counter(says[1:] for says in ops)
    for says, kernel in kernels:  # an op that runs several kernels does its work once
        count = several[says[1:]]
        shared = kernel.of.float_ops and count > 1
        yield kernel._replace(of=kernel.of.done_by(count)) if shared else kernel


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


def _copy(stats: Mapping[str, Any], name: str, device: str, start: int, duration: int) -> Copy | None:
    details = str(stats.get("memcpy_details", ""))
    size = _SIZE.search(details)
    annotation = str(stats.get("annotation", stats.get("tf_op", "")))
    tensor = _FROM.search(annotation) or _EDGE.search(annotation)
    made_by = tensor[1] if tensor is not None else op_of(stats, "").name
    direction = _direction(details, name)
    source, target = _copied_between(direction, device, details)
    copied = Copy(direction, made_by, source, target, start, duration, int(size[1]) if size is not None else 0)
    return copied if copied.as_transfer("").is_sound else None


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
