"""Reads how the tasks in a directory of jobs stand, and removes jobs that are long over."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from tfprof_widget.ingest.files.find import natural_order
from tfprof_widget.ingest.files.jobs import EXIT_CODE, REQUESTS, SNAPSHOT, STATE, TaskFiles, tasks_in
from tfprof_widget.jobs.naming import host_name
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.safely import UNFINISHED
from tfprof_widget.profiles.live import Status, TaskState

OVER: tuple[Status, ...] = ("ended", "failed", "interrupted")
GONE = "the process is gone, and left its last snapshot"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


@dataclass(frozen=True)
class SeenTask:
    """A task as somebody who looks finds it: `status` may be silent, and `last_words` say what is known of the end."""

    files: TaskFiles
    state: TaskState
    status: Status
    last_words: str = ""

    @property
    def name(self) -> str:
        """The job and the task."""
        return f"{self.files.job}/{self.files.task}"

    @property
    def may_answer(self) -> bool:
        """Whether the task may still do what it is asked for; a silent one may only be slow."""
        return self.status == "running" or (self.status == "silent" and self.last_words != GONE)

    @property
    def answered(self) -> tuple[str, ...]:
        """The requests that the task has answered."""
        told = self.files.state().get("answered")
        return tuple(each for each in told if isinstance(each, str)) if isinstance(told, list) else ()


class JobDirectory:
    """A directory of jobs, looked at again and again: what was not heard of for long by the looker's clock is silent.

    >>> JobDirectory("/no/such/directory").look()
    []
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = Path(path)
        self._clock, self._steady = clock, steady
        self._heard: dict[Path, tuple[float, float]] = {}

    def look(self) -> list[SeenTask]:
        """All tasks: jobs by when they started, and their tasks in the order of their numbers."""
        found = [seen for files in tasks_in(self.path) if (seen := self._seen(files)) is not None]
        started: dict[str, float] = {}
        for seen in found:
            job = seen.files.job
            started[job] = min(started.get(job, seen.state.started), seen.state.started)
        return sorted(found, key=lambda seen: (started[seen.files.job], seen.files.job, natural_order(seen.files.task)))

    def _seen(self, files: TaskFiles) -> SeenTask | None:
        told = files.state()
        if not told:
            return None
        state = replace(TaskState.of_json(told), job=files.job, task=files.task)
        if state.status != "running":
            return SeenTask(files, state, state.status, state.last_words)
        silence = self._silence(files, state)
        if state.host and state.host == host_name() and not _is_there(state.pid):
            if self._has_ended_meanwhile(files):
                return self._seen(files)
            return SeenTask(files, state, "silent", GONE)
        status = state.status_at(state.updated + silence)
        words = f"nothing was heard for {round(silence):,} s" if status == "silent" else ""
        return SeenTask(files, state, status, words)

    def _has_ended_meanwhile(self, files: TaskFiles) -> bool:
        return files.state().get("status") in OVER

    def _silence(self, files: TaskFiles, state: TaskState) -> float:
        """For how many seconds nothing was heard of a task; clocks may be set back, and those of hosts may differ."""
        now, steady = self._clock(), self._steady()
        ages = [now - state.updated]
        with suppress(OSError):
            ages.append(now - (files.path / STATE).stat().st_mtime)
        by_clock = min((age for age in ages if age >= 0), default=0.0)
        updated, heard = self._heard.get(files.path, (0.0, 0.0))
        if updated != state.updated:
            self._heard[files.path] = state.updated, steady
            return by_clock
        return max(by_clock, steady - heard)


def _is_there(pid: int) -> bool:
    """Whether a process of this machine lives."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    with suppress(OSError, IndexError):  # one that its parent has not asked about yet lives no more
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


@dataclass(frozen=True)
class JobSummary:
    """A job in a line: its directory, its tasks, what it takes on the disk, and when something last changed in it."""

    path: Path
    tasks: tuple[SeenTask, ...]
    size: int
    changed: float

    @property
    def is_over(self) -> bool:
        """Whether no task runs any more, as far as anybody knows."""
        return all(task.status != "running" for task in self.tasks)


def jobs_in(directory: str | PathLike[str]) -> list[JobSummary]:
    """The jobs in a directory, in the order in which they started.

    >>> jobs_in("/no/such/directory")
    []
    """
    tasks: dict[Path, list[SeenTask]] = {}
    for seen in JobDirectory(directory).look():
        tasks.setdefault(seen.files.path.parent, []).append(seen)
    found = []
    for path, of_job in tasks.items():
        states = [each.stat() for each in _own_files(path)]
        changed = max((each.st_mtime for each in states), default=0.0)
        found.append(JobSummary(path, tuple(of_job), sum(each.st_size for each in states), changed))
    return found


def prune(directory: str | PathLike[str], seconds: float, now: float) -> list[JobSummary]:
    """Remove the jobs that are over and in which nothing changed for so long; gives those that were removed.

    Only files that tfprof writes are removed, and a directory only if nothing else is in it.
    """
    removed = []
    for job in jobs_in(directory):
        if not job.is_over or now - job.changed < seconds:
            continue
        try:
            for file in _own_files(job.path):
                file.unlink(missing_ok=True)
            for folder in sorted({file.files.path for file in job.tasks} | {job.path / REQUESTS}):
                with suppress(OSError):
                    folder.rmdir()
            with suppress(OSError):
                job.path.rmdir()
        except OSError as error:
            raise ProfileError(
                f"cannot remove {str(job.path)!r}: {error.strerror}; check who may write there"
            ) from None
        removed.append(job)
    return removed


def _own_files(job: Path) -> Iterator[Path]:
    """The files in the directory of a job that tfprof writes."""
    for folder in (each for each in job.iterdir() if each.is_dir()):
        for file in folder.iterdir():
            is_request = folder.name == REQUESTS and file.suffix == ".json"
            if is_request or file.name in (STATE, SNAPSHOT, EXIT_CODE) or file.name.startswith(UNFINISHED):
                yield file


def read_age(text: str) -> float:
    """The seconds that an age such as 7d or 12h stands for.

    >>> read_age("7d"), read_age("90m")
    (604800.0, 5400.0)
    """
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise value_error(f"prune is {text!r}, but must be an age such as 7d, 12h or 30m")
    return float(match[1]) * _UNITS[match[2]]


def of_job(tasks: Iterable[SeenTask], name: str) -> list[SeenTask]:
    """The tasks of a job, or all without a name; an error names the jobs that there are.

    >>> of_job([], "")
    []
    """
    tasks = list(tasks)
    found = [task for task in tasks if not name or task.files.job == name]
    if name and not found:
        known = ", ".join(dict.fromkeys(task.files.job for task in tasks)) or "none"
        raise value_error(f"there is no job {name!r}; the jobs are {known}")
    return found
