"""Adds up traffic by link, and finds the straggler: the task that the others wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.cluster.clocks import is_collective
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.analysis.cluster.waits import Activity, Waits
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import job_of_task


@dataclass(frozen=True)
class LinkSummary:
    """What went from one task to another, or between two devices of a task; means over the steps."""

    source: str
    target: str
    kind: str
    count: int
    bytes: int
    transfer_nanos: int
    wait_nanos: int


@dataclass(frozen=True)
class TransferSummary:
    """How often and how long one tensor went from one task to another; means over the steps."""

    tensor: str
    kind: str
    source: str
    target: str
    count: int
    bytes: int
    transfer_nanos: int
    wait_nanos: int


@dataclass(frozen=True)
class Traffic:
    """The traffic of all links: the transfers by tensor, how many were lost, and how long each task waited."""

    transfers: tuple[TransferSummary, ...]
    lost: int
    waited: tuple[int, ...]


def links(transfers: Sequence[TransferSummary]) -> tuple[LinkSummary, ...]:
    """The traffic of each link, the link that took longest first.

    >>> one = TransferSummary("w", "RecvTensor", "/job:ps", "/job:worker", 1, 64, 5, 2)
    >>> links([one, one])
    (LinkSummary(source='/job:ps', target='/job:worker', kind='RecvTensor', count=2, bytes=128, ...
    """
    sums: dict[tuple[str, str, str], list[int]] = {}
    for each in transfers:
        found = sums.setdefault((each.source, each.target, each.kind), [0, 0, 0, 0])
        for place, value in enumerate((each.count, each.bytes, each.transfer_nanos, each.wait_nanos)):
            found[place] += value
    by_cost = sorted(sums.items(), key=lambda entry: -entry[1][2] - entry[1][3])
    return tuple(LinkSummary(*ends, *values) for ends, values in by_cost)


def traffic(profile: ProfileData, waits: Waits, steps: Sequence[int]) -> Traffic:
    """The transfers of each tensor over each link, the costliest first."""
    transfers, tasks = profile.transfers, Tasks.of(profile)
    source, target, names = _ends(profile, waits)
    tensor, kind = (column[waits.transfer].astype(np.int64) for column in (transfers.tensor, transfers.kind))
    keys, first, group = np.unique(
        np.stack([tensor, kind, source, target], axis=1), axis=0, return_index=True, return_inverse=True
    )
    group = group.reshape(-1)
    values = np.ones(len(group), np.int64), transfers.bytes[waits.transfer], waits.transfer_nanos, waits.wait
    sums = np.zeros((len(values), len(keys)), np.int64)
    for column, each in zip(sums, values, strict=True):
        np.add.at(column, group, each)
    step = transfers.step[waits.transfer].astype(np.int64)
    in_steps = np.unique(group * len(profile.steps) + step) // max(len(profile.steps), 1)
    recorded = np.bincount(in_steps, minlength=len(keys))
    row = waits.transfer[first]
    sent = np.maximum(_steps_made(profile, transfers.node[row].astype(np.int64), tasks.of_source[row], steps), recorded)
    count = len({int(tasks.moment[each]) for each in steps})
    found, waited = [], [0] * len(tasks)
    for at in np.argsort(-(sums[2] + sums[3]), kind="stable").tolist():
        tensor_at, kind_at, source_at, target_at = keys[at].tolist()
        # Rounded to the nearest: a tensor that does not come in every step would else not count at all.
        over = int(recorded[at]) * count
        means = [(2 * int(value) * int(sent[at]) + over) // (2 * over) for value in sums[:, at]]
        ends = names[source_at], names[target_at]
        found.append(TransferSummary(transfers.tensors[tensor_at], transfers.kinds[kind_at], *ends, *means))
        waited[int(tasks.of_target[row[at]])] += means[-1]
    return Traffic(tuple(found), int((sent - recorded).sum()), tuple(waited))


def _ends(profile: ProfileData, waits: Waits) -> tuple[Integers, Integers, tuple[str, ...]]:
    """The source and target of each transfer as indices into names: of tasks, devices of one task, or groups."""
    tasks, rows = Tasks.of(profile), waits.transfer
    source, target = tasks.of_source[rows], tasks.of_target[rows]
    within, after = source == target, len(tasks)
    return (
        np.where(within, after + profile.transfers.source[rows], source),
        np.where(within & ~is_collective(profile)[rows], after + profile.transfers.target[rows], target),
        (*tasks.names, *profile.transfers.devices),
    )


def _steps_made(profile: ProfileData, node: Integers, task: Integers, steps: Sequence[int]) -> Integers:
    """In how many of the steps each node ran on a task; 0 for ABSENT."""
    tasks, executions = Tasks.of(profile), profile.executions
    sent, chosen = np.zeros(len(profile.nodes) + 1, np.bool_), np.zeros(len(profile.steps), np.bool_)
    sent[node], chosen[list(steps)] = True, True
    sent[-1] = False  # ABSENT points to this entry
    rows = np.flatnonzero(sent[executions.node] & chosen[executions.step] & (executions.start_nanos > 0))
    ran_on = executions.node[rows].astype(np.int64) * len(tasks) + tasks.of_execution[rows]
    each = np.unique(ran_on * len(profile.steps) + executions.step[rows]) // max(len(profile.steps), 1)
    places, counts = np.unique(each, return_counts=True)
    if not len(places):
        return np.zeros(len(node), np.int64)
    wanted = node * len(tasks) + task
    at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    result: Integers = np.where((node >= 0) & (places[at] == wanted), counts[at], 0)
    return result


WORTH_NAMING = 0.1
"""The share of a step by which the others must wait longer for a task than for its job's average, to be named."""

_SHORTEST = 0.001
"""A task that stands still for a smaller share of a step does not wait: its next op is being scheduled."""

_ROOM = 2**22


@dataclass(frozen=True)
class Straggler:
    """A task that others wait for, and how much longer each of them waits for it than for the others of its job."""

    task: int
    beyond_nanos: int


def waited_for(activity: Activity, waits: Waits) -> Integers:
    """For how long others waited for each task, added up over them.

    A task waits when it stands still and a tensor that it gets in this step is not made yet. It waits for all tasks
    that have to make such a tensor, and each of them gets an equal part of the time. If such a task waits itself, its
    part goes to the tasks that it waits for.
    """
    sums = np.zeros(len(Tasks.of(activity.profile)), np.float64)
    for length, idle, missing in _stretches(activity, waits):
        for some in np.array_split(np.arange(len(length)), 1 + len(length) * len(sums) ** 2 // _ROOM):
            sums += _shared_out(length[some], idle[:, some], missing[:, :, some])
    return np.rint(sums).astype(np.int64)


def straggler(names: Sequence[str], waited: Integers, wall: int) -> Straggler | None:
    """The task that others wait for longer than for the average other task of its job, by a tenth of the wall time.

    >>> names = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    >>> straggler(names, np.array([900, 100, 500]), 1000)
    Straggler(task=2, beyond_nanos=200)
    >>> straggler(names, np.array([900, 400, 500]), 1000)
    """
    found = None
    for task, name in enumerate(names):
        like = [other for other, each in enumerate(names) if other != task and job_of_task(each) == job_of_task(name)]
        if not like:
            continue
        # All other tasks waited for it, and `waited` has sums over them.
        beyond = int(int(waited[task]) - waited[like].mean()) // (len(names) - 1)
        if beyond >= WORTH_NAMING * wall and beyond > 0 and (found is None or beyond > found.beyond_nanos):
            found = Straggler(task, beyond)
    return found


def _shared_out(length: Integers, idle: Flags, missing: Flags) -> NDArray[np.float64]:
    """The time for which each task is waited for in some stretches."""
    owed: Flags = idle[:, None, :] & missing  # waiting task, task waited for, stretch
    waiting: Flags = np.any(owed, axis=1)
    shares = owed / np.maximum(owed.sum(axis=1, keepdims=True), 1)
    count = len(idle)
    passed_on = np.where(waiting[:, None, :], shares, np.eye(count)[:, :, None]).transpose(2, 0, 1)
    for _ in range(count.bit_length()):
        passed_on = passed_on @ passed_on
    # Time that is left goes in circles between waiting tasks, which only wrong clocks cause.
    blamed = np.where(waiting.T[:, :, None] & ~waiting.T[:, None, :], passed_on, 0)
    result: NDArray[np.float64] = (blamed.sum(axis=1) * length[:, None]).sum(axis=0)
    return result


def _stretches(activity: Activity, waits: Waits) -> Iterator[tuple[Integers, Flags, Flags]]:
    """Each moment cut into stretches without change: their length, who stood still, and who missed a tensor of whom."""
    tasks, transfers = Tasks.of(activity.profile), activity.profile.transfers
    moment = tasks.moment[transfers.step[waits.transfer]]
    source, target = waits.cause, tasks.of_target[waits.transfer]
    for each in activity.moments:
        wall = max(activity.wall[each, task] for task in range(len(tasks)))
        rows = np.flatnonzero((moment == each) & (source != target))
        last = np.zeros((len(tasks), len(tasks)), np.int64)
        np.maximum.at(last, (target[rows], source[rows]), waits.begin[rows])
        gaps = [activity.of(each, task).gaps(int(wall * _SHORTEST)) for task in range(len(tasks))]
        bounds = np.unique(np.concatenate([last[last > 0], *(np.append(gap.start, gap.end) for gap in gaps)]))
        begin, end = bounds[:-1], bounds[1:]
        idle = np.array([gap.covers(begin) for gap in gaps])
        yield end - begin, idle, last[:, :, None] > begin
