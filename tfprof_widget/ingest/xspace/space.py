"""Reads an XSpace: its events as columns, and everything else as a message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.ingest.xspace.wire import (
    BYTES,
    DOUBLE,
    REFERENCE,
    TEXT,
    UNSIGNED,
    IrregularSpace,
    NumberCodes,
    Stats,
    content_at,
    decoded,
    divided,
    texts_at,
)
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Flags, Indices, Integers, distinct
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import as_message, message_class

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XPlane, XSpace

HOSTS, DEVICES = "/host:", "/device:"
STREAM = "Stream "
XLA_OPS, XLA_COPIES, XLA_PROGRAMS, STEPS = "XLA Ops", "Async XLA Ops", "XLA Modules", "Steps"
_READ_LINES = frozenset({XLA_OPS, XLA_COPIES, XLA_PROGRAMS, STEPS})

PICOS_A_NANO = 1000
TOO_LARGE = "xspace: it has a time or size beyond 2**63 - 1; it is damaged: record it again"

_PLANE, _LINE, _EVENT = 1, 3, 4
"""The numbers of these fields in `protos/xplane.proto`."""

_READ_STATS = (
    *("addr", "allocator_name", "annotation", "autotune", "buffer_limit", "buffer_size", "buffered_elements"),
    *("bytes_accessed", "bytes_allocated", "bytes_reserved", "correlation_id"),
    *("device_duration_ps", "device_offset_ps", "eager_op", "flops", "from", "group_id", "group_key", "hlo_category"),
    *("hlo_module", "hlo_op", "id", "index_on_host", "is_func", "kernel_details", "kernel_type", "key"),
    *(
        "memcpy_details",
        "name",
        "parallelism",
        "program_id",
        "region_type",
        "requested_bytes",
        "shape",
        "shape_with_layout",
    ),
    *("source_stack", "step_id", "step_name", "step_num", "tf_op"),
)
"""The stats of events that are read; most are not."""


@dataclass(frozen=True, eq=False)
class Events:
    """The events of a plane that are read, a row for each, line by line in the order recorded.

    `line` are indices into the plane's lines, `metadata` keys of its `event_metadata`; `offset` and `duration` are in
    picoseconds. The methods give the values of a stat, by its name.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> line = {"events": [{"stats": [{"metadata_id": 1, "int64_value": 7}]}, {}]}
    >>> plane = {"name": "/host:CPU", "lines": [line], "stat_metadata": {1: {"name": "step_num"}}}
    >>> events = read_space(XSpace(planes=[plane])).planes[0].events
    >>> events.numbers("step_num").tolist(), events.has_number("step_num").tolist()
    ([7, 0], [True, False])
    """

    line: Indices
    metadata: Integers
    offset: Integers
    duration: Integers
    stats: Mapping[str, Stats]
    names: Mapping[int, str]
    data: bytes

    def __len__(self) -> int:
        return len(self.line)

    def numbers(self, name: str) -> Integers:
        """The stat of each event as a number, 0 if it has none."""
        found = np.zeros(len(self), np.int64)
        if name in self.stats:
            stats = self.stats[name].integers
            is_beyond = (stats.tag == UNSIGNED) & (stats.value < 0)
            found[stats.event] = np.where(is_beyond, LARGEST_INTEGER, stats.value)
        return found

    def has_number(self, name: str) -> Flags:
        """Whether each event has the stat as a number."""
        found = np.zeros(len(self), np.bool_)
        if name in self.stats:
            found[self.stats[name].integers.event] = True
        return found

    def values(self, name: str, rows: Integers) -> tuple[Integers, list[Any]]:
        """The values of the stat in these rows: the index of each one's among all different ones, ABSENT without it."""
        place = np.full(len(self), ABSENT, np.int64)
        known: dict[tuple[type, Any], int] = {}
        if name in self.stats and len(rows):
            is_asked = np.zeros(len(self), np.bool_)
            is_asked[rows] = True
            stats = self.stats[name].taken(np.flatnonzero(is_asked[self.stats[name].event]))
            for tag in np.flatnonzero(np.bincount(stats.tag)).tolist():
                of_tag = stats.taken(np.flatnonzero(stats.tag == tag))
                code, values = self._values(tag, of_tag.value)
                places = [known.setdefault((type(value), value), len(known)) for value in values]
                place[of_tag.event] = np.array(places, np.int64)[code]
        return place[rows], [value for _, value in known]

    def _values(self, tag: int, value: Integers) -> tuple[Integers, list[Any]]:
        if tag in (TEXT, BYTES):
            code, contents = texts_at(self.data, value)
            return code, contents if tag == BYTES else [each.decode(errors="replace") for each in contents]
        found, code = distinct(value)
        if tag == DOUBLE:
            return code, found.view(np.float64).tolist()
        if tag == REFERENCE:
            return code, [self.names.get(each, "") for each in found.tolist()]
        return code, (found.view(np.uint64) if tag == UNSIGNED else found).tolist()


