"""Finds the tasks in a directory of jobs: `DIR/<job>/<task>/` with the state of the task and its last profile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

STATE, SNAPSHOT, REQUESTS = "state.json", "snapshot.tfprof", "requests"
LARGEST_STATE = 1 << 20
"""A state takes some ten thousand bytes; what is larger is none."""


@dataclass(frozen=True)
class TaskFiles:
    """Where a task of a job is; `path` is its directory."""

    job: str
    task: str
    path: Path

    @property
    def snapshot(self) -> Path:
        """The file with its profile, which it may not have written yet."""
        return self.path / SNAPSHOT

    def state(self) -> dict[str, Any]:
        """What the task last told of itself; empty if that cannot be read.

        >>> TaskFiles("train", "worker-0", Path("/no/such/directory")).state()
        {}
        """
        with suppress(OSError, ValueError, RecursionError):
            path = self.path / STATE
            if path.stat().st_size <= LARGEST_STATE:
                told = json.loads(path.read_bytes())
                return told if isinstance(told, dict) else {}
        return {}


def tasks_in(directory: str | PathLike[str]) -> list[TaskFiles]:
    """The tasks in a directory of jobs, of a job, or of a task; none if it is neither.

    >>> tasks_in("/no/such/directory")
    []
    """
    top = Path(directory)
    for pattern in (STATE, f"*/{STATE}", f"*/*/{STATE}"):
        with suppress(OSError):
            found = sorted({path.parent for path in _states(top, pattern)})
            if found:
                return [TaskFiles(path.absolute().parent.name, path.absolute().name, path) for path in found]
    return []


def _states(top: Path, pattern: str) -> Iterator[Path]:
    for path in top.glob(pattern):
        if not path.parent.name.startswith("."):
            yield path
