"""Counts which task holds how many variables and parameters, and how balanced those are that hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.tasks import job_of_task, task_of_device
from tfprof_widget.ingest.definitions import definitions_of
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Integers

VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "TemporaryVariable"})


@dataclass(frozen=True)
class Held:
    """The variables of a task, and the parameters in them."""

    variables: int = 0
    parameters: int = 0


@dataclass(frozen=True)
class Balance:
    """The parameters of the task that holds the most, and the mean over all tasks that are to hold some.

    >>> balance({"/job:ps/task:0": Held(1, 30), "/job:ps/task:1": Held(1, 10), "/job:worker/task:0": Held()})
    Balance(largest=30.0, mean=20.0)
    """

    largest: float
    mean: float


def held(profile: Profile) -> dict[str, Held]:
    """What each task holds, by the device that variables ran on, or else by the one that the graph asks for.

    >>> from tfprof_widget.demo import demo_profile
    >>> held(demo_profile())
    {'/job:localhost/replica:0/task:0': Held(variables=4, parameters=101770)}
    """
    nodes = profile.nodes
    is_variable = np.array([op in VARIABLES for op in nodes.ops], np.bool_)[nodes.op]
    rows = np.flatnonzero(is_variable)
    asked = _asked_devices(profile, rows[nodes.device[rows] == ABSENT])
    tasks: dict[str, list[int]] = {}
    for row, device in zip(rows.tolist(), nodes.device[rows].tolist(), strict=True):
        name = nodes.devices[device] if device != ABSENT else asked.get(nodes.names[row], "")
        tasks.setdefault(task_of_device(name), []).append(int(nodes.parameters[row]))
    return {task: Held(len(sizes), sum(sizes)) for task, sizes in tasks.items()}


def balance(held_by: dict[str, Held]) -> Balance | None:
    """How balanced the tasks are of the job that holds the most; None where it has but one, or none holds any."""
    jobs: dict[str, list[int]] = {}
    for task, each in held_by.items():
        jobs.setdefault(job_of_task(task), []).append(each.parameters)
    loads = max(jobs.values(), key=sum, default=[])
    if len(loads) < 2 or not any(loads):
        return None
    return Balance(float(max(loads)), sum(loads) / len(loads))


def _asked_devices(profile: Profile, rows: Integers) -> dict[str, str]:
    """The devices that the graph asks for, of nodes that did not run, in full: `/job:ps/task:0` is of replica 0."""
    names = {profile.nodes.names[row] for row in rows.tolist()}
    if not names:
        return {}
    return {name: _in_full(node.device) for name, node in definitions_of(profile.graphs, names).items()}


def _in_full(device: str) -> str:
    parts = dict(part.split(":", 1) for part in device.lower().split("/") if ":" in part)
    if "job" not in parts:
        return ""
    return f"/job:{parts['job']}/replica:{parts.get('replica', 0)}/task:{parts.get('task', 0)}"
