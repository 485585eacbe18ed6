"""Sums a cluster up, with notes on what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from tfprof_widget.analysis.cluster.clocks import UNKNOWN, Clocks
from tfprof_widget.analysis.cluster.exchanges import Producers
from tfprof_widget.analysis.cluster.routes import (
    FEWEST_STEPS,
    LinkSummary,
    SlowLink,
    Straggler,
    Traffic,
    TransferSummary,
    links,
    longest_held_up,
    slow_link,
    straggler,
    traffic,
)
from tfprof_widget.analysis.cluster.tasks import Balance, HeldVariables, Tasks, balance, held, may_be_cluster
from tfprof_widget.analysis.cluster.waits import Activity, Overlap, Waits, held_up, overlaps, waited_for
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.text import written_percent
from tfprof_widget.profiles.data import EAGER, FIRST, ProfileData
from tfprof_widget.profiles.devices import job_of_task

_MOST_NAMED = 3


def notes(activity: Activity, lost: int) -> Iterator[str]:
    """The notes on the figures of some steps, each a sentence or two; `lost` is the number of lost transfers."""
    profile = activity.profile
    tasks, clocks, moments = Tasks.of(profile), Clocks.of(profile), list(activity.moments)
    if not len(profile.transfers):
        yield "No transfers were recorded, so that nothing is known of waits and of clocks."
        return
    linked, error = clocks.is_linked[moments], clocks.error[moments]
    apart = [name for task, name in enumerate(tasks.names) if not linked[:, task].all()]
    if apart:
        yield (
            f"The clocks of {_listed(apart)} are taken to be right: nothing tells, as these tasks exchanged no tensor "
            f"with {tasks.names[0]}, or their times contradict each other."
        )
    one_way = [
        name for task, name in enumerate(tasks.names) if linked[:, task].all() and (error[:, task] == UNKNOWN).any()
    ]
    if one_way:
        yield (
            f"The clocks of {_listed(one_way)} may be further off: tensors went one way only between them and "
            f"{tasks.names[0]}, which bounds the difference from one side."
        )
    unmade = int((Producers.of(profile).execution < 0).sum())
    if unmade:
        yield (
            f"Of {unmade:,} of the {len(profile.transfers):,} transfers it is not recorded when the tensor was made; "
            "they count from when they were sent."
        )
    if lost:
        yield (
            f"TensorFlow did not record {lost:,} transfers of tensors that it made, as it does at times; they count as "
            "the recorded ones of the same tensors do, from when their tensors were made."
        )
    if len(moments) < FEWEST_STEPS:
        yield (
            f"A straggler or a slow link is named from {FEWEST_STEPS} steps on; in {len(moments):,} it may be chance."
        )
    others = len(profile.steps) - len(activity.steps)
    if others:
        name = profile.step_names[activity.steps[0]] if activity.steps else ""
        yield f"The means are over the {len(activity.steps):,} steps of {name!r}; {others:,} others do not count."


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


MOST_TRANSFERS = 200


@dataclass(frozen=True)
class TaskSummary:
    """What a task holds, computes, sends, gets and waits for.

    `operation_nanos` is the sum of its ops, `busy_nanos` the time in which any of them ran, and `idle_nanos` the rest
    of the step. `transfer_nanos` is the time in which a tensor was on its way to it, and `overlap` the share of that
    time in which it computed. `waited_for_nanos` is how long all others waited for it. Its clock is `offset_nanos`
    ahead of the first task's, plus or minus `offset_error_nanos`, which is None if it is not known.
    """

    task: str
    parameters: int
    variables: int
    operation_nanos: int
    busy_nanos: int
    idle_nanos: int
    sent_bytes: int
    received_bytes: int
    transfer_nanos: int
    wait_nanos: int
    overlap: float | None
    offset_nanos: int
    offset_error_nanos: int | None
    waited_for_nanos: int


@dataclass(frozen=True)
class StragglerSummary:
    """The task that the others wait for, how long, also as a text, and whether its ops take longer, too."""

    task: str
    nanos: int
    text: str
    works_longer: bool


@dataclass(frozen=True)
class HeldUpSummary:
    """The task for whose tensors the whole cluster stands still, for how long of a step of how long; medians."""

    task: str
    nanos: int
    wall_nanos: int


@final
@dataclass(frozen=True)
class ClusterSummary:
    """A cluster's tasks, the traffic between them, and notes on it; means over `steps` steps.

    `wall_nanos` is the time of a step from the first op of any task to the last end, if tasks worked at once.
    """

    tasks: tuple[TaskSummary, ...]
    links: tuple[LinkSummary, ...]
    transfers: tuple[TransferSummary, ...]
    transfers_left_out: int
    parameter_balance: Balance | None
    straggler: StragglerSummary | None
    slow_link: SlowLink | None
    held_up: HeldUpSummary | None
    steps: int
    wall_nanos: int
    notes: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """The summary as JSON can hold it."""
        return {
            "tasks": [asdict(each) for each in self.tasks],
            "links": [asdict(each) for each in self.links],
            "transfers": [asdict(each) for each in self.transfers],
            "transfers_left_out": self.transfers_left_out,
            "parameter_balance": asdict(self.parameter_balance) if self.parameter_balance else None,
            "straggler": {"task": self.straggler.task, "text": self.straggler.text} if self.straggler else None,
            "steps": self.steps,
            "notes": list(self.notes),
        }


def summary(profile: ProfileData, steps: Sequence[int] | None = None) -> ClusterSummary | None:
    """What the tasks of a profile did in some steps, given by index; None if there is one task and no transfer.

    Without `steps`, the steps of the kind that ran longest are taken, without warm-ups.
    """
    if not may_be_cluster(profile) or (len(Tasks.of(profile)) < 2 and not len(profile.transfers)):
        return None
    chosen = tuple(_busiest(profile) if steps is None else steps)
    return profile.cache.recent(("cluster", chosen), lambda: _summary(Activity(profile, chosen)))


def _busiest(profile: ProfileData) -> list[int]:
    """The steps of the main kind, else of the one whose ops took longest; warm-ups only if there is nothing else."""
    took = np.zeros(len(profile.steps), np.float64)
    np.add.at(took, profile.executions.step, profile.executions.duration_nanos)
    kinds: dict[str, list[int]] = {}
    for step, name in enumerate(profile.step_names):
        kinds.setdefault(name, []).append(step)
    if profile.main_kind in kinds:
        return kinds[profile.main_kind]
    if len(kinds) > 1:
        kinds.pop(EAGER, None)
    return max(kinds.values(), key=lambda steps: _rank(profile, steps, took), default=[])


def _rank(profile: ProfileData, steps: list[int], took: Any) -> tuple[bool, float]:
    return not profile.step_names[steps[0]].endswith(FIRST), float(took[steps].sum())


def _summary(activity: Activity) -> ClusterSummary:
    waits, moments = Waits.of(activity), activity.moments
    count = max(len(moments), 1)
    tasks_of = range(len(Tasks.of(activity.profile)))
    walls = [sum(activity.wall[moment, task] for moment in moments) // count for task in tasks_of]
    wall = max(walls, default=0)
    by_moment = waited_for(activity, waits)
    waited = np.rint(by_moment.summed.sum(axis=0) / count).astype(np.int64)
    moved = traffic(activity.profile, waits, activity.steps)
    tasks = _tasks(activity, moved, overlaps(activity, waits), walls, waited)
    # The median, as that of the waits: a few steps that were held up count for little in both.
    usual = int(np.median([max(activity.wall[moment, task] for task in tasks_of) for moment in moments] or [0]))
    late = straggler([task.task for task in tasks], by_moment.longest, activity.paces(), usual)
    held = longest_held_up(held_up(activity, waits), usual)
    return ClusterSummary(
        tasks=tasks,
        links=links(moved.transfers, moved.in_use),
        transfers=moved.transfers[:MOST_TRANSFERS],
        transfers_left_out=max(len(moved.transfers) - MOST_TRANSFERS, 0),
        parameter_balance=balance({task.task: HeldVariables(task.variables, task.parameters) for task in tasks}),
        straggler=None if late is None else _described(late, tasks, usual),
        slow_link=slow_link(activity.profile, waits, len(moments)),
        held_up=None if held is None else HeldUpSummary(tasks[held.task].task, held.nanos, usual),
        steps=len(moments),
        wall_nanos=wall,
        notes=tuple(notes(activity, moved.lost)),
    )


def _tasks(
    activity: Activity, moved: Traffic, coming: Sequence[Overlap], walls: Sequence[int], waited: Integers
) -> tuple[TaskSummary, ...]:
    profile, tasks, clocks = activity.profile, Tasks.of(activity.profile), Clocks.of(activity.profile)
    moments = list(activity.moments)
    count = max(len(moments), 1)
    holding, by_link = held(profile), links(moved.transfers)
    found = []
    for task, name in enumerate(tasks.names):
        own = holding.get(tasks.of_devices[task], HeldVariables())
        busy = sum(activity.of(moment, task).length for moment in moments) // count
        offsets, errors = clocks.offset[moments, task], clocks.error[moments, task]
        found.append(
            TaskSummary(
                task=name,
                parameters=own.parameters,
                variables=own.variables,
                operation_nanos=int(activity.operation_nanos[task]) // count,
                busy_nanos=busy,
                idle_nanos=walls[task] - busy,
                sent_bytes=sum(link.bytes for link in by_link if link.source == name),
                received_bytes=sum(link.bytes for link in by_link if link.target == name),
                transfer_nanos=coming[task].transfer_nanos // count,
                # What was lost of the transfers is made up by the others' mean, which may be too much.
                wait_nanos=min(moved.waited[task], max(walls[task] - busy, 0)),
                overlap=coming[task].share,
                offset_nanos=int(np.median(offsets)) if moments else 0,
                offset_error_nanos=int(np.median(errors)) if moments and not (errors == UNKNOWN).any() else None,
                waited_for_nanos=int(waited[task]),
            )
        )
    return tuple(found)


def _described(late: Straggler, tasks: Sequence[TaskSummary], wall: int) -> StragglerSummary:
    task = tasks[late.task]
    like = [each for each in tasks if each is not task and job_of_task(each.task) == job_of_task(task.task)]
    usual = sum(each.operation_nanos for each in like) // len(like)
    return StragglerSummary(
        task.task,
        late.beyond_nanos,
        f"Other tasks wait for {task.task} {_millis(late.beyond_nanos)} (± {_millis(late.spread_nanos)}) of a step's "
        f"{_millis(wall)} ({written_percent(late.beyond_nanos / max(wall, 1), 0)}) longer than for the others of its "
        f"job. Its ops take {_millis(task.operation_nanos)} a step, and the others' ops {_millis(usual)} on average.",
        2 * (task.operation_nanos - usual) >= late.beyond_nanos,
    )


def _millis(nanos: int) -> str:
    return f"{nanos / 1e6:.2f} ms"