@dataclass(frozen=True, eq=False)
class ReadPlane:
    """A plane: a message without events, how many events each line has, and the events of the lines that are read.

    `names` are the names of events by their keys in `event_metadata`.
    """

    message: XPlane
    counts: Sequence[int]
    events: Events
    names: Mapping[int, str]

    @property
    def name(self) -> str:
        """The plane's name."""
        return str(self.message.name)

    @property
    def lines(self) -> list[str]:
        """The names of the plane's lines."""
        return [line.display_name or line.name for line in self.message.lines]

    def event_names(self, rows: Integers) -> list[str]:
        """The names of the events in these rows."""
        return [self.names.get(key, "") for key in self.events.metadata[rows].tolist()]

    def start_nanos(self, origin: int) -> Integers:
        """When each event began; `origin` is when profiling started, from which times may count.

        >>> from tfprof_widget.lib.messages import XSpace
        >>> line = {"timestamp_ns": 5, "events": [{"offset_ps": 2000}]}
        >>> (plane,) = read_space(XSpace(planes=[{"name": "/host:CPU", "lines": [line]}])).planes
        >>> plane.start_nanos(1000).tolist()
        [1007]
        """
        bases = [absolute_nanos(line.timestamp_ns, origin) for line in self.message.lines]
        offset = self.events.offset // PICOS_A_NANO
        if max(bases, default=0) + int(offset.max(initial=0)) > LARGEST_INTEGER:
            raise ProfileError(TOO_LARGE)
        found: Integers = np.array(bases, np.int64)[self.events.line] + offset
        return found

    @property
    def nanos(self) -> Integers:
        """How long each event took."""
        found: Integers = self.events.duration // PICOS_A_NANO
        return found


@dataclass(frozen=True, eq=False)
class ReadSpace:
    """An XSpace that was read: a message without events, and its planes."""

    message: XSpace
    planes: Sequence[ReadPlane]


def read_space(xspace: Any, source: str = "xspace") -> ReadSpace:
    """Read an XSpace, given as a message or its bytes; what was read before is returned as it is.

    `source` is named in errors.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> [plane.name for plane in read_space(XSpace(planes=[{"name": "/host:CPU"}])).planes]
    ['/host:CPU']
    """
    from google.protobuf.message import DecodeError

    if isinstance(xspace, ReadSpace):
        return xspace
    data = xspace if isinstance(xspace, bytes) else as_message(xspace, "XSpace", source).SerializeToString()
    try:
        return _read(data)
    except (IrregularSpace, IndexError, DecodeError):
        return _read(_regular(as_message(data, "XSpace", source)))


def _regular(space: XSpace) -> bytes:
    """The XSpace as protobuf writes it, without what is not read."""
    space.DiscardUnknownFields()
    for event in chain.from_iterable(line.events for plane in space.planes for line in plane.lines):
        event.ClearField("num_occurrences")
        stats = [stat for stat in event.stats if stat.metadata_id]
        if len(stats) < len(event.stats):
            del event.stats[:]
            event.stats.extend(stats)
    return space.SerializeToString()


def _read(data: bytes) -> ReadSpace:
    planes, others = divided(data, slice(0, len(data)), _PLANE)
    message = message_class("XSpace").FromString(others)
    read = [_read_plane(data, content_at(data, plane), message.planes.add()) for plane in planes]
    if data and not message.ListFields():
        raise IrregularSpace
    return ReadSpace(message, read)


def _read_plane(data: bytes, place: slice, plane: XPlane) -> ReadPlane:
    lines, others = divided(data, place, _LINE)
    plane.MergeFromString(others)
    starts = []
    for line in lines:
        found, others = divided(data, content_at(data, line), _EVENT)
        plane.lines.add().MergeFromString(others)
        starts.append(np.array(found, np.int64))
    names = {key: each.name for key, each in plane.event_metadata.items()}
    return ReadPlane(plane, [len(each) for each in starts], _events(data, plane, starts), names)


def _is_read(plane: XPlane, line: str) -> bool:
    """Whether the events of a line are read; other lines of a device repeat them in other groupings."""
    of_device = plane.name.startswith(DEVICES) and (line.startswith(STREAM) or line in _READ_LINES)
    return of_device or plane.name.startswith(HOSTS)


def _events(data: bytes, plane: XPlane, starts: Sequence[Integers]) -> Events:
    """The events that begin at these places in the plane's lines."""
    is_read = [_is_read(plane, line.display_name or line.name) for line in plane.lines]
    kept = [each if read else each[:0] for each, read in zip(starts, is_read, strict=True)]
    names = {number: each.name for number, each in plane.stat_metadata.items()}
    keys = {number: _READ_STATS.index(name) for number, name in names.items() if name in _READ_STATS}
    events, stats = decoded(data, np.concatenate([*kept, np.zeros(0, np.int64)]), NumberCodes(keys))
    of_names = {_READ_STATS[key]: of_key for key, of_key in stats.items()}
    line = np.repeat(np.arange(len(kept), dtype=np.int32), [len(each) for each in kept])
    read = Events(line, *events, of_names, names, data)
    return _by_own_clock(read, {key: each.name for key, each in plane.event_metadata.items()})


