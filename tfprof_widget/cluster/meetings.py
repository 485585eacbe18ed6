"""Finds which tasks took part in the same collective, and which of them the others waited for.

The recordings of workers do not say so: the collectives of one name at one moment are taken to be one, the first of
each task with the first of the others, if all tasks took part as often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.tasks import Tasks
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Flags, Integers

_COLLECTIVE = re.compile(r"Collective\w*|Nccl\w*", re.ASCII)


def is_collective(profile: Profile) -> Flags:
    """Which transfers are a part in a collective, and not one tensor from one device."""
    kinds = np.array([_COLLECTIVE.fullmatch(kind) is not None for kind in profile.transfers.kinds], np.bool_)
    return kinds[profile.transfers.kind] if len(kinds) else np.zeros(len(profile.transfers), np.bool_)


@dataclass(frozen=True, eq=False)
class Meetings:
    """The number of the meeting that each transfer is a part in, ABSENT for those that are none."""

    number: Integers
    count: int

    @classmethod
    def of(cls, profile: Profile) -> Meetings:
        """Those of a profile, kept with it."""
        return profile.memory.kept("meetings", lambda: _meetings(profile))

    def last(self, start: Integers) -> Integers:
        """Of each meeting the transfer that joined last, by when each started."""
        rows = np.flatnonzero(self.number >= 0)
        rows = rows[np.lexsort((start[rows], self.number[rows]))]
        ends = np.searchsorted(self.number[rows], np.arange(self.count), "right") - 1
        result: Integers = rows[ends]
        return result


def _meetings(profile: Profile) -> Meetings:
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
    return Meetings(number, count)
