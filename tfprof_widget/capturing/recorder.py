"""Records runs of any source: whose they are, one tally of each kind, notes, and what follows an error of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock, get_ident
from time import perf_counter
from typing import Any, ClassVar

from tfprof_widget.analysis.account.cell import NOTHING, together
from tfprof_widget.analysis.steady import work_seconds
from tfprof_widget.capturing.cell_log import NOTICED, CellLog
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording, steps_shown
from tfprof_widget.capturing.sampling import Adaptive, Policy, Sampler
from tfprof_widget.capturing.tallies import EARLY_RUNS, Choice, KindTally
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.safely import FORKED, RecordingProcess
from tfprof_widget.lib.text import written_seconds
from tfprof_widget.profiles.cell import FIRST_RUN, PARTLY_TRACED, RAISED, TRACED, CellRuns
from tfprof_widget.profiles.data import WARM_UP, ProfileTables

OTHERS_OPS = (
    "steps of another capture ran in another thread meanwhile; some of their ops are among those here, "
    "for TensorFlow does not tell them apart: capture one after the other"
)
COST_UNKNOWN = "how much tracing slowed the runs is not known, since no kind had both traced and untraced runs"

LONG = 1.0
"""A run that took so many seconds before it ended in an exception, as one that the user interrupted, is told of."""

UNTIL_THEN = "what was recorded of it until then is shown"

_OPENED: ContextVar[tuple[OpeningThread, ...]] = ContextVar("tfprof_widget_opened", default=())


class OpeningThread:
    """The thread, or the asyncio task, in which a capture was opened.

    A run belongs to the captures opened in its thread; if there are none, to all captures.

    >>> first, second = OpeningThread(), OpeningThread()
    >>> with first.opened():
    ...     first.is_elsewhere, second.is_elsewhere
    (False, False)
    """

    def __init__(self) -> None:
        self.is_open = False

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Let the capture be open in this thread for the block."""
        self.is_open = True
        _OPENED.set((*_OPENED.get(), self))
        try:
            yield
        finally:
            self.is_open = False
            _OPENED.set(tuple(each for each in _OPENED.get() if each is not self))

    @property
    def is_beside(self) -> bool:
        """Whether this capture is open, and was opened in another thread than the current one."""
        return self.is_open and self not in _OPENED.get()

    @property
    def is_elsewhere(self) -> bool:
        """Whether this capture was opened in another thread, while another one is open in the current thread."""
        return self.is_beside and any(each.is_open for each in _OPENED.get())


