"""The timeline of a graph view: when each execution of the shown nodes ran, by device, in lanes without overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.view import View
from tfprof_widget.output.timeline.flows import flows
from tfprof_widget.output.timeline.lanes import first_free_lanes
from tfprof_widget.output.timeline.memory import memory_events
from tfprof_widget.output.timeline.placed import Placed, placed
from tfprof_widget.output.timeline.trace_events import as_json, flow_events, label_event, slice_event
from tfprof_widget.output.timeline.tracks import Tracks
from tfprof_widget.output.timeline.transfers import PlacedTransfers
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers


def graph_events(view: View) -> Iterator[str]:
    """The events of the timeline: a process a device, a thread a lane; and what devices got from each other.

    >>> from tfprof_widget.demo import demo_profile
    >>> sum(event.startswith('{"ph":"X"') for event in graph_events(demo_profile().view("graph")))
    30
    """
    profile = view.profile
    when = placed(profile, chosen_steps(profile, view.options), view.options.timing)
    displayed = np.zeros(len(profile.nodes), np.bool_)
    displayed[view.node[view.node >= 0]] = True
    shown = when.timed & displayed[profile.executions.node]
    executions = profile.executions
    tracks = Tracks.of(profile, profile.nodes.devices)
    track = tracks.number(executions.step, executions.device)
    lanes = _lanes(track, when, shown)
    # Native counts whole microseconds, by each task's own clock, and knows of no transfers.
    exact = view.options.timing == "exact" and len(profile.transfers) > 0
    received = PlacedTransfers.of(profile, when, displayed, tracks.end) if exact else None
    yield from tracks.labels(track, profile.nodes.devices)
    yield from _lane_labels(track, shown, lanes)
    if received is not None:
        yield from received.labels()
    yield from _slices(profile, when, shown, track, lanes)
    if received is not None:
        yield from received.slices()
    yield from memory_events(profile, when, track)
    # Last: viewers bind the end of an arrow to a slice that they have met.
    number = 1
    for number, (source, target) in enumerate(flows(profile, when, shown), 1):
        yield from _arrow(profile, when, (track, lanes), number, source, target)
    if received is not None:
        yield from received.arrows(when, shown, (track, lanes), number + 1)


def _lanes(track: Integers, when: Placed, shown: Flags) -> Integers:
    lanes = np.zeros(len(shown), np.int64)
    for each in np.unique(track[shown]).tolist():
        rows = np.flatnonzero(shown & (track == each))
        lanes[rows] = first_free_lanes(when.start[rows], when.duration[rows])
    return lanes


def _lane_labels(track: Integers, shown: Flags, lanes: Integers) -> Iterator[str]:
    for each in np.unique(track).tolist():
        for lane in range(int(lanes[shown & (track == each)].max(initial=-1)) + 1):
            yield label_event("thread_name", (each, lane), f"lane {lane}")


def _slices(profile: Profile, when: Placed, shown: Flags, track: Integers, lanes: Integers) -> Iterator[str]:
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
    profile: Profile, when: Placed, places: tuple[Integers, Integers], number: int, source: int, target: int
) -> Iterator[str]:
    track, lanes = places
    start, met = int(when.start[source]), int(when.start[target])
    # Within the source: at its very end it is over.
    left = max(start, min(start + int(when.duration[source]) - 1, met))
    yield from flow_events(
        as_json(f"{profile.nodes.names[profile.executions.node[source]]}_flow"),
        number,
        ((int(track[source]), int(lanes[source])), left),
        ((int(track[target]), int(lanes[target])), met),
    )
