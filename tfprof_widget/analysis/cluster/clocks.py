"""Finds the execution that made each tensor and the parts of each collective; from them, how far clocks are apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData, ProfileTables
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


UNKNOWN = -1
"""The error of an offset that is not bounded from both sides."""

DRIFT = 1e-4
"""How much two clocks drift apart, as a share of the time: each quartz clock by at most fifty millionths."""

NO_BOUND = 2**61
FURTHEST = 2**51
"""A month: a larger difference is damage, and sums of larger ones would not fit 64 bits."""


@dataclass(frozen=True, eq=False)
class Clocks:
    """How far the clock of each task is ahead of the first task's at each moment, and the error of that.

    There is a row for each moment and a column for each task. A moment is a step, which several workers may have run at
    once. An error is UNKNOWN if transfers went in one direction only, or if there were none. `is_linked` says which
    tasks exchanged anything with the first task, directly or through others.
    """

    offset: Integers
    error: Integers
    is_linked: Flags

    @classmethod
    def of(cls, profile: ProfileData) -> Clocks:
        """The clocks of a profile, kept with it; if it is on one clock already, all differences are 0."""
        return profile.cache.kept("clocks", lambda: _agreeing(profile) if profile.one_clock else _clocks(profile))


def aligned_start_nanos(profile: ProfileData) -> Integers:
    """When each execution started, by the clock of the first task; as recorded if there is one task only."""
    start = profile.executions.start_nanos
    if not len(profile.transfers):
        return start
    return _aligned_clocks(profile, start, profile.executions.step, Tasks.of(profile).of_execution)


def aligned_transfer_nanos(profile: ProfileData) -> Integers:
    """When each transfer started, by the clock of the first task."""
    transfers = profile.transfers
    return _aligned_clocks(profile, transfers.start_nanos, transfers.step, Tasks.of(profile).of_target)


def _aligned_clocks(profile: ProfileData, start: Integers, step: Indices, task: Integers) -> Integers:
    tasks = Tasks.of(profile)
    if len(tasks) < 2:
        return start
    offset = Clocks.of(profile).offset[tasks.moment[step], task]
    result: Integers = np.where(start > 0, np.maximum(start - offset, 1), start)
    return result


def _agreeing(profile: ProfileData) -> Clocks:
    tasks = Tasks.of(profile)
    none = np.zeros((tasks.moments, len(tasks)), np.int64)
    return Clocks(none, none, np.ones(len(tasks), np.bool_))


def _clocks(profile: ProfileData) -> Clocks:
    tasks = Tasks.of(profile)
    shape = (tasks.moments, len(tasks))
    clocks = Clocks(np.zeros(shape, np.int64), np.full(shape, UNKNOWN, np.int64), np.zeros(shape, np.bool_))
    if len(tasks):
        clocks.error[:, 0] = 0
        clocks.is_linked[:, 0] = True
    for moment, most in enumerate(_over_time(_bounds(profile, tasks), _moments(profile, tasks))):
        _read_off(_shortest(most), clocks.offset[moment], clocks.error[moment], clocks.is_linked[moment])
    return clocks


def _bounds(profile: ProfileData, tasks: Tasks) -> Integers:
    """How far the target's clock can at most be ahead of the source's, by moment, source and target."""
    transfers, producers = profile.transfers, Producers.of(profile)
    rows = np.flatnonzero(producers.sure & (tasks.of_source != tasks.of_target))
    came = transfers.start_nanos[rows] + transfers.duration_nanos[rows]
    ahead = came - ends(profile.executions)[producers.execution[rows]]
    rows, ahead = rows[np.abs(ahead) < FURTHEST], ahead[np.abs(ahead) < FURTHEST]
    most = np.full((tasks.moments, len(tasks), len(tasks)), NO_BOUND, np.int64)
    place = tasks.moment[transfers.step[rows]], tasks.of_source[rows], tasks.of_target[rows]
    np.minimum.at(most, place, ahead)
    for first, second, difference, wrong in _met(profile):
        moment = tasks.moment[transfers.step[first]]
        one, other = tasks.of_target[first], tasks.of_target[second]
        most[moment, one, other] = min(most[moment, one, other], wrong - difference)
        most[moment, other, one] = min(most[moment, other, one], wrong + difference)
    return most


def _met(profile: ProfileData) -> Iterator[tuple[int, int, int, int]]:
    """For each pair of parts of a collective, how far the clock of the first is ahead, and the error of that."""
    meetings, transfers = Collectives.of(profile), profile.transfers
    end = transfers.start_nanos + transfers.duration_nanos
    rows = np.flatnonzero(meetings.number >= 0)
    rows = rows[np.argsort(meetings.number[rows], kind="stable")]
    for met in np.split(rows, np.flatnonzero(np.diff(meetings.number[rows])) + 1) if len(rows) else ():
        for first, second in combinations(met.tolist(), 2):
            difference = int(end[first] - end[second])
            if abs(difference) < FURTHEST:
                yield first, second, difference, int(min(transfers.duration_nanos[[first, second]]))


def _moments(profile: ProfileData, tasks: Tasks) -> list[int]:
    """When the first execution of each moment started, by the clock of its task; NO_BOUND if nothing ran."""
    executions = profile.executions
    began = np.full(tasks.moments, NO_BOUND, np.int64)
    rows = executions.start_nanos > 0
    np.minimum.at(began, tasks.moment[executions.step[rows]], executions.start_nanos[rows])
    return began.tolist()


def _over_time(most: Integers, began: list[int]) -> Integers:
    """The bounds, tightened by those of the moments before and after: clocks differ between moments only by drift."""
    order = sorted(range(len(began)), key=began.__getitem__)
    for way in (order, order[::-1]):
        for before, after in pairwise(way):
            drifted = int(abs(began[after] - began[before]) * DRIFT)
            if drifted < FURTHEST:
                held = np.where(most[before] < NO_BOUND, most[before] + drifted, NO_BOUND)
                np.minimum(most[after], held, out=most[after])
    return most


def _shortest(most: Integers) -> Integers:
    """The smallest bound between each two tasks, also through other tasks."""
    shortest = most.copy()
    np.fill_diagonal(shortest, 0)
    for between in range(len(shortest)):
        to, onwards = shortest[:, between, None], shortest[None, between, :]
        by_way = np.where((to < NO_BOUND) & (onwards < NO_BOUND), to + onwards, NO_BOUND)
        np.minimum(shortest, by_way, out=shortest)
        if shortest.diagonal().min() < 0:  # whatever the offsets, a tensor comes before it is made: a clock was set
            return np.where(np.eye(len(shortest), dtype=np.bool_), 0, NO_BOUND)
    return shortest


def _read_off(shortest: Integers, offset: Integers, error: Integers, is_linked: Flags) -> None:
    """Take the middle between two bounds; with one bound, move a clock only as far as the bound demands."""
    for task in range(1, len(shortest)):
        most, least = int(shortest[0, task]), -int(shortest[task, 0])
        if most < NO_BOUND and least > -NO_BOUND:
            offset[task], error[task] = (most + least) // 2, (most - least + 1) // 2
        else:
            offset[task] = min(most, 0) if most < NO_BOUND else max(least, 0) if least > -NO_BOUND else 0
        is_linked[task] = most < NO_BOUND or least > -NO_BOUND


def on_one_clock(profile: ProfileData) -> ProfileTables:
    """The stage that puts executions, transfers and allocations on one clock; with one task it changes nothing.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> on_one_clock(profile) is profile
    True
    """
    executions, allocations = profile.executions, profile.allocations
    start = aligned_start_nanos(profile)
    if start is executions.start_nanos:
        return profile
    later = (start - executions.start_nanos)[allocations.execution] // NANOS_A_MICRO
    return profile.having(
        executions=replace(executions, start_nanos=start),
        transfers=replace(profile.transfers, start_nanos=aligned_transfer_nanos(profile)),
        allocations=replace(allocations, micros=allocations.micros + later),
        one_clock=True,
    )