class Recorder:
    """Keeps notes on runs, from any thread; after an error of the package itself it lets all further runs pass.

    >>> recorder = Recorder()
    >>> recorder.stop_after_error(ZeroDivisionError("division by zero"))
    >>> recorder.is_open, recorder.notes[0].partition("(")[0]
    (False, 'capturing stopped early, by an error of tfprof_widget itself ')
    """

    doing: ClassVar[str] = "capturing"
    runs: ClassVar[str] = "runs"

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self.is_open = True
        self.opening_thread = OpeningThread()
        self.process = RecordingProcess()
        self.lock = RLock()  # re-entrant: a signal handler may run a session while its thread holds the lock
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences to show with the result."""
        return tuple(self._notes)

    def note(self, sentence: str) -> None:
        """Keep a sentence to show with the result; a sentence kept twice is shown once."""
        self._notes.setdefault(sentence)

    def stop_after_error(self, error: Exception) -> None:
        """Note the first error of the package itself, and let all further runs pass."""
        if self.is_open:
            self.is_open = False
            self.note(
                f"{self.doing} stopped early, by an error of tfprof_widget itself ({type(error).__name__}: {error}); "
                f"the {self.runs} after it went on as usual but are missing here: please report this"
            )

    def counted(self, number: int) -> str:
        """A number of runs with the verb, as in "2 runs were"."""
        return f"1 {self.runs.removesuffix('s')} was" if number == 1 else f"{number:,} {self.runs} were"


class RunUnderWay:
    """A run that has begun: its number within its kind, whether it is traced, and the step that it is recorded as.

    `step` is None if it is not recorded. `part_seconds` is the time that was recorded of a run that was recorded in
    part, without the `building_seconds`, in which Python built the function and no op ran. `built` is when the function
    was called that Python may have built in the run, and `functions` are those that it has called, as far as the source
    tells. What few runs need is set on them later: one is made at each run of the user's.
    """

    functions: frozenset[str] = frozenset()
    ended: float | None = None
    is_retraced = False
    part_seconds: float | None = None
    building_seconds = 0.0
    built: float | None = None

    def __init__(self, kind: KindTally, number: int, traced: bool, started: float, step: int | None) -> None:
        self.kind = kind
        self.number = number
        self.traced = traced
        self.started = started
        self.step = step

    @property
    def is_first(self) -> bool:
        """Whether this is the first run of its kind."""
        return self.number == 0

    @property
    def is_warm_up(self) -> bool:
        """Whether it was the first of its kind, or traced a function again: either takes longer than other runs."""
        return self.number == 0 or self.is_retraced

    @property
    def is_telling(self) -> bool:
        """Whether it tells what the user waited for, even if it raised: it was recorded, and its ops ran."""
        return self.step is not None and bool(self.functions)

    @property
    def name(self) -> str:
        """The name of the run's step: the kind's name, marked if it is the first run."""
        return self.kind.name + (WARM_UP if self.is_first else "")


class SamplingRecorder(Recorder):
    """Takes note of every run of a source, and chooses those that are traced."""

    traces: TraceStore[Any, Any]

    def __init__(self, policy: Policy, clock: Callable[[], float] = perf_counter) -> None:
        super().__init__(clock)
        self.sampler = Sampler(policy, lambda: self.traces.waiting_seconds)
        self.under_way: set[RunUnderWay] = set()
        self.log = CellLog(clock)
        self._raised = 0
        self._longest_raised: tuple[float, str] = (0.0, "")

    @property
    def lets_pass(self) -> bool:
        """Whether a run that begins now does not belong to this recorder; called without the lock."""
        if not self.is_open or self.process.is_another:
            return True
        return self.opening_thread not in _OPENED.get() and self.opening_thread.is_elsewhere

    def begun(self, run: RunUnderWay) -> None:
        """Take note that a run begins; the caller holds the lock."""
        self.under_way.add(run)
        if run.kind.is_beside:
            run.kind.is_beside = self.opening_thread.is_beside
            self.log.take_thread(get_ident(), is_beside=run.kind.is_beside)

    def ended(self, run: RunUnderWay, *, raised: bool = False) -> bool:
        """Take note that a run has ended; gives False if the recording ended before. The caller holds the lock."""
        ended, kind = run.ended, run.kind
        if run not in self.under_way:
            return False
        if ended is None:
            ended = run.ended = self.clock()
        self.under_way.remove(run)
        seconds = ended - run.started
        kind.log.add(run.started, seconds)
        if raised and ended - (run.built or run.started) >= LONG and run.is_first and run.is_telling:
            raised = False  # not one that was interrupted while Python built its function
            self.note(f"the first of {kind.name} ended in an exception after {written_seconds(seconds)}: {UNTIL_THEN}")
        if not run.traced and run.number and not run.is_retraced and run.part_seconds is None and not raised:  # most
            self.sampler.ran_untraced(kind, seconds)
            return True
        self._mark(run, raised=raised)
        if raised:
            self._raised += 1
            if not kind.is_beside:  # as a queue runner's, which waits until its queue is closed
                self._longest_raised = max(self._longest_raised, (seconds, kind.name))
            return True
        if run.part_seconds is not None:
            run.traced = False
            parts = kind.first_parts if run.is_warm_up else kind.parts
            if run.part_seconds:  # else windows were open only while nothing ran
                parts.add(max(seconds - run.building_seconds, 0.0), run.part_seconds)
            if run.is_warm_up and run.step is not None:
                kind.first_part_steps.add(run.step)
        self.sampler.ran(kind, Choice(run.number, run.traced), seconds, is_retraced=run.is_retraced)
        if run.traced and run.step is not None and not run.is_warm_up:
            kind.traced_steps[run.step] = seconds
            if run.number < EARLY_RUNS and isinstance(self.sampler.policy, Adaptive):
                kind.early_steps.add(run.step)
        return True

    def _mark(self, run: RunUnderWay, *, raised: bool) -> None:
        """Say in the log what few runs have: that they were the first, traced, or raised, and what they built."""
        is_part = run.part_seconds is not None
        mark = FIRST_RUN * run.is_warm_up + TRACED * (run.traced and not is_part) + PARTLY_TRACED * is_part
        built = (run.built or run.ended) if run.is_retraced else None
        run.kind.log.mark(mark + RAISED * raised, run.step if run.traced else None, built)

    def withdraw(self, run: RunUnderWay) -> None:
        """Take back a run that could not be watched after all."""
        with self.lock:
            if self.ended(run, raised=True):
                self._raised -= 1

    def add_overhead(self, seconds: float) -> None:
        """Add time that watching and tracing took outside of the runs."""
        self.sampler.overhead_seconds += seconds

    def held_up(self, run: RunUnderWay, since: float, ended: float) -> float:
        """Take note that watching a run took the time from `since` to its start, and from its end until now.

        While another run is under way, that takes none of the cell's time. Returns the seconds; the lock is held.
        """
        now = self.clock()
        seconds = run.started - since + now - ended
        if self.under_way:
            return seconds
        if seconds < NOTICED:
            self.log.watching += seconds
        else:
            self.log.own.add(since, run.started)
            self.log.own.add(ended, now)
        return seconds

    def counts(self) -> tuple[int, int]:
        """How many runs have ended so far, and how many of them were traced."""
        counts = [kind.counts() for kind in list(self.sampler.kinds.values())]
        return sum(seen for seen, _ in counts), sum(traced for _, traced in counts)

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The costliest op types by the traces read so far, each with its seconds in a traced run."""
        return self.traces.costliest(limit)

    def recorded(self) -> Recording:
        """Stop recording, and return all that was recorded."""
        if self.process.is_another:
            return Recording((), 0.0, 0.0, 0, (FORKED,))
        with self.lock:
            self.is_open = False
            if self.under_way:
                self.note(f"{self.counted(len(self.under_way))} still going on at the end, and so not counted")
            for run in self.under_way:
                run.kind.log.add(run.started, self.clock() - run.started)
                self._mark(run, raised=True)
            self.end()
            self.under_way.clear()
        if self._raised:
            seconds, name = self._longest_raised
            after = f": {name}, after {written_seconds(seconds)}" if seconds >= LONG else ""
            self.note(f"{self.counted(self._raised)} not counted, having ended in an exception{after}")
        wall_seconds, began = self.wall_seconds(), self.clock()
        graphs: Sequence[GraphRecording] = ()
        try:
            graphs = self.read()
        except Exception as error:
            self.note(f"the {self.runs} are missing, for they could not be read ({error_text(error)})")
        reading, overhead = self.clock() - began, self._overhead(graphs)
        wall_seconds += reading
        if overhead is not None:
            overhead += reading
            self.judge_cost(overhead, wall_seconds - overhead)
        known = self.overhead_seconds() + reading
        runs = tuple(self._runs_of_the_cell(graphs))
        return Recording(
            tuple(graphs), wall_seconds, overhead, self.dropped_events(), self.notes, known_overhead=known, runs=runs
        )

    def so_far(self) -> Recording:
        """What was recorded so far, while the recording goes on; what this notes is not kept. Any thread may ask."""
        notes = dict.fromkeys(self.notes)
        graphs = self.read_so_far(lambda note: notes.setdefault(note))
        with self.lock:  # runs that go on must not grow one of two lists that belong together
            cost = self.sampler.measured_cost(_waiting(graphs)) if self.counts()[1] else 0.0
            runs = tuple(self._runs_of_the_cell(graphs))
        known, dropped = self.overhead_seconds(), self.dropped_events()
        overhead = None if cost is None else cost + known
        return Recording(tuple(graphs), self.wall_seconds(), overhead, dropped, tuple(notes), known, runs)

    def trace_next(self, runs: int) -> None:
        """Trace the next runs of each kind, so many of them, whatever that costs."""
        with self.lock:
            self.sampler.ask(runs)

    def wall_seconds(self) -> float:
        """The time since the capture began."""
        return self.clock() - self.log.entered

    def busy_seconds(self) -> float:
        """The time in which at least one run was under way."""
        runs = [kind.all_runs(self.log.entered) for kind in self.sampler.kinds.values()]
        return together([NOTHING, *(Intervals.of(each.start, each.start + each.nanos) for each in runs)]).length / 1e9

    def overhead_seconds(self) -> float:
        """The time that recording took outside of the runs."""
        return self.sampler.overhead_seconds

    def judge_cost(self, overhead: float, untraced_seconds: float) -> None:
        """Note that recording cost more than was asked for, if it did; a source may override this."""

    def dropped_events(self) -> int:
        """How many events TensorFlow's profiler had no room for."""
        return 0

    def end(self) -> None:
        """Let the source end what it still records; the lock is held."""

    @abstractmethod
    def read(self) -> Sequence[GraphRecording]:
        """Make tables of all that was recorded."""

    @abstractmethod
    def read_so_far(self, note: Callable[[str], None]) -> Sequence[GraphRecording]:
        """Make tables of what was recorded so far; `note` takes sentences on what is missing in them."""

    def _overhead(self, graphs: Iterable[GraphRecording]) -> float | None:
        """The time that recording added, without reading at the end; None if it is not known how it slowed runs.

        It slowed none that mostly wait beside the cell's own thread, as those of queue runners: they wait for the cell.
        """
        cost = self.sampler.measured_cost(_waiting(graphs)) if self.counts()[1] else 0.0
        if cost is None:
            self.note(COST_UNKNOWN)
            return None
        return cost + self.overhead_seconds()

    def _runs_of_the_cell(self, graphs: Iterable[GraphRecording]) -> Iterator[CellRuns]:
        """All runs but those that mostly wait beside the cell's own thread."""
        waiting = _waiting(graphs)
        for kind in self.sampler.kinds.values():
            if not (kind.is_beside and kind.runs() in waiting):
                yield kind.all_runs(self.log.entered)


def _waiting(graphs: Iterable[GraphRecording]) -> list[KindOfRun]:
    return [runs for graph in graphs for runs in graph.kinds if mostly_waits(graph.tables, runs)]


WORKING_SHARE = 0.1
"""Runs whose ops work for a smaller share of their time mostly wait."""


def mostly_waits(tables: ProfileTables, runs: KindOfRun) -> bool:
    """Whether traced runs of a kind, by their ops, do nothing most of the time.

    >>> from tfprof_widget.demo import demo_profile
    >>> [mostly_waits(demo_profile(), KindOfRun("", 1, 1, 0.0, each, 0.0, 0, warm_ups=0)) for each in (0.001, 1.0)]
    [False, True]
    """
    return work_seconds(tables, steps_shown(tables, runs)) < WORKING_SHARE * runs.traced_run_seconds
