"""Chooses what the browser needs to replay recorded steps as Python does, and as little of it as is enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.replay.changes import fused_nodes
from tfprof_widget.analysis.replay.critical_path import NodePaths
from tfprof_widget.analysis.replay.prediction import FEW_STEPS, Replay
from tfprof_widget.analysis.replay.scheduler import fitted_slowdown
from tfprof_widget.analysis.replay.work import StepWork
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Flags, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import ProfileData

MOST_ROWS = 60_000
"""So many executions are sent with what they waited for; more are slow to replay while a slider moves."""

ON_PATH = -2
"""Stands for the slack of an execution on the critical path; that of one whose step was not replayed is ABSENT."""

PUT_TOGETHER = (
    "nodes were put together to show a profile of this size; ask `profile.what_if(...)` in a cell, which replays all"
)
Columns = Iterator[tuple[str, NDArray[Any] | Sequence[str]]]


def critical_columns(profile: ProfileData, whole: ProfileData) -> Columns:
    """In how many steps each node was on the critical path, and how much later it could have ended; and executions.

    Nothing is told where that cannot be known, such as where steps were recorded in part or nodes were put together.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = dict(critical_columns(demo_profile(), demo_profile()))
    >>> found["critical.steps"].tolist(), int((found["critical.execution_slack"] == ON_PATH).sum())
    ([1.0], 25)
    """
    if profile.nodes.names != whole.nodes.names:
        return
    try:
        paths = NodePaths.of(whole)
    except ProfileError:
        return
    yield "critical.on_path", np.rint(paths.on_path * paths.steps)
    yield "critical.slack_micros", paths.slack_micros.astype(np.float64)
    yield "critical.steps", np.array([paths.steps], np.float64)
    if _has_all_executions(profile, whole):
        slack = paths.execution_slack_nanos
        micros = np.where(slack == ABSENT, ABSENT, np.minimum(slack // NANOS_A_MICRO, np.iinfo(np.int32).max))
        yield "critical.execution_slack", np.where(paths.execution_is_on_path, ON_PATH, micros).astype(np.int32)


def replay_columns(profile: ProfileData, whole: ProfileData) -> Columns:
    """The recorded steps as `js/src/analysis/replay.ts` replays them, or `replay.reason` that says why it cannot.

    What follows from the executions that are sent is not sent again: a step that ran on one thread needs hardly more
    than its number.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = dict(replay_columns(demo_profile(), demo_profile()))
    >>> found["replay.steps"].tolist(), "replay.gap" in found
    ([0], False)
    """
    if not whole.steps:
        return
    reason = PUT_TOGETHER
    if profile.nodes.names == whole.nodes.names and _has_all_executions(profile, whole):
        try:
            replay = Replay.of(whole)
            replay.check()
        except ProfileError as error:
            reason = str(error)
        else:
            reason = ""
            sent = [work for work in replay.works if not _follows(work, whole)]
            rows = sum(map(len, sent))
            if rows > MOST_ROWS:
                reason = f"{rows:,} executions are too many to replay while you watch; ask `profile.what_if(...)`"
    if reason:
        yield "replay.reason", [reason]
        return
    works = replay.works
    yield "replay.steps", np.array([work.step for work in works], np.int32)
    yield "replay.before", np.array([work.before for work in works], np.float64)
    yield "replay.after", np.array([work.after for work in works], np.float64)
    yield "replay.measured", replay.measured
    yield "replay.sent", np.array([len(work) if work in sent else 0 for work in works], np.int32)
    # A row for each step, as long as that of the step with most queues: no row is in the others.
    most = max(len(work.workers) for work in works)
    padded = [(*work.workers, *[1] * (most - len(work.workers))) for work in works]
    yield "replay.workers", np.array(padded, np.int32).ravel()
    yield "replay.left_out", _left_out(works, whole).astype(np.int32)
    slowdown = fitted_slowdown(works) if replay.has_overlap else 0.0
    # With more steps their own spread is told by the steps themselves.
    spread = replay.spread if len(works) < FEW_STEPS else (1.0, 1.0)
    yield "replay.fitted", np.array([slowdown, *spread], np.float64)
    inner, kernels = fused_nodes(whole)
    if len(inner):
        yield "replay.fused", np.stack([inner, kernels], axis=1).astype(np.int32).ravel()
    if retyped := _retyped(whole):
        yield "replay.retyped", np.array(retyped, np.int32).ravel()
    if sent:
        yield from _sent(sent, whole)


def _has_all_executions(profile: ProfileData, whole: ProfileData) -> bool:
    """Whether the rows of the executions that are sent are those of the whole."""
    sent, all_of_them = profile.executions, whole.executions
    return np.array_equal(sent.node, all_of_them.node) and np.array_equal(sent.step, all_of_them.step)


def _retyped(whole: ProfileData) -> list[tuple[int, int]]:
    """Nodes whose kernels were of another op type of the graph, and that type."""
    nodes, kernels = whole.nodes, whole.kernels
    place = {op: row for row, op in enumerate(nodes.ops)}
    found = [(row, place.get(kernels[name].op, ABSENT)) for row, name in enumerate(nodes.names) if name in kernels]
    return [(row, op) for row, op in found if op not in (ABSENT, nodes.op[row])]


def _durations(work: StepWork, whole: ProfileData) -> Integers:
    return np.where(work.row == ABSENT, ABSENT, whole.executions.duration_nanos[work.row])


def _follows(work: StepWork, whole: ProfileData) -> bool:
    """Whether all of a step's work follows from its executions: one thread ran them, one after the other."""
    if work.workers != (1,) or not np.array_equal(work.busy, work.release):
        return False
    free = np.maximum.accumulate(np.append(0, work.start + work.busy))[:-1]
    is_plain = np.array_equal(work.busy, _durations(work, whole))
    return is_plain and np.array_equal(work.gap, np.maximum(work.start - free, 0))


