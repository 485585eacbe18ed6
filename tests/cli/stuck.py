"""A pipe that whoever writes to it gets stuck in, for tests that interrupt him there."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.cli.files import Files, written
from tests.sketches import protos_of

NODES = 3000
PATIENCE = 120.0


def large_network(folder: Path) -> Files:
    """The files of a graph whose report is longer than what a pipe holds, which is 64 KiB."""
    nodes = (f"layer/node{number} = MatMul() 1us | run.py:1:main" for number in range(NODES))
    return written(protos_of("\n".join(nodes)), folder)


@contextmanager
def full_pipe(path: Path) -> Iterator[Callable[[], None]]:
    """Make a named pipe that nobody empties; gives what waits until someone writes to it."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield partial(_wait, reader)
    finally:
        os.close(reader)


def _wait(reader: int) -> None:
    ready, _, _ = select.select([reader], [], [], PATIENCE)
    assert ready, "nobody wrote to the pipe"
