"""Numbers the runs of sessions, lets most of them pass, and has done what is due at the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import RLock
from time import perf_counter
from typing import Any

from tfprof_widget.capturing.forks import OwnProcess
from tfprof_widget.profile_context.schedule import Due, Schedule


@dataclass(frozen=True, eq=False, slots=True)
class StepRun:
    """A run at which something is due."""

    graph: Any
    due: Due

    @property
    def traced(self) -> bool:
        """Whether its metadata is wanted."""
        return self.due.traced


class StepRecorder:
    """Counts every run as a step, from any thread, and tells of the end of each at which something is due.

    >>> schedule = Schedule(trace_steps=[1], dump_steps=[])
    >>> recorder = StepRecorder(schedule, ended=print, tell=print)
    >>> recorder.begin("a graph", ["train"])
    >>> recorder.finished(recorder.begin("a graph", ["train"]), b"metadata")
    StepRun(graph='a graph', due=Due(step=1, traced=True, dumped=False)) b'metadata'
    """

    def __init__(
        self, schedule: Schedule, ended: Callable[[StepRun, bytes | None], None], tell: Callable[[str], None]
    ) -> None:
        self.clock = perf_counter
        self.process = OwnProcess()
        self.untraceable: dict[str, None] = {}
        self._schedule, self._ended, self._tell = schedule, ended, tell
        self._ending = RLock()  # a handler of signals may run a session while this thread holds it
        self._open = True
        self.is_broken = False

    def begin(self, graph: Any, nodes: Iterable[str], *, untraceable: str = "") -> StepRun | None:
        """Number a run, and return it if something is due at it; one that none can trace is no step."""
        if not self._open or self.process.is_another:
            return None
        if untraceable:
            self.untraceable[untraceable] = None
            return None
        due = self._schedule.next(nodes)
        return StepRun(graph, due) if due.traced or due.dumped else None

    def finished(self, run: StepRun, metadata: bytes | None = None) -> None:
        """Have done what is due at the end of a run, for one run at a time."""
        if self.process.is_another:
            return
        with self._ending:
            if self._open:
                self._ended(run, metadata)

    def raised(self, run: StepRun) -> None:
        """Have done what is due at the end of a run that raised, and so has no metadata."""
        self.finished(run)

    def watched(self, run: StepRun, since: float) -> None:
        """What watching costs is not counted here."""

    def forget(self, run: StepRun) -> None:
        """A run that could not be watched stays a step."""

    def note(self, warning: str) -> None:
        """Pass a sentence on to the user."""
        self._tell(warning)

    def broke(self, error: Exception) -> None:
        """Tell of an error of the package's own, the first time, and let all further runs pass."""
        self._open = False
        if not self.is_broken:
            self.is_broken = True
            self._tell(
                f"ProfileContext stopped early, by an error of tfprof_widget itself ({type(error).__name__}: {error}); "
                "the runs after it go on as usual but are missing in its profiles: please report this"
            )

    def close(self) -> None:
        """Let all further runs pass; what is being done for one comes to its end first."""
        with self._ending:
            self._open = False
