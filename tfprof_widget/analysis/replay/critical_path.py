"""Finds the critical path of recorded steps, and how much later what is not on it could have ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.own_lines import own_of_stack
from tfprof_widget.analysis.replay.recorded_work import recorded_work
from tfprof_widget.analysis.replay.work import StepWork
from tfprof_widget.engine.code import forward_name
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.lib.arrays import ABSENT, Flags, Integers
from tfprof_widget.profiles.data import ProfileData

COLUMNS = ("name", "type", "layer", "line", "start", "micros", "slack", "steps_on_path")
_ENDLESS = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, eq=False)
class StepPath:
    """The critical path of a step: which rows of its work are on it, and the slack of each row in nanoseconds.

    The path leads back from the row that ended last, each time to what the row had to wait for last: an input, or the
    row before on its worker. Slack is how much later a row could have ended without the step taking longer.

    >>> from tfprof_widget.demo import demo_profile
    >>> found, = step_paths(demo_profile())
    >>> int(found.on_path.sum()), int(found.slack[found.on_path].max())
    (25, 0)
    """

    work: StepWork
    on_path: Flags
    slack: Integers

    @classmethod
    def of(cls, work: StepWork) -> StepPath:
        """The path of a step's work as recorded."""
        source, target, spare = _waits(work)
        latest = np.full(len(work), ABSENT, np.int64)
        latest[target] = source  # of several assignments the last one stays: that of the source that ended last
        on_path = np.zeros(len(work), np.bool_)
        ended = work.start + np.maximum(work.busy, work.release)
        row = int(ended.argmax()) if len(work) else ABSENT
        while row != ABSENT:
            on_path[row] = True
            row = int(latest[row])
        slack: list[int] = (ended.max(initial=0) - ended).tolist()
        order = np.lexsort((-source, -target))
        rest = zip(source[order].tolist(), target[order].tolist(), spare[order].tolist(), strict=True)
        for before, behind, spared in rest:
            slack[before] = min(slack[before], slack[behind] + spared)
        return cls(work, on_path, np.where(on_path, 0, np.array(slack, np.int64)))


def _waits(work: StepWork) -> tuple[Integers, Integers, Integers]:
    """All that rows waited for, by edges or their worker, by when it ended: source, target, time to spare."""
    rows = np.flatnonzero(work.behind != ABSENT)
    source = np.concatenate([work.behind[rows], work.source])
    target = np.concatenate([rows, work.target])
    free = (work.start + work.busy)[work.behind[rows]]
    ended = np.concatenate([free, (work.start + work.release)[work.source]])
    spare = np.maximum((work.start - work.gap)[target] - ended, 0)
    order = np.lexsort((source, ended))
    return source[order], target[order], spare[order]


def step_paths(profile: ProfileData) -> tuple[StepPath, ...]:
    """The critical paths of the steps that can be replayed, kept with the profile."""
    return profile.cache.kept("critical paths", lambda: tuple(map(StepPath.of, recorded_work(profile))))


@dataclass(frozen=True, eq=False)
class NodePaths:
    """For each node of a profile the share of steps that had it on the critical path, and its slack in microseconds.

    The slack is the least of its executions in a step, in the median of the steps; ABSENT for nodes that did not run.
    The same follows for each execution of those steps: `is_on_path` and `slack`, by their rows; ABSENT elsewhere.
    """

    on_path: NDArray[np.float64]
    slack_micros: Integers
    execution_is_on_path: Flags
    execution_slack_nanos: Integers
    steps: int

    @classmethod
    def of(cls, profile: ProfileData) -> NodePaths:
        """The paths of a profile's nodes; a ProfileError says why there are none.

        >>> from tfprof_widget.demo import demo_profile
        >>> found = NodePaths.of(demo_profile())
        >>> row = demo_profile().nodes.names.index("layer1/Relu")
        >>> float(found.on_path[row]), int(found.slack_micros[row]), found.steps
        (1.0, 0, 1)
        """
        return profile.cache.kept("node paths", lambda: _node_paths(profile))


