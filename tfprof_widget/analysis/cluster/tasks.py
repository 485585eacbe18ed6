"""Assigns devices, executions, transfers and variables to the tasks of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.ingest.parts.nodes import definitions_of
from tfprof_widget.lib.arrays import ABSENT, Indices, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import job_of_task, task_of_device

Parts = tuple[Integers, Integers, Integers]
"""Three columns: one over executions, one over the sources of transfers, and one over their targets."""


def may_be_cluster(profile: ProfileData) -> bool:
    """Whether a profile can have several tasks; a cheap test that rules out most profiles."""
    return (
        bool(len(profile.transfers) or profile.step_workers) or len(set(map(task_of_device, profile.nodes.devices))) > 1
    )


@dataclass(frozen=True, eq=False)
class Tasks:
    """The tasks of a profile by name, in order, and the task of each execution and of both ends of each transfer.

    `of_devices` are the tasks in the names of devices; a worker with a name of its own has another name in `names`.
    `moment` gives the same number to steps of several workers that ran at once. A device without a task, such as an
    accelerator's stream, belongs to the only task of its step, or to a task without a name.

    >>> from tfprof_widget.demo import demo_profile
    >>> Tasks.of(demo_profile()).names
    ('/job:localhost/replica:0/task:0',)
    """

    names: tuple[str, ...]
    of_devices: tuple[str, ...]
    moment: Integers
    moments: int
    of_execution: Integers
    of_source: Integers
    of_target: Integers

    @classmethod
    def of(cls, profile: ProfileData) -> Tasks:
        """The tasks of a profile, kept with the profile."""
        return profile.cache.kept("tasks", lambda: _tasks(profile))

    def __len__(self) -> int:
        return len(self.names)


def _tasks(profile: ProfileData) -> Tasks:
    executions, transfers = profile.executions, profile.transfers
    steps = np.array(profile.steps, np.int64)
    moments, moment = np.unique(steps, return_inverse=True)
    workers = profile.workers_of_steps
    worker_names = tuple(sorted(set(workers)))
    worker = np.array([worker_names.index(name) for name in workers], np.int64)
    texts = tuple(dict.fromkeys(task_of_device(each) for each in (*profile.nodes.devices, *transfers.devices)))
    text_of = {text: place for place, text in enumerate(texts)}

    def keys(devices: tuple[str, ...], device: Indices, step: Indices) -> Integers:
        of_device = np.array([text_of[task_of_device(each)] for each in devices], np.int64)
        found: Integers = worker[step] * len(texts) + of_device[device]
        return found

    parts = (
        keys(profile.nodes.devices, executions.device, executions.step),
        keys(transfers.devices, transfers.source, transfers.step),
        keys(transfers.devices, transfers.target, transfers.step),
    )
    parts = _with_streams(parts, texts)
    used = _used(parts)
    of_worker = np.bincount(used // max(len(texts), 1), minlength=len(worker_names)) if len(used) else np.zeros(0)
    names = [
        _name(worker_names[key // len(texts)], texts[key % len(texts)], int(of_worker[key // len(texts)]))
        for key in used.tolist()
    ]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.argsort(np.array(order, np.int64))
    executed, source, target = (place[np.searchsorted(used, part)] if len(used) else part for part in parts)
    of_devices = tuple(texts[int(used[each]) % len(texts)] for each in order)
    named = tuple(names[each] for each in order)
    return Tasks(named, of_devices, moment.astype(np.int64), len(moments), executed, source, target)


def _used(parts: Parts) -> Integers:
    """The distinct keys, sorted; there are few."""
    return np.flatnonzero(
        sum(np.bincount(part, minlength=1 + max(each.max(initial=0) for each in parts)) for part in parts)
    )


def _with_streams(parts: Parts, texts: tuple[str, ...]) -> Parts:
    """The keys, in which devices without a task go to the only task of their worker, if it has only one."""
    if "" not in texts or len(texts) == 1:
        return parts
    nameless = texts.index("")
    named = _used(parts)
    named = named[named % len(texts) != nameless]
    of_worker: dict[int, list[int]] = {}
    for key in named.tolist():
        of_worker.setdefault(key // len(texts), []).append(key)
    for worker, keys in of_worker.items():
        if len(keys) == 1:
            first, second, third = (np.where(part == worker * len(texts) + nameless, keys[0], part) for part in parts)
            parts = first, second, third
    return parts


def _name(worker: str, task: str, tasks_of_worker: int) -> str:
    """The name of a task; the only task of a worker has the worker's name."""
    if not worker:
        return task or "(no task)"
    return worker if tasks_of_worker == 1 else f"{worker} {task or '(no task)'}"


VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "TemporaryVariable"})


@dataclass(frozen=True)
class HeldVariables:
    """The variables of a task, and the parameters in them."""

    variables: int = 0
    parameters: int = 0


@dataclass(frozen=True)
class Balance:
    """The parameters of the task that holds most, and the mean over all tasks that should hold some.

    >>> held = {"/job:ps/task:0": HeldVariables(1, 30), "/job:ps/task:1": HeldVariables(1, 10)}
    >>> balance({**held, "/job:worker/task:0": HeldVariables()})
    Balance(largest=30.0, mean=20.0)
    """

    largest: float
    mean: float


def held(profile: ProfileData) -> dict[str, HeldVariables]:
    """The variables of each task: a variable is on the device that it ran on, or else the one that the graph asks for.

    Those of functions have neither. They are on the only task of the profile, if there is one only.

    >>> from tfprof_widget.demo import demo_profile
    >>> held(demo_profile())
    {'/job:localhost/replica:0/task:0': HeldVariables(variables=4, parameters=101770)}
    """
    nodes = profile.nodes
    is_variable = np.array([op in VARIABLES for op in nodes.ops], np.bool_)[nodes.op]
    rows = np.flatnonzero(is_variable)
    asked = _asked_devices(profile, rows[nodes.device[rows] == ABSENT])
    tasks: dict[str, list[int]] = {}
    for row, device in zip(rows.tolist(), nodes.device[rows].tolist(), strict=True):
        name = nodes.devices[device] if device != ABSENT else asked.get(nodes.names[row], "")
        tasks.setdefault(task_of_device(name), []).append(int(nodes.parameters[row]))
    used = {task_of_device(nodes.devices[device]) for device in set(nodes.device.tolist()) - {ABSENT}} - {""}
    if "" in tasks and len(used) == 1:
        tasks.setdefault(next(iter(used)), []).extend(tasks.pop(""))
    return {task: HeldVariables(len(sizes), sum(sizes)) for task, sizes in tasks.items()}


def balance(held_by: dict[str, HeldVariables]) -> Balance | None:
    """The balance of the job that holds most parameters; None if the job has one task, or no task holds any."""
    jobs: dict[str, list[int]] = {}
    for task, each in held_by.items():
        jobs.setdefault(job_of_task(task), []).append(each.parameters)
    loads = max(jobs.values(), key=sum, default=[])
    if len(loads) < 2 or not any(loads):
        return None
    return Balance(float(max(loads)), sum(loads) / len(loads))


def _asked_devices(profile: ProfileData, rows: Integers) -> dict[str, str]:
    """The full devices that the graph asks for, for nodes that did not run: `/job:ps/task:0` means replica 0."""
    names = {profile.nodes.names[row] for row in rows.tolist()}
    if not names:
        return {}
    return {name: _in_full(node.device) for name, node in definitions_of(profile.graphs, names).items()}


def _in_full(device: str) -> str:
    parts = dict(part.split(":", 1) for part in device.lower().split("/") if ":" in part)
    if "job" not in parts:
        return ""
    return f"/job:{parts['job']}/replica:{parts.get('replica', 0)}/task:{parts.get('task', 0)}"
