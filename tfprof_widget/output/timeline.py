"""Writes the trace events that show a graph view, or a tree view, as a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.cluster.exchanges import Producers
from tfprof_widget.analysis.cluster.waits import Activity, Waits
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import NANOS_A_MICRO, Flags, Integers
from tfprof_widget.output.timeline_events import (
    AxisPlaces,
    Place,
    Tracks,
    as_json,
    axis_places,
    first_free_lanes,
    flow_events,
    flows,
    label_event,
    memory_events,
    micros,
    slice_event,
)
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import named_threads

_NANOS_A_SECOND = 10**9
ALL_STREAMS = "/stream:all"


@dataclass(frozen=True, eq=False)
class PlacedTransfers:
    """The transfers on the timeline: their rows in `waits`, and the start, process and lane of each."""

    profile: ProfileData
    waits: Waits
    rows: Integers
    start: Integers
    tracks: Tracks
    process: Integers
    lane: Integers

    @classmethod
    def of(cls, profile: ProfileData, when: AxisPlaces, displayed: Flags, first_track: int) -> PlacedTransfers:
        """Place the transfers of the chosen steps whose tensor is of a displayed node, or of no node."""
        waits = Waits.of(Activity(profile, tuple(when.spans)))
        transfers = profile.transfers
        node = transfers.node[waits.transfer]
        rows = np.flatnonzero(np.append(displayed, True)[node])
        shift = np.zeros(len(profile.steps), np.int64)
        for step, span in when.spans.items():
            shift[step] = span.start - span.origin
        start = np.maximum(waits.begin[rows] + shift[transfers.step[waits.transfer[rows]]], 0)
        tracks = Tracks.of(profile, transfers.devices, first_track)
        chosen = waits.transfer[rows]
        process = tracks.number(transfers.step[chosen], transfers.target[chosen])
        lane = np.zeros(len(rows), np.int64)
        for each in np.unique(process).tolist():
            there = np.flatnonzero(process == each)
            lane[there] = first_free_lanes(start[there], waits.transfer_nanos[rows][there])
        return cls(profile, waits, rows, start, tracks, process, lane)

    def labels(self) -> Iterator[str]:
        """The events that name the processes and their lanes."""
        among = (*self.profile.nodes.devices, *self.profile.transfers.devices)
        yield from self.tracks.labels(self.process, among, " · received")
        for process in np.unique(self.process).tolist():
            for lane in range(int(self.lane[self.process == process].max()) + 1):
                yield label_event("thread_name", (process, lane), f"lane {lane}")

    def slices(self) -> Iterator[str]:
        """A slice for each transfer, with its source, bytes and rate, and how long its target waited for it."""
        transfers = self.profile.transfers
        took, wait = self.waits.transfer_nanos[self.rows], self.waits.wait[self.rows]
        for at in np.lexsort((self.lane, self.process, self.start)).tolist():
            row = int(self.waits.transfer[self.rows[at]])
            size, nanos = int(transfers.bytes[row]), int(took[at])
            args = {
                "from": transfers.devices[transfers.source[row]],
                "step": self.profile.steps[transfers.step[row]],
                "bytes": size,
                "bytes_per_second": round(size * _NANOS_A_SECOND / nanos) if nanos else None,
                "wait_us": int(wait[at]) / NANOS_A_MICRO,
            }
            kind = as_json(transfers.kinds[transfers.kind[row]])
            name = as_json(transfers.tensors[transfers.tensor[row]])
            yield slice_event(name, kind, self._place(at), int(self.start[at]), nanos, as_json(args))

    def arrows(self, when: AxisPlaces, shown: Flags, places: tuple[Integers, Integers], number: int) -> Iterator[str]:
        """An arrow to each transfer from the execution that made its tensor, if shown; ids begin with `number`."""
        track, lanes = places
        made = Producers.of(self.profile).execution[self.waits.transfer[self.rows]]
        for at in np.flatnonzero((made >= 0) & shown[made]).tolist():
            execution, start = int(made[at]), int(self.start[at])
            begin = int(when.start[execution])
            left = max(begin, min(begin + int(when.duration[execution]) - 1, start))
            source = int(track[execution]), int(lanes[execution])
            yield from flow_events(as_json("sent"), number + at, (source, left), (self._place(at), start))

    def _place(self, at: int) -> Place:
        return int(self.process[at]), int(self.lane[at])


def graph_events(view: ViewData, *, epoch: bool = False) -> Iterator[str]:
    """The events of a graph view's timeline: a process for each device, a thread for each lane; and the transfers.

    With `epoch`, times are those of the clock, else they begin with 0.

    >>> from tfprof_widget.demo import demo_profile
    >>> sum(event.startswith('{"ph":"X"') for event in graph_events(demo_profile().view("graph")))
    30
    """
    profile = view.profile
    when = axis_places(profile, chosen_steps(profile, view.options), view.options.timing, epoch=epoch)
    displayed = np.zeros(len(profile.nodes), np.bool_)
    displayed[view.node[view.node >= 0]] = True
    shown = when.timed & displayed[profile.executions.node] & ~_on_two_streams(profile)
    executions = profile.executions
    tracks = Tracks.of(profile, profile.nodes.devices)
    track = tracks.number(executions.step, executions.device)
    lanes, named = _lanes(profile, track, when, shown, exact=view.options.timing == "exact")
    # Native's timeline has whole microseconds by each task's own clock, and no transfers.
    exact = view.options.timing == "exact" and len(profile.transfers) > 0
    received = PlacedTransfers.of(profile, when, displayed, tracks.end) if exact else None
    yield from tracks.labels(track[~_on_two_streams(profile)], profile.nodes.devices)
    for (each, lane), name in named.items():
        yield label_event("thread_name", (each, lane), name)
    if received is not None:
        yield from received.labels()
    yield from _slices(profile, when, shown, track, lanes)
    if received is not None:
        yield from received.slices()
    yield from memory_events(profile, when, track)
    # Arrows come last: viewers tie the end of an arrow to a slice that they have read before.
    number = 1
    for number, (source, target) in enumerate(flows(profile, when, shown), 1):
        yield from _arrow(profile, when, (track, lanes), number, source, target)
    if received is not None:
        yield from received.arrows(when, shown, (track, lanes), number + 1)


def _on_two_streams(profile: ProfileData) -> Flags:
    """Whether an execution is on one of an accelerator's streams and once more, the same, on its `stream:all`."""
    devices, executions = profile.nodes.devices, profile.executions
    places = {device: place for place, device in enumerate(devices)}
    alls = [places.get(f"{device.partition('/stream:')[0]}{ALL_STREAMS}", -1) for device in devices]
    whole = np.array([each if each != place else -1 for place, each in enumerate(alls)], np.int64)
    repeated = np.zeros(len(executions), np.bool_)
    is_stream = np.array(["/stream:" in device for device in devices], np.bool_)
    rows = np.flatnonzero(((whole >= 0) & is_stream)[executions.device]) if len(devices) else repeated[:0]
    if len(rows):
        columns = (executions.step, executions.node, executions.start_nanos, executions.duration_nanos)
        kernels = list(zip(executions.device.tolist(), *(column.tolist() for column in columns), strict=True))
        known = set(kernels)
        repeated[rows] = [(int(whole[kernels[row][0]]), *kernels[row][1:]) in known for row in rows.tolist()]
    return repeated


