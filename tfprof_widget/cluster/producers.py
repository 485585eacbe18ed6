"""Finds the execution that made each tensor which was transferred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.meetings import is_collective
from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Executions, Flags, Indices, Integers


@dataclass(frozen=True, eq=False)
class Producers:
    """The execution that made each transferred tensor, or ABSENT, and which of these are beyond doubt.

    A node that ran as often as its tensor came made the first with its first execution, and so on. If it ran more
    often or less, it is in doubt which it was: it is taken to be the last that had ended when the tensor came.
    """

    execution: Integers
    sure: Flags

    @classmethod
    def of(cls, profile: Profile) -> Producers:
        """Those of a profile, kept with it."""
        return profile.memory.kept("producers", lambda: _producers(profile))


def ends(executions: Executions) -> Integers:
    """When executions ended, by the clocks of their tasks; damaged times end at the end of all time."""
    left = LARGEST_INTEGER - np.maximum(executions.start_nanos, 0)
    result: Integers = executions.start_nanos + np.minimum(executions.duration_nanos, left)
    return result


def _producers(profile: Profile) -> Producers:
    transfers, executions, tasks = profile.transfers, profile.executions, Tasks.of(profile)
    made = np.full(len(transfers), ABSENT, np.int64)
    sure = np.zeros(len(transfers), np.bool_)
    # A collective's node is the collective itself.
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


def _keys(step: Indices, task: Integers, node: Indices, profile: Profile, tasks: Tasks) -> Integers:
    result: Integers = (step.astype(np.int64) * len(tasks) + task) * len(profile.nodes) + node
    return result


def _ranks(profile: Profile, known: Integers, place: Integers) -> tuple[Integers, Integers]:
    """Of each transfer, how many of the same tensor came to the same target before it, and how many in all."""
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
