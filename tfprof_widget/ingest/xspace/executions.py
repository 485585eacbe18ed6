"""Finds the executions among the host's events, with the time that each took itself and the memory of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tfprof_widget.ingest.parts.names import HOST
from tfprof_widget.ingest.xspace.accelerators import ACCELERATOR
from tfprof_widget.ingest.xspace.events import HostEvents, Kind, Memory
from tfprof_widget.ingest.xspace.space import TOO_LARGE
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Flags, Integers, distinct, in_order
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.devices import Allocator


@dataclass(frozen=True, eq=False)
class HostExecutions:
    """The executions on threads of the host; those on a thread are by start.

    `event` are rows of the events, and `name` indices into their names. `own` is the time without the executions
    inside. `of_memory` has for each allocation and release the execution around it, ABSENT if there is none.
    """

    event: Integers
    name: Integers
    own: Integers
    of_memory: Integers


def executions(events: HostEvents) -> HostExecutions:
    """The executions; ops that an eager op runs on the same thread belong to it.

    >>> from tfprof_widget.ingest.xspace.events import host_events
    >>> from tfprof_widget.ingest.xspace.space import read_space
    >>> from tfprof_widget.lib.messages import XSpace
    >>> outer, inner = {"metadata_id": 1, "duration_ps": 10_000}, {"metadata_id": 2, "duration_ps": 3_000}
    >>> names = {1: {"name": "a:While"}, 2: {"name": "a/b:Mul"}}
    >>> plane = {"name": "/host:CPU", "lines": [{"events": [outer, inner]}], "event_metadata": names}
    >>> found = executions(host_events(read_space(XSpace(planes=[plane]))))
    >>> found.event.tolist(), found.own.tolist()
    ([0, 1], [7, 3])
    """
    lasting = np.flatnonzero(events.kind < Kind.ALLOCATION)
    nest = _Nest.of(events, lasting)
    is_executed = nest.within == np.arange(len(lasting))
    row = np.cumsum(is_executed) + ABSENT  # of each event that is an execution
    found = np.flatnonzero(is_executed)
    own, end = events.duration[lasting[found]], events.end[lasting]
    outer = nest.around[found]
    inside = np.flatnonzero(outer >= 0)
    taken = np.minimum(end[found], end[outer])[inside] - events.start[lasting[found[inside]]]
    np.subtract.at(own, row[outer[inside]], taken)
    within = nest.at_moments(events, lasting, events.memory.event)
    owner = np.append(row, ABSENT)[within]
    return HostExecutions(lasting[found], nest.name[found], np.maximum(own, 0), owner)


@dataclass(frozen=True, eq=False)
class _Nest:
    """How the events that last are nested: for each the event that was open when it began, ABSENT if none was.

    `around` is the innermost execution among the open events, and `within` the event itself if it is an execution, else
    `around`. `name` are names, of which eager runs have those of their ops.
    """

    opened: Integers
    around: Integers
    within: Integers
    name: Integers

    @classmethod
    def of(cls, events: HostEvents, rows: Integers) -> _Nest:
        """The nest of the events in these rows; most of them have none within or around."""
        kind, name, alone = events.kind[rows], events.name[rows].copy(), np.full(len(rows), ABSENT, np.int64)
        is_executed = (kind == Kind.OP) | (kind == Kind.ASYNC_OP) | (kind == Kind.ITERATOR)
        nest = cls(alone, alone.copy(), np.where(is_executed, np.arange(len(rows)), ABSENT), name)
        nested = _nested(events.start[rows], events.end[rows], events.thread[rows])
        if len(nested):
            opened, around, within, name[nested] = _walked(events, rows[nested])
            place = np.append(nested, ABSENT)
            nest.opened[nested], nest.around[nested], nest.within[nested] = place[opened], place[around], place[within]
        return nest

    def at_moments(self, events: HostEvents, rows: Integers, moments: Integers) -> Integers:
        """The execution around each of these events, which take no time; an event may lie at the end of another."""
        if not len(rows):
            return np.full(len(moments), ABSENT, np.int64)
        within = np.searchsorted(rows, moments) + ABSENT
        thread = events.thread[rows]
        within[(within >= 0) & (thread[within] != events.thread[moments])] = ABSENT
        end, start, lasts = events.end[rows], events.start[moments], events.duration[moments] != 0
        looked_at = np.flatnonzero(within >= 0)
        while len(looked_at):
            ended = end[within[looked_at]]
            is_over = (ended < start[looked_at]) | ((ended == start[looked_at]) & lasts[looked_at])
            looked_at = looked_at[is_over]
            within[looked_at] = self.opened[within[looked_at]]
            looked_at = looked_at[within[looked_at] >= 0]
        found: Integers = np.where(within >= 0, self.within[within], ABSENT)
        return found


def _nested(start: Integers, end: Integers, thread: Integers) -> Integers:
    """The rows of events that may overlap with another one of their thread; they are by thread and start.

    >>> _nested(np.array([0, 5, 10, 15]), np.array([10, 7, 12, 20]), np.array([0, 0, 0, 1])).tolist()
    [0, 1]
    """
    begins = np.flatnonzero(np.diff(thread, prepend=ABSENT))
    latest = np.empty_like(end)  # the latest end so far
    for first, last in zip(begins.tolist(), [*begins[1:].tolist(), len(end)], strict=False):
        np.maximum.accumulate(end[first:last], out=latest[first:last])
    is_apart = np.ones(len(start) + 1, np.bool_)  # whether all events before have ended; behind the last, they have
    is_apart[1:-1] = start[1:] >= latest[:-1]
    return np.flatnonzero(~(is_apart[:-1] & is_apart[1:]))


def _walked(events: HostEvents, rows: Integers) -> tuple[Integers, ...]:
    """The columns of the nest of these events, found event by event."""
    kinds, names, starts, ends, threads = (
        column[rows].tolist() for column in (events.kind, events.name, events.start, events.end, events.thread)
    )
    is_call = events.is_call[rows].tolist()
    opened, around, within, caller = ([ABSENT] * len(rows) for _ in range(4))
    op, iterator, eager_op, eager_run = Kind.OP, Kind.ITERATOR, Kind.EAGER_OP, Kind.EAGER_RUN
    open_events: list[int] = []
    thread = ABSENT
    for row, (kind, start) in enumerate(zip(kinds, starts, strict=True)):
        if threads[row] != thread:
            thread = threads[row]
            open_events.clear()
        while open_events and ends[open_events[-1]] <= start:
            open_events.pop()
        outer = execution = eager = ABSENT
        if open_events:
            outer = open_events[-1]
            execution, eager = within[outer], caller[outer]
        open_events.append(row)
        opened[row], around[row], within[row], caller[row] = outer, execution, execution, eager
        in_eager_run = execution >= 0 and kinds[execution] == eager_run
        if kind == eager_op:
            caller[row] = row
        elif kind == eager_run:
            if eager >= 0 and not is_call[eager] and not in_eager_run:
                within[row], names[row] = row, names[eager]
        elif kind == op:
            if not in_eager_run:
                within[row] = row
        elif kind == iterator or execution < 0 or names[execution] != names[row]:
            within[row] = row  # else it is the start of the op around it, which every fully recorded event has
    return tuple(np.array(column, np.int64) for column in (opened, around, within, names))


def loose_runs(events: HostEvents, found: HostExecutions) -> tuple[Integers, Integers]:
    """The first allocation of each run of an op of which only kernels were recorded, and the run of each allocation.

    Of ops of GPUs, TensorFlow records most on the stream only.
    """
    memory = events.memory
    on_host = {events.names[code][0] for code in distinct(found.name[events.kind[found.event] == Kind.OP])[0].tolist()}
    is_unknown = np.array([*(op not in on_host for op in events.memory_ops), False], np.bool_)
    rows = np.flatnonzero((found.of_memory < 0) & ~memory.is_release & (memory.device >= 0) & is_unknown[memory.op])
    first, number = in_order(memory.op[rows], memory.run[rows])
    run = np.full(len(memory.event), ABSENT, np.int64)
    run[rows] = number
    return rows[first], run


def add_up(memory: Memory, row: Integers) -> Integers:
    """The memory of executions by their allocations and releases: `row` has the execution of each, ABSENT without one.

    Columns are the row of the execution and then bytes: requested, at the peak, not released by it, of outputs, in use.
    Releases of the execution's own memory reduce what it holds; other releases belong to the owners of the memory.
    """
    order = np.argsort(row, kind="stable")[np.count_nonzero(row < 0) :]
    row, memory = row[order], Memory._make(column[order] for column in memory)
    size, is_release = memory.size, memory.is_release
    freed = _freed(is_release, row, memory.device, memory.address)
    change = np.where(is_release, np.where(freed >= 0, -size[freed], 0), size)
    rows, first = np.unique(row, return_index=True)
    if not len(rows):
        return np.zeros((0, 6), np.int64)
    if np.abs(size.astype(np.float64)).sum() >= LARGEST_INTEGER:
        raise ProfileError(TOO_LARGE)
    requested = np.where(is_release, 0, size)
    running = np.cumsum(change)
    running -= np.repeat(running[first] - change[first], np.diff(first, append=len(order)))
    columns = (
        np.add.reduceat(requested, first),
        np.maximum.reduceat(np.where(is_release, 0, np.maximum(running, 0)), first),
        running[np.append(first[1:], len(order)) - 1],
        np.add.reduceat(np.where(memory.is_output, requested, 0), first),
        np.maximum.reduceat(np.where((memory.device >= 0) & ~is_release, np.maximum(memory.in_use, 0), 0), first),
    )
    return np.stack([rows, *columns], axis=1)


def _freed(is_release: Flags, *of: Integers) -> Integers:
    """For each release the row of the allocation that it frees, ABSENT without one; rows are in order of time.

    It is the last one before it that is equal in all of these columns, of which one are addresses.

    >>> _freed(np.array([False, True, True, True]), np.array([1, 1, 1, 2])).tolist()
    [-1, 0, -1, -1]
    """
    order = np.lexsort(of)
    later, earlier = order[1:], order[:-1]
    matched = is_release[later] & ~is_release[earlier]
    for column in of:
        matched &= column[later] == column[earlier]
    found = np.full(len(is_release), ABSENT, np.int64)
    found[later[matched]] = earlier[matched]
    return found


def held(events: HostEvents, row: Integers) -> Integers:
    """The allocations of executions and the releases of that memory, by any thread, in order of time.

    Columns are the row of the execution, the nanosecond, the bytes (negative if released), and whether they are an
    accelerator's.
    """
    memory = events.memory
    rows = np.flatnonzero((row >= 0) | memory.is_release)
    owner = np.where(memory.is_release[rows], ABSENT, row[rows])
    rows = rows[np.lexsort((owner, memory.is_release[rows], events.start[memory.event[rows]]))]
    is_release = memory.is_release[rows]
    freed = _freed(is_release, memory.device[rows], memory.address[rows])
    kept = np.flatnonzero(~is_release | (freed >= 0))
    of = rows[np.where(is_release, freed, np.arange(len(rows)))[kept]]  # the allocation
    at = rows[kept]
    size = np.where(memory.is_release[at], -memory.size[of], memory.size[of])
    return np.stack([row[of], events.start[memory.event[at]], size, (memory.device[at] >= 0).astype(np.int64)], axis=1)


_LARGEST_IN_USE = LARGEST_INTEGER // 2


def allocators_in(events: HostEvents, capacities: Mapping[str, int]) -> Iterator[Allocator]:
    """How much memory each allocator had in use, by what its own events tell of all its memory."""
    memory = events.memory
    in_use = np.minimum(memory.in_use, _LARGEST_IN_USE) + np.minimum(memory.reserved, _LARGEST_IN_USE)
    told = np.flatnonzero((memory.allocator >= 0) & (in_use > 0))
    codes, first = np.unique(memory.allocator[told], return_index=True)
    for code in codes[np.argsort(first)].tolist():
        rows = told[memory.allocator[told] == code]
        of = int(memory.device[rows[0]])
        device = ACCELERATOR.format(events.accelerators[of]) if of >= 0 else HOST
        nanos = events.start[memory.event[rows]]
        yield Allocator.of(events.allocators[code], device, capacities.get(device, 0), nanos, in_use[rows])
