"""Finds the tasks in a directory of jobs: `DIR/<job>/<task>/` with the state of the task and its last profile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

STATE, SNAPSHOT, EXIT_CODE, REQUESTS = "state.json", "snapshot.tfprof", "exit_code", "requests"
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
        """What the task last told of itself, and with which code its process ended; empty if that cannot be read.

        >>> TaskFiles("train", "worker-0", Path("/no/such/directory")).state()
        {}
        """
        with suppress(OSError, ValueError, RecursionError):
            path = self.path / STATE
            if path.stat().st_size <= LARGEST_STATE:
                told = json.loads(path.read_bytes())
                return self._with_exit_code(told) if isinstance(told, dict) else {}
        return {}

    def _with_exit_code(self, told: dict[str, Any]) -> dict[str, Any]:
        """The state, in which what the task expected of its end gives way to the code with which it ended.

        Between the two lies the end of the program: it may still catch the `SystemExit` that it raised.
        """
        if told.get("status") == "running":
            return told
        with suppress(OSError):
            written = (self.path / EXIT_CODE).read_bytes()[:1]
            if written:
                return {**told, **_of_code(written[0], str(told.get("last_words") or ""))}
        return told


BARE_WORDS = "exit code "


def exit_words(code: int) -> str:
    """The last words of a program that gave nothing but its exit code.

    >>> exit_words(3)
    'exit code 3'
    """
    return f"{BARE_WORDS}{code}"


def _of_code(code: int, words: str) -> dict[str, Any]:
    """How a process ended that had a code; the words of an error or `sys.exit` hold where Python made that 1."""
    if not code:
        return {"status": "ended", "exit_code": 0, "last_words": ""}
    is_told = code == 1 and words and not words.startswith(BARE_WORDS)
    words = words if is_told else exit_words(code)
    return {"status": "failed", "exit_code": code, "last_words": words}


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
