"""Reads the work of recorded steps from a profile: executions and transfers, and what each of them waits for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tfprof_widget.analysis.account.step import recorded_steps, rows_of_steps
from tfprof_widget.analysis.cluster.clocks import Clocks, aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.analysis.replay.dependencies import NodeEdges, execution_edges, in_steps
from tfprof_widget.analysis.replay.work import WAKE_NANOS, StepWork, with_workers
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import EAGER, FIRST, PARTIAL, ProfileData
from tfprof_widget.profiles.devices import accelerator_streams, canonical, task_of_device

CHEAP_NANOS = 3_000
"""TensorFlow's executor counts nodes below 8,000 cycles as cheap: these it runs itself, others it may hand over."""

MOST_STEPS = 10
MOST_EXECUTIONS = 300_000
"""So many executions are replayed at most, in fewer steps if need be; one step is always replayed whole."""

ROUNDED_NANOS, ROUNDED_SHARE = 2_000, 20
"""Where an execution begins so little before the end of another, or so small a share, clocks and rounding did that."""

_ASYNCHRONOUS = re.compile(
    r"_?(Host)?Recv|IteratorGetNext(Sync|AsOptional)?|Collective.*|.*Dequeue.*"
    r"|(Stateful|Stateless)?PartitionedCall|(Stateless)?(While|If|Case)",
    re.DOTALL,
)
"""Ops that leave their thread to others while they wait, or while what they call runs."""


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
        self.is_in_steps = in_steps(profile)
        self.start = aligned_start_nanos(profile)
        self.sent_start = aligned_transfer_nanos(profile)
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
        if not Clocks.of(profile).is_linked.all():
            raise ProfileError(
                "cannot replay the steps: their tasks have clocks of their own, and sent each other nothing by which "
                "to compare these; profile one task alone"
            )

    def step(self, step: int) -> StepWork:
        """The work of a step."""
        executions = self.profile.executions
        chosen = (executions.step == step) & (executions.start_nanos > 0) & self.is_in_steps[executions.node]
        rows = np.flatnonzero(chosen & self.runs_here[executions.device])
        rows = rows[np.argsort(self.start[rows], kind="stable")]
        node, start = executions.node[rows], self.start[rows]
        duration, queue = executions.duration_nanos[rows], self.queue_of[executions.device[rows]]
        source, target = execution_edges(NodeEdges.of(self.profile), node, start, start + duration)
        origin = int(start.min(initial=np.iinfo(np.int64).max)) if len(start) else 0
        start, is_asynchronous = start - origin, self.is_asynchronous[node]
        is_kept = is_asynchronous[source] | ~_is_long_before(start, duration, source, target)
        source, target = source[is_kept], target[is_kept]
        release = _released(start, duration, source, target)
        release = np.where(is_asynchronous, release, duration)
        busy = np.where(is_asynchronous, 0, duration)
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
            is_inline=cheap,
            source=source[order],
            target=target[order],
            workers=(),
            before=before,
            after=after,
        )
        work = with_workers(work, int(queue.max(initial=0)) + 1)
        return replace(work, is_inline=self._inline(work))

    def _inline(self, work: StepWork) -> Flags:
        """Whether each row was kept by the worker that let it begin.

        Where threads are known it ran on the same one as what it waited for last. Else cheap rows are kept, but not
        those that began later than a worker takes to go on.
        """
        if not self.profile.thread_names:
            return work.is_inline & (work.gap <= WAKE_NANOS)
        thread = np.where(work.row != ABSENT, self.profile.executions.thread[work.row], ABSENT)
        order = np.argsort((work.start + work.release)[work.source], kind="stable")
        last = np.full(len(work), ABSENT, np.int64)
        last[work.target[order]] = work.source[order]
        found: Flags = (last != ABSENT) & (thread == thread[last])
        return found

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
            begun = int(self.sent_start[row]) - origin
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


def _is_long_before(start: Integers, duration: Integers, source: Integers, target: Integers) -> Flags:
    """Whether the target of each edge began so long before its source ended that it cannot have waited for it."""
    rest = start[source] + duration[source] - start[target]
    found: Flags = rest > np.maximum(duration[source] // ROUNDED_SHARE, ROUNDED_NANOS)
    return found


def _released(start: Integers, duration: Integers, source: Integers, target: Integers) -> Integers:
    """The time from the start of each row until what waits for it could begin; some ops last on after that."""
    found = duration.copy()
    np.minimum.at(found, source, np.maximum(start[target] - start[source], 0))
    return found
