"""Describes the work of a step: rows that wait for others and for a worker; and finds the workers and the gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers

SEEN = 0.03
"""As many workers count as were busy at once for this share of the time between the first and the last execution."""

WAKE_NANOS = 20_000
"""Within this time a free worker begins what it is given."""


@dataclass(frozen=True, eq=False)
class StepWork:
    """What a step did, a row for each execution or transfer in order of their starts; times are nanoseconds.

    `start` counts since the first row. A row keeps a worker of its `queue` for `busy`, after a recorded `gap`, and what
    waits for it may begin when `release` has passed since its start. `behind` is the row before on its worker.
    A row that `is_inline` is kept by the worker that lets it begin; others go to any worker that is free.
    `source` and `target` are the rows of edges, ordered by the target. `row` is the execution, ABSENT for a transfer.
    `workers` has how many workers each queue had. Before the first row the step took `before`, and after the last one
    `after`.
    """

    step: int
    row: Integers
    node: Indices
    start: Integers
    busy: Integers
    release: Integers
    gap: Integers
    behind: Integers
    queue: Indices
    is_inline: Flags
    source: Integers
    target: Integers
    workers: tuple[int, ...]
    before: int
    after: int

    def __len__(self) -> int:
        return len(self.node)

    @property
    def nanos(self) -> int:
        """The wall time of the step."""
        return self.before + self.span + self.after

    @property
    def span(self) -> int:
        """The time from the start of the first row to the end of the last one."""
        return int((self.start + np.maximum(self.busy, self.release)).max(initial=0))

    @property
    def ready(self) -> Integers:
        """When all that a row waits for was there, as recorded."""
        found = np.zeros(len(self), np.int64)
        np.maximum.at(found, self.target, (self.start + self.release)[self.source])
        return found


def level(start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """How many of some stretches there are at once: the moments at which this changes, and how many from then on.

    >>> [each.tolist() for each in level(np.array([0, 2]), np.array([5, 4]))]
    [[0, 2, 4, 5], [1, 2, 1, 0]]
    """
    moments = np.concatenate([start, end])
    change = np.concatenate([np.ones(len(start), np.int64), -np.ones(len(end), np.int64)])
    times, place = np.unique(moments, return_inverse=True)
    return times, np.cumsum(np.bincount(place, change, len(times)).astype(np.int64))


def workers_seen(start: Integers, end: Integers) -> int:
    """How many workers were busy at once for at least the share SEEN of the time.

    >>> workers_seen(np.array([0, 0]), np.array([100, 3])), workers_seen(np.array([0, 0]), np.array([100, 2]))
    (2, 1)
    """
    times, count = level(start, end)
    if len(times) < 2:
        return 1
    lasting = np.bincount(count[:-1], np.diff(times))
    at_least = np.cumsum(lasting[::-1])[::-1]
    return max(int(np.flatnonzero(at_least >= SEEN * (times[-1] - times[0]))[-1]), 1)


def gaps(start: Integers, busy: Integers, ready: Integers, workers: int) -> tuple[Integers, Integers]:
    """How long after it was ready, and a worker free, each row began; and the row before on its worker, or ABSENT.

    Rows are in order of their starts. A row is given to the worker that was free last.

    >>> [each.tolist() for each in gaps(np.array([0, 12, 31]), np.array([10, 9, 1]), np.array([0, 10, 30]), 1)]
    [[0, 2, 1], [-1, 0, 1]]
    """
    end = start + busy
    if workers == 1:
        free = np.maximum.accumulate(np.append(0, end))[:-1]
        before = np.arange(len(start)) - 1
    else:
        free, before = _workers_before(start.tolist(), end.tolist(), workers)
    return np.maximum(start - np.maximum(free, ready), 0), before


def _workers_before(start: list[int], end: list[int], workers: int) -> tuple[Integers, Integers]:
    """When the worker of each row was free, and the row before on it."""
    ends, rows = [0] * workers, [ABSENT] * workers
    free, before = [], []
    for row, begun in enumerate(start):
        fitting = [each for each in ends if each <= begun]
        worker = ends.index(max(fitting) if fitting else min(ends))
        free.append(ends[worker])
        before.append(rows[worker])
        ends[worker], rows[worker] = end[row], row
    return np.array(free, np.int64), np.array(before, np.int64)


def with_workers(work: StepWork, queues: int) -> StepWork:
    """The work with as many workers in each queue as were seen, edges that no graph tells, and the gap of each row."""
    workers: list[int] = []
    gap, behind = np.zeros(len(work), np.int64), np.full(len(work), ABSENT, np.int64)
    of_queues = [np.flatnonzero(work.queue == queue) for queue in range(queues)]
    for rows in of_queues:
        start, end = work.start[rows], (work.start + work.busy)[rows]
        occupied = end > start
        workers.append(workers_seen(start[occupied], end[occupied]) if occupied.any() else 1)
    hidden = [_hidden(work, rows, count) for rows, count in zip(of_queues, workers, strict=True)]
    pairs = np.concatenate([*hidden, np.stack([work.target, work.source], axis=1)])
    pairs = np.unique(pairs, axis=0)
    work = replace(work, target=pairs[:, 0], source=pairs[:, 1])
    for _ in range(2):
        ready = work.ready
        for rows, count in zip(of_queues, workers, strict=True):
            gap[rows], before = gaps(work.start[rows], work.busy[rows], ready[rows], count)
            behind[rows] = np.append(rows, ABSENT)[before]
        work = replace(work, release=_waited_for(work, gap))
    return replace(work, gap=gap, behind=behind, workers=tuple(workers))


def _waited_for(work: StepWork, gap: Integers) -> Integers:
    """The time from the start of each row until what waits for it could begin, of asynchronous ones as it was felt.

    TensorFlow's profiler records of some ops only how they are begun, as of the wait for the next batch. Such an op
    lasts until the first of those that wait for it begins, where nothing else explains why that one did not yet begin.
    """
    felt = np.flatnonzero((work.busy[work.source] == 0) & (gap[work.target] > WAKE_NANOS))
    first = np.full(len(work), np.iinfo(np.int64).max)
    np.minimum.at(first, work.source, work.start[work.target])
    source, target = work.source[felt], work.target[felt]
    is_first = work.start[target] == first[source]
    release = work.release.copy()
    np.maximum.at(release, source[is_first], (work.start[target] - work.start[source])[is_first])
    return release


def _hidden(work: StepWork, rows: Integers, workers: int) -> Integers:
    """Edges that no graph tells, such as those from one iteration of a loop to the next: target and source, a row each.

    What the executor hands over begins as soon as a worker is free. Where one was free long before and all that is
    known was there, the row waited for something else, and that can only be what ended last before it. A row that is
    kept inline tells nothing. What an asynchronous row is for may not be known: then the first row waits for it that
    began after a time in which no worker ran anything.
    """
    is_asynchronous = work.busy[rows] == 0
    ran = rows[~is_asynchronous]
    ran = ran[np.argsort((work.start + work.busy)[ran], kind="stable")]
    begun, ended = np.sort(work.start[ran]), (work.start + work.busy)[ran]
    start = work.start[rows]
    moment = start - WAKE_NANOS
    running = np.searchsorted(begun, moment, "right") - np.searchsorted(ended, moment, "right")
    was_free = (running < workers) & (work.ready[rows] < moment) & ~is_asynchronous
    last = np.searchsorted(ended, start, "right") - 1
    source = np.append(ran, ABSENT)[last]
    just_ended = (last >= 0) & (np.append(ended, 0)[last] > moment) & (work.start[source] < start)
    chosen = was_free & just_ended & ~work.is_inline[rows] & (workers > 1)
    found = [np.stack([rows[chosen], source[chosen]], axis=1)]
    was_idle = was_free & (running == 0) & ~just_ended
    for lonely in rows[is_asynchronous & ~np.isin(rows, work.source)].tolist():
        late = rows[was_idle & (start > work.start[lonely])]
        found.append(np.array([[late[0], lonely]] if len(late) else [], np.int64).reshape(-1, 2))
    return np.concatenate(found)
