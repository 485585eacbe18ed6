"""Places what happened in time: counted from the start of its step, by one clock for all tasks, and in lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.cluster.clocks import on_one_clock
from tfprof_widget.analysis.comparison import worker_order
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Indices, Integers
from tfprof_widget.lib.text import visible
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import device_label, named_threads
from tfprof_widget.profiles.tables import Executions, Transfers


def on_clock(profile: ProfileData) -> ProfileData:
    """The profile with all times by the clock of the first task.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(on_clock(demo_profile()).executions)
    30
    """
    return profile.cache.kept("on one clock", lambda: assemble(on_one_clock(profile)))


def step_starts(profile: ProfileData) -> Integers:
    """When the first execution or transfer of each step started, in nanoseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> int(step_starts(profile)[0]) == int(profile.executions.start_nanos.min())
    True
    """
    earliest = np.full(len(profile.steps), np.iinfo(np.int64).max)
    for table in (profile.executions, profile.transfers):
        timed = table.start_nanos > 0
        np.minimum.at(earliest, table.step[timed], table.start_nanos[timed])
    return earliest


def nanos_in_step(table: Executions | Transfers, starts: Integers) -> Integers:
    """When each row started, counted from the start of its step; -1 where that is not known.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> int(nanos_in_step(profile.executions, step_starts(profile)).min())
    0
    """
    return np.where(table.start_nanos > 0, table.start_nanos - starts[table.step], ABSENT)


def allocation_nanos(profile: ProfileData, starts: Integers) -> Integers:
    """When each allocation or release was, counted from the start of its step.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> len(allocation_nanos(profile, step_starts(profile))) == len(profile.allocations.bytes)
    True
    """
    allocations = profile.allocations
    return allocations.micros * NANOS_A_MICRO - starts[profile.executions.step[allocations.execution]]


# The part of the steps' mean length that is left free between two of them.
_SPACE = 0.04


@dataclass(frozen=True, eq=False)
class Lane:
    """Slices that do not overlap, by start: when each began and ended, in nanoseconds, and its node or ABSENT."""

    name: str
    is_transfers: bool
    start: Integers
    end: Integers
    node: Indices

    @property
    def work(self) -> int:
        """The time in which a slice ran."""
        return int((self.end - self.start).sum())


@dataclass(frozen=True)
class StepSpan:
    """Where a step lies, and how it is called."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class TimelineLayout:
    """The lanes in their order, the steps, and where the last one ends, in nanoseconds from the left end."""

    lanes: tuple[Lane, ...]
    steps: tuple[StepSpan, ...]
    end: int


@dataclass(frozen=True, eq=False)
class _Slices:
    """A row for each execution and, from `first_transfer` on, for each transfer, which is on the device that got it."""

    node: Indices
    step: Indices
    device: Integers
    thread: Integers
    start: Integers
    duration: Integers
    first_transfer: int
    threads: Sequence[str]
    labels: Sequence[str]
    moment: Integers


def timeline_layout(profile: ProfileData, steps: Sequence[int]) -> TimelineLayout:
    """Lay out what happened in some steps; steps of several workers that have one number start together.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = timeline_layout(demo_profile(), [0])
    >>> [lane.name for lane in found.lanes], found.end
    (['CPU:0 · lane 0', 'CPU:0 · lane 1'], 365125)
    """
    slices = _slices(on_clock(profile))
    rows = np.flatnonzero(np.isin(slices.step, list(steps)) & (slices.start >= 0))
    spans = _step_spans(profile, slices, rows, steps)
    origin = np.zeros(len(slices.moment), np.int64)
    origin[list(spans)] = [begin for begin, _ in spans.values()]
    start = slices.start + origin[slices.moment[slices.step]]
    # Of slices with one start the longer comes first, so that it lies above what it encloses.
    order = rows[np.lexsort((rows, -slices.duration[rows], start[rows]))]
    return TimelineLayout(
        tuple(_lanes(slices, order, start)),
        tuple(StepSpan(_step_name(profile, moment), *span) for moment, span in spans.items()),
        max((end for _, end in spans.values()), default=1) or 1,
    )


