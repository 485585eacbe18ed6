"""Shows jobs in a notebook while they run, and asks them to trace their next steps, by files in their directories."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tfprof_widget.ingest.files.jobs import REQUESTS
from tfprof_widget.jobs.directory import JobDirectory, SeenTask, of_job
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.safely import write_whole

if TYPE_CHECKING:
    from tfprof_widget.widget.jobs import JobsWidget
    from tfprof_widget.widget.traits import TfprofWidget

MOST_STEPS_ASKED = 10_000
POLL_SECONDS = 0.5


def ask(directory: JobDirectory, job: str, steps: int) -> tuple[str, list[SeenTask]]:
    """Ask the running tasks of a job, or of all jobs; gives the name of the request, and the tasks that it is for."""
    if not 1 <= steps <= MOST_STEPS_ASKED:
        raise value_error(f"steps is {steps}, but must be from 1 to {MOST_STEPS_ASKED:,}")
    tasks = of_job(directory.look(), job)
    running = [task for task in tasks if task.status == "running"] or [task for task in tasks if task.may_answer]
    if not running:
        where = f"job {job}" if job else str(directory.path)
        raise ProfileError(f"no task runs in {where}: only a running one can trace its next steps")
    request = f"{time.strftime('%Y%m%dT%H%M%S')}-{uuid4().hex[:8]}"
    for path in sorted({task.files.path.parent for task in running}):
        folder = path / REQUESTS
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ProfileError(
                f"cannot ask by {str(folder)!r}: {error.strerror}; who may write there may ask"
            ) from None
        told = {"steps": steps, "asked": time.time()}
        write_whole(folder / f"{request}.json", json.dumps(told).encode())
    return request, running


def answers(
    directory: JobDirectory,
    request: str,
    asked: Sequence[SeenTask],
    seconds: float,
    *,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[SeenTask, bool]]:
    """Each task that was asked, once it has answered or is over, with whether it has; later, those that have not yet.

    The request is taken away once all have answered.
    """
    waiting = {task.files.path for task in asked}
    until = clock() + seconds
    while waiting:
        seen = {task.files.path: task for task in directory.look()}
        for path in sorted(waiting):
            task = seen.get(path)
            if task is None:
                waiting.discard(path)
            elif request in task.answered or not task.may_answer:
                waiting.discard(path)
                yield task, request in task.answered
        if clock() >= until or not waiting:
            break
        wait(min(POLL_SECONDS, max(until - clock(), 0.0)))
    for task in asked:
        if task.files.path in waiting:
            yield task, False
    if not waiting:
        for path in {Path(task.files.path.parent, REQUESTS, f"{request}.json") for task in asked}:
            with suppress(OSError):
                path.unlink()


def watch(directory: str | PathLike[str]) -> JobsWidget:
    """A widget with a row for each task in a directory of jobs, which `tfprof run` writes.

    A row says whether the task runs, ended, failed or went silent, with its last words; how far it is, its last steps,
    and where its time went so far. It follows the tasks while it is displayed, also while the kernel runs other cells.
    A click shows the last profile of a task; a button asks a job to trace its next steps.

    >>> watch("/no/such/directory").tasks
    []
    """
    from tfprof_widget.widget.jobs import JobsWidget

    looked = JobDirectory(directory)
    return JobsWidget(str(looked.path), looked.look, open_profile=_opened, ask=partial(ask, looked))


def _opened(snapshot: Path) -> TfprofWidget:
    from tfprof_widget.api.profile import load

    return load(snapshot).widget()
