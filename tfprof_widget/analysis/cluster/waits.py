"""Measures when tasks compute, wait and overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.cluster.clocks import Clocks, aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.analysis.cluster.exchanges import Collectives, Producers, is_between_tasks
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Flags, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import accelerator_streams, canonical

Key = tuple[int, int]
"""A moment and a task."""

_MOVES = re.compile(r"_(Host)?(Send|Recv)(V2)?|Collective\w*|Nccl\w*|(?i:memcpy)\w*|RecvTensor", re.ASCII)
_NOTHING = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Pace:
    """For how many nanoseconds a task computes in the median step, and in a step in which nothing holds its ops up.

    For the latter, each op takes as long as the quickest execution of its node on this task.
    """

    usual: float
    quickest: float


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
        sums = np.zeros(len(self._tasks), np.int64)
        rows = self._counted
        np.add.at(sums, self._tasks.of_execution[rows], self.profile.executions.duration_nanos[rows])
        return sums

    @cached_property
    def quickest_nanos(self) -> Integers:
        """What each task's ops would have taken, had each execution been as quick as the quickest of its node there.

        The rest of their time they may have been held up: by other processes that had the processor, or by each other.
        """
        rows = self._counted
        took = self.profile.executions.duration_nanos[rows]
        key = self._tasks.of_execution[rows] * len(self.profile.nodes) + self.profile.executions.node[rows]
        least = np.full(len(self._tasks) * len(self.profile.nodes), LARGEST_INTEGER)
        np.minimum.at(least, key, took)
        sums = np.zeros(len(self._tasks), np.int64)
        np.add.at(sums, self._tasks.of_execution[rows], least[key])
        return sums

    def paces(self) -> tuple[Pace, ...]:
        """How long each task computes in a step, and how long it would if nothing held its ops up."""
        found = []
        for task, (took, least) in enumerate(zip(self.operation_nanos, self.quickest_nanos, strict=True)):
            busy = [self.of(moment, task).length for moment in self.moments]
            share = float(least) / max(float(took), 1.0)
            found.append(Pace(float(np.median(busy or [0])), share * sum(busy) / max(len(busy), 1)))
        return tuple(found)

    @cached_property
    def _counted(self) -> Integers:
        """The rows of the executions that count for op time."""
        devices = self.profile.nodes.devices
        counted = (canonical(devices) | accelerator_streams(devices))[self.profile.executions.device[self._rows]]
        rows: Integers = self._rows[counted]
        return rows

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


def held_up(activity: Activity, waits: Waits) -> NDArray[np.float64]:
    """For how long tensors of other tasks were on their way to each task while no task computed.

    A row for each moment, a column for each task. What is on its way while any task computes may wait for the
    processor that the two share, or for work that is not done yet: it holds nobody up for sure.
    """
    profile, tasks = activity.profile, Tasks.of(activity.profile)
    moment, target = tasks.moment[profile.transfers.step[waits.transfer]], tasks.of_target[waits.transfer]
    apart = is_between_tasks(profile)[waits.transfer]
    found = np.zeros((len(activity.moments), len(tasks)), np.float64)
    for own, each in zip(found, activity.moments, strict=True):
        ran = [activity.of(each, task) for task in range(len(tasks))]
        computed = Intervals.of(np.concatenate([of.start for of in ran]), np.concatenate([of.end for of in ran]))
        for task in range(len(tasks)):
            rows = np.flatnonzero(apart & (moment == each) & (target == task))
            own[task] = Intervals.of(waits.begin[rows], waits.end[rows]).without(computed).length
    return found


_SHORTEST = 0.001
"""A task that stands still for a smaller share of a step does not wait: its next op is being scheduled."""

_ROOM = 2**22


@dataclass(frozen=True, eq=False)
class WaitedFor:
    """For how long others waited for each task: a row for each moment, a column for each task.

    `summed` adds up over those that waited, and `longest` is the time of the one that waited longest in each stretch:
    the time for which the task kept anyone waiting, whether one other task waited or all did.
    """

    summed: NDArray[np.float64]
    longest: NDArray[np.float64]


def waited_for(activity: Activity, waits: Waits) -> WaitedFor:
    """For how long others waited for each task.

    A task waits when it stands still and a tensor that it gets in this step is not made yet. It waits for all tasks
    that have to make such a tensor, and each of them gets an equal part of the time. If such a task waits itself, its
    part goes to the tasks that it waits for.
    """
    both = np.zeros((2, len(activity.moments), len(Tasks.of(activity.profile))), np.float64)
    for place, (length, idle, missing) in enumerate(_stretches(activity, waits)):
        for some in np.array_split(np.arange(len(length)), 1 + len(length) * both.shape[2] ** 2 // _ROOM):
            both[:, place] += _shared_out(length[some], idle[:, some], missing[:, :, some])
    return WaitedFor(*both)


def _shared_out(length: Integers, idle: Flags, missing: Flags) -> NDArray[np.float64]:
    """The time for which each task is waited for in some stretches, summed over those that wait, and the longest."""
    owed: Flags = idle[:, None, :] & missing  # waiting task, task waited for, stretch
    waiting: Flags = np.any(owed, axis=1)
    shares = owed / np.maximum(owed.sum(axis=1, keepdims=True), 1)
    count = len(idle)
    passed_on = np.where(waiting[:, None, :], shares, np.eye(count)[:, :, None]).transpose(2, 0, 1)
    for _ in range(count.bit_length()):
        passed_on = passed_on @ passed_on
    # Time that is left goes in circles between waiting tasks, which only wrong clocks cause.
    blamed = np.where(waiting.T[:, :, None] & ~waiting.T[:, None, :], passed_on, 0)
    return np.stack([length @ blamed.sum(axis=1), length @ blamed.max(axis=1)])


def _stretches(activity: Activity, waits: Waits) -> Iterator[tuple[Integers, Flags, Flags]]:
    """Each moment cut into stretches without change: their length, who stood still, and who missed a tensor of whom."""
    tasks, transfers = Tasks.of(activity.profile), activity.profile.transfers
    lost = _lost(activity, waits)
    moment = np.append(tasks.moment[transfers.step[waits.transfer]], lost[0])
    source = np.append(waits.cause, lost[1])
    target = np.append(tasks.of_target[waits.transfer], lost[2])
    begin_of = np.append(waits.begin, lost[3])
    for each in activity.moments:
        wall = max(activity.wall[each, task] for task in range(len(tasks)))
        rows = np.flatnonzero((moment == each) & (source != target))
        last = np.zeros((len(tasks), len(tasks)), np.int64)
        np.maximum.at(last, (target[rows], source[rows]), begin_of[rows])
        gaps = [activity.of(each, task).gaps(int(wall * _SHORTEST)) for task in range(len(tasks))]
        bounds = np.unique(np.concatenate([last[last > 0], *(np.append(gap.start, gap.end) for gap in gaps)]))
        begin, end = bounds[:-1], bounds[1:]
        idle = np.array([gap.covers(begin) for gap in gaps])
        yield end - begin, idle, last[:, :, None] > begin


def _lost(activity: Activity, waits: Waits) -> Integers:
    """The moment, source, target and begin of each transfer that was not recorded: it began when its tensor was made.

    Mostly the last transfers of a step are lost, and so those that others waited for.
    """
    profile, tasks = activity.profile, Tasks.of(activity.profile)
    transfers, executions = profile.transfers, profile.executions
    rows = waits.transfer[transfers.node[waits.transfer] >= 0]
    columns = transfers.node[rows], tasks.of_source[rows], tasks.of_target[rows], transfers.step[rows]
    came: dict[tuple[int, int, int], set[int]] = {}
    for node, source, target, step in zip(*(column.tolist() for column in columns), strict=True):
        came.setdefault((node, source, target), set()).add(step)
    sent, chosen = np.zeros(len(profile.nodes), np.bool_), np.zeros(len(profile.steps), np.bool_)
    sent[[node for node, _, _ in came]], chosen[list(activity.steps)] = True, True
    ran = np.flatnonzero(sent[executions.node] & chosen[executions.step] & (executions.start_nanos > 0))
    began = aligned_start_nanos(profile)[ran]
    ended = began + np.minimum(executions.duration_nanos[ran], LARGEST_INTEGER - began)
    made: dict[tuple[int, int], dict[int, int]] = {}
    where = executions.node[ran], tasks.of_execution[ran], executions.step[ran], ended
    for node, task, step, end in zip(*(column.tolist() for column in where), strict=True):
        ends = made.setdefault((node, task), {})
        ends[step] = max(end, ends.get(step, 0))
    lost = [
        (int(tasks.moment[step]), source, target, end)
        for (node, source, target), steps in came.items()
        for step, end in made.get((node, source), {}).items()
        if step not in steps
    ]
    return np.array(lost, np.int64).reshape(-1, 4).T
