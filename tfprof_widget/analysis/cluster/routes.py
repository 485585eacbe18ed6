"""Adds up traffic by link, and finds what slows a cluster down beyond the spread of its steps: a link, a straggler."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.cluster.exchanges import is_between_tasks, is_collective
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.analysis.cluster.waits import Pace, Waits
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import job_of_task

Ends = tuple[str, str, str]
"""The source of a link, its target, and the kind of its transfers."""


@dataclass(frozen=True)
class LinkSummary:
    """What went from one task to another, or between two devices of a task; means over the steps.

    `transfer_nanos` is the time in which anything was on its way: that of transfers at once counts once.
    """

    source: str
    target: str
    kind: str
    count: int
    bytes: int
    transfer_nanos: int
    wait_nanos: int


@dataclass(frozen=True)
class TransferSummary:
    """How often and how long one tensor went from one task to another; means over the steps."""

    tensor: str
    kind: str
    source: str
    target: str
    count: int
    bytes: int
    transfer_nanos: int
    wait_nanos: int


@dataclass(frozen=True)
class Traffic:
    """The traffic of all links: the transfers by tensor, how many were lost, and how long each task waited.

    `in_use` is the time in which anything was on its way over a link, by the summed times of its transfers.
    """

    transfers: tuple[TransferSummary, ...]
    lost: int
    waited: tuple[int, ...]
    in_use: Mapping[Ends, float]


def links(transfers: Sequence[TransferSummary], in_use: Mapping[Ends, float] | None = None) -> tuple[LinkSummary, ...]:
    """The traffic of each link, the link that took longest first.

    >>> one = TransferSummary("w", "RecvTensor", "/job:ps", "/job:worker", 1, 64, 5, 2)
    >>> links([one, one])
    (LinkSummary(source='/job:ps', target='/job:worker', kind='RecvTensor', count=2, bytes=128, ...
    """
    sums: dict[Ends, list[int]] = {}
    for each in transfers:
        found = sums.setdefault((each.source, each.target, each.kind), [0, 0, 0, 0])
        for place, value in enumerate((each.count, each.bytes, each.transfer_nanos, each.wait_nanos)):
            found[place] += value
    for ends, values in sums.items():
        values[2] = round(values[2] * (in_use or {}).get(ends, 1))
    by_cost = sorted(sums.items(), key=lambda entry: -entry[1][2] - entry[1][3])
    return tuple(LinkSummary(*ends, *values) for ends, values in by_cost)


def traffic(profile: ProfileData, waits: Waits, steps: Sequence[int]) -> Traffic:
    """The transfers of each tensor over each link, the costliest first."""
    transfers, tasks = profile.transfers, Tasks.of(profile)
    source, target, names = _ends(profile, waits)
    tensor, kind = (column[waits.transfer].astype(np.int64) for column in (transfers.tensor, transfers.kind))
    keys, first, group = np.unique(
        np.stack([tensor, kind, source, target], axis=1), axis=0, return_index=True, return_inverse=True
    )
    group = group.reshape(-1)
    values = np.ones(len(group), np.int64), transfers.bytes[waits.transfer], waits.transfer_nanos, waits.wait
    sums = np.zeros((len(values), len(keys)), np.int64)
    for column, each in zip(sums, values, strict=True):
        np.add.at(column, group, each)
    step = transfers.step[waits.transfer].astype(np.int64)
    in_steps = np.unique(group * len(profile.steps) + step) // max(len(profile.steps), 1)
    recorded = np.bincount(in_steps, minlength=len(keys))
    row = waits.transfer[first]
    sent = np.maximum(_steps_made(profile, transfers.node[row].astype(np.int64), tasks.of_source[row], steps), recorded)
    count = len({int(tasks.moment[each]) for each in steps})
    found, waited = [], [0] * len(tasks)
    for at in np.argsort(-(sums[2] + sums[3]), kind="stable").tolist():
        tensor_at, kind_at, source_at, target_at = keys[at].tolist()
        # Rounded to the nearest: a tensor that does not come in every step would else not count at all.
        over = int(recorded[at]) * count
        means = [(2 * int(value) * int(sent[at]) + over) // (2 * over) for value in sums[:, at]]
        ends = names[source_at], names[target_at]
        found.append(TransferSummary(transfers.tensors[tensor_at], transfers.kinds[kind_at], *ends, *means))
        waited[int(tasks.of_target[row[at]])] += means[-1]
    return Traffic(tuple(found), int((sent - recorded).sum()), tuple(waited), _in_use(profile, waits))


def _in_use(profile: ProfileData, waits: Waits) -> dict[Ends, float]:
    together, summed = dict[Ends, int](), dict[Ends, int]()
    for ends, rows in _by_link(profile, waits, np.arange(len(waits.transfer))):
        length = Intervals.of(waits.begin[rows], waits.end[rows]).length
        together[ends] = together.get(ends, 0) + length
        summed[ends] = summed.get(ends, 0) + int(np.maximum(waits.transfer_nanos[rows], 0).sum())
    return {ends: together[ends] / summed[ends] for ends in summed if summed[ends]}


def _by_link(profile: ProfileData, waits: Waits, rows: Integers) -> Iterator[tuple[Ends, Integers]]:
    """Those of the rows of `waits` that went over one link at one moment, for each link and moment."""
    source, target, names = _ends(profile, waits)
    moment = Tasks.of(profile).moment[profile.transfers.step[waits.transfer]]
    kind = profile.transfers.kind[waits.transfer].astype(np.int64)
    columns = moment[rows], kind[rows], source[rows], target[rows]
    _, group = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ():
        at = rows[some[0]]
        yield (names[source[at]], names[target[at]], profile.transfers.kinds[kind[at]]), rows[some]


def _ends(profile: ProfileData, waits: Waits) -> tuple[Integers, Integers, tuple[str, ...]]:
    """The source and target of each transfer as indices into names: of tasks, devices of one task, or groups."""
    tasks, rows = Tasks.of(profile), waits.transfer
    source, target = tasks.of_source[rows], tasks.of_target[rows]
    within, after = source == target, len(tasks)
    return (
        np.where(within, after + profile.transfers.source[rows], source),
        np.where(within & ~is_collective(profile)[rows], after + profile.transfers.target[rows], target),
        (*tasks.names, *profile.transfers.devices),
    )


def _steps_made(profile: ProfileData, node: Integers, task: Integers, steps: Sequence[int]) -> Integers:
    """In how many of the steps each node ran on a task; 0 for ABSENT."""
    tasks, executions = Tasks.of(profile), profile.executions
    sent, chosen = np.zeros(len(profile.nodes) + 1, np.bool_), np.zeros(len(profile.steps), np.bool_)
    sent[node], chosen[list(steps)] = True, True
    sent[-1] = False  # ABSENT points to this entry
    rows = np.flatnonzero(sent[executions.node] & chosen[executions.step] & (executions.start_nanos > 0))
    ran_on = executions.node[rows].astype(np.int64) * len(tasks) + tasks.of_execution[rows]
    each = np.unique(ran_on * len(profile.steps) + executions.step[rows]) // max(len(profile.steps), 1)
    places, counts = np.unique(each, return_counts=True)
    if not len(places):
        return np.zeros(len(node), np.int64)
    wanted = node * len(tasks) + task
    at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    result: Integers = np.where((node >= 0) & (places[at] == wanted), counts[at], 0)
    return result


FEWEST_STEPS = 8
"""Of fewer steps nothing is said: by chance a few of them may all point to the same task or link."""

BEYOND_SPREAD = 2
"""A difference has to be so many times the spread: less than that is what balanced clusters of one machine show."""


LOW, HIGH = 0.16, 0.84
"""Of normal values these quantiles are one standard deviation from the median."""


def spread(values: NDArray[np.float64]) -> float:
    """How far values usually are from the median: half of the range that the middle two thirds of them take.

    >>> spread(np.append(np.arange(100.0), 1e9))  # 0 to 99, and one that is far off
    34.0
    """
    low, high = np.quantile(values, [LOW, HIGH])
    return float(high - low) / 2


SLOW_LINK = 3
"""A link is slow if the usual link is so many times as fast; smaller differences come from other work."""

FEWEST_BYTES = 100_000
"""Smaller transfers show the delay of a link, and not its rate."""


@dataclass(frozen=True)
class SlowLink:
    """The link that is slowest, if it is slower than those between the same jobs by more than their rates spread.

    `rate` is the median over the steps and `usual` that of the other links' medians, in bytes a second. Two thirds of
    the steps are at most `factor` times as fast, or as slow, as the median one.
    """

    source: str
    target: str
    kind: str
    rate: float
    usual: float
    factor: float
    steps: int


def _alike(ends: Ends) -> Ends:
    """The same for links that can be compared: what workers send to servers waits for other ops than what they get."""
    source, target, kind = ends
    return job_of_task(source), job_of_task(target), kind


def slow_link(profile: ProfileData, waits: Waits, steps: int) -> SlowLink | None:
    """The slow link between tasks in so many steps, by what large tensors took together; None if no link is slow.

    A link has to be recorded in at least half of the steps: those that are not lost may be the slow ones.
    """
    rates: dict[Ends, list[float]] = {}
    is_large = profile.transfers.bytes >= FEWEST_BYTES
    large = np.flatnonzero((is_large & is_between_tasks(profile))[waits.transfer])
    for ends, rows in _by_link(profile, waits, large):
        length = Intervals.of(waits.begin[rows], waits.end[rows]).length
        rates.setdefault(ends, []).append(int(profile.transfers.bytes[waits.transfer[rows]].sum()) / max(length, 1))
    logs = {ends: np.log(each) for ends, each in rates.items() if len(each) >= max(FEWEST_STEPS, steps / 2)}
    middle = {ends: float(np.median(each)) for ends, each in logs.items()}
    found = None
    for ends, own in middle.items():
        others = [other for other in middle if other != ends and _alike(other) == _alike(ends)]
        if not others:
            continue
        usual = np.array([middle[other] for other in others])
        beyond = float(np.median(usual)) - own
        width = max(spread(usual), float(np.median([spread(logs[each]) for each in (ends, *others)])))
        if beyond >= max(math.log(SLOW_LINK), BEYOND_SPREAD * width) and (found is None or own < found[0]):
            nanos = 1e9  # a second
            found = (
                own,
                SlowLink(
                    *ends, math.exp(own) * nanos, math.exp(own + beyond) * nanos, math.exp(width), len(rates[ends])
                ),
            )
    return found and found[1]


WORTH_NAMING = 0.1
"""The share of a step by which the others must wait longer for a task than for its job's average, to be named."""

SURELY = 0.05
"""The share of a step by which they must wait longer in five of six steps: then it is the same task in nearly all."""


@dataclass(frozen=True)
class Straggler:
    """A task that others wait for, and how much longer than for the others of its job.

    `beyond_nanos` is the median over the steps, and `spread_nanos` how far it usually is from that.
    """

    task: int
    beyond_nanos: int
    spread_nanos: int


def straggler(names: Sequence[str], waited: NDArray[np.float64], paces: Sequence[Pace], wall: int) -> Straggler | None:
    """The task that keeps others waiting longer than the average other task of its job, by a tenth of the wall time.

    That has to hold for the median of enough steps, half of it for five of six steps, and it has to be twice as much as
    the other tasks of the job differ. What its ops take longer because they are held up more than those of the others,
    as when other processes have its processor, does not count.

    >>> names = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    >>> waited = np.array([[900.0, 100.0, 500.0 + late] for late in range(10)])
    >>> paces = [Pace(10, 5), Pace(200, 100), Pace(900, 450)]
    >>> straggler(names, waited, paces, 1000)
    Straggler(task=2, beyond_nanos=404, spread_nanos=3)
    >>> straggler(names, waited[:7], paces, 1000), straggler(names, np.minimum(waited, 190), paces, 1000)
    (None, None)
    >>> straggler(names, waited, [*paces[:2], Pace(600, 100)], 1000)
    """
    found = None
    for task, name in enumerate(names):
        like = [other for other, each in enumerate(names) if other != task and job_of_task(each) == job_of_task(name)]
        if not like or len(waited) < FEWEST_STEPS:
            continue
        beyond = waited[:, task] - waited[:, like].mean(axis=1)
        low, middle = np.quantile(beyond, [LOW, 0.5]).tolist()
        differ = BEYOND_SPREAD * spread(np.median(waited[:, like], axis=0))
        own = middle - _paused(paces[task], [paces[other] for other in like])
        is_late = own > 0 and own >= WORTH_NAMING * wall and low >= SURELY * wall and middle >= differ
        if is_late and (found is None or middle > found.beyond_nanos):
            found = Straggler(task, round(middle), round(spread(beyond)))
    return found


def _paused(own: Pace, others: Sequence[Pace]) -> float:
    """By how much longer a task computes than it would if its ops were held up as much as those of the others."""
    quickest = sum(each.quickest for each in others)
    slowed = sum(each.usual for each in others) / quickest if quickest else 1.0
    return max(own.usual - own.quickest * max(slowed, 1.0), 0.0)


@dataclass(frozen=True)
class HeldUp:
    """The task for whose tensors the whole cluster stands still longest; `nanos` is the median over the steps."""

    task: int
    nanos: int


HELD_UP = 0.2
"""The share of a step for which tensors must hold all tasks up, to be told: balanced clusters show up to 6 %."""


def longest_held_up(held: NDArray[np.float64], wall: int) -> HeldUp | None:
    """The task that is held up longest by tensors on their way, if that is for a fifth of the wall time in most steps.

    >>> held = np.array([[0.0, 200.0 + number] for number in range(8)])
    >>> longest_held_up(held, 1000), longest_held_up(held, 1100), longest_held_up(held[:7], 1000)
    (HeldUp(task=1, nanos=204), None, None)
    """
    if len(held) < FEWEST_STEPS:
        return None
    middle = np.median(held, axis=0)
    task = int(middle.argmax())
    return HeldUp(task, round(middle[task])) if middle[task] >= HELD_UP * wall > 0 else None
