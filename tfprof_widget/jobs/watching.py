"""Watches a directory of jobs in a notebook."""

from __future__ import annotations

from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tfprof_widget.jobs.directory import JobDirectory
from tfprof_widget.jobs.requests import ask

if TYPE_CHECKING:
    from tfprof_widget.widget.jobs import JobsWidget
    from tfprof_widget.widget.traits import TfprofWidget


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
