"""Describes a recorded step as work to be scheduled: executions and transfers, what each waits for, and who did it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tfprof_widget.analysis.account.step import recorded_steps, rows_of_steps
from tfprof_widget.analysis.replay.dependencies import NodeEdges, execution_edges
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import EAGER, FIRST, PARTIAL, ProfileData
from tfprof_widget.profiles.devices import accelerator_streams, canonical, task_of_device

SEEN = 0.03
"""As many workers count as were busy at once for this share of the time between the first and the last execution."""

CHEAP_NANOS = 3_000
"""TensorFlow's executor counts nodes below 8,000 cycles as cheap: these it runs itself, others it may hand over."""

MOST_STEPS = 10
MOST_EXECUTIONS = 300_000
"""So many executions are replayed at most, in fewer steps if need be; one step is always replayed whole."""

ROUNDED_NANOS, ROUNDED_SHARE = 2_000, 20
"""Where an execution begins so little before the end of another, or so small a share, clocks and rounding did that."""

WAKE_NANOS = 20_000
"""Within this time a free worker begins what it is given."""

_ASYNCHRONOUS = re.compile(r"_?(Host)?Recv|IteratorGetNext(Sync|AsOptional)?|Collective.*|.*Dequeue.*", re.DOTALL)
"""Ops that leave their thread to others while they wait."""


