"""Names jobs and tasks, by what a cluster tells in the environment, and gives each task a directory of its own."""

from __future__ import annotations

import json
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tfprof_widget.lib.errors import ProfileError

RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
RUNS_OF_MPI = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")
LONGEST = 80
MOST_TRIED = 10_000


@dataclass(frozen=True)
class TaskName:
    """The names of a job and of a task in it.

    With `is_of_one_run`, no other run has a job of this name: a second task of the same name was started again.
    """

    job: str
    task: str
    is_of_one_run: bool = True


def task_name(
    environment: Mapping[str, str], title: str, *, job: str = "", pid: int = 0, now: float = 0.0, host: str = ""
) -> TaskName:
    """The names by TF_CONFIG, by Slurm's or MPI's variables, else by the time, the host and the process.

    >>> config = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}'
    >>> task_name({"TF_CONFIG": config}, "train")
    TaskName(job='train-cdb22a', task='worker-1', is_of_one_run=False)
    >>> task_name({"SLURM_JOB_ID": "71", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3"}, "train")
    TaskName(job='train-slurm-71.0', task='task-3', is_of_one_run=True)
    >>> task_name({"OMPI_COMM_WORLD_RANK": "2"}, "train", job="sweep")
    TaskName(job='sweep', task='rank-2', is_of_one_run=False)
    >>> task_name({}, "train", pid=7, host="node-1").task
    'node-1-7'
    """
    cluster, task = _of_tensorflow(environment)
    run, is_unique = "", False
    if (slurm := environment.get("SLURM_JOB_ID")) and environment.get("SLURM_STEP_ID", "").isdigit():
        run, is_unique = f"slurm-{slurm}.{environment['SLURM_STEP_ID']}", True
        task = task or (f"task-{environment['SLURM_PROCID']}" if "SLURM_PROCID" in environment else "")
    elif rank := next((environment[name] for name in RANKS if environment.get(name, "").isdigit()), ""):
        told = next((environment[name] for name in RUNS_OF_MPI if environment.get(name)), "")
        run, is_unique = (f"mpi-{_digest(told)}", True) if told else ("mpi", False)
        task = task or f"rank-{rank}"
    elif task:
        run = _digest(cluster)
    is_of_cluster = bool(task)
    task = task or f"{host}-{pid}"
    if job:
        return TaskName(_clean(job), _clean(task), not is_of_cluster)
    if not run:
        run, is_unique = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{pid}", True
    return TaskName(_clean(f"{title}-{run}"), _clean(task), is_unique)


def host_name() -> str:
    """The name of this machine, without its domain."""
    try:
        return platform.node().partition(".")[0] or "host"
    except OSError:
        return "host"


def claimed(directory: Path, name: TaskName) -> Path:
    """Make the directory of a task, which no other process gets.

    A job of the same name that has this task already is another run: then the job gets a number behind its name. If the
    job is of this run, the task does.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     of_cluster, started_again = TaskName("train", "worker-0", False), TaskName("train", "worker-0")
    ...     [claimed(Path(folder), each).relative_to(folder).as_posix() for each in (of_cluster, of_cluster,
    ...      started_again)]
    ['train/worker-0', 'train-2/worker-0', 'train/worker-0.2']
    """
    for number in range(1, MOST_TRIED):
        mark = str(number) if number > 1 else ""
        job = name.job if name.is_of_one_run or not mark else f"{name.job}-{mark}"
        task = f"{name.task}.{mark}" if name.is_of_one_run and mark else name.task
        path = directory / job / task
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not path.is_dir():
                break
            continue
        return path
    raise ProfileError(f"{str(directory)!r} has no room for {name.job}/{name.task}; choose another directory by --out")


def _of_tensorflow(environment: Mapping[str, str]) -> tuple[str, str]:
    """The cluster of TF_CONFIG as text, and the task; empty where there is none."""
    try:
        config: Any = json.loads(environment.get("TF_CONFIG", ""))
        task = config["task"]
        return json.dumps(config.get("cluster"), sort_keys=True), f"{task['type']}-{int(task['index'])}"
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", ""


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=3).hexdigest()


def _clean(name: str) -> str:
    """A name for a directory."""
    return re.sub(r"[^\w.=+-]+", "-", name).strip("-.")[:LONGEST] or "job"
