"""Says of a cluster's figures what they do not tell."""

from __future__ import annotations

from collections.abc import Iterator

from tfprof_widget.cluster.activity import Activity
from tfprof_widget.cluster.clocks import UNKNOWN, Clocks
from tfprof_widget.cluster.producers import Producers
from tfprof_widget.cluster.tasks import Tasks

_MOST_NAMED = 3


def notes(activity: Activity, lost: int) -> Iterator[str]:
    """The notes on the figures of some steps, in which so many transfers were lost; each a sentence or two."""
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
            "the recorded ones of the same tensors do. What others waited for a task is without them."
        )
    others = len(profile.steps) - len(activity.steps)
    if others:
        name = profile.step_names[activity.steps[0]] if activity.steps else ""
        yield f"The means are over the {len(activity.steps):,} steps of {name!r}; {others:,} others do not count."


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
