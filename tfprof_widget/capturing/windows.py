"""Records windows: whole steps that TensorFlow's profiler records in one go, as many as their cost allows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter, thread_time, time_ns
from typing import Any

from tfprof_widget.capturing.collectives import why_never
from tfprof_widget.capturing.recorder import RunUnderWay
from tfprof_widget.capturing.servers import Servers
from tfprof_widget.capturing.tallies import FIRST_STEPS, LOOK_SECONDS, WindowCosts
from tfprof_widget.capturing.tf_profiler import ProfilerBusy, ProfilerDisk, ProfilerShared, TfProfiler
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.ingest.flops.registry import EagerOp
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.lib.safely import postpone_ctrl_c
from tfprof_widget.profiles.data import EAGER, PARTIAL, kind_of_steps

RUN_SECONDS = 0.5
"""Recording a run that is recorded at all may cost so much."""

LITTLE = 1 << 16
"""A window of fewer bytes holds some hundred events at most."""

NOTHING = 1 << 10
"""A window of fewer bytes holds no event."""

EAGER_SECONDS = 1.0
"""How long eager ops are recorded at a time while no step runs: they are many, and recording them is slow."""

SHARED = (
    "fewer steps were recorded, for another capture in this process recorded meanwhile: TensorFlow has one profiler, "
    "and captures take turns"
)

MOST_SECONDS = 0.25
FULL_STEPS, FULL_SECONDS = 250, 2.0

SPREAD = 4
"""What recording a step may still cost is kept for so many windows, which may lie in any part of it."""

SHORT_SHARE = 1 / 4
"""After a pause a step is recorded for this share of LOOK_SECONDS at least."""


@dataclass(frozen=True, eq=False)
class Pause:
    """A pause of so many seconds in the recording of steps that go on; `is_over` is set when it is to end."""

    runs: tuple[FunctionRun, ...]
    seconds: float
    is_over: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class RecordedWindow:
    """The recording of some steps: an XSpace, and when recording began, in nanoseconds since the epoch.

    `functions` are the runtime's names of those whose calls had begun before or not ended, which the XSpace may lack.
    `eager_ops` are ops that Python ran one by one.
    """

    xspace: bytes
    steps: Sequence[Step]
    started: int = 0
    functions: frozenset[str] = frozenset()
    eager_ops: Sequence[EagerOp] = ()


LOOP = ": "
"""Stands in the name of a kind between a library's loop and the function, as in `fit: train_step`."""


class FunctionRun(RunUnderWay):
    """A step of a function or a model that has begun.

    Its `functions` are none that its kind has called before if it is not recorded. `since` says when the open window
    began to record it, or when Python had built its function, which was `began`. `cost` is what the windows cost that
    were closed while it was under way, and `is_spread` says that there was a pause between them. It was `asked` for
    when its hook began, and of the time until it started, opening and closing windows took `opening`.
    """

    is_built = is_spread = False
    since = began = asked = 0.0
    cost = opening = 0.0

    @property
    def is_of_loop(self) -> bool:
        """Whether a library's loop makes the steps, as `fit` does: then all of a step is in its function."""
        return LOOP in self.kind.name


