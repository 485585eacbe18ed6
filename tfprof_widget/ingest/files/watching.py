"""Looks again and again at a directory of jobs: how each task stands, and since when nothing was heard of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike

from tfprof_widget.ingest.files.jobs import STATE, TaskFiles, tasks_in
from tfprof_widget.profiles.live import Status, TaskState


@dataclass(frozen=True)
class SeenTask:
    """A task as it was seen: what it told last, how it stands, and for how many seconds nothing new was told."""

    files: TaskFiles
    state: TaskState
    status: Status
    age: float
    has_profile: bool


class JobsWatch:
    """A directory of jobs that is looked at again and again; a file that has not changed is not read again.

    How old news is is told by this machine's clock, from when they were first seen: those of others may be wrong.

    >>> JobsWatch("/no/such/directory").look()
    ()
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.directory = os.fspath(directory)
        self._now, self._clock = now, clock
        self._known: dict[str, tuple[tuple[int, ...], TaskState, float]] = {}

    def look(self) -> tuple[SeenTask, ...]:
        """All tasks, those of one job together, the jobs in the order in which they began."""
        seen = [each for each in map(self._seen, tasks_in(self.directory)) if each is not None]
        self._known = {str(each.files.path): self._known[str(each.files.path)] for each in seen}
        began: dict[str, float] = {}
        for each in seen:
            began[each.files.job] = min(each.state.started, began.get(each.files.job, each.state.started))
        return tuple(sorted(seen, key=lambda each: (began[each.files.job], each.files.job, _in_order(each.files.task))))

    def _seen(self, files: TaskFiles) -> SeenTask | None:
        """The task; None if it tells nothing that can be read, as a directory does that is not a task's."""
        path = str(files.path)
        try:
            found = (files.path / STATE).stat()
        except OSError:
            return None
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        known = self._known.get(path)
        if known is None or known[0] != mark:
            told = files.state()
            if not told and known is None:
                return None
            state = TaskState.of_json(told) if told else known[1] if known is not None else TaskState.of_json({})
            # The first time, news may have lain there for long.
            lay = max(self._now() - state.updated, 0.0) if known is None else 0.0
            known = self._known[path] = (mark, state, self._clock() - lay)
        _, state, heard = known
        age = max(self._clock() - heard, 0.0)
        has_profile = False
        with suppress(OSError):
            has_profile = files.snapshot.stat().st_size > 0
        return SeenTask(files, state, state.status_at(state.updated + age), age, has_profile)


def _in_order(task: str) -> list[tuple[int, str]]:
    """By which tasks are sorted: worker-10 comes after worker-9."""
    return [(int(each), "") if each.isdigit() else (0, each) for each in re.split(r"(\d+)", task)]