def _left_out(works: Sequence[StepWork], whole: ProfileData) -> Integers:
    """The executions of the replayed steps that are no part of them."""
    executions = whole.executions
    is_left_out: Flags = np.isin(executions.step, [work.step for work in works]) & (executions.start_nanos > 0)
    for work in works:
        is_left_out[work.row[work.row != ABSENT]] = False
    return np.flatnonzero(is_left_out)


def _sent(works: Sequence[StepWork], whole: ProfileData) -> Columns:
    """What cannot be seen from executions, row by row: gaps, what waits for rows, and which are not plain ones."""

    def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, np.int64), *parts])

    yield "replay.gap", joined([work.gap for work in works]).astype(np.float64)
    gives = [2 * np.bincount(work.source, minlength=len(work)) + work.is_inline for work in works]
    yield "replay.gives", joined(gives).astype(np.int32)
    yield "replay.targets", joined([_targets(work) for work in works]).astype(np.int32)
    if any(len(work.workers) > 1 for work in works):
        yield "replay.queue", joined([work.queue for work in works]).astype(np.int32)
    durations = joined([_durations(work, whole) for work in works])
    busy, release = (joined([getattr(work, name) for work in works]) for name in ("busy", "release"))
    other = np.flatnonzero((busy != durations) | (release != durations))
    if len(other):
        is_transfer = durations[other] == ABSENT
        yield "replay.other", other.astype(np.int32)
        node = joined([work.node for work in works])[other]
        yield "replay.other_node", np.where(is_transfer, node, ABSENT).astype(np.int32)
        yield "replay.other_start", joined([work.start for work in works])[other].astype(np.float64)
        yield "replay.other_busy", busy[other].astype(np.float64)
        yield "replay.other_release", release[other].astype(np.float64)


def _targets(work: StepWork) -> Integers:
    """How many rows after each row those are that wait for it, by their order."""
    order = np.lexsort((work.target, work.source))
    found: Integers = (work.target - work.source)[order]
    return found
