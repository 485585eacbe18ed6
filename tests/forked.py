"""Processes forked from one that has imported TensorFlow, which takes a process of its own seconds."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Timer
from typing import Any, TextIO
from unittest import mock

ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 300
LAST = 3000
"""So many characters of a process's standard error are shown."""

SERVER = get_context("forkserver")
IMPORTED = ["tensorflow", "keras", "pandas", "ipykernel.kernelapp", "ipykernel.ipkernel"]
"""Nothing of this package: a process imports that itself, as a user's does."""


def forked(work: Callable[..., object], *arguments: Any) -> ForkServerProcess:
    """A process that does some work; the first starts the one that all are forked from, which logs nothing."""
    SERVER.set_forkserver_preload(IMPORTED)
    process = SERVER.Process(target=work, args=arguments)
    with mock.patch.dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"):
        process.start()
    return process


@dataclass(frozen=True)
class Started:
    """A process that was started, and what it writes."""

    process: ForkServerProcess
    stdout: TextIO


@contextmanager
def process(module: str, *arguments: str) -> Iterator[Started]:
    """What `python -m` runs, in a process that is killed with the block, and never goes on for minutes.

    Its input ends with the block or with this process. An error in the block has the last words of the process in it.
    """
    with NamedTemporaryFile("r", errors="replace") as words:
        (read, given), (told, write) = SERVER.Pipe(duplex=False), SERVER.Pipe(duplex=False)
        started = forked(_run, module, arguments, dict(os.environ), read, write, words.name)
        read.close()
        write.close()
        patience = Timer(PATIENCE_SECONDS, started.kill)
        patience.start()
        try:
            with os.fdopen(told.fileno(), encoding="utf-8", closefd=False) as stdout:
                yield Started(started, stdout)
        except BaseException as error:
            error.add_note(f"{module}, exit {started.exitcode}:\n{words.read()[-LAST:]}")
            raise
        finally:
            patience.cancel()
            started.kill()
            started.join()
            given.close()
            told.close()


def _run(
    module: str, arguments: Sequence[str], environment: dict[str, str], read: Connection, write: Connection, words: str
) -> None:
    """In the process: run the module as a program with these ends of pipes as its input and output."""
    with Path(words).open("ab") as errors:
        for own, standard in enumerate((read.fileno(), write.fileno(), errors.fileno())):
            os.dup2(standard, own)
    read.close()
    write.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    run_module(module, arguments, str(ROOT), environment)


def run_module(module: str, arguments: Sequence[str], folder: str, environment: dict[str, str]) -> None:
    """In a forked process: do what `python -m` does with a module in a folder, with these variables."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
