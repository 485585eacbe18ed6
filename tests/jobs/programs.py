"""Programs that tests run, as they are and under `tfprof run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUN = (sys.executable, "-m", "tfprof_widget", "run")
PATIENCE = 300.0


@dataclass(frozen=True)
class Outcome:
    """What a program printed, and its exit code."""

    out: str
    err: str
    code: int


def started(words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """A process in a folder, with a few more variables in its environment."""
    pipe = subprocess.PIPE
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TF_CONFIG", "SLURM", "PMI"))}
    own |= {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore", **(environment or {})}
    return subprocess.Popen(words, cwd=folder, env=own, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> Outcome:
    """The outcome, once the process has ended."""
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(out, err, process.returncode)


def run(*words: str, folder: Path, environment: Mapping[str, str] | None = None) -> Outcome:
    """The outcome of `tfprof run` with these words."""
    return ended(started([*RUN, *words], folder, environment))
