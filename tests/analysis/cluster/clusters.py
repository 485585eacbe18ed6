"""Runs of clusters written out: what each task ran and what it got, in microseconds and by its own clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef, RunMetadata

PS0, PS1 = "/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"
WORKER0, WORKER1 = "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"


@dataclass(frozen=True)
class Event:
    """Something that a task recorded."""

    task: str


@dataclass(frozen=True)
class Ran(Event):
    """An execution of a node."""

    node: str
    start: int
    duration: int


@dataclass(frozen=True)
class Came(Event):
    """A tensor that the task got from another: when it was sent, and for how long it was on its way."""

    tensor: str
    source: str
    start: int
    duration: int
    size: int = 0


def device(task: str) -> str:
    """The device of a task, as TensorFlow writes it."""
    return f"{task}/device:CPU:0"


def run_of(*events: Event) -> RunMetadata:
    """What a session of a cluster records of a run."""
    run = RunMetadata()
    tasks = sorted({event.task for event in events})
    by_task = {task: run.step_stats.dev_stats.add(device=device(task)) for task in tasks}
    for event in events:
        stat = by_task[event.task].node_stats.add()
        if isinstance(event, Ran):
            stat.node_name, stat.timeline_label = event.node, f"{event.node} = NoOp()"
            stat.all_start_micros, stat.op_end_rel_micros = event.start, event.duration
        elif isinstance(event, Came):
            stat.all_start_micros, stat.op_end_rel_micros = event.start, event.duration
            stat.node_name = "RecvTensor"
            ends = f"from {device(event.source)} to {device(event.task)}"
            stat.timeline_label = f"[{event.size}B] [1.0Gb/s] edge_7_{event.tensor} {ends}"
            stat.output.add().tensor_description.allocation_description.requested_bytes = event.size
    return run


def profile_of(*runs: Sequence[Event], ops: Mapping[str, str] | None = None) -> Profile:
    """The profile of these runs; a node's op is NoOp, unless it is given."""
    names = sorted({event.node for run in runs for event in run if isinstance(event, Ran)})
    graph = GraphDef(node=[{"name": name, "op": (ops or {}).get(name, "NoOp")} for name in names])
    return Profile.from_protos(graph, [run_of(*run) for run in runs])
