"""Writes how the tasks of jobs stand as text: a table for a terminal, or a line for each task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tfprof_widget.jobs.directory import JobSummary, SeenTask
from tfprof_widget.lib.text import visible, written_percent, written_seconds

HEAD = ("task", "status", "step", "a step", "at first", "input", "Python", "costliest op types")
RIGHT = frozenset({2, 3, 4, 5, 6})
LEAST_ITEMS = 2
MOST_OVER = 20
"""So many tasks that are over are shown, the last ones, beside all that run."""
GAP = "  "


def shown(tasks: Sequence[SeenTask]) -> tuple[list[SeenTask], int]:
    """The tasks to show, and how many are left out: those that run, and the last ones that are over.

    >>> shown([])
    ([], 0)
    """
    over = [task for task in tasks if task.status != "running"]
    left_out = {id(task) for task in over[:-MOST_OVER]}
    return [task for task in tasks if id(task) not in left_out], len(left_out)


def table(tasks: Sequence[SeenTask], columns: int = 120) -> list[str]:
    """The lines of a table, no longer than so many columns; below a task that is over stand its last words.

    >>> table([])[0].split()
    ['task', 'status', 'step', 'a', 'step', 'at', 'first', 'input', 'Python', 'costliest', 'op', 'types']
    """
    rows = [HEAD, *map(_cells, tasks)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if place in RIGHT else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(GAP.join(cells).rstrip()[:columns])
        words = tasks[number - 1].last_words if number else ""
        if words:
            lines.append(f"{GAP}{visible(words)}"[:columns])
    return lines


def line(task: SeenTask) -> str:
    """How a task stands, in a line.

    >>> from pathlib import Path
    >>> from tfprof_widget.ingest.files.jobs import TaskFiles
    >>> from tfprof_widget.profiles.live import LiveState, TaskState
    >>> live = LiveState("train.py", "running", 9.0, steps=1234, first_seconds=0.25, step_seconds=0.5,
    ...     parts={"python": 2.0, "input": 1.0, "steps": 5.0})
    >>> line(SeenTask(TaskFiles("train", "worker-0", Path()), TaskState(live), "running"))
    'train/worker-0: running, step 1,234, 500 ms a step (250 ms at first), input 12.5 %, Python 25.0 %'
    """
    name, status, step, now, first, waited, python, costliest = _cells(task)
    told = [status]
    if step:
        told.append(f"step {step}")
    if now:
        told.append(f"{now} a step" + (f" ({first} at first)" if first else ""))
    told += [f"{what} {share}" for what, share in (("input", waited), ("Python", python)) if share]
    if costliest:
        told.append(costliest)
    words = f": {visible(task.last_words)}" if task.last_words else ""
    return f"{name}: {', '.join(told)}{words}"


def _cells(task: SeenTask) -> tuple[str, ...]:
    live = task.state.live
    whole = sum(live.parts.values())
    shares = [
        written_percent(live.parts.get(part, 0.0) / whole) if whole and live.steps else ""
        for part in ("input", "python")
    ]
    costliest = ", ".join(f"{op} {written_seconds(seconds)}" for op, seconds in live.costliest[:3])
    return (
        visible(task.name),
        task.status,
        f"{live.steps:,}" if live.steps else "",
        written_seconds(live.step_seconds) if live.step_seconds else "",
        written_seconds(live.first_seconds) if live.first_seconds else "",
        *shares,
        visible(costliest),
    )


def job_line(job: JobSummary) -> str:
    """A job in a line: how its tasks stand, what it takes on the disk, and when something last changed in it."""
    count: dict[str, int] = {}
    for task in job.tasks:
        count[task.status] = count.get(task.status, 0) + 1
    told = ", ".join(f"{number:,} {status}" for status, number in count.items())
    changed = datetime.fromtimestamp(job.changed).strftime("%Y-%m-%d %H:%M")
    tasks = "1 task" if len(job.tasks) == 1 else f"{len(job.tasks):,} tasks"
    return f"{visible(job.path.name)}: {tasks} ({told}), {_megabytes(job.size)}, last changed {changed}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