def _lanes(
    profile: ProfileData, track: Integers, when: AxisPlaces, shown: Flags, *, exact: bool
) -> tuple[Integers, dict[Place, str]]:
    """The lane of each execution, and the name of each lane: in exact timing those of a thread are its own."""
    lanes = np.zeros(len(shown), np.int64)
    found: dict[Place, str] = {}
    thread, names = named_threads(profile)
    for each in np.unique(track[shown]).tolist():
        on_track = np.flatnonzero(shown & (track == each))
        threads = np.unique(thread[on_track]).tolist() if exact else [-1]
        before = 0
        for number, of in enumerate(threads):
            rows = on_track[thread[on_track] == of] if exact else on_track
            known = names[of] or (f"thread {number}" if len(threads) > 1 else "") if exact else ""
            level = first_free_lanes(when.start[rows], when.duration[rows])
            lanes[rows] = before + level
            for at in range(int(level.max(initial=-1)) + 1):
                name = (f"{known}, level {at}" if at else known) if known else f"lane {at}"
                found[each, before + at] = name
            before += int(level.max(initial=-1)) + 1
    return lanes, found


def _slices(profile: ProfileData, when: AxisPlaces, shown: Flags, track: Integers, lanes: Integers) -> Iterator[str]:
    nodes, executions = profile.nodes, profile.executions
    names, ops = [as_json(name) for name in nodes.names], [as_json(op) for op in nodes.ops]
    rows = np.flatnonzero(shown)
    rows = rows[np.lexsort((lanes[rows], track[rows], when.start[rows]))]
    columns = (
        *(executions.node, nodes.op[executions.node], track, lanes, when.start, when.duration),
        *(executions.step, executions.thread),
    )
    for node, op, process, lane, start, duration, step, thread in zip(
        *(column[rows].tolist() for column in columns), strict=True
    ):
        args = f'{{"op":{ops[op]},"step":{profile.steps[step]},"thread":{thread}}}'
        yield slice_event(names[node], ops[op], (process, lane), start, duration, args)


