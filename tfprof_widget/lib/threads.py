"""Collects no garbage, follows frames, and reads and parses source, safely beside other threads that do so."""

from __future__ import annotations

import ast
import gc
import linecache
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from types import FrameType
from typing import Any

MOST_TRIES = 3
"""So often the lines of a file are asked for, or some code is parsed."""

MOST_LOOKS = 1000
"""So often, a millisecond apart, it is looked whether another thread still parses."""


@contextmanager
def pause_gc() -> Iterator[None]:
    """Run the block without garbage collection, and switch the collector on again if it was on.

    Where blocks of several threads overlap, that is done at the end of the last one.

    >>> with pause_gc():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    pauses = _pauses()
    with pauses.changing:
        if not pauses.under_way:
            pauses.was_enabled = gc.isenabled()
            gc.disable()
        pauses.under_way += 1
    try:
        yield
    finally:
        with pauses.changing:
            pauses.under_way -= 1
            if not pauses.under_way and pauses.was_enabled:
                gc.enable()


@dataclass
class _Pauses:
    """How many blocks of all threads run without garbage collection."""

    changing: threading.Lock = field(default_factory=threading.Lock)
    under_way: int = 0
    was_enabled: bool = False

    def end_in_fork(self) -> None:
        """The threads of these blocks are not in a fork."""
        if self.under_way and self.was_enabled:
            gc.enable()
        self.changing, self.under_way = threading.Lock(), 0


@cache
def _pauses() -> _Pauses:
    """Those of this process."""
    pauses = _Pauses()
    os.register_at_fork(after_in_child=pauses.end_in_fork)
    return pauses


def following_frames() -> AbstractContextManager[None]:
    """Has to be around code that goes from frame to frame of another thread.

    In Python 3.11 garbage may be collected while the object of a frame is made. What that runs lets the other thread go
    on: the object is then of a frame that is gone, and to go on from there crashes the process.
    """
    return pause_gc() if sys.version_info < (3, 12) else nullcontext()


def source_lines(file: str) -> list[str]:
    """The lines of a source file as tracebacks show them; none if there is no such file.

    Of threads that ask at once for a file that is not known yet, one may take away what another has just read.

    >>> len(source_lines(__file__)) > 100, source_lines("no such file")
    (True, [])
    """
    for _ in range(MOST_TRIES):
        with suppress(KeyError):
            return linecache.getlines(file)
    return []


def source_line(file: str, number: int) -> str:
    """A line of a source file without the space around it, empty if it is not known.

    >>> source_line("no such file", 7)
    ''
    """
    lines = source_lines(file)
    return lines[number - 1].strip() if 1 <= number <= len(lines) else ""


def files_with_source() -> list[str]:
    """The files of which Python has read or been given the lines, at this moment: other threads may add to them.

    >>> lines = source_lines(__file__)
    >>> __file__ in files_with_source()
    True
    """
    return list(linecache.cache)


def parse_python(source: str, mode: str = "exec") -> Any:
    """The tree of some Python code, as `ast.parse` gives it, built while no other thread builds one.

    Python 3.11 counts for all threads together how deep in a tree they are. A thread gives way while it builds one
    if the garbage collector calls Python; a tree that is begun then fails with SystemError, or makes the other fail.

    >>> parse_python("1 + 1", "eval").body.op
    <ast.Add object at ...>
    """
    for _ in range(MOST_LOOKS):
        if not _others_parse():
            break
        time.sleep(0.001)
    for _ in range(MOST_TRIES - 1):
        with suppress(SystemError), pause_gc():
            return ast.parse(source, mode=mode)
    return ast.parse(source, mode=mode)


def _others_parse() -> bool:
    """Whether a thread other than this is in `ast.parse`."""
    return any(
        thread != threading.get_ident()
        and frame.f_code.co_name == "parse"
        and frame.f_globals.get("__name__") == ast.__name__
        for thread, frame in running_frames()
    )


def running_frames() -> list[tuple[int, FrameType]]:
    """The frames that run at this moment, each with its thread, from the innermost frame of a thread outwards.

    >>> (threading.get_ident(), sys._getframe()) in running_frames()
    True
    """
    with following_frames():
        found: list[tuple[int, FrameType]] = []
        for thread, innermost in sys._current_frames().items():
            frame: FrameType | None = innermost
            while frame is not None:
                found.append((thread, frame))
                frame = frame.f_back
    return found
