"""Places executions on an axis, in tracks and lanes, and writes trace events."""

from __future__ import annotations

import heapq
import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tfprof_widget.analysis.cluster.clocks import aligned_start_nanos
from tfprof_widget.ingest.join import counted_micros
from tfprof_widget.lib.arrays import LARGEST_INTEGER, NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import device_label

# The longest string that Chromium's JavaScript engine holds, and so the longest JSON that a page can read.
LARGEST_TRACE = 2**29 - 24
_EVENTS_A_PART = 5000

Place = tuple[int, int]
"""A process and a thread of it, both counted from 0."""

as_json = json.dumps


def micros(nanos: int) -> str:
    """A time in microseconds, as the trace event format has it.

    >>> micros(5000), micros(1234567), micros(1_700_000_000_123_456_789)
    ('5', '1234.567', '1700000000123456.789')
    """
    whole, rest = divmod(nanos, NANOS_A_MICRO)
    return f"{whole}.{rest:03}".rstrip("0") if rest else str(whole)


def slice_event(name: str, category: str, place: Place, start: int, duration: int, args: str) -> str:
    """The event of something that takes time; `name`, `category` and `args` are JSON already.

    >>> slice_event('"a"', '"Op"', (0, 1), 5000, 2500, "{}")
    '{"ph":"X","name":"a","cat":"Op","pid":1,"tid":2,"ts":5,"dur":2.5,"args":{}}'
    """
    return (
        f'{{"ph":"X","name":{name},"cat":{category},{_at(place)},'
        f'"ts":{micros(start)},"dur":{micros(duration)},"args":{args}}}'
    )


def label_event(what: str, place: Place, text: str) -> str:
    """The event that labels a process or thread; `what` is `process_name`, `process_labels` or `thread_name`.

    >>> label_event("thread_name", (0, 3), "lane 3")
    '{"ph":"M","name":"thread_name","pid":1,"tid":4,"args":{"name":"lane 3"}}'
    """
    key = what.partition("_")[2]
    return f'{{"ph":"M","name":"{what}",{_at(place)},"args":{{"{key}":{as_json(text)}}}}}'


def counter_event(name: str, process: int, at: int, values: Mapping[str, int]) -> str:
    """The event of a process's counter, whose lines have these values from a time on.

    >>> counter_event("memory held", 0, 1500, {"bytes": 64})
    '{"ph":"C","name":"memory held","pid":1,"tid":1,"ts":1.5,"args":{"bytes":64}}'
    """
    args = ",".join(f"{as_json(line)}:{value}" for line, value in values.items())
    return f'{{"ph":"C","name":"{name}",{_at((process, 0))},"ts":{micros(at)},"args":{{{args}}}}}'


def flow_events(name: str, number: int, source: tuple[Place, int], target: tuple[Place, int]) -> Iterator[str]:
    """An arrow between two slices; each end is a place and a time within the slice."""
    for phase, (place, at) in (('"s"', source), ('"f","bp":"e"', target)):
        yield f'{{"ph":{phase},"name":{name},"cat":"DataFlow","id":{number},{_at(place)},"ts":{micros(at)}}}'


def _at(place: Place) -> str:
    # Numbers are written from 1 on: Perfetto takes process 0 and thread 0 for the kernel's.
    return f'"pid":{place[0] + 1},"tid":{place[1] + 1}'


def whole_trace(events: Iterable[str], about: dict[str, Any]) -> bytearray:
    """The trace of these events; raises if it is larger than what a browser opens.

    >>> whole_trace(['{"ph":"M"}'], {}).decode()
    '{"displayTimeUnit":"ns","otherData":{},"traceEvents":[\\n{"ph":"M"}\\n]}\\n'
    """
    content = bytearray(b'{"displayTimeUnit":"ns","otherData":' + as_json(about).encode() + b',"traceEvents":[\n')
    remaining, separator = iter(events), b""
    while part := list(islice(remaining, _EVENTS_A_PART)):
        content += separator + ",\n".join(part).encode()
        separator = b",\n"
        if len(content) > LARGEST_TRACE:
            raise ProfileError(
                f"timeline: it would take more than {LARGEST_TRACE // 10**6} MB, which no browser opens; "
                "raise min_micros, choose one step, or show fewer nodes by show_name_regexes or max_depth"
            )
    return content + b"\n]}\n"