def _arrow(
    profile: ProfileData, when: AxisPlaces, places: tuple[Integers, Integers], number: int, source: int, target: int
) -> Iterator[str]:
    track, lanes = places
    start, met = int(when.start[source]), int(when.start[target])
    # The arrow leaves within the source's slice, which excludes its very end.
    left = max(start, min(start + int(when.duration[source]) - 1, met))
    yield from flow_events(
        as_json(f"{profile.nodes.names[profile.executions.node[source]]}_flow"),
        number,
        ((int(track[source]), int(lanes[source])), left),
        ((int(track[target]), int(lanes[target])), met),
    )


def tree_events(view: ViewData) -> Iterator[str]:
    """The events of a tree view's timeline: one thread, in which a row that took time is a slice within its parent's.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, show_name_regexes=["layer2"])
    >>> [event.partition(',"args"')[0] for event in tree_events(view)][2:]
    ['{"ph":"X","name":"_TFProfRoot","cat":"scope","pid":1,"tid":1,"ts":0,"dur":320.802', ...
    """
    steps = len(chosen_steps(view.profile, view.options))
    yield label_event("process_name", (0, 0), f"{view.view} view")
    yield label_event("thread_name", (0, 0), "total time" + (f", mean of {steps} steps" if steps > 1 else ""))
    category = as_json(view.view)
    total, own, parent = (column.tolist() for column in (view.total["micros"], view.own["micros"], view.parent))
    # Where the next child of each row starts, in the unit of the columns. Times are rounded only when they are
    # written, so that each slice stays within its parent's.
    reached = [0] * len(total)
    for row, (name, length, above) in enumerate(zip(view.names, total, parent, strict=True)):
        if length <= 0:
            continue
        start = reached[row] = reached[above] if above >= 0 else 0
        if above >= 0:
            reached[above] += length
        begin, end = (_nanos(each, view.time_scale) for each in (start, start + length))
        args = f'{{"own_micros":{micros(_nanos(own[row], view.time_scale))}}}'
        yield slice_event(as_json(name), category, (0, 0), begin, end - begin, args)


def _nanos(value: int, time_scale: int) -> int:
    return value * NANOS_A_MICRO // time_scale
