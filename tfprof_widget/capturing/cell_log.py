"""Logs when a captured cell ran steps, built functions, waited for batches, and when tfprof itself was at work."""

from __future__ import annotations

import sys
from array import array
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from threading import get_ident
from time import perf_counter, time_ns
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.account.cell import NOTHING, CellSpans, divide, together
from tfprof_widget.analysis.account.python import doings
from tfprof_widget.capturing.python_sampler import PythonSampler, users_line
from tfprof_widget.lib.arrays import ABSENT, Indices, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.cell import (
    BETWEEN,
    NEXT_BATCH,
    SAVING,
    STEP,
    VALIDATION,
    CellRuns,
    CellTimes,
    CodeLine,
    FitPhase,
    PhaseStretches,
)

MOST_RUNS = 1 << 18
"""The most runs of a kind that are kept one by one, which takes 4 MB; later runs are only added up."""

LATE_RUNS = 200
"""So many of the last runs that are only added up are kept by themselves, for who looks on while they run."""

MOST_SPANS = 1 << 16

NOTICED = 50e-6
"""Shorter calls of hooks are only added up; longer ones are kept with start and end."""


class Spans:
    """Stretches of time of one sort, in the order in which they ended; beyond MOST_SPANS they are only added up.

    >>> spans = Spans()
    >>> spans.add(1.0, 3.0)
    >>> list(spans.bounds), spans.rest
    ([1.0, 3.0], 0.0)
    """

    def __init__(self) -> None:
        self.bounds = array("d")
        self.rest = 0.0

    def add(self, start: float, end: float) -> None:
        """Keep one more."""
        if len(self.bounds) < 2 * MOST_SPANS:
            self.bounds.extend((start, end))
        else:
            self.rest += end - start


class RunLog:
    """When the runs of one kind began, and how long they took; marks, steps and builds are kept by place of the run.

    `built` has the moments at which Python had built a function in a run, `late` the seconds of the last runs that are
    only added up.

    >>> from tfprof_widget.profiles.cell import FIRST_RUN
    >>> log = RunLog()
    >>> log.add(1.0, 0.5)
    >>> log.mark(FIRST_RUN, step=7)
    >>> log.runs("train", 1.0).start.tolist(), log.runs("train", 1.0).nanos.tolist()
    ([0], [500000000])
    """

    __slots__ = ("built", "late", "marks", "rest", "seconds", "started", "steps")

    def __init__(self) -> None:
        self.started, self.seconds = array("d"), array("d")
        self.rest = 0.0
        self.late: deque[float] = deque(maxlen=LATE_RUNS)
        self.marks: dict[int, int] = {}
        self.steps: dict[int, int] = {}
        self.built: dict[int, float] = {}

    def add(self, started: float, seconds: float) -> None:
        """Keep one more run."""
        if len(self.started) < MOST_RUNS:
            self.started.append(started)
            self.seconds.append(seconds)
        else:
            self.rest += seconds
            self.late.append(seconds)

    def mark(self, mark: int, step: int | None = None, built: float | None = None) -> None:
        """Mark the last run: with its step if it was traced, and the moment at which its function was built."""
        place = len(self.started) - 1
        self.marks[place] = mark
        if step is not None:
            self.steps[place] = step
        if built is not None:
            self.built[place] = built

    def lengths(self, *marks: int) -> NDArray[np.float64]:
        """The seconds of the runs that have one of these marks, in ascending order."""
        mark = np.zeros(len(self.seconds), np.int8)
        mark[list(self.marks)] = list(self.marks.values())
        return np.sort(np.array(self.seconds[:], np.float64)[np.isin(mark, marks)])

    def runs(self, kind: str, entered: float, usual: float | None = None) -> CellRuns:
        """The runs as a table, with times since the cell was `entered`; `usual` is the time of an untraced run."""
        building = {at: round(1e9 * (built - self.started[at])) for at, built in self.built.items()}
        start, nanos = nanos_of(self.started, entered), nanos_of(self.seconds)
        sums = {"rest_nanos": round(1e9 * self.rest), "usual_nanos": round(1e9 * (usual or 0.0))}
        return CellRuns.of(kind, start, nanos, self.marks, self.steps, building, **sums)


def nanos_of(seconds: Iterable[float], since: float = 0.0) -> Integers:
    """Seconds as nanoseconds, counted from the moment `since`.

    >>> nanos_of([1.5], 1.0).tolist()
    [500000000]
    """
    if isinstance(seconds, array):
        seconds = seconds[:]  # while numpy reads an array, no other thread could append to it
    found: Integers = np.rint((np.array(seconds, np.float64) - since) * 1e9).astype(np.int64)
    return found


