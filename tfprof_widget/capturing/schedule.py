"""Counts the session runs of a loop as steps for ProfileContext, and says which to trace and when to dump."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from threading import RLock
from typing import Any

from tfprof_widget.capturing.recorder import Recorder
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.options import check_step

WARMUP_STEPS = 10
MAX_TRACED_STEPS = 100
# If the user names no steps: until this share of a graph's nodes was seen to run, runs of known kinds are traced too.
ENOUGH_COVERAGE = 0.5
# The chance that such a run is traced; runs of a new kind always are.
SHARE_OF_TRACED = 0.2


@dataclass(frozen=True, slots=True)
class DueAtStep:
    """What is due at a step, which is a session run of the loop: tracing it, dumping the profile after it."""

    step: int
    traced: bool = False
    dumped: bool = False


class Schedule:
    """Numbers the steps from 0, in whatever thread they run, and says what is due at each.

    >>> schedule = Schedule(trace_steps=[1], dump_steps=[1])
    >>> schedule.next(["train"]), schedule.next(["train"])
    (DueAtStep(step=0, traced=False, dumped=False), DueAtStep(step=1, traced=True, dumped=True))
    """

    def __init__(self, trace_steps: Iterable[int] | None, dump_steps: Iterable[int] | None) -> None:
        self._lock = RLock()
        self.is_automatic = trace_steps is None
        self.dumps_rest = dump_steps is None
        self.trace_steps = set() if trace_steps is None else checked_steps("trace_steps", trace_steps)
        self.dump_steps = {MAX_TRACED_STEPS} if dump_steps is None else checked_steps("dump_steps", dump_steps)
        if len(self.trace_steps) > MAX_TRACED_STEPS:
            raise value_error(
                f"trace_steps: {len(self.trace_steps):,} are more than the {MAX_TRACED_STEPS} that are kept; "
                "leave some out, as range(0, 1000, 10) does"
            )
        self.steps = 0
        self.traced = 0
        self.coverage = 0.0
        self._fetched: set[frozenset[str]] = set()
        self._random = Random(111)  # the same steps each time a program runs

    def next(self, nodes: Iterable[str]) -> DueAtStep:
        """What is due at the next step, a run that fetches these nodes."""
        fetched = frozenset(nodes)
        with self._lock:
            step = self.steps
            self.steps += 1
            traced = step in self.trace_steps or (self.is_automatic and self._tells_more(step, fetched))
            self.traced += traced
            return DueAtStep(step, traced, step in self.dump_steps)

    def trace(self, steps: set[int]) -> None:
        """Trace these steps too."""
        with self._lock:
            self.trace_steps |= steps

    def trace_next(self) -> None:
        """Trace the step that begins next."""
        with self._lock:
            self.trace_steps.add(self.steps)

    def dump_next(self) -> None:
        """Dump the profile after the step that begins next."""
        with self._lock:
            self.dump_steps.add(self.steps)

    def missed(self, steps: Iterable[int]) -> list[int]:
        """The steps among these that no run has reached.

        >>> Schedule([], []).missed([20, 10])
        [10, 20]
        """
        return sorted(step for step in steps if step >= self.steps)

    def _tells_more(self, step: int, nodes: frozenset[str]) -> bool:
        if step <= WARMUP_STEPS or self.traced >= MAX_TRACED_STEPS:
            return False
        if nodes not in self._fetched:
            self._fetched.add(nodes)
            return True
        is_open = self.coverage < ENOUGH_COVERAGE and step < MAX_TRACED_STEPS
        return is_open and self._random.random() < SHARE_OF_TRACED


def checked_steps(name: str, steps: Any) -> set[int]:
    """The steps that the user gave in the argument `name`, checked.

    >>> checked_steps("dump_steps", 20)
    Traceback (most recent call last):
        ...
    ValueError: dump_steps: 20 is no list of steps; give [20] or range(10, 20)
    """
    try:
        return {check_step(step) for step in steps}
    except TypeError:
        raise value_error(f"{name}: {steps!r} is no list of steps; give [20] or range(10, 20)") from None
    except ValueError as error:
        raise value_error(f"{name}: {error}") from None


@dataclass(frozen=True, eq=False, slots=True)
class StepRun:
    """A run at which something is due."""

    graph: Any
    due: DueAtStep

    @property
    def traced(self) -> bool:
        """Whether this run is traced."""
        return self.due.traced

    @property
    def is_first(self) -> bool:
        """Whether this is the first run of all."""
        return not self.due.step


class StepRecorder(Recorder):
    """Counts every run as a step, in any thread, and calls `ended` after each step at which something is due.

    >>> schedule = Schedule(trace_steps=[1], dump_steps=[])
    >>> recorder = StepRecorder(schedule, ended=print, warn=print)
    >>> recorder.begin("a graph", ["train"])
    >>> recorder.finished(recorder.begin("a graph", ["train"]), b"metadata")
    StepRun(graph='a graph', due=DueAtStep(step=1, traced=True, dumped=False)) b'metadata'
    """

    doing = "ProfileContext"

    def __init__(
        self, schedule: Schedule, ended: Callable[[StepRun, bytes | None], None], warn: Callable[[str], None]
    ) -> None:
        super().__init__()
        self.untraceable: dict[str, None] = {}
        self._schedule, self._ended, self._warn = schedule, ended, warn

    def begin(self, graph: Any, nodes: Iterable[str], *, untraceable: str = "") -> StepRun | None:
        """Number a run; gives it if something is due at it. A run that cannot be traced is no step."""
        if not self.is_open or self.process.is_another:
            return None
        if untraceable:
            self.untraceable[untraceable] = None
            return None
        due = self._schedule.next(nodes)
        return StepRun(graph, due) if due.traced or due.dumped else None

    def finished(self, run: StepRun, metadata: bytes | None = None, since: float | None = None) -> None:
        """Call `ended` for a run, for one run at a time."""
        if self.process.is_another:
            return
        with self.lock:
            if self.is_open:
                self._ended(run, metadata)

    def raised(self, run: StepRun) -> None:
        """Call `ended` for a run that raised, and so has no metadata."""
        self.finished(run)

    def watched(self, run: StepRun, since: float) -> None:
        """Do nothing: ProfileContext does not report what watching costs."""

    def withdraw(self, run: StepRun) -> None:
        """Do nothing: a run that could not be watched stays a step."""

    def note(self, sentence: str) -> None:
        """Tell the user a sentence at once: the loop may go on for days."""
        self._warn(sentence)
