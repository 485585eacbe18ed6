"""Asks running jobs to trace their next steps now, by files in their directories."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from tfprof_widget.ingest.files.jobs import REQUESTS
from tfprof_widget.jobs.directory import JobDirectory, SeenTask, of_job
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.safely import write_whole

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
