"""Looks every few milliseconds at what Python does while no run is under way, and keeps the stacks folded."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread, active_count
from time import perf_counter, thread_time
from types import CodeType, FrameType

import numpy as np

from tfprof_widget.analysis.account.cell import DividedCell
from tfprof_widget.analysis.account.python import PARTS_SEEN
from tfprof_widget.lib.arrays import ABSENT, Flags
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.lib.threads import following_frames, source_line
from tfprof_widget.profiles.cell import CELL_PARTS, CodeLine, PythonLooks
from tfprof_widget.profiles.tables import Lists

INTERVAL = 0.005
"""The seconds between two looks. A look takes some 20 µs, so that all take half a percent of a core."""

MOST_OF_A_CORE = 0.008
"""Looks that take a larger part of a core become fewer: on a busy machine each of them takes longer."""

REVIEWED = 20
"""After so many waits for the next look it is judged what looks take: they take long while new code is run."""

SOON, SOON_BESIDE_THREADS = 0.0001, 0.001
"""So many seconds after a look is due Python asks the thread that works to let it happen. By default it would be 5 ms,
in which the thread lets others in by itself as soon as it runs a step: then steps would be seen, and no Python. Several
threads that work would let each other in more often, too, so that it takes a little longer once the user starts any."""

MOST_LOOKS = 10_000
"""After so many looks every other one is forgotten, and the interval doubles: long cells are seen often enough."""

MOST_STACKS = 2_000
MOST_PLACES = 1_000
"""After so many stacks of places in the code, which may be several for one stack of lines, they are found anew."""

DEEPEST = 300

_PACKAGE = str(Path(__file__).parents[1])

FoldedStack = Sequence[tuple[CodeType, int]]
"""The code of each frame and the number of the line, innermost first. While it is kept, no other code has its id."""


class PythonSampler:
    """The looks at one thread, by when they were and which stack was seen; `threads` is how many there were at first.

    >>> sampler = PythonSampler(iter([0.5, 0.7]).__next__)
    >>> for _ in range(2): sampler.see(sys._getframe())
    >>> list(sampler.at), len(set(sampler.stack))
    ([0.5, 0.7], 1)
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self.at, self.stack = array("d"), array("i")
        self.threads = 0
        self._at_places: dict[tuple[int, ...], int] = {}
        self._at_lines: dict[tuple[int, ...], int] = {}
        self._folded: list[FoldedStack] = []

    def see(self, frame: FrameType | None) -> None:
        """Keep what a thread does whose innermost frame this is."""
        # To tell the lines takes longer than all else, so that it is done once for each stack of places in the code.
        # While code is kept, no other has its id.
        innermost, places = frame, list[int]()
        while frame is not None and len(places) < 2 * DEEPEST:
            places += (id(frame.f_code), frame.f_lasti)
            frame = frame.f_back
        key = tuple(places)
        stack = self._at_places.get(key)
        if stack is None:
            folded, seen_again = _with_lines(innermost)
            if seen_again != places:
                return  # the thread has gone on meanwhile
            stack = self._by_lines(folded)
            if len(self._at_places) >= MOST_PLACES:
                self._at_places.clear()
            self._at_places[key] = stack
        self.at.append(self.clock())
        self.stack.append(stack)

    def _by_lines(self, folded: FoldedStack) -> int:
        """The number of the stack with these lines, which are kept if there is room."""
        lines = tuple(each for code, line in folded for each in (id(code), line))
        if lines not in self._at_lines and len(self._at_lines) >= MOST_STACKS:
            lines, folded = (), ()
        stack = self._at_lines.setdefault(lines, len(self._folded))
        if stack == len(self._folded):
            self._folded.append(folded)
        return stack

    def halve(self) -> None:
        """Forget every other look, the first one too."""
        self.at, self.stack = self.at[1::2], self.stack[1::2]

    def looks(self, divided: DividedCell, entered: float, begun_at: CodeLine | None = None) -> PythonLooks:
        """The looks with the time that they stand for in a cell that was entered then, without those at own work."""
        lines: dict[CodeLine, int] = {}
        stacks: list[list[int]] = []
        kept: list[int] = []
        for folded in self._folded:
            frames = [_line(code, line) for code, line in folded]
            kept.append(ABSENT if is_own_work([frame.file for frame in frames]) else len(stacks))
            if kept[-1] != ABSENT:
                shown = (frame for frame in reversed(frames) if not frame.file.startswith(_PACKAGE))
                stacks.append([lines.setdefault(frame, len(lines)) for frame in shown])
        at = np.rint((np.array(self.at[:], np.float64) - entered) * 1e9).astype(np.int64)
        stack = np.array([*kept, ABSENT], np.int32)[np.array(self.stack[:], np.int32)]
        at, stack = at[stack != ABSENT], stack[stack != ABSENT]
        part, nanos = divided.part_at(at), np.zeros(len(at), np.int64)
        for each in PARTS_SEEN:
            seen: Flags = part == CELL_PARTS.index(each)
            nanos[seen] = divided.time_for(each, at[seen])
        gap = np.full(len(at), ABSENT, np.int32)
        return PythonLooks(tuple(lines), Lists.of(stacks), at, nanos, stack, part.astype(np.int8), gap, begun_at)