@dataclass(frozen=True, eq=False)
class Tracks:
    """Tracks, one for each device of each worker, numbered from `first` on; `worker` holds the worker of each step.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> Tracks.of(profile, profile.nodes.devices).number(np.array([0]), np.array([1])).tolist()
    [1]
    """

    workers: tuple[str, ...]
    worker: Indices
    devices: tuple[str, ...]
    first: int = 0

    @classmethod
    def of(cls, profile: ProfileData, devices: tuple[str, ...], first: int = 0) -> Tracks:
        """The tracks of these devices for all workers of a profile."""
        workers = tuple(sorted(set(profile.step_workers))) or ("",)
        code = {worker: place for place, worker in enumerate(workers)}
        return cls(workers, np.array([code[worker] for worker in profile.workers_of_steps], np.int32), devices, first)

    @property
    def end(self) -> int:
        """The number after the last track's."""
        return self.first + len(self.workers) * len(self.devices)

    def number(self, step: Indices, device: Indices) -> Integers:
        """The track of each execution, by its step and device."""
        worker = self.worker[step].astype(np.int64) if len(self.worker) else np.zeros(len(step), np.int64)
        return self.first + worker * len(self.devices) + device

    def labels(self, numbers: Integers, among: tuple[str, ...], ending: str = "") -> Iterator[str]:
        """The events that label these tracks, by names that differ for all devices of `among`."""
        for number in np.unique(numbers).tolist():
            worker, place = divmod(number - self.first, len(self.devices))
            device, name = self.devices[place], self.workers[worker]
            label = f"{device_label(device, among)}{ending}"
            yield label_event("process_name", (number, 0), f"{name} · {label}" if name else label)
            yield label_event("process_labels", (number, 0), device)


def first_free_lanes(start: Integers, duration: Integers) -> Integers:
    """The first lane that is free for each slice; of slices that start together, the longest chooses first.

    >>> first_free_lanes(np.array([0, 1, 3, 5]), np.array([3, 9, 2, 1])).tolist()
    [0, 1, 0, 0]
    """
    lanes = np.zeros(len(start), np.int64)
    order = np.lexsort((-duration, start))
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for row, begin, end in zip(order.tolist(), start[order].tolist(), (start + duration)[order].tolist(), strict=True):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        # If no lane is free, those from 0 to len(busy) - 1 are busy.
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, lane))
        lanes[row] = lane
    return lanes


# The gap between two steps, as a share of the steps' mean length: how far apart they ran is not recorded.
SPACE = 0.04


@dataclass(frozen=True)
class Span:
    """The place of a step on the axis, from `start` on; the run's clock was at `origin` then."""

    start: int
    length: int
    origin: int


@dataclass(frozen=True, eq=False)
class AxisPlaces:
    """Start and duration of each execution on the axis, in nanoseconds; only those that are `timed` have a place.

    `moved` is the difference between an execution's start on the axis and by its task's clock.
    """

    timed: Flags
    start: Integers
    duration: Integers
    moved: Integers
    spans: Mapping[int, Span]


def axis_places(profile: ProfileData, steps: Sequence[int], timing: str, *, epoch: bool = False) -> AxisPlaces:
    """Place the executions of some steps, given by index; with `timing="exact"`, several tasks by one clock.

    With `epoch` the axis is the clock itself, which counts from 1970; else it begins with 0.

    >>> from tfprof_widget.demo import demo_profile
    >>> axis_places(demo_profile(), [0], "exact").spans[0].length
    365125
    """
    executions = profile.executions
    if timing == "exact":
        recorded, duration = executions.start_nanos, executions.duration_nanos
        start = aligned_start_nanos(profile)
    else:
        recorded, duration = executions.start_micros * NANOS_A_MICRO, counted_micros(executions) * NANOS_A_MICRO
        start = recorded
    timed = (executions.start_micros > 0) & np.isin(executions.step, steps)
    spans = _spans(executions.step[timed], start[timed], (start + duration)[timed], steps)
    if epoch:
        spans = {step: Span(span.origin, span.length, span.origin) for step, span in spans.items()}
    shift = np.zeros(len(profile.steps), np.int64)
    for step, span in spans.items():
        shift[step] = span.start - span.origin
    start = start + shift[executions.step]
    return AxisPlaces(timed, start, duration, start - recorded, spans)


def _spans(step: Indices, start: Integers, end: Integers, steps: Sequence[int]) -> dict[int, Span]:
    """The places of the steps in which anything ran, one after another."""
    first, last = np.full(max(steps, default=-1) + 1, LARGEST_INTEGER), np.zeros(max(steps, default=-1) + 1, np.int64)
    np.minimum.at(first, step, start)
    np.maximum.at(last, step, end)
    lengths = {each: int(last[each] - first[each]) for each in steps if first[each] < LARGEST_INTEGER}
    space = math.ceil(SPACE * sum(lengths.values()) / max(len(lengths), 1))
    spans, reached = {}, 0
    for each, length in lengths.items():
        spans[each] = Span(reached, length, int(first[each]))
        reached += length + space
    return spans


