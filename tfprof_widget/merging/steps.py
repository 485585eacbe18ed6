"""The steps of several profiles as one list, by number and then worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Indices


@dataclass(frozen=True, eq=False)
class MergedSteps:
    """The steps with their names and workers; `codes` are the places of each profile's own steps among them.

    `worker` numbers the workers in order of name, a number a step.
    """

    numbers: tuple[int, ...]
    names: tuple[str, ...]
    workers: tuple[str, ...]
    worker: Indices
    codes: list[Indices]


def merged_steps(profiles: Sequence[Profile]) -> MergedSteps:
    """All steps; those of one number and worker are one step.

    >>> from tfprof_widget.demo import demo_profile
    >>> merged_steps([demo_profile(), demo_profile()]).numbers
    (0,)
    """
    keys = [list(zip(profile.steps, profile.workers_of_steps, strict=True)) for profile in profiles]
    steps = sorted({key for each in keys for key in each})
    place = {key: index for index, key in enumerate(steps)}
    names: list[str] = [""] * len(steps)
    for profile, each in zip(profiles, keys, strict=True):
        for key, name in zip(each, profile.step_names, strict=True):
            known = names[place[key]]
            names[place[key]] = min(filter(None, (name, known)), default="")
    workers = tuple(worker for _, worker in steps)
    code = {worker: index for index, worker in enumerate(sorted(set(workers)))}
    return MergedSteps(
        numbers=tuple(number for number, _ in steps),
        names=tuple(names),
        workers=workers if any(workers) else (),
        worker=np.array([code[worker] for worker in workers], np.int32),
        codes=[np.array([place[key] for key in each], np.int32) for each in keys],
    )
