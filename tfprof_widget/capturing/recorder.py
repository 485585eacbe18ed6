"""Records runs of any source: whose they are, one tally of each kind, notes, and what follows an error of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import RLock
from time import perf_counter
from typing import Any, ClassVar

from tfprof_widget.capturing.recording import GraphRecording, Recording
from tfprof_widget.capturing.sampling import Choice, KindTally, Policy, Sampler
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.safely import FORKED, RecordingProcess
from tfprof_widget.profiles.data import WARM_UP

COST_UNKNOWN = "the cost of tracing is not known, since no kind had both traced and untraced runs"

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
    def is_elsewhere(self) -> bool:
        """Whether this capture was opened in another thread, while another one is open in the current thread."""
        opened = _OPENED.get()
        return self.is_open and self not in opened and any(each.is_open for each in opened)


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


@dataclass(slots=True, eq=False)
class RunUnderWay:
    """A run that has begun; `step` is the number of the step that it is recorded as, None if it is not recorded."""

    kind: KindTally
    choice: Choice
    started: float
    step: int | None
    ended: float | None = field(default=None, kw_only=True)
    is_retraced: bool = field(default=False, kw_only=True)

    @property
    def traced(self) -> bool:
        """Whether this run is traced."""
        return self.choice.traced

    @property
    def is_first(self) -> bool:
        """Whether this is the first run of its kind."""
        return self.choice.is_first

    @property
    def is_warm_up(self) -> bool:
        """Whether it was the first of its kind, or traced a function again: either takes longer than other runs."""
        return self.is_first or self.is_retraced

    @property
    def name(self) -> str:
        """The name of the run's step: the kind's name, marked if it is the first run."""
        return self.kind.name + (WARM_UP if self.is_first else "")


class SamplingRecorder(Recorder):
    """Takes note of every run of a source, and chooses those that are traced."""

    traces: TraceStore[Any, Any]

    def __init__(self, policy: Policy, clock: Callable[[], float] = perf_counter) -> None:
        super().__init__(clock)
        self.sampler = Sampler(policy)
        self.under_way: set[RunUnderWay] = set()
        self._raised = 0
        self._busy_since = self._busy_seconds = 0.0

    @property
    def lets_pass(self) -> bool:
        """Whether a run that begins now does not belong to this recorder; called without the lock."""
        return not self.is_open or self.process.is_another or self.opening_thread.is_elsewhere

    def begun(self, run: RunUnderWay) -> None:
        """Take note that a run begins; the caller holds the lock."""
        if not self.under_way:
            self._busy_since = run.started
        self.under_way.add(run)

    def ended(self, run: RunUnderWay, *, raised: bool = False) -> bool:
        """Take note that a run has ended; gives False if the recording ended before. The caller holds the lock."""
        if not self._withdrawn(run):
            return False
        assert run.ended is not None
        if raised:
            self._raised += 1
        else:
            seconds = run.ended - run.started
            self.sampler.ran(run.kind, run.choice, seconds, is_retraced=run.is_retraced)
            if run.traced and run.step is not None and not run.is_warm_up:
                run.kind.traced_steps[run.step] = seconds
        return True

    def withdraw(self, run: RunUnderWay) -> None:
        """Take back a run that could not be watched after all."""
        with self.lock:
            self._withdrawn(run)

    def add_overhead(self, seconds: float) -> None:
        """Add time that watching and tracing took outside of the runs."""
        self.sampler.add_overhead(seconds)
        if not self.under_way:
            self._busy_seconds += seconds

    def counts(self) -> tuple[int, int]:
        """How many runs have ended so far, and how many of them were traced."""
        kinds = [kind.runs() for kind in list(self.sampler.kinds.values())]
        return sum(kind.seen for kind in kinds), sum(kind.traced for kind in kinds)

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
                self._busy_seconds += self.clock() - self._busy_since
                self.note(f"{self.counted(len(self.under_way))} still going on at the end, and so not counted")
            self.end()
            self.under_way.clear()
        if self._raised:
            self.note(f"{self.counted(self._raised)} not counted, having ended in an exception")
        overhead, wall_seconds, began = self._overhead(), self.wall_seconds(), self.clock()
        graphs: Sequence[GraphRecording] = ()
        try:
            graphs = self.read()
        except Exception as error:
            self.note(f"the {self.runs} are missing, for they could not be read ({error_text(error)})")
        reading = self.clock() - began
        wall_seconds += reading
        if overhead is not None:
            overhead += reading
            self.judge_cost(overhead, wall_seconds - overhead)
        return Recording(tuple(graphs), wall_seconds, overhead, self.dropped_events(), self.notes)

    def wall_seconds(self) -> float:
        """The time in which at least one run was under way."""
        return self._busy_seconds

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

    def _withdrawn(self, run: RunUnderWay) -> bool:
        if run not in self.under_way:
            return False
        if run.ended is None:
            run.ended = self.clock()
        self.under_way.remove(run)
        if not self.under_way:
            self._busy_seconds += run.ended - self._busy_since
        return True

    def _overhead(self) -> float | None:
        """The time that recording added, without reading at the end; None if it is not known how it slowed runs."""
        cost = self.sampler.measured_cost() if self.counts()[1] else 0.0
        if cost is None:
            self.note(COST_UNKNOWN)
            return None
        return cost + self.overhead_seconds()
