"""Tells how much of the time in which a task gets tensors it computes meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.activity import Activity
from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.cluster.waits import Waits
from tfprof_widget.intervals import Intervals


@dataclass(frozen=True)
class Overlap:
    """For how long tensors were on their way to a task, and for how long of that it computed."""

    transfer_nanos: int = 0
    computing_nanos: int = 0

    @property
    def share(self) -> float | None:
        """The share of the time that computing hides; None where nothing came.

        >>> Overlap(40, 10).share, Overlap().share
        (0.25, None)
        """
        return self.computing_nanos / self.transfer_nanos if self.transfer_nanos else None


def overlaps(activity: Activity, waits: Waits) -> list[Overlap]:
    """That of each task, over all steps; transfers between devices of one task count as well."""
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
