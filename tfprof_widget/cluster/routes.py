"""Adds up what went from where to where, by tensor and by link, the costliest first; means over the steps.

TensorFlow loses some records: a task's RecvTensors of a step are missing now and then, in one of ten steps or so. A
tensor that was made again is sent again. So what it took is the mean of the steps in which it was recorded, and counts
for all those in which its node ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.meetings import is_collective
from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.cluster.waits import Waits
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers


@dataclass(frozen=True)
class LinkSummary:
    """What went from one task to another, or from one device to another of the same task; means over the steps."""

    source: str
    target: str
    kind: str
    count: int
    bytes: int
    transfer_nanos: int
    wait_nanos: int


@dataclass(frozen=True)
class TransferSummary:
    """What went of one tensor from one task to another, likewise."""

    tensor: str
    kind: str
    source: str
    target: str
    count: int
    bytes: int
    transfer_nanos: int
    wait_nanos: int


@dataclass(frozen=True)
class Carried:
    """What went over all links: the transfers by tensor, how many were lost, and for how long each task waited."""

    transfers: tuple[TransferSummary, ...]
    lost: int
    waited: tuple[int, ...]


def links(transfers: Sequence[TransferSummary]) -> tuple[LinkSummary, ...]:
    """What each link carried, those first that took longest.

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


def carried(profile: Profile, waits: Waits, steps: Sequence[int]) -> Carried:
    """What each tensor took that went over a link, the costliest first."""
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
        # To the nearest: what does not come in every step would else not count at all.
        over = int(recorded[at]) * count
        means = [(2 * int(value) * int(sent[at]) + over) // (2 * over) for value in sums[:, at]]
        ends = names[source_at], names[target_at]
        found.append(TransferSummary(transfers.tensors[tensor_at], transfers.kinds[kind_at], *ends, *means))
        waited[int(tasks.of_target[row[at]])] += means[-1]
    return Carried(tuple(found), int((sent - recorded).sum()), tuple(waited))


def _ends(profile: Profile, waits: Waits) -> tuple[Integers, Integers, tuple[str, ...]]:
    """The source and the target of each transfer, as places in names: tasks, or devices within one, or a group."""
    tasks, rows = Tasks.of(profile), waits.transfer
    source, target = tasks.of_source[rows], tasks.of_target[rows]
    within, after = source == target, len(tasks)
    return (
        np.where(within, after + profile.transfers.source[rows], source),
        np.where(within & ~is_collective(profile)[rows], after + profile.transfers.target[rows], target),
        (*tasks.names, *profile.transfers.devices),
    )


def _steps_made(profile: Profile, node: Integers, task: Integers, steps: Sequence[int]) -> Integers:
    """In how many of the steps each node ran on a task; 0 for what is no node."""
    tasks, executions = Tasks.of(profile), profile.executions
    sent, chosen = np.zeros(len(profile.nodes) + 1, np.bool_), np.zeros(len(profile.steps), np.bool_)
    sent[node], chosen[list(steps)] = True, True
    sent[-1] = False  # where ABSENT points to
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
