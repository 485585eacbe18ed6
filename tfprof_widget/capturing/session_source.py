"""Collects the runs of sessions, and makes a profile of each graph of what was traced."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from time import perf_counter
from typing import Any

from tfprof_widget.capturing.recorder import OpeningThread
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.sampling import Choice, Policy, Sampler
from tfprof_widget.capturing.trace_store import CostliestOps, TracedRun
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.op_log import READING, Reading
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.safely import FORKED, RecordingProcess
from tfprof_widget.profiles.data import WARM_UP

LONGEST_NAME = 60
# Metadata is kept as it came until so many bytes lie there, for reading it takes about as long as tracing it did.
ROOM = 64 << 20
# So much metadata is kept of all runs: in columns it takes about as much memory again.
MOST = 512 << 20


@dataclass(slots=True)
class _GraphRuns:
    """A graph that runs: its kinds of runs by their names, and what was traced of them."""

    graph: Any
    gathered: Gathered
    names: dict[tuple[str, ...], str] = field(default_factory=dict)
    namesakes: Counter[str] = field(default_factory=Counter)
    next_step: count[int] = field(default_factory=count)
    waiting: deque[tuple[int, bytes, str]] = field(default_factory=deque)

    def name_of(self, nodes: tuple[str, ...]) -> str:
        """The name of the runs that fetch these nodes; no other runs of this graph have it."""
        if nodes not in self.names:
            name = run_name(nodes)
            self.namesakes[name] += 1
            self.names[nodes] = name if self.namesakes[name] == 1 else f"{name} ({self.namesakes[name]})"
        return self.names[nodes]


@dataclass(slots=True, eq=False)
class SessionRun:
    """A run that has begun; `traced` says whether its metadata is wanted."""

    of: _GraphRuns
    group: tuple[int, str]
    step: int
    choice: Choice
    started: float
    ended: float | None = None

    @property
    def traced(self) -> bool:
        """Whether this run is to be traced."""
        return self.choice.traced

    @property
    def name(self) -> str:
        """What ran, and whether it was the first time."""
        return self.group[1] + (WARM_UP if self.choice.warm_up else "")


class Recorder:
    """Takes note of every run, from any thread, and says which ones to trace.

    It may be told of a failure of the package's own: then it lets all further runs pass, and says so in its warnings.

    >>> from tfprof_widget.capturing.sampling import EVERYTHING
    >>> Recorder(EVERYTHING).recorded().seen
    0
    """

    def __init__(
        self,
        policy: Policy,
        *,
        clock: Callable[[], float] = perf_counter,
        room: int = ROOM,
        most: int = MOST,
        kept: Callable[[Any], Sequence[range]] = READING.kept,
    ) -> None:
        self.clock = clock
        self.own_thread = OpeningThread()
        self._process = RecordingProcess()
        self._sampler = Sampler(policy)
        self._costliest = CostliestOps(clock)
        self._room, self._most = room, most
        self._kept = kept
        self._lock = Lock()
        self._reading = Lock()
        self._graphs: dict[int, _GraphRuns] = {}
        self._waiting_bytes = 0
        self._kept_bytes = 0
        self._under_way: set[SessionRun] = set()
        self._busy_since = 0.0
        self._busy_seconds = 0.0
        self._seen = 0
        self._traced = 0
        self._raised = 0
        self._untraceable: Counter[str] = Counter()
        self._notes: dict[str, None] = {}
        self._open = True

    def begin(self, graph: Any, nodes: Iterable[str], *, untraceable: str = "") -> SessionRun | None:
        """Take note of a run of the nodes fetched that begins now; None if it is to be let pass.

        `untraceable` is the reason why no run like this can be traced, if there is one.
        """
        if not self._open or self._process.is_another:  # no lock, and nothing else that may fail too
            return None
        if self.own_thread.is_elsewhere:
            return None
        fetched = tuple(sorted(set(nodes)))
        with self._lock:
            if not self._open:  # the recording may have ended while this waited
                return None
            runs = self._graphs.get(id(graph))
            if runs is None:
                runs = self._graphs[id(graph)] = _GraphRuns(graph, Gathered(reading=Reading(self.note, self._kept)))
            group = (id(graph), runs.name_of(fetched))
            choice = self._sampler.choose(group, traceable=not untraceable and self._has_room())
            if untraceable:
                self._untraceable[untraceable] += 1
            run = SessionRun(runs, group, next(runs.next_step), choice, self.clock())
            if not self._under_way:
                self._busy_since = run.started
            self._under_way.add(run)
        return run

    def finished(self, run: SessionRun, metadata: bytes | None = None) -> None:
        """Take note that a run came to its end, and of the RunMetadata if it was traced."""
        with self._lock:
            seconds = self._ended(run)
            if seconds is None:
                return
            self._sampler.ran(run.group, run.choice, seconds)
            self._seen += 1
            self._traced += run.traced
            if metadata is not None:
                run.of.waiting.append((run.step, metadata, run.name))
                self._waiting_bytes += len(metadata)
                self._kept_bytes += len(metadata)
            is_full = self._waiting_bytes > self._room
        if metadata is not None:
            self._costliest.ran(TracedRun(run.of.graph, metadata, run.choice.warm_up))
        if is_full:
            self._make_room()

    def watched(self, run: SessionRun, since: float) -> None:
        """Take note of the time that watching a run took beside the run, from then until now."""
        with self._lock:
            if run.ended is None:
                return
            seconds = run.started - since + self.clock() - run.ended
            self._sampler.spent(seconds)
            if not self._under_way:
                self._busy_seconds += seconds

    def raised(self, run: SessionRun) -> None:
        """Take note that a run ended in an exception, and so has no metadata."""
        with self._lock:
            if self._ended(run) is not None:
                self._raised += 1

    def forget(self, run: SessionRun) -> None:
        """Take a run back that could not be watched after all."""
        with self._lock:
            self._ended(run)

    def counts(self) -> tuple[int, int]:
        """How many runs were seen and traced so far.

        >>> from tfprof_widget.capturing.sampling import EVERYTHING
        >>> Recorder(EVERYTHING).counts()
        (0, 0)
        """
        return self._seen, self._traced

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that cost most so far, with the seconds of each in a traced run; for now and then.

        >>> from tfprof_widget.capturing.sampling import EVERYTHING
        >>> Recorder(EVERYTHING).costliest(3)
        []
        """
        started = self.clock()
        found = self._costliest.costliest(limit)
        with self._lock:
            self._sampler.spent(self.clock() - started)
        return found

    def note(self, warning: str) -> None:
        """Keep a sentence that is to be told with the result, once."""
        self._notes.setdefault(warning)

    def broke(self, error: Exception) -> None:
        """Keep what went wrong in the package itself, the first time, and let all further runs pass."""
        if self._open:
            self._open = False
            self.note(
                f"capturing stopped early, by an error of tfprof_widget itself ({type(error).__name__}: {error}); "
                "the runs after it went on as usual but are missing here: please report this"
            )

    def recorded(self) -> Recording:
        """Stop recording, and give all that was recorded."""
        if self._process.is_another:
            return Recording((), 0.0, 0.0, 0, (FORKED,))
        began = self.clock()
        with self._lock:
            self._open = False
            if self._under_way:
                self._busy_seconds += self.clock() - self._busy_since
                self.note(f"{_runs(len(self._under_way))} still going on at the end, and so not counted")
                self._under_way.clear()
            graphs = list(self._graphs.values())
        records = [record for runs in graphs if (record := self._record(runs)) is not None]
        self._graphs.clear()
        reading = self.clock() - began
        cost = self._sampler.measured_cost() if self._traced else 0.0
        if cost is None:
            self.note("what tracing cost is not known, since no runs of one kind were both traced and left untraced")
        else:
            cost += self._sampler.spent_seconds + reading
        return Recording(tuple(records), self._busy_seconds + reading, cost, 0, self._warnings())

    def _ended(self, run: SessionRun) -> float | None:
        """The seconds that a run took; None if it ended after the recording."""
        if run not in self._under_way:
            return None
        run.ended = self.clock()
        self._under_way.remove(run)
        if not self._under_way:
            self._busy_seconds += run.ended - self._busy_since
        return run.ended - run.started

    def _has_room(self) -> bool:
        """Whether another run may be traced, however many were asked for."""
        if self._kept_bytes <= self._most:
            return True
        self.note(f"tracing stopped at {self._kept_bytes >> 20:,} MB of metadata; fewer runs are enough: --every 10")
        return False

    def _make_room(self) -> None:
        """Turn all metadata into columns; other threads run on meanwhile."""
        for runs in list(self._graphs.values()):
            self._read(runs)

    def _read(self, runs: _GraphRuns) -> None:
        """Turn a graph's metadata into columns."""
        with self._reading:
            runs.gathered.add_graph(runs.graph)
            while runs.waiting:
                step, metadata, name = runs.waiting.popleft()
                with self._lock:
                    self._waiting_bytes -= len(metadata)
                try:
                    runs.gathered.add_step(step, metadata, name, belongs=True)
                except (ProfileError, ValueError) as error:
                    self.note(f"a run of {name} is missing: {error}")

    def _record(self, runs: _GraphRuns) -> GraphRecording | None:
        try:
            self._read(runs)
            tables = count_float_ops(runs.gathered.formulas)(runs.gathered.tables())
            return GraphRecording(tables, tuple(self._kinds(runs)))
        except Exception as error:  # what was recorded of other graphs is still good
            self.note(f"the runs of a graph are missing, for they could not be read ({type(error).__name__}: {error})")
            return None

    def _kinds(self, runs: _GraphRuns) -> Iterable[KindOfRun]:
        for name in runs.names.values():
            times = self._sampler.times((id(runs.graph), name))
            yield KindOfRun(
                name=name,
                seen=times.traced + times.untraced + times.warmed_up,
                traced=times.traced + times.warm_up_traced,
                untraced_seconds=times.untraced_seconds,
                traced_seconds=times.traced_seconds,
                warm_up_seconds=times.warm_up_seconds,
                untraced=times.untraced,
                warm_ups=int(times.warmed_up),
            )

    def _warnings(self) -> tuple[str, ...]:
        counted = [f"{_runs(number)} not traced: {reason}" for reason, number in self._untraceable.items()]
        if self._raised:
            counted.append(f"{_runs(self._raised)} not counted, having ended in an exception")
        return (*self._notes, *counted)


def run_name(nodes: Sequence[str]) -> str:
    """A short name for the runs that fetch these nodes.

    >>> run_name(["train", "loss"])
    'train, loss'
    >>> run_name([f"tower_{number}/gradients/loss" for number in range(9)])
    'tower_0/gradients/loss, tower_1/gradients/loss … and 7 more'
    """
    first, *others = nodes or ("nothing",)
    name = first if len(first) <= LONGEST_NAME else first[: LONGEST_NAME - 1] + "…"
    for position, node in enumerate(others):
        if len(name) + len(", ") + len(node) > LONGEST_NAME:
            return f"{name} … and {len(others) - position} more"
        name += f", {node}"
    return name


def _runs(number: int) -> str:
    return "1 run was" if number == 1 else f"{number:,} runs were"
