"""Profiles written out in tests of our own checkers, and what the findings on them say and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.analysis.advisor.advice import Execution, run_of
from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import AttrValue, GraphDef, OpLogProto

CPU = "/job:localhost/replica:0/task:0/device:cpu:0"
GPU = "/job:localhost/replica:0/task:0/device:gpu:0"
STREAM = "/device:gpu:0/stream:all"

Run = Mapping[str, Sequence[Execution]]


def ran(
    ops: Mapping[str, str],
    *runs: Run,
    step_names: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    float_ops: Mapping[str, int] | None = None,
    inputs: Mapping[str, Sequence[str]] | None = None,
) -> Profile:
    """A profile of ops by node; a run a step, each of (node, start, duration) in microseconds by device."""
    graph = GraphDef(node=[{"name": name, "op": op} for name, op in ops.items()])
    for node in graph.node:
        node.input.extend((inputs or {}).get(node.name, ()))
        if node.name in (types or {}):
            node.attr["T"].CopyFrom(AttrValue(type=(types or {})[node.name]))
        for size in (shapes or {}).get(node.name, ()):
            node.attr["shape"].shape.dim.add(size=size)
    op_log = OpLogProto()
    for name, count in (float_ops or {}).items():
        op_log.log_entries.add(name=name, float_ops=count)
    profile = Profile.from_protos(graph, [run_of(run) for run in runs], op_log)
    return replace(profile, step_names=tuple(step_names)) if step_names else profile


def on_cpu(*executions: Execution) -> Run:
    """A run on a CPU."""
    return {CPU: executions}


def on_gpu(*executions: Execution) -> Run:
    """A run on an accelerator, where each kernel starts when it is launched and launching takes a microsecond."""
    return {GPU: [(name, start, 1) for name, start, _ in executions], STREAM: executions}


def only(found: Any) -> Finding:
    """The one finding there is."""
    (finding,) = found
    assert isinstance(finding, Finding)
    return finding


def shown(profile: Profile, finding: Finding) -> list[str]:
    """The rows that the evidence points to: those selected, else all of its view."""
    evidence = finding.evidence
    if evidence.view == "timeline":
        assert set(evidence.selection) <= set(profile.nodes.names)
        return list(evidence.selection)
    view = profile.view(evidence.view, **evidence.options)
    assert set(evidence.selection) <= set(view.names)
    return list(evidence.selection or view.names)
