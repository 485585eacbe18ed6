"""Tells when each task computed, on one clock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfprof_widget.cluster.clocks import Clocks, aligned_start_nanos
from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.ingest.devices import accelerator_streams, canonical
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.intervals import Intervals
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers

Key = tuple[int, int]
"""A moment and a task."""

_MOVES = re.compile(r"_(Host)?(Send|Recv)(V2)?|Collective\w*|Nccl\w*|(?i:memcpy)\w*|RecvTensor", re.ASCII)
_NOTHING = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Activity:
    """When each task computed in some steps, given by their places: what moves tensors aside, for it mostly waits."""

    profile: Profile
    steps: tuple[int, ...]

    @cached_property
    def computed(self) -> Mapping[Key, Intervals]:
        """By moment and task, the stretches in which it computed anything."""
        return dict(self._grouped(self._start, self._end))

    @cached_property
    def wall(self) -> Mapping[Key, int]:
        """By moment and task, the time from the first start to the last end of all tasks whose clocks are told.

        Workers of which nothing tells that they worked at once, such as two runs to compare, have times of their own.
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
        """What the ops of each task took, added up as in a view: on its devices, and on all streams of accelerators."""
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
        """By moment and task, a number that is the same for tasks whose times can be put beside each other."""
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
    """Which ops move tensors between devices or tasks, and do not compute.

    >>> moving_ops(("MatMul", "CollectiveReduceV2", "_Recv", "MemcpyH2D")).tolist()
    [False, True, True, True]
    """
    return np.array([_MOVES.fullmatch(op) is not None for op in ops], np.bool_)
