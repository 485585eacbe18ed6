"""Finds the task that the others wait for: not the one that they wait for directly, if that one waits itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.cluster.activity import Activity
from tfprof_widget.cluster.tasks import Tasks, job_of_task
from tfprof_widget.cluster.waits import Waits
from tfprof_widget.tables import Flags, Integers

WORTH_NAMING = 0.1
"""The share of a step for which a task must keep the others waiting, beyond what its like do, to be named."""

_SHORTEST = 0.001
"""The share of a step below which a task that stands still does not wait: its next op is being scheduled."""

_ROOM = 2**22


@dataclass(frozen=True)
class Straggler:
    """A task that keeps the others waiting: each of them so long, beyond what they wait for its like."""

    task: int
    beyond_nanos: int


def waited_for(activity: Activity, waits: Waits) -> Integers:
    """For how long others waited for each task, added up over them.

    A task waits when it stands still and some tensor is still to be made that it gets in this step. It waits for all
    the tasks that are to make one for it, for each an equal part of the time; and where such a task waits itself, for
    those that this one waits for.
    """
    sums = np.zeros(len(Tasks.of(activity.profile)), np.float64)
    for length, idle, missing in _stretches(activity, waits):
        for some in np.array_split(np.arange(len(length)), 1 + len(length) * len(sums) ** 2 // _ROOM):
            sums += _shared_out(length[some], idle[:, some], missing[:, :, some])
    return np.rint(sums).astype(np.int64)


def straggler(names: Sequence[str], waited: Integers, wall: int) -> Straggler | None:
    """The task that is waited for beyond its like, the mean of the others of its job, for a tenth of the wall time.

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
        # Each of the others waited for it, and these are sums over them.
        beyond = int(int(waited[task]) - waited[like].mean()) // (len(names) - 1)
        if beyond >= WORTH_NAMING * wall and beyond > 0 and (found is None or beyond > found.beyond_nanos):
            found = Straggler(task, beyond)
    return found


def _shared_out(length: Integers, idle: Flags, missing: Flags) -> NDArray[np.float64]:
    """What is waited for each task in some stretches of time."""
    owed: Flags = idle[:, None, :] & missing  # waiting task, task waited for, stretch
    waiting: Flags = np.any(owed, axis=1)
    shares = owed / np.maximum(owed.sum(axis=1, keepdims=True), 1)
    count = len(idle)
    passed_on = np.where(waiting[:, None, :], shares, np.eye(count)[:, :, None]).transpose(2, 0, 1)
    for _ in range(count.bit_length()):
        passed_on = passed_on @ passed_on
    # What is left with one that waits goes in circles, as clocks that are wrong make it.
    blamed = np.where(waiting.T[:, :, None] & ~waiting.T[:, None, :], passed_on, 0)
    result: NDArray[np.float64] = (blamed.sum(axis=1) * length[:, None]).sum(axis=0)
    return result


def _stretches(activity: Activity, waits: Waits) -> Iterator[tuple[Integers, Flags, Flags]]:
    """Each moment in stretches in which nothing changes: how long, who stood still, who missed something of whom."""
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
