"""Recorded steps written out by hand: when each execution began and ended, in microseconds, and what it took in."""

from __future__ import annotations

from collections.abc import Sequence

from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef, RunMetadata

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
EPOCH = 1_000_000


def run_of(step: str, device: str = CPU) -> RunMetadata:
    """A run of a step: words as `d(b,c):40-50`, a word for each execution; `+` before a name repeats a node's."""
    run = RunMetadata()
    stats = run.step_stats.dev_stats.add(device=device).node_stats
    for word in step.split():
        name, _, times = word.partition(":")
        start, _, end = times.partition("-")
        stats.add(
            node_name=name.partition("(")[0],
            all_start_micros=EPOCH + int(start),
            op_end_rel_micros=int(end) - int(start),
        )
    return run


def graph_of(step: str) -> GraphDef:
    """The graph of a step; `x` is a placeholder that no step runs."""
    graph, seen = GraphDef(), set()
    for word in step.split():
        name, _, inputs = word.partition(":")[0].removesuffix(")").partition("(")
        if name not in seen:
            graph.node.add(name=name, op="Exp", input=[each for each in inputs.split(",") if each])
            seen.add(name)
    return graph


def profile_of(*steps: str, graph: GraphDef | None = None) -> Profile:
    """The profile of some steps of the same graph."""
    return Profile.from_protos(graph or graph_of(steps[0]), [run_of(step) for step in steps])


def micros(seconds: float) -> float:
    """Seconds as microseconds, to the nanosecond."""
    return round(seconds * 1e6, 3)


def paths(profile: Profile) -> tuple[list[str], dict[str, float]]:
    """The names on the critical path, and the slack of all others."""
    slack = profile.slack()
    return profile.critical_path()["name"].tolist(), dict(zip(slack["name"], slack["slack"], strict=True))


def predicted(profile: Profile, **factors: float) -> float:
    """The predicted step in microseconds, if nodes took so many times as long."""
    return micros(profile.what_if(factors).seconds)


def names_of(profile: Profile, rows: Sequence[int]) -> list[str]:
    """The names of nodes."""
    return [profile.nodes.names[row] for row in rows]