class Windows:
    """Opens and closes the windows of one capture. Callers hold the `lock`; the thread that watches takes it too.

    `note` keeps sentences for the result. `is_open` says whether a window is open. If `is_careful`, no window is opened
    where that may crash the process. `seconds` is the time of opening and closing. `costs` has what windows cost
    including their reading, without time in which other processes run: so what is recorded does not depend on how busy
    the machine is. `under_way` are the steps that have begun. `is_wanted` says that another capture waits for the open
    window to be closed. `cuts` has the time by which to call `cut` unless a step has ended before, and `cut` is called
    after a pause, too; `opened` is called when a window is. `affordable_eager` tells how long eager ops may be recorded
    again, so many seconds after the last time. Once `is_over` is set, they are not.

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
        under_way: Collection[RunUnderWay],
    ) -> None:
        self.profiler = profiler
        self.is_open = self.is_careful = False
        self.traces = traces
        self.lock = lock
        self.seconds = 0.0
        self.costs = WindowCosts()
        self.under_way = under_way
        self.is_wanted = False
        self.cuts: dict[RunUnderWay, float] = {}
        self.cut: Callable[[], None] = self.close
        self.opened: Callable[[], None] = lambda: None
        self.paused = Pause((), 0.0)
        self.functions: frozenset[str] = frozenset()
        self.eager_steps = 0
        self.eager_seconds = 0.0
        self._note = note
        self._steps: list[Step] = []
        self._opened = self._active = self._rated = self._began = 0.0
        self._counted = 0
        self._most_steps = FIRST_STEPS
        self._held_little = self._held_nothing = False
        self._last_cost = 0.0
        self._number = 0
        self.servers = Servers(note)
        self._closed = threading.Event()
        self.affordable_eager: Callable[[float], float] = lambda since: 0.0
        self._most_eager = inf
        self.is_over = threading.Event()

    @property
    def is_of_eager_ops(self) -> bool:
        """Whether a window is open in which no step has begun."""
        return self.is_open and not self._counted

    @property
    def has_room(self) -> bool:
        """Whether the open window may go on for another step, or for the first one after eager ops."""
        if not self._counted:
            return True
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
        self.is_open = True
        if not self.profiler.has_cheap_ops:
            self._note(
                "ops of a few microseconds are missing from all but the first hundred runs or so of a function: "
                "TensorFlow's profiler leaves them out, and this TensorFlow cannot be told otherwise"
            )
        self._opened = self._active = self._rated = perf_counter()
        self._began = self._began or started
        self.seconds += self._opened - started
        self._counted = 0
        self._most_steps = steps
        self.functions = frozenset()
        self.cuts.clear()
        self.opened()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, args=(self._closed,), name="tfprof_widget", daemon=True).start()

    def close(self) -> None:
        """Close the window that is open, if one is."""
        if self.is_open:
            with postpone_ctrl_c():
                self._close()

    def close_within_steps(self) -> list[FunctionRun]:
        """Close the open window; returns the steps under way that were in it, which are recorded in part by that."""
        runs = [run for run in self.under_way if isinstance(run, FunctionRun) and run.step is not None]
        runs = [run for run in runs if run.ended is None and self.is_open and run not in self.paused.runs]
        before = {run: run.part_seconds or 0.0 for run in runs}
        for run in runs:
            run.part_seconds = before[run]
            self.add_part(run)
            self.rename(run.step or 0, run.kind.name + PARTIAL)
        self.functions = frozenset().union(*(run.functions for run in runs))
        self.close()
        for run in runs:
            run.cost += self._last_cost
            if self._held_nothing:
                run.part_seconds = before[run]
        return runs

    def cut_after(self, run: FunctionRun, affordable: float) -> None:
        """Let the window be cut when this step, whose function runs now, has cost so many seconds, unless it has ended.

        What Python did before, mostly building the function, executed nothing, and so tells nothing of what it costs.
        """
        if not run.is_built and run.part_seconds is None:
            now = perf_counter()
            run.is_built, run.building_seconds, run.since, self._rated = True, now - run.since, now, now
            run.began = now
        seconds = self.costs.affordable_time(run.kind.name, affordable)
        self.cuts.setdefault(run, perf_counter() + max(seconds, LOOK_SECONDS))

    def go_on(self, runs: Sequence[FunctionRun], affordable: float, *, is_after_pause: bool = False) -> None:
        """Record steps in another window, which is cut when it has cost its part of so many seconds.

        There is another window at once as long as windows hold next to nothing, and while four more are affordable. Of
        one that held nothing, as while TensorFlow optimizes the graph, it is not known what comes then: the next one is
        longer only to hold a long op. From the first pause on windows are spread over the steps: after each there is a
        pause for half of the time so far, and no window is longer than the pause before it, so that what a step does
        first counts no less and no more than what it does then.
        """
        if not runs:
            return
        costs, ran = self.costs, perf_counter() - min(run.began or run.started for run in runs)
        seconds = min(costs.affordable_time(run.kind.name, affordable / SPREAD) for run in runs)
        if is_after_pause:
            seconds = LOOK_SECONDS if self._held_little else max(min(seconds, ran / 3), SHORT_SHARE * LOOK_SECONDS)
            is_due = all(costs.affordable_time(run.kind.name, affordable) >= seconds for run in runs)
        else:
            is_spread = any(run.is_spread for run in runs)
            is_due = self._held_little or (seconds >= LOOK_SECONDS and not is_spread)
            seconds = max(seconds, LOOK_SECONDS)
        if self._held_nothing:
            is_due, seconds = True, 2 * LOOK_SECONDS
        if not is_due:
            for run in runs:
                run.is_spread = True
            self.paused = Pause((*runs, *self.end_pause()), max(ran / 2, LOOK_SECONDS))
            return
        self.open(len(runs))
        for run in runs:
            self.add_step(run.kind.name + PARTIAL, run.step)
            run.since = perf_counter()
            self.cuts[run] = run.since + seconds

    def end_pause(self) -> list[FunctionRun]:
        """The steps of which no window is open and that have not ended; their pause is over."""
        paused, self.paused = self.paused, Pause((), 0.0)
        paused.is_over.set()
        return [run for run in paused.runs if run.ended is None and run in self.under_way]

    def end(self) -> None:
        """Close the window that is open, and open no other after a pause."""
        self.is_over.set()
        self.end_pause()
        self.close()

    def add_part(self, run: FunctionRun) -> None:
        """Add the time that the open window recorded of a step that is recorded in part."""
        self.cuts.pop(run, None)
        if run in self.paused.runs:
            if len(self.paused.runs) == 1:
                self.end_pause()
        elif run.part_seconds is not None and self.is_open:
            run.part_seconds += perf_counter() - run.since

    def _close(self) -> None:
        assert self.profiler is not None
        started, working = perf_counter(), thread_time()
        self._closed.set()
        self.is_wanted = self.is_open = False
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
        self._held_little, self._held_nothing = len(xspace) < LITTLE, len(xspace) < NOTHING
        profiler = self.profiler
        window = RecordedWindow(xspace, steps, profiler.started, self.functions, profiler.eager_ops)
        self.traces.add(window, len(xspace))
        first = next((step.name for step in steps if not step.is_eager), EAGER)
        kind = kind_of_steps(first)
        taken = thread_time() - working + self.traces.reading_seconds(len(xspace))
        self._last_cost = taken
        ran = (started if self.under_way or not self._counted else self._active) - self._rated
        self.costs.add(kind, max(self._counted, 1), taken, 0.0 if self._held_nothing else ran)

    def _lost(self, lost: ProfilerDisk) -> None:
        self._note(
            f"steps are missing, for TensorFlow's profiler writes them to a temporary directory first and could not "
            f"({lost}): make room there, or set TMPDIR to another directory"
        )

    def add_step(self, name: str, number: int | None = None) -> int | None:
        """Take note that a step begins now; returns its number, or None if no window is open.

        The eager ops of a window are one step, however often other steps interrupt it. A step that goes on in another
        window keeps its `number`.
        """
        if not self.is_open:
            return None
        if not self._counted:
            self._opened = self._rated = perf_counter()
        self._counted += name != EAGER
        self._active = perf_counter()
        if number is None:
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
        """Close the window when no step has been under way for a while, or when it is to be cut."""
        while not closed.wait(min(EAGER_SECONDS / 4, LOOK_SECONDS / 2)):
            with self.lock:
                now = perf_counter()
                if not closed.is_set() and now >= min(self.cuts.values(), default=inf):
                    self.cut()
                    break
                most = EAGER_SECONDS if self._counted else min(self._most_eager, EAGER_SECONDS)
                if closed.is_set() or self.under_way or now - self._active < most:
                    continue
                self._note(f"ops outside of steps were recorded for {EAGER_SECONDS:g} s at a time")
                self.close()
            self._wait_for_eager_ops()
            return
        self._wait_for_steps()

    def _wait_for_eager_ops(self) -> None:
        """Record eager ops again when twice the time has passed since the first ones, which may only set up."""
        closed = perf_counter()
        while not self.is_over.wait(perf_counter() - self._began):
            with self.lock:
                self._most_eager = self.affordable_eager(perf_counter() - closed)
                if self._most_eager >= SHORT_SHARE * LOOK_SECONDS and not (self.is_open or self.is_over.is_set()):
                    self.open()
                    self.add_step(EAGER)
                    return

    def _wait_for_steps(self) -> None:
        """Wait until pauses are over, and let the steps be recorded again, until they end."""
        while self.paused.runs:
            paused = self.paused
            if paused.is_over.wait(paused.seconds):
                return
            with self.lock:
                if not paused.is_over.is_set() and not self.is_open:
                    self.cut()
