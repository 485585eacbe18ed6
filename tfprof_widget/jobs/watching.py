"""Watches a directory of jobs in a notebook."""

from __future__ import annotations

import json
import os
import time
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tfprof_widget.ingest.files.jobs import REQUESTS
from tfprof_widget.ingest.files.watching import JobsWatch
from tfprof_widget.lib.safely import write_whole

if TYPE_CHECKING:
    from tfprof_widget.widget.jobs import JobsWidget
    from tfprof_widget.widget.traits import TfprofWidget


def watch(directory: str | PathLike[str]) -> JobsWidget:
    """A widget with a row for each task in a directory of jobs, which `tfprof run --out DIR` writes.

    A row says whether the task runs, ended, failed or went silent, with its last words; how far it is, its last steps,
    and where its time went so far. It follows the tasks while it is displayed, also while the kernel runs other cells.
    A click shows the last profile of a task; a button asks a job to trace its next steps.

    >>> watch("/no/such/directory").tasks
    []
    """
    from tfprof_widget.widget.jobs import JobsWidget

    return JobsWidget(JobsWatch(directory), open_profile=_opened, ask=_ask)


def _opened(snapshot: Path) -> TfprofWidget:
    from tfprof_widget.api.profile import load

    return load(snapshot).widget()


def _ask(job: Path, steps: int) -> None:
    """Ask all tasks of a job to trace so many of their next steps, by a file in its directory."""
    folder = job / REQUESTS
    folder.mkdir(exist_ok=True)
    write_whole(folder / f"{time.time_ns()}-{os.getpid()}.json", json.dumps({"steps": steps}).encode())
