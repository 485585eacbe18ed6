"""Which task of a cluster each device, execution and transfer belongs to, and which steps ran at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Indices, Integers

Parts = tuple[Integers, Integers, Integers]
"""What is told of executions, of transfers' sources and of their targets."""

_TASK = re.compile(r"(?:.*?)(/job:[^/]*(?:/replica:\d+)?(?:/task:\d+)?)", re.ASCII)


def task_of_device(device: str) -> str:
    """The task in a device's name: the process that has the device; empty where the name does not tell.

    >>> task_of_device("/job:ps/replica:0/task:1/device:cpu:0"), task_of_device("/device:gpu:0/stream:all")
    ('/job:ps/replica:0/task:1', '')
    """
    found = _TASK.match(device)
    return found[1] if found is not None else ""


def job_of_task(task: str) -> str:
    """The tasks that do the same work, by name: those of one job, or all workers that have but a name.

    >>> job_of_task("/job:ps/replica:0/task:1"), job_of_task("worker 0")
    ('/job:ps', '')
    """
    found = re.search(r"/job:[^/]*", task)
    return found[0] if found is not None else ""


def may_be_cluster(profile: Profile) -> bool:
    """Whether it can have several tasks: it costs little to tell of most profiles that they have not.

    >>> from tfprof_widget.demo import demo_profile
    >>> may_be_cluster(demo_profile())
    False
    """
    return (
        bool(len(profile.transfers) or profile.step_workers) or len(set(map(task_of_device, profile.nodes.devices))) > 1
    )


@dataclass(frozen=True, eq=False)
class Tasks:
    """The tasks of a profile by name, in order, and the task of each execution and of both ends of each transfer.

    `of_devices` are the tasks that the names of devices tell: another than its name for a worker that has its own.
    `moment` numbers, for each step, the steps that ran at once: one of each worker. What names no task, such as an
    accelerator's stream, is of the only task of its step, or of a task without a name.

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
    def of(cls, profile: Profile) -> Tasks:
        """Those of a profile, kept with it."""
        return profile.memory.kept("tasks", lambda: _tasks(profile))

    def __len__(self) -> int:
        return len(self.names)


def _tasks(profile: Profile) -> Tasks:
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
    """The different keys, in order; there are few."""
    return np.flatnonzero(
        sum(np.bincount(part, minlength=1 + max(each.max(initial=0) for each in parts)) for part in parts)
    )


def _with_streams(parts: Parts, texts: tuple[str, ...]) -> Parts:
    """The same, with what names no task given to the task that is the only other of its worker."""
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
    """A worker's only task goes by its name."""
    if not worker:
        return task or "(no task)"
    return worker if tasks_of_worker == 1 else f"{worker} {task or '(no task)'}"
