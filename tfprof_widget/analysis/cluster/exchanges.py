"""Finds the execution that made each transferred tensor, and the parts of each collective."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.tables import Executions

_COLLECTIVE = re.compile(r"Collective\w*|Nccl\w*", re.ASCII)


def is_collective(profile: ProfileData) -> Flags:
    """Whether each transfer is a part in a collective, and not a tensor from one device."""
    kinds = np.array([_COLLECTIVE.fullmatch(kind) is not None for kind in profile.transfers.kinds], np.bool_)
    return kinds[profile.transfers.kind] if len(kinds) else np.zeros(len(profile.transfers), np.bool_)


@dataclass(frozen=True, eq=False)
class Collectives:
    """The number of the collective in which each transfer is a part; ABSENT for other transfers."""

    number: Integers
    count: int

    @classmethod
    def of(cls, profile: ProfileData) -> Collectives:
        """The collectives of a profile, kept with the profile."""
        return profile.cache.kept("meetings", lambda: _meetings(profile))

    def last(self, start: Integers) -> Integers:
        """The transfer that joined each collective last, by the starts of its parts."""
        rows = np.flatnonzero(self.number >= 0)
        rows = rows[np.lexsort((start[rows], self.number[rows]))]
        ends = np.searchsorted(self.number[rows], np.arange(self.count), "right") - 1
        result: Integers = rows[ends]
        return result


def _meetings(profile: ProfileData) -> Collectives:
    tasks, transfers = Tasks.of(profile), profile.transfers
    number = np.full(len(transfers), ABSENT, np.int64)
    rows = np.flatnonzero(is_collective(profile))
    moment, task = tasks.moment[transfers.step[rows]], tasks.of_target[rows]
    tensor = transfers.tensor[rows].astype(np.int64)
    order = np.lexsort((transfers.start_nanos[rows], task, tensor, moment))
    by_name: dict[tuple[int, int], dict[int, list[int]]] = {}
    for at in order.tolist():
        parts = by_name.setdefault((int(moment[at]), int(tensor[at])), {})
        parts.setdefault(int(task[at]), []).append(int(rows[at]))
    count = 0
    for parts in by_name.values():
        if len(parts) > 1 and len({len(each) for each in parts.values()}) == 1:
            for met in zip(*parts.values(), strict=True):
                number[list(met)] = count
                count += 1
    return Collectives(number, count)


def is_between_tasks(profile: ProfileData) -> Flags:
    """Whether each transfer crosses from task to task; others are between devices of one process."""
    tasks = Tasks.of(profile)
    crosses: Flags = (tasks.of_source != tasks.of_target) | (Collectives.of(profile).number >= 0)
    return crosses


@dataclass(frozen=True, eq=False)
class Producers:
    """The execution that made each transferred tensor, or ABSENT, and whether it is certain.

    If a node ran as often as its tensor arrived, the first execution made the first tensor, and so on. If it ran more
    often or less often, this is not certain; then the last execution that ended before the tensor arrived is taken.
    """

    execution: Integers
    sure: Flags

    @classmethod
    def of(cls, profile: ProfileData) -> Producers:
        """The producers of a profile's tensors, kept with the profile."""
        return profile.cache.kept("producers", lambda: _producers(profile))


def ends(executions: Executions) -> Integers:
    """When executions ended, by the clocks of their tasks; sums that do not fit 64 bits become the largest number."""
    left = LARGEST_INTEGER - np.maximum(executions.start_nanos, 0)
    result: Integers = executions.start_nanos + np.minimum(executions.duration_nanos, left)
    return result


def _producers(profile: ProfileData) -> Producers:
    transfers, executions, tasks = profile.transfers, profile.executions, Tasks.of(profile)
    made = np.full(len(transfers), ABSENT, np.int64)
    sure = np.zeros(len(transfers), np.bool_)
    # The node of a collective is the collective itself, and made no tensor.
    is_made = (transfers.node >= 0) & ~is_collective(profile)
    sent = np.zeros(len(profile.nodes), np.bool_)
    sent[transfers.node[is_made]] = True
    rows = np.flatnonzero(sent[executions.node] & (executions.start_nanos > 0))
    key = _keys(executions.step[rows], tasks.of_execution[rows], executions.node[rows], profile, tasks)
    rows = rows[np.lexsort((executions.start_nanos[rows], key))]
    keys, first, count = np.unique(np.sort(key), return_index=True, return_counts=True)
    known = np.flatnonzero(is_made)
    wanted = _keys(transfers.step[known], tasks.of_source[known], transfers.node[known], profile, tasks)
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if not len(keys):
        return Producers(made, sure)
    found = keys[place] == wanted
    known, place = known[found], place[found]
    rank, came = _ranks(profile, known, place)
    sure[known] = came == count[place]
    made[known] = rows[first[place] + np.minimum(rank, count[place] - 1)]
    end = ends(executions)
    for transfer, at in zip(known[~sure[known]].tolist(), place[~sure[known]].tolist(), strict=True):
        candidates = rows[first[at] : first[at] + count[at]]
        had_ended = end[candidates] <= transfers.start_nanos[transfer] + transfers.duration_nanos[transfer]
        made[transfer] = candidates[had_ended][-1] if had_ended.any() else candidates[0]
    return Producers(made, sure)


def _keys(step: Indices, task: Integers, node: Indices, profile: ProfileData, tasks: Tasks) -> Integers:
    result: Integers = (step.astype(np.int64) * len(tasks) + task) * len(profile.nodes) + node
    return result


def _ranks(profile: ProfileData, known: Integers, place: Integers) -> tuple[Integers, Integers]:
    """How many transfers brought the same tensor to the same target before each transfer, and how many in all."""
    transfers = profile.transfers
    columns = (place, transfers.target[known].astype(np.int64), transfers.tensor[known].astype(np.int64))
    _, group = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.lexsort((transfers.start_nanos[known] + transfers.duration_nanos[known], group))
    came = np.bincount(group)
    first = np.cumsum(came) - came
    rank = np.empty(len(known), np.int64)
    rank[order] = np.arange(len(known)) - first[group[order]]
    return rank, came[group]
