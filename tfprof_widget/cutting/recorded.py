"""The executions and allocations that a cut profile keeps: whole steps as far as they fit, else the longest of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tfprof_widget.cluster.clocks import Clocks, aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.cutting.limits import Limits
from tfprof_widget.cutting.rows import Rows
from tfprof_widget.memory import Memory
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Allocations, Executions, Indices, Integers, Outputs, Transfers

Table = TypeVar("Table", Executions, Allocations, Outputs, Transfers)
Ran = TypeVar("Ran", Executions, Transfers)
Made = TypeVar("Made", Allocations, Outputs)


def kept_executions(profile: Profile, limits: Limits, step: int) -> Integers:
    """The executions to keep: those of the wanted step first, else of as many steps as fit, in the order recorded.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo = demo_profile()
    >>> len(kept_executions(demo, Limits(100, 100, 10, 10), -1)), len(demo.executions)
    (10, 30)
    """
    executions = profile.executions
    if len(executions) <= limits.executions:
        return np.arange(len(executions))
    room = limits.executions
    chosen: list[Integers] = []
    counts = np.bincount(executions.step, minlength=len(profile.steps))
    for each in _in_turn(profile.steps, step):
        if room >= counts[each]:
            chosen.append(np.flatnonzero(executions.step == each))
        elif not chosen:
            chosen.append(_longest(executions.duration_nanos, np.flatnonzero(executions.step == each), room))
        else:
            break
        room -= len(chosen[-1])
    return np.sort(np.concatenate(chosen))


def kept_allocations(profile: Profile, executions: Integers, limits: Limits) -> Integers:
    """The allocations that the kept executions made, the largest if there are too many."""
    is_kept = np.zeros(len(profile.executions), np.bool_)
    is_kept[executions] = True
    allocations = profile.allocations
    found = np.flatnonzero(is_kept[allocations.execution])
    if len(found) > limits.allocations:
        size = np.abs(allocations.bytes[found])
        found = np.sort(found[np.argpartition(-size, limits.allocations)[: limits.allocations]])
    return found


@dataclass(frozen=True, eq=False)
class Kept:
    """The rows of each table that are kept, in their order."""

    executions: Integers
    allocations: Integers
    transfers: Integers

    @classmethod
    def of(cls, profile: Profile, limits: Limits, step: int) -> Kept:
        """What the limits allow: of the wanted step first, and else of the first ones."""
        executions = kept_executions(profile, limits, step)
        allocations = kept_allocations(profile, executions, limits)
        transfers = _longest(profile.transfers.duration_nanos, np.arange(len(profile.transfers)), limits.transfers)
        return cls(executions, allocations, np.sort(transfers))

    def is_all(self, profile: Profile) -> bool:
        """Whether nothing is left out."""
        all_of_them = len(profile.executions), len(profile.allocations.bytes), len(profile.transfers)
        return all_of_them == (len(self.executions), len(self.allocations), len(self.transfers))


def recorded(profile: Profile, small: Profile, rows: Rows | None, kept: Kept) -> Profile:
    """The small profile with what is kept of the whole one's, its nodes the rows if there are some, by one clock."""
    executions = kept.executions
    new = np.full(len(profile.executions), -1, np.int32)
    new[executions] = np.arange(len(executions))
    outputs = np.flatnonzero(new[profile.outputs.execution] >= 0)
    aligned = replace(profile.executions, start_nanos=aligned_start_nanos(profile))
    transfers = replace(profile.transfers, start_nanos=aligned_transfer_nanos(profile))
    small = replace(
        small,
        executions=_of_rows(_taken(aligned, executions), rows),
        outputs=_of_kept(_taken(profile.outputs, outputs), new),
        allocations=_of_kept(_taken(profile.allocations, kept.allocations), new),
        transfers=_of_rows(_taken(transfers, kept.transfers), rows),
        memory=Memory(),
    )
    Clocks.agree(small)
    return small


def _in_turn(steps: tuple[int, ...], wanted: int) -> list[int]:
    """The indices of steps, those of the wanted number first and then none, or all from the first on."""
    found = [index for index, number in enumerate(steps) if number == wanted]
    return found or list(range(len(steps)))


def _longest(nanos: Integers, found: Integers, room: int) -> Integers:
    if len(found) <= room:
        return found
    return found[np.argpartition(-nanos[found], room)[:room]]


def _taken(table: Table, which: Integers) -> Table:
    """Some rows of a table; what is no column of it is a dictionary."""
    columns: dict[str, Any] = {name: column for name, column in vars(table).items() if isinstance(column, np.ndarray)}
    return replace(table, **{name: column[which] for name, column in columns.items()})


def _of_kept(table: Made, new: Indices) -> Made:
    return replace(table, execution=new[table.execution])


def _of_rows(table: Ran, rows: Rows | None) -> Ran:
    """A table whose nodes are the rows that they went to."""
    if rows is None:
        return table
    return replace(table, node=np.where(table.node >= 0, rows.of_node[table.node], ABSENT).astype(np.int32))