class RunsUnderWay(Protocol):
    """A source of runs that knows which runs have begun and not ended."""

    @property
    def under_way(self) -> Collection[Any]:
        """The runs."""


MOST_STRETCHES = 4_096
"""When so many stretches of time are kept, the shorter half is dropped."""


class PhaseClock:
    """The time of each phase of Keras' loops in one thread, without the phases within it.

    A phase within a validation counts as validation. Saving counts outside of loops too.

    >>> phases = PhaseClock(iter([0.0, 1.0, 3.0, 3.5]).__next__)
    >>> loop, step = phases.enter(BETWEEN), phases.enter(STEP)
    >>> phases.leave(step), phases.leave(loop)
    (None, None)
    >>> found = list(phases.found())
    >>> [(phase.name, phase.nanos) for phase in found]
    [('step', 2000000000), ('between', 1500000000)]
    >>> phases.stretches(found, 0.0).phase.tolist()
    [1, 0, 1]
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._thread = 0
        self._stack: list[str] = []
        self._since = 0.0
        self._seconds: dict[str, float] = {}
        self._times: dict[str, int] = {}
        self._lines: dict[str, CodeLine] = {}
        self._numbers: dict[str, int] = {}
        self._phase, self._start, self._length = array("i"), array("d"), array("d")
        self._shortest = 0.0

    def enter(self, phase: str, function: Any = None) -> int | None:
        """Begin a phase, which runs this function if one is given; gives the depth that `leave` needs."""
        stack = self._stack
        if not stack:
            if phase not in (BETWEEN, SAVING):
                return None
            self._thread = get_ident()
        elif get_ident() != self._thread or VALIDATION in stack:
            return None
        self._count()
        if stack and phase == BETWEEN:  # a loop within a loop
            phase = VALIDATION
        if phase not in stack:
            self._times[phase] = self._times.get(phase, 0) + 1
        code = getattr(function, "__code__", None)
        if code is not None and phase not in self._lines:
            self._lines[phase] = CodeLine(code.co_filename, code.co_firstlineno, code.co_name)
        stack.append(phase)
        return len(stack) - 1

    def leave(self, depth: int | None) -> None:
        """End a phase."""
        if depth is not None:
            self._count()
            del self._stack[depth:]

    def found(self) -> Iterator[FitPhase]:
        """The phases in the order of a loop: batches, steps, callbacks (costliest first), validation, saving, rest."""
        names = sorted(self._times, key=lambda name: -self._seconds.get(name, 0.0))
        order = {NEXT_BATCH: 0, STEP: 1, VALIDATION: 3, SAVING: 4, BETWEEN: 5}
        for name in sorted(names, key=lambda name: order.get(name, 2)):
            yield FitPhase(
                name, round(1e9 * self._seconds.get(name, 0.0)), self._times[name], line=self._lines.get(name)
            )

    def stretches(self, phases: Sequence[FitPhase], since: float) -> PhaseStretches:
        """The times of these phases, counted from the moment `since`."""
        place = {phase.name: at for at, phase in enumerate(phases)}
        of_number = np.array([place.get(name, ABSENT) for name in self._numbers], np.int32)
        phase = of_number[np.array(self._phase[:], np.int32)]
        known = phase != ABSENT
        seconds = np.array(self._start[:], np.float64) - since, np.array(self._length[:], np.float64)
        start, nanos = (np.rint(each[known] * 1e9).astype(np.int64) for each in seconds)
        return PhaseStretches(phase[known], start, nanos)

    def _count(self) -> None:
        now = self._clock()
        if self._stack:
            phase, seconds = self._stack[-1], now - self._since
            self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds
            if seconds > self._shortest:
                self._phase.append(self._numbers.setdefault(phase, len(self._numbers)))
                self._start.append(self._since)
                self._length.append(seconds)
                if len(self._start) >= MOST_STRETCHES:
                    self._forget_shorter_half()
        self._since = now

    def _forget_shorter_half(self) -> None:
        self._shortest = float(np.median(self._length))
        kept = np.array(self._length[:]) > self._shortest
        self._phase = array("i", np.array(self._phase[:])[kept].tolist())
        self._start = array("d", np.array(self._start[:])[kept].tolist())
        self._length = array("d", np.array(self._length[:])[kept].tolist())


class CellLog:
    """Logs what a captured cell does, and divides its time at the end.

    The block of the cell runs from `opened` to `closing`. `thread` is the thread to sample: the one that opened the
    capture if it makes runs, or else the one that made the last run. `watching` is the total of the short times that
    hooks took, in seconds; longer ones are in `own`. `building` counts the functions that Python is building now.

    >>> clock = iter([0.0, 9.0]).__next__
    >>> log = CellLog(clock)
    >>> log.closing, log.waiting.rest = 8.0, 0.5
    >>> times = log.times([])
    >>> {part: times.part(part) for part in ("python", "input", "tfprof")}
    {'python': 7500000000, 'input': 500000000, 'tfprof': 1000000000}
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self.entered = self.opened = clock()
        self.entered_nanos = time_ns()
        self.closing: float | None = None
        self.lost: float | None = None
        self.tracing, self.waiting, self.own = Spans(), Spans(), Spans()
        self.watching = 0.0
        self.thread = get_ident()
        self.sampler = PythonSampler(clock)
        self.phases = PhaseClock(clock)
        self.sources: list[RunsUnderWay] = []
        self.building = 0
        self._has_own = False
        self._begun_at = users_line(sys._getframe())

    def take_thread(self, thread: int, *, is_beside: bool) -> None:
        """Sample the thread that makes a run; with `is_beside` only if the thread of the capture made no run."""
        if not is_beside or not self._has_own:
            self.thread, self._has_own = thread, not is_beside

    @property
    def has_own(self) -> bool:
        """Whether the thread of the capture has made a run."""
        return self._has_own

    def thread_to_see(self) -> int | None:
        """The thread to sample now; None while it is in a run and no function is being built."""
        if not self.building:
            for source in self.sources:
                for run in tuple(source.under_way):
                    if not (run.kind.is_beside and self._has_own):
                        return None
        return self.thread

    def nanos(self) -> int:
        """How many nanoseconds the cell has taken so far."""
        return round(1e9 * (self.clock() - self.entered))

    def times(self, runs: Sequence[CellRuns], named: Callable[[str], str] = str) -> CellTimes:
        """Divide the time of the cell, as if it ended now, with these runs; `named` gives the files of cells names."""
        closing = self.clock() if self.closing is None else self.closing
        opened, closing, left = nanos_of((self.opened, closing, self.clock()), self.entered).tolist()
        lost = None if self.lost is None else round(1e9 * (self.lost - self.entered))
        spans = {part: self._spans(each) for part, each in self._logged.items()}
        sums = {part: round(1e9 * each.rest) for part, each in self._logged.items()}
        sums["tfprof"] += round(1e9 * self.watching)
        sums["steps"] = sum(each.rest_nanos for each in runs)
        for part, of_runs in _parts_of(runs).items():
            spans[part] = together([spans.get(part, NOTHING), *of_runs])
        divided = divide(CellSpans(opened, closing, left, spans, sums, lost))
        looks = self.sampler.looks(divided, self.entered, self._begun_at)
        looks = replace(looks, gap=_gaps(looks.at, runs))
        did = doings(looks)  # by the files' own names, of which sources can be read
        kinds = Counter[str]()
        for each in runs:
            kinds[each.kind] += each.total_nanos
        phases = tuple(self.phases.found())
        return CellTimes.of(
            divided.parts,
            entered=self.entered_nanos,
            kinds=dict(kinds),
            phases=phases,
            stretches=self.phases.stretches(phases, self.entered),
            outside=did.outside,
            between=did.between,
            looks=looks,
        ).named(named)

    @property
    def _logged(self) -> dict[str, Spans]:
        return {"tracing": self.tracing, "input": self.waiting, "tfprof": self.own}

    def _spans(self, logged: Spans) -> Intervals:
        bounds = nanos_of(logged.bounds, self.entered)
        return Intervals.of(bounds[::2], bounds[1::2])


def _parts_of(runs: Iterable[CellRuns]) -> dict[str, list[Intervals]]:
    """The times of runs by part of the cell: first runs, building of functions, and other runs."""
    found: dict[str, list[Intervals]] = {"steps": [], "first": [], "tracing": []}
    for each in runs:
        end, is_first, is_built = each.start + each.nanos, each.is_first, each.building > 0
        found["steps"].append(Intervals.of(each.start[~is_first], end[~is_first]))
        found["first"].append(Intervals.of(each.start[is_first], end[is_first]))
        found["tracing"].append(Intervals.of(each.start[is_built], (each.start + each.building)[is_built]))
    return found


def _gaps(at: Integers, runs: Sequence[CellRuns]) -> Indices:
    """The number of the gap between two runs at each moment; ABSENT before a first run and after the last."""
    if not runs:
        return np.full(len(at), ABSENT, np.int32)
    start, is_first = (np.concatenate([getattr(each, name) for each in runs]) for name in ("start", "is_first"))
    order = np.argsort(start, kind="stable")
    follows = np.searchsorted(start[order], at)
    is_between = ~np.append(is_first[order], True)[follows]
    return np.where(is_between, follows, ABSENT).astype(np.int32)