@dataclass(frozen=True, eq=False)
class StepWork:
    """What a step did, a row for each execution or transfer in order of their starts; times are nanoseconds.

    `start` counts since the first row. A row keeps a worker of its `queue` for `busy`, after a recorded `gap`, and what
    waits for it may begin when `release` has passed since its start. `behind` is the row before on its worker.
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
    is_cheap: Flags
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


def recorded_work(profile: ProfileData) -> tuple[StepWork, ...]:
    """The work of the steps that can be replayed, kept with the profile; an error says what is missing.

    >>> from tfprof_widget.demo import demo_profile
    >>> work, = recorded_work(demo_profile())
    >>> len(work), work.workers, work.nanos
    (30, (1,), 365125)
    """
    return profile.cache.kept("recorded work", lambda: work_of(profile, _chosen(profile)))


def work_of(profile: ProfileData, steps: Sequence[int]) -> tuple[StepWork, ...]:
    """The work of some steps, given by their places; those in which nothing ran are left out.

    >>> from tfprof_widget.demo import demo_profile
    >>> [len(work) for work in work_of(demo_profile(), [0])]
    [30]
    """
    found = _Recorded(profile)
    works = tuple(work for work in map(found.step, steps) if len(work))
    if not works:
        raise ProfileError("cannot replay the steps: no ops of them were recorded; look at the notes of the head")
    return works


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


def _chosen(profile: ProfileData) -> list[int]:
    """The steps to replay: whole ones that went as most do, spread over all of them."""
    steady = SteadySteps.of(profile)
    named = [(step, profile.step_names[step]) for step in steady.steps.tolist()]
    whole = [step for step, name in named if name != EAGER and not name.endswith((*FIRST, PARTIAL))]
    if not whole:
        in_part = any(name.endswith(PARTIAL) for name in profile.step_names)
        raise ProfileError(
            "cannot replay the steps: "
            + (
                "only parts of them were recorded, as recording them whole would cost too much; "
                "allow more, as with `%%tfprof --overhead 0.5`"
                if in_part
                else "none was recorded after the first one; run more of them in the captured cell"
            )
        )
    counts = np.bincount(profile.executions.step, minlength=len(profile.steps))
    whole = [step for step in whole if counts[step]]
    most = max(1, min(MOST_STEPS, MOST_EXECUTIONS // max(int(counts[whole].max(initial=1)), 1)))
    places = np.unique(np.linspace(0, len(whole) - 1, min(most, len(whole))).round().astype(int))
    return [whole[place] for place in places.tolist()]


class _Recorded:
    """Reads the work of steps from the tables of a profile."""

    def __init__(self, profile: ProfileData) -> None:
        self.profile = profile
        self.devices = profile.nodes.devices
        self._check()
        tasks = [task_of_device(device) for device in self.devices]
        self.queues = sorted(set(tasks))
        self.queue_of = np.array([self.queues.index(task) for task in tasks], np.int32)
        self.runs_here = canonical(self.devices) & ~accelerator_streams(self.devices)
        ops = profile.nodes.ops
        is_asynchronous = np.array([_ASYNCHRONOUS.fullmatch(op) is not None for op in ops], np.bool_)
        self.is_asynchronous = is_asynchronous[profile.nodes.op]
        totals = profile.step_totals
        nanos = np.bincount(totals.node, totals.cpu_nanos, len(profile.nodes))
        times = np.bincount(totals.node, totals.run_count, len(profile.nodes))
        self.is_cheap = nanos / np.maximum(times, 1) < CHEAP_NANOS

    def _check(self) -> None:
        profile, executions = self.profile, self.profile.executions
        if accelerator_streams(self.devices)[executions.device[executions.start_nanos > 0]].any():
            raise ProfileError(
                "cannot replay the steps: they ran on an accelerator, whose queues are not recorded; "
                "look at `device_steps()` and the advice instead"
            )
        ran = (executions.start_nanos > 0) & ~SteadySteps.of(profile).is_data[executions.node]
        places = np.unique(executions.device[ran]).tolist()
        if len({task_of_device(self.devices[place]) for place in places}) > 1 and not profile.one_clock:
            raise ProfileError(
                "cannot replay the steps: the clocks of their tasks could not be brought together; "
                "record more steps in which the tasks send each other tensors"
            )

    def step(self, step: int) -> StepWork:
        """The work of a step."""
        executions = self.profile.executions
        is_data = SteadySteps.of(self.profile).is_data
        chosen = (executions.step == step) & (executions.start_nanos > 0) & ~is_data[executions.node]
        rows = np.flatnonzero(chosen & self.runs_here[executions.device])
        rows = rows[np.argsort(executions.start_nanos[rows], kind="stable")]
        node, start = executions.node[rows], executions.start_nanos[rows]
        duration, queue = executions.duration_nanos[rows], self.queue_of[executions.device[rows]]
        source, target = execution_edges(NodeEdges.of(self.profile), node, start, start + duration)
        origin = int(start.min(initial=np.iinfo(np.int64).max)) if len(start) else 0
        start = start - origin
        release = _released(start, duration, source, target)
        waits = self.is_asynchronous[node] | (release < duration)
        busy = np.where(waits, 0, duration)
        sent = self._sent(step, origin, node, start, release, queue, source, target)
        before, after = self._around(step, origin, int((start + release).max(initial=0)))
        row, cheap = rows, self.is_cheap[node]
        if len(sent.node):
            count = len(sent.node)
            row, node = np.append(row, np.full(count, ABSENT)), np.append(node, sent.node).astype(np.int32)
            start, busy = np.append(start, sent.start), np.append(busy, sent.nanos)
            release, queue = np.append(release, sent.nanos), np.append(queue, sent.queue).astype(np.int32)
            cheap = np.append(cheap, np.zeros(count, np.bool_))
            source, target = sent.source, sent.target
            order = np.lexsort((np.arange(len(start)), start))
            place = np.argsort(order)
            row, node, start, busy = row[order], node[order], start[order], busy[order]
            release, queue, cheap = release[order], queue[order], cheap[order]
            source, target = place[source], place[target]
        order = np.lexsort((source, target))
        work = StepWork(
            step=step,
            row=row,
            node=node,
            start=start,
            busy=busy,
            release=release,
            gap=start,
            behind=start,
            queue=queue,
            is_cheap=cheap,
            source=source[order],
            target=target[order],
            workers=(),
            before=before,
            after=after,
        )
        return _with_workers(work, int(queue.max(initial=0)) + 1)

    def _around(self, step: int, origin: int, span: int) -> tuple[int, int]:
        """The time of the step before its first execution and after its last one."""
        found = rows_of_steps(self.profile).get(step)
        if found is None:
            recorded = recorded_steps(self.profile).among([step])
            return 0, max(int(recorded.nanos.sum()) - span, 0)
        cell, runs, row = found
        nanos, began = int(runs.nanos[row]), cell.entered + int(runs.start[row])
        around = max(nanos - span, 0)
        before = min(max(origin - began, 0), around)
        return before, around - before

    def _sent(
        self,
        step: int,
        origin: int,
        node: Indices,
        start: Integers,
        release: Integers,
        queue: Indices,
        source: Integers,
        target: Integers,
    ) -> _Sent:
        """The transfers of a step as rows behind its executions; each edge that one carries goes by way of it."""
        transfers = self.profile.transfers
        rows = np.flatnonzero((transfers.step == step) & (transfers.node >= 0))
        made_at = {int(each): place for place, each in enumerate(node.tolist())}
        ends = [self.queues.index(task) if (task := task_of_device(each)) in self.queues else ABSENT
                for each in transfers.devices]  # fmt: skip
        found: list[tuple[int, int, int, int]] = []
        links: dict[tuple[int, int], int] = {}
        edges: list[tuple[int, int]] = []
        is_replaced = np.zeros(len(source), np.bool_)
        for row in rows.tolist():
            of, to = ends[transfers.source[row]], ends[transfers.target[row]]
            maker = made_at.get(int(transfers.node[row]), ABSENT)
            if maker == ABSENT or of == to or ABSENT in (of, to):
                continue
            begun = int(transfers.start_nanos[row]) - origin
            ended = begun + int(transfers.duration_nanos[row])
            begun = max(begun, int(start[maker] + release[maker]))
            carried = (source == maker) & (queue[target] == to) & (start[target] >= ended) & ~is_replaced
            if ended < begun or not carried.any():
                continue
            is_replaced |= carried
            place = len(node) + len(found)
            edges += [(maker, place), *((place, each) for each in target[carried].tolist())]
            link = links.setdefault((of, to), len(self.queues) + len(links))
            found.append((int(transfers.node[row]), begun, ended - begun, link))
        columns = np.array(found, np.int64).reshape(-1, 4).T
        more = np.array(edges, np.int64).reshape(-1, 2).T
        of, begin, nanos, link_of = columns
        source, target = np.append(source[~is_replaced], more[0]), np.append(target[~is_replaced], more[1])
        return _Sent(of, begin, nanos, link_of, source, target)


@dataclass(frozen=True, eq=False)
class _Sent:
    """Transfers: the node that made the tensor, start, length and link; and all edges of the step with them."""

    node: Integers
    start: Integers
    nanos: Integers
    queue: Integers
    source: Integers
    target: Integers


def _released(start: Integers, duration: Integers, source: Integers, target: Integers) -> Integers:
    """The time from the start of each row until what waits for it could begin; some ops last on after that."""
    found = duration.copy()
    np.minimum.at(found, source, np.maximum(start[target] - start[source], 0))
    is_rounded = duration - found <= np.maximum(duration // ROUNDED_SHARE, ROUNDED_NANOS)
    return np.where(is_rounded, duration, found)


def _with_workers(work: StepWork, queues: int) -> StepWork:
    """The work with as many workers in each queue as were seen, edges that no graph tells, and the gap of each row."""
    workers: list[int] = []
    gap, behind = np.zeros(len(work), np.int64), np.full(len(work), ABSENT, np.int64)
    of_queues = [np.flatnonzero(work.queue == queue) for queue in range(queues)]
    for rows in of_queues:
        start, end = work.start[rows], (work.start + work.busy)[rows]
        occupied = end > start
        workers.append(workers_seen(start[occupied], end[occupied]) if occupied.any() else 1)
    hidden = [_hidden(work, rows, count) for rows, count in zip(of_queues, workers, strict=True) if count > 1]
    if hidden:
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
    known was there, the row waited for something else, and that can only be what ended last before it.
    """
    begun = np.sort(work.start[rows])
    end = (work.start + work.busy)[rows]
    by_end = np.argsort(end, kind="stable")
    ended = end[by_end]
    moment = work.start[rows] - WAKE_NANOS
    running = np.searchsorted(begun, moment, "right") - np.searchsorted(ended, moment, "right")
    was_free = (running < workers) & (work.ready[rows] < moment) & ~work.is_cheap[rows] & (work.busy[rows] > 0)
    last = np.searchsorted(ended, work.start[rows], "right") - 1
    found = rows[by_end[np.maximum(last, 0)]]
    is_recent = (last >= 0) & (ended[np.maximum(last, 0)] > moment) & (found != rows)
    chosen = was_free & is_recent
    return np.stack([rows[chosen], found[chosen]], axis=1)