def _node_paths(profile: ProfileData) -> NodePaths:
    paths = step_paths(profile)
    count, executions = len(profile.nodes), len(profile.executions)
    on_path, slacks = np.zeros(count), np.full((len(paths), count), np.nan)
    is_on_path, slack_nanos = np.zeros(executions, np.bool_), np.full(executions, ABSENT, np.int64)
    for place, path in enumerate(paths):
        work = path.work
        ran = np.flatnonzero(work.row != ABSENT)
        node = work.node[ran]
        on_path[np.unique(node[path.on_path[ran]])] += 1
        least = np.full(count, _ENDLESS)
        np.minimum.at(least, node, path.slack[ran])
        slacks[place, node] = least[node]
        is_on_path[work.row[ran]] = path.on_path[ran]
        slack_nanos[work.row[ran]] = path.slack[ran]
    known = ~np.isnan(slacks).all(axis=0)
    micros = np.full(count, ABSENT, np.int64)
    micros[known] = (np.nanmedian(slacks[:, known], axis=0) / 1e3).round().astype(np.int64)
    return NodePaths(on_path / len(paths), micros, is_on_path, slack_nanos, len(paths))


def path_rows(profile: ProfileData, *, on_path: bool) -> Iterator[tuple[Any, ...]]:
    """The executions that are on the critical path, or those that are not, as rows of COLUMNS, by start.

    They are those of the step whose wall time is the median. Times are microseconds, starts since the step began.

    >>> from tfprof_widget.demo import demo_profile
    >>> [row[0] for row in path_rows(demo_profile(), on_path=False)][:2]
    ['loss', '_retval_loss_0_0']
    """
    paths = step_paths(profile)
    nodes, layers = profile.nodes, node_layers(profile)
    path = sorted(paths, key=lambda each: each.work.nanos)[(len(paths) - 1) // 2]
    work = path.work
    times = np.zeros(len(nodes), np.int64)
    for each in paths:
        times[np.unique(each.work.node[each.on_path])] += 1
    lines = _lines(profile)
    for row in np.flatnonzero(path.on_path == on_path).tolist():
        node = int(work.node[row])
        layer = int(layers.layer[node])
        yield (
            nodes.names[node],
            nodes.ops[nodes.op[node]] if work.row[row] != ABSENT else "transfer",
            layers.names[layer] if layer >= 0 else "",
            lines[node],
            (work.before + int(work.start[row])) / 1e3,
            int(max(work.busy[row], work.release[row])) / 1e3,
            int(path.slack[row]) / 1e3,
            f"{times[node]} of {len(paths)}",
        )


def _lines(profile: ProfileData) -> list[str]:
    """The user's line that made each node, such as `train.py:7`, empty if it is not known."""
    traces = profile.traces
    names = {ABSENT: ""}
    for stack in np.unique(traces.stack).tolist():
        if stack != ABSENT:
            *_, frame = own_of_stack(traces, traces.stacks[stack].tolist())
            names[stack] = f"{traces.strings[traces.file[frame]].rpartition('/')[2]}:{traces.line[frame]}"
    return [names[stack] for stack in stacks_of_nodes(profile).tolist()]


def stacks_of_nodes(profile: ProfileData) -> Integers:
    """The stack of each node, of a gradient that of its forward node; ABSENT if none is known.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo, stacks = demo_profile(), stacks_of_nodes(demo_profile())
    >>> names = demo.nodes.names
    >>> stacks[names.index("layer1/Relu")] == stacks[names.index("gradients/layer1/Relu_grad/ReluGrad")]
    np.True_
    """
    names, traces = profile.nodes.names, profile.traces
    row_of = {name: row for row, name in enumerate(names)}
    forward = traces.forward_column()
    for row, name in enumerate(names):
        if forward[row] == ABSENT and (named := forward_name(name)) is not None:
            forward[row] = row_of.get(named, ABSENT)
    found: Integers = np.where(forward != ABSENT, traces.stack[forward], traces.stack).astype(np.int64)
    return found
