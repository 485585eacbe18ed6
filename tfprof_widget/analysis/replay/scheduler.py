"""Schedules the work of a step on its workers as TensorFlow's executor does, with other durations if asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.replay.work import StepWork, level
from tfprof_widget.lib.arrays import ABSENT, Integers

Numbers = NDArray[np.float64]

GONE_NANOS = 20_000
"""Up to this, a gap before an execution is what the runtime takes to start it; longer ones have other causes."""


@dataclass(frozen=True, eq=False)
class ReplayedStep:
    """When each row of some work begins and ends, in nanoseconds, and which row it followed; ABSENT for the first ones.

    A row follows the one whose end let it begin: the last of those that it waits for, or the one before on its worker.
    `kept` is the share of the rows that are still there; what is recorded of rows is read after the last one ended.
    """

    work: StepWork
    begin: Numbers
    end: Numbers
    after: Integers
    kept: float = 1.0

    @property
    def nanos(self) -> float:
        """The wall time of the step."""
        return self.work.before + float(self.end.max(initial=0.0)) + self.work.after * self.kept

    @property
    def path(self) -> Integers:
        """The rows from the first one to the one that ends last, each the one that the next followed."""
        row = int(self.end.argmax()) if len(self.end) else ABSENT
        found = []
        while row != ABSENT:
            found.append(row)
            row = int(self.after[row])
        return np.array(found[::-1], np.int64)


def scheduled(work: StepWork, factor: Numbers | None = None, *, slowdown: float = 0.0) -> ReplayedStep:
    """The schedule of the work if each row took `factor` times as long as recorded; gaps stay as they were.

    With a factor of 0 a row is gone: it takes no time to start either, so that a gap of GONE_NANOS goes with it.

    With a `slowdown`, rows slow each other down: where `n` are busy, each takes `1 + slowdown * (n - 1)` times as long
    as alone. With 1, all workers together do as much as one alone.

    >>> from tfprof_widget.analysis.replay.recorded_work import recorded_work
    >>> from tfprof_widget.demo import demo_profile
    >>> work, = recorded_work(demo_profile())
    >>> halved = scheduled(work, np.where(np.arange(30) < 10, 0.5, 1.0))
    >>> scheduled(work).nanos - halved.nanos, int(work.busy[:10].sum())
    (1248.0, 2496)
    """
    times = np.ones(len(work)) if factor is None else factor
    is_gone = times == 0
    if is_gone.any():
        work = replace(work, gap=np.where(is_gone, np.maximum(work.gap - GONE_NANOS, 0), work.gap))
    kept = 1.0 - float(is_gone.mean()) if len(work) else 1.0
    if work.workers == (1,) and np.array_equal(work.busy, work.release):
        lasting = work.busy * times
        end = np.cumsum(work.gap + lasting)
        return ReplayedStep(work, end - lasting, end, np.arange(len(work)) - 1, kept)
    return replace(_simulated(work, times, slowdown if max(work.workers) > 1 else 0.0), kept=kept)


def _alone(work: StepWork, slowdown: float) -> tuple[Numbers, Numbers]:
    """How long the gap and the busy time of each row would last if no other row slowed it down."""
    gap, busy = work.gap.astype(np.float64), work.busy.astype(np.float64)
    if not slowdown:
        return gap, busy
    occupied = work.busy > 0
    begin, end = work.start - work.gap, work.start + work.busy
    times, count = level(begin[occupied], end[occupied])
    pace = 1 / (1 + slowdown * (np.maximum(count[:-1], 1) - 1))
    done = np.append(0.0, np.cumsum(np.diff(times) * pace))

    def between(first: Integers, last: Integers) -> Numbers:
        found: Numbers = np.interp(last, times, done) - np.interp(first, times, done)
        return found

    return np.where(occupied, between(begin, work.start), gap), np.where(occupied, between(work.start, end), busy)


LONG_NANOS = 20_000
"""What others do to executions is measured by those that last so long; shorter ones differ for other reasons."""

ENOUGH = 1.0
"""The executions of some node must have differed so much in how many ran beside them, all squares added up."""


def fitted_slowdown(works: Sequence[StepWork]) -> float:
    """How much executions slowed each other down: by how much longer the same nodes took, the more ran beside them.

    It is 0 where that cannot be told, as where each node always ran beside as many others.

    >>> from tfprof_widget.analysis.replay.recorded_work import recorded_work
    >>> from tfprof_widget.demo import demo_profile
    >>> fitted_slowdown(recorded_work(demo_profile()))
    0.0
    """
    beside: dict[int, list[float]] = {}
    longer: dict[int, list[float]] = {}
    for work in works:
        rows = np.flatnonzero(work.busy >= LONG_NANOS)
        occupied = work.busy > 0
        times, count = level(work.start[occupied], (work.start + work.busy)[occupied])
        area = np.append(0.0, np.cumsum(np.diff(times) * count[:-1]))
        start, end = work.start[rows], (work.start + work.busy)[rows]
        others = (np.interp(end, times, area) - np.interp(start, times, area)) / work.busy[rows] - 1
        for row, node, other in zip(rows.tolist(), work.node[rows].tolist(), others.tolist(), strict=True):
            beside.setdefault(node, []).append(other)
            longer.setdefault(node, []).append(float(work.busy[row]))
    spread = together = 0.0
    for node, others_of in beside.items():
        differ = np.array(others_of) - np.mean(others_of)
        took = np.array(longer[node])
        spread += float((differ**2).sum())
        together += float((differ * took / np.median(took)).sum())
    return float(np.clip(together / spread, 0.0, 1.0)) if spread >= ENOUGH else 0.0


def _simulated(work: StepWork, factor: Numbers, slowdown: float) -> ReplayedStep:
    """Simulates the workers, event by event.

    A worker runs what is in its own line first. When it ends a row, inline rows that may now begin join its line. The
    last of the others does so if the line is empty, and the rest waits in the queue for any worker.
    """
    count = len(work)
    gap, busy = _alone(work, slowdown)
    keeps = (gap + busy * factor).tolist()
    # What a row releases later than it leaves its worker, such as a transfer, goes by the clock: nothing slows it.
    is_late = work.release != work.busy
    lag: list[float] = (np.where(is_late, work.release - work.busy, 0) * factor).tolist()
    followers = _followers(work)
    missing: list[int] = np.bincount(work.target, minlength=count).tolist()
    queue, is_inline, late = work.queue.tolist(), work.is_inline.tolist(), is_late.tolist()
    end, after = [0.0] * count, [ABSENT] * count
    waiting: list[list[int]] = [[] for _ in work.workers]
    idle = list(work.workers)
    running: list[tuple[float, int, Any]] = []  # by what is left of them, each with the line of its worker
    released: list[tuple[float, int]] = []
    now = done = 0.0

    def give(row: int, cause: int) -> None:
        """Give a row to an idle worker, or let it wait."""
        of = queue[row]
        if idle[of]:
            idle[of] -= 1
            after[row] = cause
            heappush(running, (done + keeps[row], row, deque()))
        else:
            heappush(waiting[of], row)

    for row in range(count):
        if not missing[row]:
            give(row, ABSENT)
    while running or released:
        slower = 1.0 + slowdown * (len(running) - 1) if running else 1.0
        next_end = now + (running[0][0] - done) * slower if running else 0.0
        if released and (not running or released[0][0] < next_end):
            moment, row = heappop(released)
            done += (moment - now) / slower
            now = end[row] = moment
            for each in followers[row]:
                missing[each] -= 1
                if not missing[each]:
                    give(each, row)
            continue
        done, row, line = heappop(running)
        now = end[row] = next_end
        of = queue[row]
        if late[row]:
            heappush(released, (now + lag[row], row))
        else:
            kept = ABSENT
            for each in followers[row]:
                missing[each] -= 1
                if missing[each]:
                    continue
                if queue[each] != of:
                    give(each, row)
                elif is_inline[each]:
                    line.append(each)
                else:
                    if kept != ABSENT:
                        give(kept, row)
                    kept = each
            if kept != ABSENT:
                if line:
                    give(kept, row)
                else:
                    line.append(kept)
        if line:
            following = line.popleft()
        elif waiting[of]:
            following = heappop(waiting[of])
        else:
            idle[of] += 1
            continue
        after[following] = row
        heappush(running, (done + keeps[following], following, line))
    ended = np.array(end)
    lasting = np.where(is_late, work.release, work.busy) * factor
    return ReplayedStep(work, np.maximum(ended - lasting, 0), ended, np.array(after, np.int64))


def _followers(work: StepWork) -> list[list[int]]:
    """The rows that wait for each row, in the order in which they began."""
    order = np.lexsort((work.target, work.source))
    bounds = np.searchsorted(work.source[order], np.arange(1, len(work)))
    return [each.tolist() for each in np.split(work.target[order], bounds)]
