"""Records windows: whole steps that TensorFlow's profiler records in one go, as many as their cost allows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter, time_ns
from typing import Any

from tfprof_widget.capturing.collectives import why_never
from tfprof_widget.capturing.tf_profiler import ProfilerBusy, ProfilerDisk, ProfilerShared, TfProfiler
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.ingest.xspace.reader import Step
from tfprof_widget.lib.safely import postpone_ctrl_c
from tfprof_widget.profiles.data import EAGER, WARM_UP

FIRST_STEPS = 2
"""The size of the first window of a kind: its first step only sets up, so that a second one is needed."""

MOST_STEPS = 8

EMPTY_SECONDS = 0.004
"""The cost of a window that holds nearly nothing."""


@dataclass
class WindowCosts:
    """The cost of a step in the last window of each kind; a window's kind is that of its first step.

    >>> costs = WindowCosts()
    >>> costs.add("train", 2, 0.204)
    >>> costs.of_one("train"), costs.affordable_steps("train", 0.504), costs.affordable_steps("train", 9.0)
    (0.104, 5, 8)
    """

    _seconds: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, steps: int, seconds: float) -> None:
        """Take note of the cost of a window of so many steps."""
        self._seconds[kind] = max(seconds - EMPTY_SECONDS, 0.0) / steps

    def of_one(self, kind: str) -> float:
        """The cost of a window of one step of this kind, estimated from the last window.

        >>> WindowCosts().of_one("train")
        0.004
        """
        return EMPTY_SECONDS + self._seconds.get(kind, 0.0)

    def affordable_steps(self, kind: str, seconds: float) -> int:
        """How many steps, at least one, a window may hold to cost no more than so many seconds.

        >>> WindowCosts().affordable_steps("train", 9.0), WindowCosts().affordable_steps("train", -1.0)
        (2, 1)
        """
        if seconds <= 0:
            return 1
        each = self._seconds.get(kind)
        if each is None:
            return FIRST_STEPS
        affordable = (seconds - EMPTY_SECONDS) / each if each else MOST_STEPS
        return int(max(1, min(affordable, MOST_STEPS)))


EAGER_SECONDS = 1.0
"""How long eager ops are recorded while no step runs: they are many, and recording them is slow."""

SHARED = (
    "fewer steps were recorded, for another capture in this process recorded meanwhile: TensorFlow has one profiler, "
    "and captures take turns"
)

MOST_SECONDS = 0.25
FULL_STEPS, FULL_SECONDS = 250, 2.0


@dataclass(frozen=True, slots=True)
class RecordedWindow:
    """The recording of some steps: an XSpace, and when recording began, in nanoseconds since the epoch."""

    xspace: bytes
    steps: Sequence[Step]
    started: int = 0


class Windows:
    """Opens and closes the windows of one capture. Callers hold the `lock`; the thread that watches takes it too.

    `note` keeps sentences for the result. If `is_careful`, no window is opened where that may crash the process.
    `seconds` is the time of opening and closing, `costs` has the costs of windows including their reading. `under_way`
    are the steps that have begun. `is_wanted` says that another capture waits for the open window to be closed.

    >>> windows = Windows(None, TraceStore(print), threading.RLock(), print, set())
    >>> windows.is_open, windows.seconds
    (False, 0.0)
    """

    def __init__(
        self,
        profiler: TfProfiler | None,
        traces: TraceStore[RecordedWindow, Any],
        lock: threading.RLock,
        note: Callable[[str], None],
        under_way: Collection[object],
    ) -> None:
        self.profiler = profiler
        self.is_careful = False
        self.traces = traces
        self.lock = lock
        self.seconds = 0.0
        self.costs = WindowCosts()
        self.under_way = under_way
        self.is_wanted = False
        self.eager_steps = 0
        self.eager_seconds = 0.0
        self._note = note
        self._steps: list[Step] = []
        self._opened = self._active = 0.0
        self._counted = 0
        self._most_steps = FIRST_STEPS
        self._number = 0
        self._closed = threading.Event()

    @property
    def is_open(self) -> bool:
        """Whether a window is open."""
        return self.profiler is not None and self.profiler.is_open

    @property
    def is_of_eager_ops(self) -> bool:
        """Whether a window is open in which no step has begun."""
        return self.is_open and not self._counted

    @property
    def has_room(self) -> bool:
        """Whether the open window may go on for another step."""
        return self._counted < self._most_steps and perf_counter() - self._opened < MOST_SECONDS

    @property
    def is_full(self) -> bool:
        """Whether the open window is so long that it should be closed and another opened."""
        return self._counted >= FULL_STEPS or perf_counter() - self._opened >= FULL_SECONDS

    def open(self, steps: int = FIRST_STEPS) -> None:
        """Open a window with room for so many steps; if it cannot be opened, note why."""
        if self.profiler is None or self.is_open:
            return
        if self.is_careful and (danger := why_never()):
            self._note(danger)
            return
        if self.traces.is_full:
            megabytes = self.traces.nbytes >> 20
            self._note(f"recording stopped at {megabytes:,} MB of traces; trace fewer steps: --every 10")
            return
        started = perf_counter()
        try:
            self.profiler.open()
        except ProfilerBusy as busy:
            self._note(
                f"steps are missing, for another session of TensorFlow's profiler was active ({busy}), "
                "and there can be only one: end it before, or leave it out"
            )
            return
        except ProfilerShared:
            self._note(SHARED)
            return
        except ProfilerDisk as lost:
            self._lost(lost)
            return
        if not self.profiler.has_cheap_ops:
            self._note(
                "ops of a few microseconds are missing from all but the first hundred runs or so of a function: "
                "TensorFlow's profiler leaves them out, and this TensorFlow cannot be told otherwise"
            )
        self._opened = self._active = perf_counter()
        self.seconds += self._opened - started
        self._counted = 0
        self._most_steps = steps
        self._closed = threading.Event()
        threading.Thread(target=self._watch, args=(self._closed,), name="tfprof_widget", daemon=True).start()

    def close(self) -> None:
        """Close the window that is open, if one is."""
        if self.is_open:
            with postpone_ctrl_c():
                self._close()

    def _close(self) -> None:
        assert self.profiler is not None
        started = perf_counter()
        self._closed.set()
        self.is_wanted = False
        steps, self._steps = self._steps, []
        ends = [*(step.start for step in steps[1:]), time_ns()]
        for step, end in zip(steps, ends, strict=False):
            if step.is_eager:
                self.eager_seconds += max(end - step.start, 0) / 1e9  # a clock may be set back
        self.eager_steps += any(step.is_eager for step in steps)
        try:
            xspace = self.profiler.close()
        except ProfilerDisk as lost:
            self._lost(lost)
            return
        finally:
            self.seconds += perf_counter() - started
        self.traces.add(RecordedWindow(xspace, steps, self.profiler.started), len(xspace))
        first = next((step.name.removesuffix(WARM_UP) for step in steps if not step.is_eager), EAGER)
        taken = perf_counter() - started + self.traces.reading_seconds(len(xspace))
        self.costs.add(first, max(self._counted, 1), taken)

    def _lost(self, lost: ProfilerDisk) -> None:
        self._note(
            f"steps are missing, for TensorFlow's profiler writes them to a temporary directory first and could not "
            f"({lost}): make room there, or set TMPDIR to another directory"
        )

    def add_step(self, name: str) -> int | None:
        """Take note that a step begins now; returns its number, or None if no window is open.

        The eager ops of a window are one step, however often other steps interrupt it.
        """
        if not self.is_open:
            return None
        if not self._counted:
            self._opened = perf_counter()
        self._counted += name != EAGER
        self._active = perf_counter()
        number = next((step.number for step in self._steps if name == EAGER and step.is_eager), self._number)
        self._number = max(self._number, number + 1)
        self._steps.append(Step(number, name, time_ns(), name == EAGER))
        return number

    def rename(self, number: int, name: str) -> None:
        """Give a step of the open window another name."""
        self._steps = [replace(step, name=name) if step.number == number else step for step in self._steps]

    def drop(self, number: int) -> None:
        """Leave a step out of the open window."""
        self._steps = [step for step in self._steps if step.number != number]

    def rest(self) -> None:
        """Take note that a step has ended."""
        self._active = perf_counter()

    def _watch(self, closed: threading.Event) -> None:
        """Close the window when no step has been under way for a while."""
        while not closed.wait(EAGER_SECONDS / 4):
            with self.lock:
                idle = perf_counter() - self._active
                if closed.is_set() or self.under_way or idle < EAGER_SECONDS:
                    continue
                self._note(f"ops outside of steps were recorded for {EAGER_SECONDS:g} s at most")
                self.close()
                return
