"""Measures when tasks compute, wait and overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfprof_widget.analysis.cluster.clocks import (
    Clocks,
    Collectives,
    Producers,
    aligned_start_nanos,
    aligned_transfer_nanos,
)
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Flags, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import accelerator_streams, canonical

Key = tuple[int, int]
"""A moment and a task."""

_MOVES = re.compile(r"_(Host)?(Send|Recv)(V2)?|Collective\w*|Nccl\w*|(?i:memcpy)\w*|RecvTensor", re.ASCII)
_NOTHING = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Activity:
    """When each task computed in some steps, given by index; ops that move tensors, and mostly wait, are left out."""

    profile: ProfileData
    steps: tuple[int, ...]

    @cached_property
    def computed(self) -> Mapping[Key, Intervals]:
        """The stretches in which a task computed, by moment and task."""
        return dict(self._grouped(self._start, self._end))

    @cached_property
    def wall(self) -> Mapping[Key, int]:
        """The time from the first start to the last end of all tasks with comparable clocks, by moment and task.

        Workers that are not known to work at once, such as two runs to compare, have a time of their own.
        """
        groups = self._groups
        first: dict[Key, int] = {}
        last: dict[Key, int] = {}
        for (moment, task), stretches in self.computed.items():
            group = moment, int(groups[moment, task])
            first[group] = min(first.get(group, LARGEST_INTEGER), int(stretches.start[0]))
            last[group] = max(last.get(group, 0), int(stretches.end[-1]))
        length = {group: last[group] - first[group] for group in first}
        return {
            (moment, task): length.get((moment, int(groups[moment, task])), 0)
            for moment in self.moments
            for task in range(len(self._tasks))
        }

    @cached_property
    def operation_nanos(self) -> Integers:
        """The time of each task's ops, added up as in a view: on its devices, and on all streams of accelerators."""
        devices = self.profile.nodes.devices
        counted = (canonical(devices) | accelerator_streams(devices))[self.profile.executions.device[self._rows]]
        sums = np.zeros(len(self._tasks), np.int64)
        rows = self._rows[counted]
        np.add.at(sums, self._tasks.of_execution[rows], self.profile.executions.duration_nanos[rows])
        return sums

    def of(self, moment: int, task: int) -> Intervals:
        """When a task computed at a moment."""
        return self.computed.get((moment, task), _NOTHING)

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """The moments at which anything computed."""
        return tuple(sorted({moment for moment, _ in self.computed}))

    @cached_property
    def _groups(self) -> Integers:
        """A number for each moment and task that is the same for tasks with comparable times."""
        linked = Clocks.of(self.profile).is_linked
        if not self.profile.step_workers:
            return np.zeros(linked.shape, np.int64)
        return np.where(linked, 0, np.arange(len(self._tasks)))

    @cached_property
    def _tasks(self) -> Tasks:
        return Tasks.of(self.profile)

    @cached_property
    def _rows(self) -> Integers:
        executions = self.profile.executions
        counts = np.zeros(len(self.profile.steps), np.bool_)
        counts[list(self.steps)] = True
        moves = moving_ops(self.profile.nodes.ops)[self.profile.nodes.op]
        rows: Integers = np.flatnonzero(
            (executions.start_nanos > 0) & counts[executions.step] & ~moves[executions.node]
        )
        return rows

    @cached_property
    def _start(self) -> Integers:
        return aligned_start_nanos(self.profile)[self._rows]

    @cached_property
    def _end(self) -> Integers:
        return self._start + np.minimum(
            self.profile.executions.duration_nanos[self._rows], LARGEST_INTEGER - self._start
        )

    def _grouped(self, start: Integers, end: Integers) -> Iterator[tuple[Key, Intervals]]:
        executions = self.profile.executions
        key = self._tasks.moment[executions.step[self._rows]] * len(self._tasks) + self._tasks.of_execution[self._rows]
        order = np.argsort(key, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else ():
            yield divmod(int(key[rows[0]]), len(self._tasks)), Intervals.of(start[rows], end[rows])


def moving_ops(ops: tuple[str, ...]) -> Flags:
    """Whether each op moves tensors between devices or tasks, and does not compute.

    >>> moving_ops(("MatMul", "CollectiveReduceV2", "_Recv", "MemcpyH2D")).tolist()
    [False, True, True, True]
    """
    return np.array([_MOVES.fullmatch(op) is not None for op in ops], np.bool_)


# TensorFlow writes this duration if the source sent, by its own clock, after the target got the tensor.
_CLAMPED_NANOS = 1000


@dataclass(frozen=True, eq=False)
class Waits:
    """One row for each transfer of the chosen steps, on one clock; `transfer` is its row in the profile's table.

    The tensor was on its way from `begin` to `end`. `idle_from` is when its target began to stand still, or `end` if it
    did not stand still when the tensor came; `wait` is the part of that time before the tensor was on its way. `cause`
    is the task that the target waited for: the source, or in a collective the task that joined last.
    """

    transfer: Integers
    begin: Integers
    end: Integers
    idle_from: Integers
    wait: Integers
    cause: Integers

    @property
    def transfer_nanos(self) -> Integers:
        """How long each tensor was on its way."""
        return self.end - self.begin

    @classmethod
    def of(cls, activity: Activity) -> Waits:
        """The waits in some steps."""
        return _waits(activity)


def _waits(activity: Activity) -> Waits:
    profile, tasks = activity.profile, Tasks.of(activity.profile)
    transfers = profile.transfers
    chosen = np.zeros(len(profile.steps), np.bool_)
    chosen[list(activity.steps)] = True
    rows = np.flatnonzero(chosen[transfers.step])
    start = aligned_transfer_nanos(profile)[rows]
    end = start + transfers.duration_nanos[rows]
    made, cause = _made(profile)
    made, cause = np.clip(made[rows], None, end), cause[rows]
    # A start by a wrong clock of the source says nothing; that the tensor was made does say something.
    told = np.where((transfers.duration_nanos[rows] <= _CLAMPED_NANOS) & (made < start), made, start)
    begin = np.maximum(told, made)
    idle_from = end.copy()
    moment, target = tasks.moment[transfers.step[rows]], tasks.of_target[rows]
    for key in set(zip(moment.tolist(), target.tolist(), strict=True)):
        at = np.flatnonzero((moment == key[0]) & (target == key[1]))
        _find_gaps(activity, key, at, end, idle_from)
    wait = np.maximum(np.minimum(begin, end) - idle_from, 0)
    return Waits(rows, begin, end, idle_from, wait, cause)


def _made(profile: ProfileData) -> tuple[Integers, Integers]:
    """When each tensor was made, or when it was sent if that is not known; and by which task."""
    tasks, execution = Tasks.of(profile), Producers.of(profile).execution
    made, cause = aligned_transfer_nanos(profile).copy(), tasks.of_source.copy()
    meetings = Collectives.of(profile)
    last = meetings.last(made)
    met = meetings.number >= 0
    made[met], cause[met] = made[last][meetings.number[met]], tasks.of_target[last][meetings.number[met]]
    known = execution >= 0
    began = aligned_start_nanos(profile)[execution[known]]
    took = np.minimum(profile.executions.duration_nanos[execution[known]], LARGEST_INTEGER - began)
    made[known] = began + took
    return made, cause


def _find_gaps(activity: Activity, key: tuple[int, int], at: Integers, end: Integers, idle_from: Integers) -> None:
    """Assign each gap of a task to the last of the transfers `at` that came in it."""
    gaps = activity.of(*key).gaps()
    if not len(gaps.start):
        return
    opens, closes = gaps.start, gaps.end
    at = at[np.argsort(end[at], kind="stable")]
    gap = np.searchsorted(opens, end[at], "left") - 1  # the last gap that opened before it came
    within = (gap >= 0) & (end[at] <= closes[gap])
    gap, at = gap[within], at[within]
    is_last = np.append(gap[1:] != gap[:-1], np.ones(min(len(gap), 1), np.bool_))
    idle_from[at[is_last]] = opens[gap[is_last]]


@dataclass(frozen=True)
class Overlap:
    """How long tensors were on their way to a task, and how long of that time it computed."""

    transfer_nanos: int = 0
    computing_nanos: int = 0

    @property
    def share(self) -> float | None:
        """The share of the time in which the task computed; None if no tensor came.

        >>> Overlap(40, 10).share, Overlap().share
        (0.25, None)
        """
        return self.computing_nanos / self.transfer_nanos if self.transfer_nanos else None


def overlaps(activity: Activity, waits: Waits) -> list[Overlap]:
    """The overlap of each task over all steps; transfers between devices of one task count, too."""
    tasks, transfers = Tasks.of(activity.profile), activity.profile.transfers
    moment, target = tasks.moment[transfers.step[waits.transfer]], tasks.of_target[waits.transfer]
    key = moment * len(tasks) + target
    order = np.argsort(key, kind="stable")
    found = [Overlap() for _ in tasks.names]
    for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else ():
        task = int(target[rows[0]])
        coming = Intervals.of(waits.begin[rows], waits.end[rows])
        computing = coming.shared(activity.of(int(moment[rows[0]]), task))
        found[task] = Overlap(found[task].transfer_nanos + coming.length, found[task].computing_nanos + computing)
    return found