def _slices(profile: ProfileData) -> _Slices:
    executions, transfers = profile.executions, profile.transfers
    starts, (thread, threads) = step_starts(profile), named_threads(profile)
    names = list(dict.fromkeys([*profile.nodes.devices, *transfers.devices]))
    place = {name: index for index, name in enumerate(names)}
    targets = np.array([place[name] for name in transfers.devices], np.int64)
    device = executions.device.astype(np.int64)
    if len(transfers):
        device = np.append(device, targets[transfers.target])
    step = np.append(executions.step, transfers.step)
    first: dict[int, int] = {}
    moment = [first.setdefault(number, index) for index, number in enumerate(profile.steps)]
    labels = [device_label(name, profile.nodes.devices) for name in names]
    if profile.step_workers:
        workers = sorted(set(profile.step_workers), key=worker_order)
        rank = {worker: index for index, worker in enumerate(workers)}
        offset = np.array([rank[worker] * (len(names) + 1) for worker in profile.step_workers], np.int64)
        device = offset[step] + np.where(device < 0, len(names), device)
        labels = [f"{worker} · {label}" for worker in workers for label in (*labels, device_label(""))]
    return _Slices(
        node=np.append(executions.node, transfers.node),
        step=step,
        device=device,
        thread=np.append(thread, np.zeros(len(transfers), np.int64)),
        start=np.append(nanos_in_step(executions, starts), nanos_in_step(transfers, starts)),
        duration=np.append(executions.duration_nanos, transfers.duration_nanos),
        first_transfer=len(executions),
        threads=threads,
        labels=labels,
        moment=np.array(moment, np.int64),
    )


def _step_spans(
    profile: ProfileData, slices: _Slices, rows: Integers, steps: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """The place of each moment's step, as long as from its first start to the last end in it."""
    lengths = np.full(len(profile.steps), ABSENT, np.int64)
    np.maximum.at(lengths, slices.moment[slices.step[rows]], (slices.start + slices.duration)[rows])
    moments = dict.fromkeys(slices.moment[list(steps)].tolist())
    found = {moment: int(lengths[moment]) for moment in moments if lengths[moment] >= 0}
    space = int(np.ceil(_SPACE * sum(found.values()) / max(len(found), 1)))
    spans, start = {}, 0
    for moment, length in found.items():
        spans[moment] = (start, start + length)
        start += length + space
    return spans


def _step_name(profile: ProfileData, step: int) -> str:
    return visible(f"step {profile.steps[step]} {profile.step_names[step]}".strip())


def _lanes(slices: _Slices, order: Integers, start: Integers) -> Iterator[Lane]:
    for device in np.unique(slices.device[order]).tolist():
        on_device = order[slices.device[order] == device]
        label = visible(slices.labels[device] if device >= 0 else device_label(""))
        moved = on_device[on_device >= slices.first_transfer]
        executed = on_device[on_device < slices.first_transfer]
        threads = np.unique(slices.thread[executed]).tolist()
        for number, thread in enumerate(threads):
            for level, rows in enumerate(_levels(executed[slices.thread[executed] == thread], start, slices.duration)):
                known = slices.threads[thread] or (f"thread {number}" if len(threads) > 1 else "")
                name = (f"{known}, level {level}" if level else known) if known else f"lane {level}"
                yield _lane(f"{label} · {name}", slices, rows, start, is_transfers=False)
        for level, rows in enumerate(_levels(moved, start, slices.duration)):
            name = f"transfers, level {level}" if level else "transfers"
            yield _lane(f"{label} · {name}", slices, rows, start, is_transfers=True)


def _levels(rows: Integers, start: Integers, duration: Integers) -> list[Integers]:
    """Slices by start, each on the first level that is free when it starts."""
    free: list[int] = []
    found = np.zeros(len(rows), np.int64)
    begins, ends = start[rows].tolist(), (start[rows] + duration[rows]).tolist()
    for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        level = next((level for level, until in enumerate(free) if until <= begin), len(free))
        free[level : level + 1] = [end]
        found[index] = level
    return [rows[found == level] for level in range(len(free))]


def _lane(name: str, slices: _Slices, rows: Integers, start: Integers, *, is_transfers: bool) -> Lane:
    return Lane(name, is_transfers, start[rows], start[rows] + slices.duration[rows], slices.node[rows])