_LARGEST_TIME = LARGEST_INTEGER // 4


def _by_own_clock(events: Events, names: Mapping[int, str]) -> Events:
    """The events at the times of the clock of the device that recorded them, where ops have these: those of TPUs do.

    Their other times are by the host's clock, which jumps by up to a fifth of a second within a program. Programs,
    which have no others, go with the ops that run in them; copies start with the op that has their name, and end with
    the one that waits for them, even where by the host's clock other ops are there at the same moment.
    """
    rows = np.flatnonzero(events.has_number("device_offset_ps") & events.has_number("device_duration_ps"))
    start, lasted = events.numbers("device_offset_ps")[rows], events.numbers("device_duration_ps")[rows]
    told = events.offset, events.duration, start, lasted
    if not len(rows) or any(each.min() < 0 or each.max() > _LARGEST_TIME for each in told):
        return events
    started, ended = events.offset[rows], events.offset[rows] + events.duration[rows]
    began = int(np.argmin(started))
    start = start + (started[began] - start[began])
    first, last = np.lexsort((start, started)), np.lexsort((start + lasted, ended))
    next_one = first[np.searchsorted(started[first], events.offset).clip(max=len(rows) - 1)]
    end = events.offset + events.duration
    last_one = last[(np.searchsorted(ended[last], end, side="right") - 1).clip(min=0)]
    offset = events.offset - (started - start)[next_one]
    copies, starting, waiting = _of_copies(events, rows, names)
    offset[copies], last_one[copies] = start[starting], waiting
    duration = np.maximum(end - (ended - start - lasted)[last_one] - offset, 0)
    offset[rows], duration[rows] = start, lasted
    return replace(events, offset=np.maximum(offset, 0), duration=duration)


_AWAITED = re.compile(r"-done\(.*(%[\w.-]+)\)")


def _of_copies(events: Events, ops: Integers, names: Mapping[int, str]) -> tuple[Integers, Integers, Integers]:
    """The copies beside ops, with the ops that start them, which have their names, and those that wait for them."""
    symbols = {key: name.partition(" ")[0] for key, name in names.items() if name.startswith("%")}
    awaited = {key: found[1] for key, name in names.items() if (found := _AWAITED.search(name))}
    others = np.setdiff1d(np.flatnonzero(np.isin(events.metadata, list(symbols))), ops)
    asked = {symbols[key] for key in np.unique(events.metadata[others]).tolist()}

    def at(moment: Integers, called: Mapping[int, str]) -> Mapping[tuple[str, int], int]:
        wanted = [key for key, name in called.items() if name in asked]
        places = np.flatnonzero(np.isin(events.metadata[ops], wanted))
        keys = (called[key] for key in events.metadata[ops[places]].tolist())
        return dict(zip(zip(keys, moment[ops[places]].tolist(), strict=True), places.tolist(), strict=True))

    end = events.offset + events.duration
    starting, waiting = at(events.offset, symbols), at(end, awaited)
    copies: list[tuple[int, int, int]] = []
    for row, key in zip(others.tolist(), events.metadata[others].tolist(), strict=True):
        started = starting.get((symbols[key], int(events.offset[row])), ABSENT)
        waited = waiting.get((symbols[key], int(end[row])), ABSENT)
        if ABSENT not in (started, waited):
            copies.append((row, started, waited))
    columns = np.array(copies, np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def absolute_nanos(nanos: int, origin: int) -> int:
    """A time in nanoseconds since the epoch; it may have been counted from the start of profiling.

    >>> absolute_nanos(5, 1000), absolute_nanos(1005, 1000)
    (1005, 1005)
    """
    return nanos if nanos >= origin else origin + nanos


def profile_started(space: XSpace, profiling_started: int = 0) -> int:
    """When profiling started, from which times may count.

    Old versions of TensorFlow, such as 2.12, do not record it; then it is `profiling_started`.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> profile_started(XSpace(), 1000)
    1000
    """
    for plane in space.planes:
        start = read_stats(plane, plane.stats).get("profile_start_time")
        if isinstance(start, int) and start:
            return start
    return profiling_started


def read_stats(plane: XPlane, stats: Iterable[Any]) -> dict[str, Any]:
    """The stats by name.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> plane = XSpace().planes.add()
    >>> plane.stat_metadata[1].name = "step_num"
    >>> _ = plane.stats.add(metadata_id=1, int64_value=7)
    >>> read_stats(plane, plane.stats)
    {'step_num': 7}
    """
    found: dict[str, Any] = {}
    for stat in stats:
        field = stat.WhichOneof("value")
        if field is None:
            continue
        value = getattr(stat, field)
        if field == "ref_value":  # unsigned, unlike the keys of the map
            value = plane.stat_metadata[value].name if value <= LARGEST_INTEGER else ""
        found[plane.stat_metadata[stat.metadata_id].name] = value
    return found