def _with_lines(frame: FrameType | None) -> tuple[FoldedStack, list[int]]:
    """The stack of a frame, and the places in the code that it was in just after its lines were read."""
    folded, places = list[tuple[CodeType, int]](), list[int]()
    while frame is not None and len(folded) < DEEPEST:
        code, line = frame.f_code, frame.f_lineno
        folded.append((code, line or code.co_firstlineno))
        places += (id(code), frame.f_lasti)
        frame = frame.f_back
    return folded, places


def _line(code: CodeType, line: int) -> CodeLine:
    file = code.co_filename
    source = "" if is_of_library(file) else source_line(file, line)
    return CodeLine(file, line, code.co_name, source)


def is_own_work(files: Sequence[str]) -> bool:
    """Whether tfprof itself is at work in a stack of frames in these files, innermost first.

    Libraries of Python's may be at work for tfprof, but what TensorFlow or Keras do is the user's.

    >>> is_own_work(["/lib/python3.11/threading.py", __file__, "/home/me/train.py"])
    True
    >>> is_own_work(["/venv/site-packages/keras/trainer.py", __file__, "/home/me/train.py"])
    False
    """
    for file in files:
        if file.startswith(_PACKAGE):
            return True
        if not is_of_library(file) or _FRAMEWORK.search(file.replace("\\", "/")):
            return False
    return False


_FRAMEWORK = re.compile(r"/(tensorflow|keras|tf_keras)/")


def users_line(frame: FrameType | None) -> CodeLine | None:
    """The user's line that a frame was called from, if there is one."""
    while frame is not None and is_of_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame and _line(frame.f_code, frame.f_lineno or 0)


@contextmanager
def looking(
    sampler: PythonSampler, thread_to_see: Callable[[], int | None], interval: float = INTERVAL
) -> Iterator[None]:
    """Look every so many seconds at a thread, which `thread_to_see` tells, None for none."""
    over = Lock()
    over.acquire()
    usual = sys.getswitchinterval()
    sampler.threads = active_count() + 1
    thread = Thread(
        target=_look, args=(sampler, thread_to_see, over, interval), name="tfprof_widget lines", daemon=True
    )
    with suppress(RuntimeError):  # there may be no room for another thread: then no lines are known
        thread.start()
    sys.setswitchinterval(min(SOON, usual))
    try:
        yield
    finally:
        over.release()
        if thread.ident is not None:
            thread.join()
        if sys.getswitchinterval() < usual:  # else the user has set another
            sys.setswitchinterval(usual)


def _look(sampler: PythonSampler, thread_to_see: Callable[[], int | None], over: Lock, interval: float) -> None:
    """Look until `over` can be taken: to wait for a lock takes less than to wait for an event."""
    waits, least, since, worked = 0, interval, perf_counter(), thread_time()
    while not over.acquire(timeout=interval):
        with suppress(Exception), following_frames():
            seen = thread_to_see()
            if seen is not None:
                sampler.see(sys._current_frames().get(seen))
        if active_count() > sampler.threads and sys.getswitchinterval() < SOON_BESIDE_THREADS:
            sys.setswitchinterval(SOON_BESIDE_THREADS)
        if len(sampler.at) >= MOST_LOOKS:
            sampler.halve()
            least, interval = 2 * least, 2 * interval
        waits += 1
        if waits % REVIEWED == 0:
            now, work = perf_counter(), thread_time()
            interval = max(least, next_interval(interval, (work - worked) / (now - since)))
            since, worked = now, work


def next_interval(interval: float, of_core: float) -> float:
    """The seconds between two looks at which looks take what they may, if at this interval they took so much of a core.

    >>> next_interval(0.005, 0.012)
    0.0075
    """
    return interval * of_core / MOST_OF_A_CORE
