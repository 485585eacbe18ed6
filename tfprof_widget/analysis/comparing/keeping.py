"""Makes of a profile what is kept of its run for comparisons: its ops in order, and what each takes in a usual step."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tfprof_widget.analysis.account.budget import time_budget
from tfprof_widget.analysis.own_lines import own_of_stack
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.code import forward_name
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.ingest.parts.stacks import with_source_lines
from tfprof_widget.lib.arrays import ABSENT, Floats, Indices, Integers
from tfprof_widget.lib.text import listed
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.data import ProfileData, kind_of_steps, lists_taken
from tfprof_widget.profiles.devices import device_label
from tfprof_widget.profiles.kept_run import GraphOps, KeptRun
from tfprof_widget.profiles.tables import Lists, Nodes

MOST_STEPS = 200
"""So many traced steps tell what is usual; of more, every so-many-th counts."""

MOST_KEPT = 1024
"""Of the wall times of steps so many are kept, evenly spread."""


def kept_run(profile: ProfileData) -> KeptRun:
    """What is kept of the run of a profile; made once.

    >>> from tfprof_widget.demo import demo_profile
    >>> kept = kept_run(demo_profile())
    >>> len(kept.ops), int(np.isfinite(kept.nanos).sum()), round(kept.traced_seconds[0] * 1e6)
    (81, 30, 365)
    """
    return profile.cache.kept("kept run", lambda: _kept(profile))


def _kept(profile: ProfileData) -> KeptRun:
    told = profile.kept_run or KeptRun()
    if len(told.ops):
        return told  # as a file has it: its profile's times are rounded
    order, cell = np.argsort(profile.nodes.identity, kind="stable"), profile.cell
    steady = SteadySteps.of(profile)
    steps = steady.steps if len(steady.steps) <= MOST_STEPS else steady.steps[:: -(-len(steady.steps) // MOST_STEPS)]
    return replace(
        told,
        fingerprint=_of_profile(profile),
        step=profile.main_kind,
        step_seconds=_untraced_seconds(profile),
        cell_seconds=cell.seconds if cell is not None else math.nan,
        parts=_parts(profile),
        traced_seconds=_seconds_of_steps(steady, steps),
        ops=_ops(profile, order),
        nanos=_usual_nanos(profile, steps)[order],
    )


INPUTS = frozenset({"Placeholder", "PlaceholderWithDefault", "_Arg", "IteratorGetNext", "IteratorGetNextSync"})
MOST_SHAPES = 6


def _of_profile(profile: ProfileData) -> dict[str, str]:
    """What a profile tells of the surroundings of its run: devices, and the shapes of what is fed."""
    nodes = profile.nodes
    devices = sorted({device_label(nodes.devices[device]) for device in np.unique(profile.executions.device).tolist()})
    shapes, shape = _shapes(nodes)
    fed = np.flatnonzero(np.array([op in INPUTS for op in nodes.ops], np.bool_)[nodes.op])
    found = sorted({shapes[shape[node]] for node in fed.tolist()} - {"", "1"})
    told = {"devices": listed(devices), "input shapes": listed(found, MOST_SHAPES)}
    return {name: each for name, each in told.items() if each}


def _parts(profile: ProfileData) -> dict[str, float]:
    """What each part of the cell's time took, and of a step each part, which is named as `step: forward` is."""
    budget = time_budget(profile)
    of_step = {f"step: {part}": seconds for part, seconds in budget.step.items()}
    return {**(budget.cell if budget.cell_seconds else {}), **of_step}


def _untraced_seconds(profile: ProfileData) -> Floats:
    """The wall times of the steps of the main kind that were not traced, in order; of very many some."""
    runs = profile.cell.runs_of(kind_of_steps(profile.main_kind)) if profile.cell is not None else None
    if runs is None:
        return np.zeros(0)
    seconds = runs.nanos[runs.is_steady] / 1e9
    if len(seconds) <= MOST_KEPT:
        return np.asarray(seconds)
    return np.asarray(seconds[np.linspace(0, len(seconds) - 1, MOST_KEPT).astype(np.int64)])


