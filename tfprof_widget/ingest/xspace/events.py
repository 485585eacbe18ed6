"""Finds the events of an XSpace that say what ran, by the form of their names, and reads its errors and warnings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tfprof_widget.lib.arrays import LARGEST_INTEGER
from tfprof_widget.lib.errors import shortened
from tfprof_widget.profiles.devices import RESTRICTED_COUNTERS

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XEvent, XPlane, XSpace

Kind = Literal["op", "async op", "iterator", "eager op", "eager run", "allocation", "release"]

PICOS_A_NANO = 1000
DATA_THREADS = "tf_data_"
HOST_PLANE = "/host:CPU"
DEVICES = "/device:"

OP = re.compile(r"(?P<name>[A-Za-z0-9._][\w.\\/>-]*):(?P<type>[A-Z_]\w*)", re.ASCII)
# A function that XLA compiled runs as an op with the function's name, which may have any characters: `<lambda>` is one.
_COMPILED = re.compile(r"(?P<name>(?P<type>__[^\s:]+)):(?P=type)")
_FIXED: dict[str, Kind] = {
    "EagerExecute": "eager op",
    "KernelAndDeviceFunc::Run": "eager run",
    "KernelAndDeviceOp::Run": "eager run",
    "ExecutorState::ProcessAsync::Start": "async op",
    "MemoryAllocation": "allocation",
    "MemoryDeallocation": "release",
}
MOVING = frozenset({"_Arg", "_DeviceArg", "_DeviceRetval", "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send"})
"""Ops that the runtime adds to move values around."""

_READ_OF_EVENTS = frozenset(
    {
        *("addr", "allocator_name", "bytes_allocated", "bytes_reserved", "eager_op", "id", "is_func"),
        *("kernel_type", "name", "region_type", "requested_bytes", "shape", "tf_op"),
    }
)
"""The stats of the host's events that are read."""
_ITERATOR = "Iterator::"
_COUNT = re.compile(r"\d{1,18}")
_DROPPED_STATS = frozenset({"dropped_traces", "dropped_events"})
# Few words lie between the number and `dropped`, and the number fits 64 bits; a warning may have any length.
_DROPPED = re.compile(r"(?<!\d)(\d{1,18})(?!\d)\D{0,99}\bdropped\b|\bdropped\b\D{0,99}(\d{1,18})(?!\d)", re.IGNORECASE)


class Event(NamedTuple):
    """What ran, when (nanoseconds since the epoch) and for how long."""

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


@dataclass(frozen=True)
class Thread:
    """A thread of the host and its useful events, outer ones first."""

    number: int
    name: str
    events: list[Event]

    @property
    def is_of_data(self) -> bool:
        """Whether it belongs to `tf.data`."""
        return self.name.startswith(DATA_THREADS)


def host_threads(space: XSpace, profiling_started: int = 0, steps: Sequence[tuple[int, bool]] = ()) -> Iterator[Thread]:
    """The threads of the host, numbered in the order in which they were recorded.

    `steps` are the starts of steps, sorted, each with whether the input shapes of its ops are to be read.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> space = XSpace()
    >>> plane = space.planes.add(name="/host:CPU")
    >>> plane.event_metadata[7].name = "layer/MatMul:MatMul"
    >>> line = plane.lines.add(name="worker", timestamp_ns=1000)
    >>> _ = line.events.add(metadata_id=7, offset_ps=5_000, duration_ps=2_000)
    >>> next(host_threads(space)).events[0][:5]
    ('op', 'layer/MatMul', 'MatMul', 1005, 2)
    """
    origin = profile_started(space, profiling_started)
    number = count()
    for plane in space.planes:
        if not plane.name.startswith(HOST_PLANE):
            continue
        seen, reader = _Seen(steps), StatReader(plane, _READ_OF_EVENTS)
        kinds = {key: known for key, each in plane.event_metadata.items() if (known := _kind(each.name))}
        for line in plane.lines:
            base = absolute_nanos(line.timestamp_ns, origin)
            events = [_event(reader, each, base, seen, *kinds[each.metadata_id]) for each in _known(line.events, kinds)]
            events = [each for each in events if each.op not in MOVING]
            events.sort(key=lambda event: (event.start, -event.duration))
            yield Thread(next(number), line.display_name or line.name, events)


