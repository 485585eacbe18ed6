"""A real cluster on this machine."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ipyparallel

START_SECONDS = 120
ANSWER_SECONDS = 60
STACKS_SECONDS = 10


@contextmanager
def running_cluster() -> Iterator[Any]:
    """Two engines, until the block is over."""
    with ipyparallel.Cluster(n=2, log_level=logging.ERROR, engine_timeout=START_SECONDS) as client:
        client.wait_for_engines(2, timeout=START_SECONDS, interactive=False)
        client.process_ids = client[:].apply_sync(tell_stacks_when_asked)
        yield client


def unanswered(client: Any) -> str:
    """The Python stacks of engines, if one has not answered an earlier test in a minute; empty if all have."""
    if not client.outstanding or client.wait(timeout=ANSWER_SECONDS):
        return ""
    stacks = "\n".join(_stacks(process) for process in client.process_ids)
    return f"an engine has not answered {len(client.outstanding)} requests of earlier tests; they were in\n{stacks}"


def tell_stacks_when_asked() -> int:
    """Let this process write its stacks to a file at SIGUSR1; returns the process' number."""
    faulthandler.register(signal.SIGUSR1, _file_of_stacks(os.getpid()).open("w"))
    return os.getpid()


def _file_of_stacks(process: int) -> Path:
    return Path(os.environ["IPYTHONDIR"], f"{process}.stacks")


def _stacks(process: int) -> str:
    file = _file_of_stacks(process)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGUSR1)
        time.sleep(STACKS_SECONDS)
    return f"process {process}:\n{file.read_text()}"
