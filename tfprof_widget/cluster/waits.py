"""Tells for each transfer how long it was on its way, and how long its target stood still for it before.

A task that computes nothing waits for what it gets next: a gap in its work is put down to the last transfer that came
before the work went on. Of the gap, the wait is what passed before the tensor was on its way. So waits add up: no
moment is counted for two transfers, and none while the task had something else to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.activity import Activity
from tfprof_widget.cluster.clocks import aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.cluster.meetings import Meetings
from tfprof_widget.cluster.producers import Producers
from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers

# What TensorFlow writes where the clock of the source says that it sent later than the target got it.
_CLAMPED_NANOS = 1000


@dataclass(frozen=True, eq=False)
class Waits:
    """One row a transfer of the steps looked at, its row in the profile's table being `transfer`; on one clock.

    It was on its way from `begin` to `end`. `idle_from` is since when its target had stood still when it came, or `end`
    where it had not; `wait` is the part of that before it was on its way. `cause` is the task that it waited for: the
    source, and of a collective the one that joined last.
    """

    transfer: Integers
    begin: Integers
    end: Integers
    idle_from: Integers
    wait: Integers
    cause: Integers

    @property
    def transfer_nanos(self) -> Integers:
        """How long each was on its way."""
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
    # A start that the source's clock told falsely says nothing; that the tensor was made does.
    told = np.where((transfers.duration_nanos[rows] <= _CLAMPED_NANOS) & (made < start), made, start)
    begin = np.maximum(told, made)
    idle_from = end.copy()
    moment, target = tasks.moment[transfers.step[rows]], tasks.of_target[rows]
    for key in set(zip(moment.tolist(), target.tolist(), strict=True)):
        at = np.flatnonzero((moment == key[0]) & (target == key[1]))
        _find_gaps(activity, key, at, end, idle_from)
    wait = np.maximum(np.minimum(begin, end) - idle_from, 0)
    return Waits(rows, begin, end, idle_from, wait, cause)


def _made(profile: Profile) -> tuple[Integers, Integers]:
    """When each tensor was made, as far as that is known, else when it was sent; and by which task."""
    tasks, execution = Tasks.of(profile), Producers.of(profile).execution
    made, cause = aligned_transfer_nanos(profile).copy(), tasks.of_source.copy()
    meetings = Meetings.of(profile)
    last = meetings.last(made)
    met = meetings.number >= 0
    made[met], cause[met] = made[last][meetings.number[met]], tasks.of_target[last][meetings.number[met]]
    known = execution >= 0
    began = aligned_start_nanos(profile)[execution[known]]
    took = np.minimum(profile.executions.duration_nanos[execution[known]], LARGEST_INTEGER - began)
    made[known] = began + took
    return made, cause


def _find_gaps(activity: Activity, key: tuple[int, int], at: Integers, end: Integers, idle_from: Integers) -> None:
    """Put each gap of a task down to the last of the transfers `at` that came in it."""
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
