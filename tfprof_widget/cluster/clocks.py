"""Tells by how much the clocks of tasks differ, from what they sent each other, and puts all on one clock.

A tensor cannot come before it was made. So a receive that ended at `r` by the clock of its target, of a tensor that was
made by `e` by the clock of its source, says that the target's clock is ahead of the source's by at most `r - e`.
Transfers both ways, be it by way of other tasks, bound the difference from both sides, and the middle is taken: then
no tensor comes before it was made. A collective ends for all while the last to join takes part in it: by as much as
that one took, the clocks may differ from what the ends say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from tfprof_widget.cluster.meetings import Meetings
from tfprof_widget.cluster.producers import Producers, ends
from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Indices, Integers

UNKNOWN = -1
"""The error of an offset that nothing bounds from both sides."""

DRIFT = 1e-4
"""How much two clocks can drift apart in a time: quartz keeps to fifty millionths."""

NO_BOUND = 2**61
FURTHEST = 2**51
"""A month: clocks that differ by more were damaged, and sums of more would not fit 64 bits."""


@dataclass(frozen=True, eq=False)
class Clocks:
    """How far the clock of each task is ahead of the first one's at each moment, and how wrong that may be.

    A row a moment, a column a task. An error is UNKNOWN where transfers went one way only, or none did; `is_linked`
    tells which tasks exchanged anything with the first, directly or by way of others.
    """

    offset: Integers
    error: Integers
    is_linked: Flags

    @classmethod
    def of(cls, profile: Profile) -> Clocks:
        """Those of a profile, kept with it."""
        return profile.memory.kept("clocks", lambda: _clocks(profile))

    @classmethod
    def agree(cls, profile: Profile) -> Clocks:
        """Keep with a profile that its times are by one clock, as those of a part of an aligned one are."""
        tasks = Tasks.of(profile)
        none = np.zeros((tasks.moments, len(tasks)), np.int64)
        return profile.memory.kept("clocks", lambda: cls(none, none, np.ones(len(tasks), np.bool_)))


def aligned_start_nanos(profile: Profile) -> Integers:
    """When each execution started, by the clock of the first task; as recorded where there is one task.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> aligned_start_nanos(profile) is profile.executions.start_nanos
    True
    """
    start = profile.executions.start_nanos
    if not len(profile.transfers):
        return start
    return _aligned(profile, start, profile.executions.step, Tasks.of(profile).of_execution)


def aligned_transfer_nanos(profile: Profile) -> Integers:
    """When each transfer started, likewise."""
    transfers = profile.transfers
    return _aligned(profile, transfers.start_nanos, transfers.step, Tasks.of(profile).of_target)


def _aligned(profile: Profile, start: Integers, step: Indices, task: Integers) -> Integers:
    tasks = Tasks.of(profile)
    if len(tasks) < 2:
        return start
    offset = Clocks.of(profile).offset[tasks.moment[step], task]
    result: Integers = np.where(start > 0, np.maximum(start - offset, 1), start)
    return result


def _clocks(profile: Profile) -> Clocks:
    tasks = Tasks.of(profile)
    shape = (tasks.moments, len(tasks))
    clocks = Clocks(np.zeros(shape, np.int64), np.full(shape, UNKNOWN, np.int64), np.zeros(shape, np.bool_))
    if len(tasks):
        clocks.error[:, 0] = 0
        clocks.is_linked[:, 0] = True
    for moment, most in enumerate(_over_time(_bounds(profile, tasks), _moments(profile, tasks))):
        _read_off(_shortest(most), clocks.offset[moment], clocks.error[moment], clocks.is_linked[moment])
    return clocks


def _bounds(profile: Profile, tasks: Tasks) -> Integers:
    """By moment, source and target, how far the target's clock can be ahead of the source's."""
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


def _met(profile: Profile) -> Iterator[tuple[int, int, int, int]]:
    """Each two parts in a collective, by how much the first one's clock is ahead, and how wrong that may be."""
    meetings, transfers = Meetings.of(profile), profile.transfers
    end = transfers.start_nanos + transfers.duration_nanos
    rows = np.flatnonzero(meetings.number >= 0)
    rows = rows[np.argsort(meetings.number[rows], kind="stable")]
    for met in np.split(rows, np.flatnonzero(np.diff(meetings.number[rows])) + 1) if len(rows) else ():
        for first, second in combinations(met.tolist(), 2):
            difference = int(end[first] - end[second])
            if abs(difference) < FURTHEST:
                yield first, second, difference, int(min(transfers.duration_nanos[[first, second]]))


def _moments(profile: Profile, tasks: Tasks) -> list[int]:
    """When each moment was, by any of the clocks; 0 where nothing ran."""
    executions = profile.executions
    began = np.full(tasks.moments, NO_BOUND, np.int64)
    rows = executions.start_nanos > 0
    np.minimum.at(began, tasks.moment[executions.step[rows]], executions.start_nanos[rows])
    return began.tolist()


def _over_time(most: Integers, began: list[int]) -> Integers:
    """The bounds, each also held to those of the moments before and after, from which clocks can only have drifted."""
    order = sorted(range(len(began)), key=began.__getitem__)
    for way in (order, order[::-1]):
        for before, after in pairwise(way):
            drifted = int(abs(began[after] - began[before]) * DRIFT)
            if drifted < FURTHEST:
                held = np.where(most[before] < NO_BOUND, most[before] + drifted, NO_BOUND)
                np.minimum(most[after], held, out=most[after])
    return most


def _shortest(most: Integers) -> Integers:
    """The least bound between each two tasks, also by way of others."""
    shortest = most.copy()
    np.fill_diagonal(shortest, 0)
    for between in range(len(shortest)):
        to, onwards = shortest[:, between, None], shortest[None, between, :]
        by_way = np.where((to < NO_BOUND) & (onwards < NO_BOUND), to + onwards, NO_BOUND)
        np.minimum(shortest, by_way, out=shortest)
        if shortest.diagonal().min() < 0:  # a tensor came before it was made, whatever the clocks: a clock was set
            return np.where(np.eye(len(shortest), dtype=np.bool_), 0, NO_BOUND)
    return shortest


def _read_off(shortest: Integers, offset: Integers, error: Integers, is_linked: Flags) -> None:
    """Take the middle of what bounds leave; a clock that they do not show to be wrong from one side is left alone."""
    for task in range(1, len(shortest)):
        most, least = int(shortest[0, task]), -int(shortest[task, 0])
        if most < NO_BOUND and least > -NO_BOUND:
            offset[task], error[task] = (most + least) // 2, (most - least + 1) // 2
        else:
            offset[task] = min(most, 0) if most < NO_BOUND else max(least, 0) if least > -NO_BOUND else 0
        is_linked[task] = most < NO_BOUND or least > -NO_BOUND
