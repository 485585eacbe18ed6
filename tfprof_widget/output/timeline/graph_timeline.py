"""The timeline of a graph view: when each execution of the shown nodes ran, by device, in lanes without overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.engine.measures import chosen_steps
from tfprof_widget.engine.view import View
from tfprof_widget.output.timeline.device_label import device_label
from tfprof_widget.output.timeline.flows import flows
from tfprof_widget.output.timeline.lanes import first_free_lanes
from tfprof_widget.output.timeline.memory import memory_events
from tfprof_widget.output.timeline.placed import Placed, placed
from tfprof_widget.output.timeline.trace_events import as_json, flow_events, label_event, slice_event
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers


def graph_events(view: View) -> Iterator[str]:
    """The events of the timeline: a process a device, a thread a lane.

    >>> from tfprof_widget.demo import demo_profile
    >>> sum(event.startswith('{"ph":"X"') for event in graph_events(demo_profile().view("graph")))
    30
    """
    profile = view.profile
    when = placed(profile, chosen_steps(profile, view.options), view.options.timing)
    displayed = np.zeros(len(profile.nodes), np.bool_)
    displayed[view.node[view.node >= 0]] = True
    shown = when.timed & displayed[profile.executions.node]
    lanes = _lanes(profile, when, shown)
    yield from _labels(profile, shown, lanes)
    yield from _slices(profile, when, shown, lanes)
    yield from memory_events(profile, when)
    # Last: viewers bind the end of an arrow to a slice that they have met.
    yield from _arrows(profile, when, shown, lanes)


def _lanes(profile: Profile, when: Placed, shown: Flags) -> Integers:
    lanes = np.zeros(len(shown), np.int64)
    device = profile.executions.device
    for each in np.unique(device[shown]).tolist():
        rows = np.flatnonzero(shown & (device == each))
        lanes[rows] = first_free_lanes(when.start[rows], when.duration[rows])
    return lanes


def _labels(profile: Profile, shown: Flags, lanes: Integers) -> Iterator[str]:
    device = profile.executions.device
    for process in np.unique(device).tolist():
        name = profile.nodes.devices[process]
        yield label_event("process_name", (process, 0), device_label(name))
        yield label_event("process_labels", (process, 0), name)
        for lane in range(int(lanes[shown & (device == process)].max(initial=-1)) + 1):
            yield label_event("thread_name", (process, lane), f"lane {lane}")


def _slices(profile: Profile, when: Placed, shown: Flags, lanes: Integers) -> Iterator[str]:
    nodes, executions = profile.nodes, profile.executions
    names, ops = [as_json(name) for name in nodes.names], [as_json(op) for op in nodes.ops]
    rows = np.flatnonzero(shown)
    rows = rows[np.lexsort((lanes[rows], executions.device[rows], when.start[rows]))]
    columns = (
        *(executions.node, nodes.op[executions.node], executions.device, lanes, when.start, when.duration),
        *(executions.step, executions.thread),
    )
    for node, op, process, lane, start, duration, step, thread in zip(
        *(column[rows].tolist() for column in columns), strict=True
    ):
        args = f'{{"op":{ops[op]},"step":{profile.steps[step]},"thread":{thread}}}'
        yield slice_event(names[node], ops[op], (process, lane), start, duration, args)


def _arrows(profile: Profile, when: Placed, shown: Flags, lanes: Integers) -> Iterator[str]:
    executions = profile.executions
    for number, (source, target) in enumerate(flows(profile, when, shown), 1):
        start, met = int(when.start[source]), int(when.start[target])
        # Within the source: at its very end it is over.
        left = max(start, min(start + int(when.duration[source]) - 1, met))
        yield from flow_events(
            as_json(f"{profile.nodes.names[executions.node[source]]}_flow"),
            number,
            ((int(executions.device[source]), int(lanes[source])), left),
            ((int(executions.device[target]), int(lanes[target])), met),
        )
