"""Bounds how far the clocks of tasks are apart, and puts profiles on one clock."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from tfprof_widget.analysis.cluster.exchanges import Collectives, Producers, ends
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.lib.arrays import NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData, ProfileTables

_FOR_ALL = re.compile(r"Collective(Reduce|Gather|AllToAll)\w*|Nccl(AllReduce|Reduce)", re.ASCII)
"""Collectives that end for no task before all have joined; the sender of a broadcast waits for nobody."""


UNKNOWN = -1
"""The error of an offset that is not bounded from both sides."""

DRIFT = 1e-4
"""How much two clocks drift apart, as a share of the time: each quartz clock by at most fifty millionths."""

NO_BOUND = 2**61
FURTHEST = 2**51
"""A month: a larger difference is damage, and sums of larger ones would not fit 64 bits."""

FEWEST_MOMENTS = 3
"""Of fewer moments none can be outvoted, so that their usual bounds tell nothing."""

NEIGHBOURS = 32
"""So many moments before and after a moment have a say in its bounds."""


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
    began, bounds = _moments(profile, tasks), _Bounds.of(profile, tasks)
    sure = _over_time(bounds.sure, began)
    closer = _closer(sure, bounds.usual, began)
    for moment in range(tasks.moments):
        found = _shortest(closer[moment])
        if found is None:
            found = _shortest(sure[moment])
        if found is None:
            found = np.where(np.eye(len(tasks), dtype=np.bool_), 0, NO_BOUND)
        _read_off(found, clocks.offset[moment], clocks.error[moment], clocks.is_linked[moment])
    return clocks


@dataclass(frozen=True, eq=False)
class _Bounds:
    """How far a task's clock can at most be ahead of another's, by moment, the other task, and the task.

    The `sure` bounds hold whatever the tasks do: nothing comes before it was made, and no part of a collective ends
    before all tasks have joined it. The `usual` ones hold but for accidents: the parts of a collective end within the
    time that the last task to join spends in it, unless the thread of one of them is held up.
    """

    sure: Integers
    usual: Integers

    @classmethod
    def of(cls, profile: ProfileData, tasks: Tasks) -> _Bounds:
        transfers, producers = profile.transfers, Producers.of(profile)
        rows = np.flatnonzero(producers.sure & (tasks.of_source != tasks.of_target))
        came = transfers.start_nanos[rows] + transfers.duration_nanos[rows]
        ahead = came - ends(profile.executions)[producers.execution[rows]]
        rows, ahead = rows[np.abs(ahead) < FURTHEST], ahead[np.abs(ahead) < FURTHEST]
        sure = np.full((tasks.moments, len(tasks), len(tasks)), NO_BOUND, np.int64)
        place = tasks.moment[transfers.step[rows]], tasks.of_source[rows], tasks.of_target[rows]
        np.minimum.at(sure, place, ahead)
        usual = np.full(sure.shape, NO_BOUND, np.int64)
        for (moment, one, other), parts in _met(profile, tasks).items():
            (start, end), (other_start, other_end) = (np.array(part, np.int64).T for part in zip(*parts, strict=True))
            for source, target, bound in ((one, other, other_end - start), (other, one, end - other_start)):
                sure[moment, source, target] = min(sure[moment, source, target], int(bound.min()))
            ahead, wrong = other_end - end, np.minimum(end - start, other_end - other_start)
            least, most = _agreed(ahead - wrong, ahead + wrong)
            usual[moment, one, other], usual[moment, other, one] = most, -least
        return cls(sure, usual)


_Part = tuple[int, int]
"""When a task joined a collective, and when it was done."""


def _met(profile: ProfileData, tasks: Tasks) -> dict[tuple[int, int, int], list[tuple[_Part, _Part]]]:
    """By moment and two tasks, their parts of each collective in which both were."""
    meetings, transfers = Collectives.of(profile), profile.transfers
    start, end = transfers.start_nanos, transfers.start_nanos + transfers.duration_nanos
    for_all = np.array([_FOR_ALL.fullmatch(kind) is not None for kind in transfers.kinds], np.bool_)
    rows = np.flatnonzero(meetings.number >= 0)
    rows = rows[for_all[transfers.kind[rows]]]
    rows = rows[np.lexsort((tasks.of_target[rows], meetings.number[rows]))]
    found: dict[tuple[int, int, int], list[tuple[_Part, _Part]]] = {}
    for met in np.split(rows, np.flatnonzero(np.diff(meetings.number[rows])) + 1) if len(rows) else ():
        moment, task = int(tasks.moment[transfers.step[met[0]]]), tasks.of_target[met].tolist()
        parts = list(zip(start[met].tolist(), end[met].tolist(), strict=True))
        for one, other in combinations(range(len(met)), 2):
            if abs(parts[one][1] - parts[other][1]) < FURTHEST:
                found.setdefault((moment, task[one], task[other]), []).append((parts[one], parts[other]))
    return found


def _agreed(least: Integers, most: Integers) -> tuple[int, int]:
    """From the first to the last value that at least half of some ranges contain; the union if there is no such value.

    If at least half of the ranges hold the truth, so does this one, however narrow or wrong the others are.

    >>> _agreed(np.array([-30, -20, 90]), np.array([30, 20, 95]))
    (-20, 20)
    >>> _agreed(np.array([-5, 40, 70]), np.array([5, 50, 75]))
    (-5, 75)
    """
    least, most = np.sort(least), np.sort(most)
    places = np.arange(len(least))
    held_low = places + 1 - np.searchsorted(most, least, "left")
    held_high = len(most) - places - (len(least) - np.searchsorted(least, most, "right"))
    half = (len(least) + 1) // 2
    low, high = least[held_low >= half], most[held_high >= half]
    return (int(low[0]), int(high[-1])) if len(low) else (int(least[0]), int(most[-1]))


def _moments(profile: ProfileData, tasks: Tasks) -> Integers:
    """When the first execution of each moment started, by the clock of its task; NO_BOUND if nothing ran."""
    executions = profile.executions
    began = np.full(tasks.moments, NO_BOUND, np.int64)
    rows = executions.start_nanos > 0
    np.minimum.at(began, tasks.moment[executions.step[rows]], executions.start_nanos[rows])
    return began


def _over_time(most: Integers, began: Integers) -> Integers:
    """The bounds, tightened by those of the moments before and after: clocks differ between moments only by drift.

    Where the moments contradict each other, as if a clock was set, the bounds are those that half of them agree on.
    """
    held = most.copy()
    order = np.argsort(began, kind="stable").tolist()
    for way in (order, order[::-1]):
        for before, after in pairwise(way):
            drifted = int(abs(int(began[after]) - int(began[before])) * DRIFT)
            if drifted < FURTHEST:
                before_it = np.where(held[before] < NO_BOUND, held[before] + drifted, NO_BOUND)
                np.minimum(held[after], before_it, out=held[after])
    both = (held < NO_BOUND) & (held.transpose(0, 2, 1) < NO_BOUND)
    against = (np.where(both, held + held.transpose(0, 2, 1), 0) < 0).any(axis=0)
    for one, other in np.argwhere(np.triu(against)).tolist():
        held[:, one, other], held[:, other, one] = _majority(most[:, one, other], most[:, other, one], began)
    return held


def _closer(sure: Integers, usual: Integers, began: Integers) -> Integers:
    """The sure bounds, tightened by the usual ones that half of the moments agree on, if they are several."""
    closer = sure.copy()
    met = (usual < NO_BOUND).sum(axis=0) >= FEWEST_MOMENTS
    for one, other in np.argwhere(np.triu(met)).tolist():
        most, back = _majority(usual[:, one, other], usual[:, other, one], began)
        most, back = np.minimum(most, sure[:, one, other]), np.minimum(back, sure[:, other, one])
        holds = most + back >= 0
        closer[holds, one, other], closer[holds, other, one] = most[holds], back[holds]
    return closer


def _majority(most: Integers, back: Integers, began: Integers) -> tuple[Integers, Integers]:
    """At each moment the bounds in both directions that half of the moments around it agree on."""
    known = np.flatnonzero((most < NO_BOUND) & (back < NO_BOUND))
    known = known[np.argsort(began[known], kind="stable")]
    found = np.full((2, len(most)), NO_BOUND, np.int64)
    for moment, at in enumerate(np.searchsorted(began[known], began).tolist()):
        near = known[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
        drifted = np.abs((began[near] - began[moment]) * DRIFT).astype(np.int64)
        near, drifted = near[drifted < FURTHEST], drifted[drifted < FURTHEST]
        if len(near):
            least, highest = _agreed(-back[near] - drifted, most[near] + drifted)
            found[:, moment] = highest, -least
    return found[0], found[1]


def _shortest(most: Integers) -> Integers | None:
    """The smallest bound between each two tasks, also through other tasks; None if bounds contradict each other."""
    shortest = most.copy()
    np.fill_diagonal(shortest, 0)
    for between in range(len(shortest)):
        to, onwards = shortest[:, between, None], shortest[None, between, :]
        by_way = np.where((to < NO_BOUND) & (onwards < NO_BOUND), to + onwards, NO_BOUND)
        np.minimum(shortest, by_way, out=shortest)
        if shortest.diagonal().min() < 0:  # whatever the offsets, a tensor comes before it is made: a clock was set
            return None
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
