"""Forks of this process: what they found, or how they ended."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 60


@dataclass(frozen=True)
class Ended:
    """How a fork ended, and what it told."""

    status: int
    told: str

    @property
    def signal(self) -> int:
        """The signal that killed it, 0 if none did."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0


class Fork:
    """A fork that has begun; `number` is 0 in the fork itself, which ends by `end`."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
            self.number = os.fork()
        os.close(self._write if self.number else self._read)

    def end(self, told: str) -> None:
        """End the fork, with nothing cleaned up that is its parent's."""
        os.write(self._write, told.encode())
        os._exit(0)

    def wait(self) -> Ended:
        """Wait in the parent until the fork has ended; one that hangs is killed."""
        told, over = b"", False
        while not over and select.select([self._read], [], [], SECONDS)[0]:
            more = os.read(self._read, 1 << 16)
            told, over = told + more, not more
        if not over:
            os.kill(self.number, signal.SIGKILL)
            told += b"hung"
        os.close(self._read)
        return Ended(os.waitpid(self.number, 0)[1], told.decode())


def in_fork(work: Callable[[], object]) -> Ended:
    """Do something in a fork, and return what it told: the result, or the error."""
    fork = Fork()
    if fork.number:
        return fork.wait()
    told = "nothing"
    try:
        told = repr(work())
    except BaseException as error:
        told = repr(error)
    finally:
        fork.end(told)
    raise AssertionError("a fork has ended")