HELD = "memory held"
HOLDERS = "top allocations"
MOST_HOLDERS = 10
IN_USE = "allocator bytes in use"


def memory_events(profile: ProfileData, when: AxisPlaces, track: Integers) -> Iterator[str]:
    """The memory counters of all tracks; they count all nodes, shown or not."""
    executions, allocations = profile.executions, profile.allocations
    step, place = executions.step[allocations.execution], track[allocations.execution]
    # Allocations of the same microsecond stay in the order in which they were recorded.
    order = np.lexsort((allocations.micros, place, step))
    changes = np.flatnonzero(np.diff(step[order]) | np.diff(place[order])) + 1
    for rows in np.split(order, changes) if len(order) else ():
        span = when.spans.get(int(step[rows[0]]))
        if span is not None:
            at = allocations.micros[rows] * NANOS_A_MICRO + when.moved[allocations.execution[rows]]
            yield from _held(int(place[rows[0]]), span, at, allocations.bytes[rows])
            if allocations.on_accelerator[rows].all():
                node = executions.node[allocations.execution[rows]]
                names = [profile.nodes.names[each] for each in node.tolist()]
                yield from _holders(int(place[rows[0]]), span, at, allocations.bytes[rows], names)
    reported = np.flatnonzero(when.timed & executions.counts_memory & (executions.bytes_in_use > 0))
    end = when.start + when.duration
    for row in reported[np.argsort(end[reported], kind="stable")].tolist():
        yield counter_event(IN_USE, int(track[row]), int(end[row]), {"bytes": int(executions.bytes_in_use[row])})


def _held(process: int, span: Span, at: Integers, sizes: Integers) -> Iterator[str]:
    """The counter of a device in a step; memory that is released but was never allocated was held before the step."""
    held = np.cumsum(sizes)
    before = -min(0, int(held.min()))
    # The step's last releases may be later than its last op.
    at = np.clip(at, span.start, span.start + span.length)
    yield counter_event(HELD, process, span.start, {"bytes": before})
    for moment, amount in zip(at.tolist(), (held + before).tolist(), strict=True):
        yield counter_event(HELD, process, moment, {"bytes": amount})


def _holders(process: int, span: Span, at: Integers, sizes: Integers, names: Sequence[str]) -> Iterator[str]:
    """What the nodes hold that hold most of a device's memory at any time of a step: a counter of a line for each.

    As in `_held`, what is released but was never allocated was held before the step.
    """
    held: dict[str, int] = {}
    least, most = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for name, size in zip(names, sizes.tolist(), strict=True):
        held[name] = held.get(name, 0) + size
        least[name], most[name] = min(least[name], held[name]), max(most[name], held[name])
    top = sorted(most, key=lambda name: (least[name] - most[name], name))[:MOST_HOLDERS]
    now = {name: -least[name] for name in top}
    moments = np.clip(at, span.start, span.start + span.length).tolist()
    yield counter_event(HOLDERS, process, span.start, now)
    for moment, name, size in zip(moments, names, sizes.tolist(), strict=True):
        if name in now:
            now[name] += size
            yield counter_event(HOLDERS, process, moment, now)


def flows(profile: ProfileData, when: AxisPlaces, shown: Flags) -> Iterator[tuple[int, int]]:
    """Pairs of executions: the last of an input's executions to start before a consumer, and the consumer.

    Only executions that are shown and ran on their node's own device are paired.
    """
    executions = profile.executions
    rows = np.flatnonzero(shown & (executions.device == profile.nodes.device[executions.node]))
    rows = rows[np.lexsort((when.start[rows], executions.node[rows]))]
    # The executions of node `i` are `rows[first[i]:first[i + 1]]`.
    first = np.searchsorted(executions.node[rows], np.arange(len(profile.nodes) + 1))
    for consumer, source in _crossing_edges(profile).tolist():
        sources = rows[first[source] : first[source + 1]]
        starts = when.start[sources].tolist()
        for row in rows[first[consumer] : first[consumer + 1]].tolist():
            position = bisect_right(starts, int(when.start[row])) - 1
            if position >= 0 and executions.step[sources[position]] == executions.step[row]:
                yield int(sources[position]), row


def _crossing_edges(profile: ProfileData) -> Integers:
    """The distinct pairs of consumer and source that are on different devices."""
    nodes = profile.nodes
    consumer = np.repeat(np.arange(len(nodes)), np.diff(nodes.inputs.start))
    source = nodes.inputs.values.astype(np.int64)
    placed = (source >= 0) & (nodes.device[consumer] >= 0) & (nodes.device[source] >= 0)
    crossing = placed & (nodes.device[consumer] != nodes.device[source])
    return np.unique(np.stack([consumer[crossing], source[crossing]], axis=1), axis=0)