def count_of(stats: Mapping[str, Any], name: str) -> int:
    """A stat that is a count, 0 if there is none; damaged traces have texts and broken numbers there.

    >>> count_of({"addr": 5, "requested_bytes": "many"}, "requested_bytes")
    0
    """
    value = stats.get(name, 0)
    return value if isinstance(value, int) else 0


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
    """The kind of an event with this name, and the op that it names; None for useless events, as most are."""
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed, "", ""
    if name.startswith(_ITERATOR):
        return "iterator", name, name.rpartition("::")[2].partition("[")[0]
    op = OP.fullmatch(name) or _COMPILED.fullmatch(name)
    if op is None or op["type"] in MOVING:
        return None
    return "op", op["name"], op["type"]


def _known(events: Iterable[XEvent], kinds: dict[int, Any]) -> Iterator[XEvent]:
    return (event for event in events if event.metadata_id in kinds)


class _Seen:
    """Counts the executions of each op in a step: of many only the 1st, 2nd, 4th, 8th … is read in full."""

    def __init__(self, steps: Sequence[tuple[int, bool]]) -> None:
        self._starts = [start for start, _ in steps]
        self._counts: list[dict[int, int] | None] = [{}, *({} if is_read else None for _, is_read in steps)]

    def is_to_be_read(self, key: int, start: int) -> bool:
        counts = self._counts[bisect_right(self._starts, start)]
        if counts is None:
            return False
        number = counts[key] = counts.get(key, 0) + 1
        return not number & (number - 1)


def _event(reader: StatReader, event: XEvent, base: int, seen: _Seen, kind: Kind, name: str, op: str) -> Event:
    start = base + event.offset_ps // PICOS_A_NANO
    is_left_out = kind == "iterator" or (kind == "op" and not seen.is_to_be_read(event.metadata_id, start))
    stats = {} if is_left_out else reader.read(event.stats)
    if kind == "async op":
        name, op = str(stats.get("name", "")), str(stats.get("kernel_type", ""))
    elif kind == "eager op":
        name = op = str(stats.get("eager_op", ""))
    return Event(kind, name, op, start, event.duration_ps // PICOS_A_NANO, stats)


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


class StatReader:
    """Reads the stats of many events of a plane that are wanted: their names are looked up once.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> plane = XSpace().planes.add()
    >>> plane.stat_metadata[1].name = "step_num"
    >>> stat = plane.stats.add(metadata_id=1, int64_value=7)
    >>> StatReader(plane, ["step_num"]).read([stat]), StatReader(plane, ["addr"]).read([stat])
    ({'step_num': 7}, {})
    """

    def __init__(self, plane: XPlane, wanted: Collection[str]) -> None:
        self._texts = {key: each.name for key, each in plane.stat_metadata.items()}
        self._names = {key: name for key, name in self._texts.items() if name in wanted}

    def read(self, stats: Iterable[Any]) -> dict[str, Any]:
        """The stats by name."""
        found: dict[str, Any] = {}
        names = self._names
        for stat in stats:
            key = stat.metadata_id
            if key in names:
                field = stat.WhichOneof("value")
                if field == "ref_value":
                    found[names[key]] = self._texts.get(stat.ref_value, "")
                elif field is not None:
                    found[names[key]] = getattr(stat, field)
        return found


def profile_started(space: XSpace, profiling_started: int = 0) -> int:
    """When profiling started, from which times may count.

    Old versions of TensorFlow, such as 2.12, do not record it; then it is `profiling_started`.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> profile_started(XSpace(), 1000)
    1000
    """
    for plane in space.planes:
        start = count_of(read_stats(plane, plane.stats), "profile_start_time")
        if start:
            return start
    return profiling_started


def absolute_nanos(nanos: int, origin: int) -> int:
    """A time in nanoseconds since the epoch; it may have been counted from the start of profiling.

    >>> absolute_nanos(5, 1000), absolute_nanos(1005, 1000)
    (1005, 1005)
    """
    return nanos if nanos >= origin else origin + nanos


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
    """The notes that traces have, and one on the functions in them that XLA compiled.

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
        f"XLA compiled {said} to one op{each}, which has all the time: the ops within show none. "
        "To see theirs, profile with jit_compile=False, which Keras's compile takes too",
    )


def _note(text: str) -> str:
    fix = next((fix for pattern, fix in _FIXES if pattern.search(text)), "")
    said = f"TensorFlow's profiler says: {shortened(text, _LONGEST_TEXT)}"
    return f"{said.rstrip('.')}; {fix}" if fix else said