def usual(times: Floats) -> Floats:
    """By row, the mean of times without the shortest and the longest quarter of them.

    Steps that are interrupted take many times as long as others; beside the mean of all, this halves how much runs of
    the same code differ, as measured.

    >>> usual(np.array([[1.0, 2.0, 3.0, 90.0], [1.0, 1.0, 1.0, 1.0]])).tolist()
    [2.5, 1.0]
    """
    count = times.shape[1]
    left_out = max(count // 4, int(count > 2))
    return np.asarray(np.sort(times, axis=1)[:, left_out : count - left_out].mean(axis=1))


def _usual_nanos(profile: ProfileData, steps: Integers) -> Floats:
    """What each node takes in a usual one of these steps, NaN if it took no time in it."""
    totals, count = profile.step_totals, len(profile.nodes)
    found = np.full(count, np.nan)
    column = np.full(len(profile.steps), ABSENT, np.int64)
    column[steps] = np.arange(len(steps))
    chosen = np.flatnonzero(column[totals.step] != ABSENT)
    ran, row = np.unique(totals.node[chosen], return_inverse=True)
    times = np.zeros((len(ran), len(steps)))
    nanos = totals.accelerator_nanos[chosen] + totals.cpu_nanos[chosen]
    np.add.at(times, (row, column[totals.step[chosen]]), nanos)
    if len(steps):
        found[ran] = usual(times)
    return np.where(found > 0, found, np.nan)


def _seconds_of_steps(steady: SteadySteps, steps: Integers) -> Floats:
    """The wall time of each of these steps as it was traced, from its first op to its last."""
    count = len(steady.profile.steps)
    own = ~steady.of_nodes(steady.is_data)
    step = steady.profile.executions.step[steady.rows][own]
    start, end = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(start, step, steady.start[own])
    np.maximum.at(end, step, steady.end[own])
    ran = steps[end[steps] > 0]
    return np.asarray((end[ran] - start[ran]) / 1e9)


def _ops(profile: ProfileData, order: Integers) -> GraphOps:
    nodes = profile.nodes
    row_of = np.full(len(order) + 1, ABSENT, np.int32)  # the last one for inputs that the graph lacks
    row_of[order] = np.arange(len(order))
    inputs = lists_taken(nodes.inputs, order)
    lines, line = _lines(profile)
    layers, layer = _layers(profile)
    shapes, shape = _shapes(nodes)
    return GraphOps(
        names=tuple(nodes.names[node] for node in order.tolist()),
        types=nodes.ops,
        type=nodes.op[order],
        shapes=shapes,
        shape=shape[order],
        lines=lines,
        line=line[order],
        layers=layers,
        layer=layer[order],
        inputs=Lists(inputs.start, row_of[inputs.values]),
    )


def _shapes(nodes: Nodes) -> tuple[tuple[str, ...], Indices]:
    """The distinct shapes of all outputs of a node in words, else of what it holds, and which each node has."""
    words = ["x".join("?" if size < 0 else str(size) for size in shape) for shape in nodes.shapes]
    values = nodes.output_shapes.values.tolist()
    known: dict[tuple[int, ...], int] = {}
    found = []
    for (first, end), own in zip(pairwise(nodes.output_shapes.start.tolist()), nodes.shape.tolist(), strict=True):
        shapes = tuple(values[first:end]) or ((own,) if own != ABSENT else ())
        found.append(known.setdefault(shapes, len(known)))
    return tuple(", ".join(words[shape] for shape in shapes) for shapes in known), np.array(found, np.int32)


def _layers(profile: ProfileData) -> tuple[tuple[str, ...], Indices]:
    """The layers by their paths, as the layers view has them, and which each node is in."""
    found = node_layers(profile)
    paths: list[str] = []
    for name, parent in zip(found.names, found.parent.tolist(), strict=True):
        paths.append(f"{paths[parent]}/{name}" if parent != ABSENT else name)
    return tuple(paths), found.layer


def _lines(profile: ProfileData) -> tuple[tuple[CodeLine, ...], Indices]:
    """The distinct innermost lines of the user's own, and which of them made each node; gradients have their op's."""
    traces = with_source_lines(profile.traces)
    known: dict[CodeLine, int] = {}
    of_stack = np.full(len(traces.stacks) + 1, ABSENT, np.int32)  # the last one for nodes without a stack
    for stack in np.unique(traces.stack[traces.stack >= 0]).tolist():
        for frame in [*own_of_stack(traces, traces.stacks[stack].tolist())][-1:]:
            columns = (traces.file, traces.function, traces.source)
            file, function, text = (traces.strings[column[frame]] for column in columns)
            line = CodeLine(file, int(traces.line[frame]), function, text)
            of_stack[stack] = known.setdefault(line, len(known))
    found = of_stack[traces.stack]
    forward = dict(traces.forward)
    row_of = {name: row for row, name in enumerate(profile.nodes.names)}
    for row, name in enumerate(profile.nodes.names):
        if "_grad/" in name and (of := row_of.get(forward_name(name) or "")) is not None:
            forward[row] = of
    found[list(forward)] = found[list(forward.values())]
    return tuple(known), found
