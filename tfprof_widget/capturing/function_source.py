"""Collects the steps of functions and Keras models, and makes a profile of what was recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain, count
from time import perf_counter
from typing import Any

import numpy as np

from tfprof_widget.capturing.collectives import has_collectives
from tfprof_widget.capturing.recorder import OpeningThread
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.sampling import LOOP, Adaptive, Choice, FunctionRun, Kind, Policy, Sampler, Steps
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.capturing.trace_store import ROOM, TraceStore
from tfprof_widget.capturing.windows import SHARED, Windows
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.op_log import READING, Reading
from tfprof_widget.ingest.parts.names import BetterNames
from tfprof_widget.ingest.xspace.resolve import notes_on
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.safely import FORKED, RecordingProcess
from tfprof_widget.lib.text import written_percent, written_seconds
from tfprof_widget.profiles.data import EAGER, WARM_UP, ProfileTables


class CalledFunctions:
    """The functions called so far, by the names that the runtime has for them.

    They are kept until the capture is over: TensorFlow forgets a function with the last reference to it. What they call
    in turn is found in their graphs, also if it was traced long before.

    >>> CalledFunctions().graphs({"__inference_step_12"})
    []
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self._known: dict[str, Any] = {}

    def add(self, function: Any, label: str = "") -> str:
        """Keep a function (an AtomicFunction of TensorFlow's) and a word for what it calls; returns its name."""
        name = function.name
        text = name.decode() if isinstance(name, bytes) else str(name)
        if text not in self._known:
            self._known[text] = function
            if label:
                self.labels[text] = label
        return text

    def graphs(self, executed: AbstractSet[str]) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions of these names, in the order first called."""
        return [(name, function.graph) for name, function in self._known.items() if name in executed]


OTHERS_OPS = (
    "steps of another capture ran in another thread meanwhile; some of their ops are among those here, "
    "for TensorFlow does not tell them apart: capture one after the other"
)
WAIT_SECONDS = 0.2
UNNOTICED_SECONDS = 0.1
"""What tracing may cost more than it was asked to, without a word."""

COST_UNKNOWN = "what recording cost is not known, since no steps of one kind were both recorded and left out"


@dataclass
class _Thread(threading.local):
    run: FunctionRun | None = None


@dataclass
class _Step:
    """The context of a step; those within another are part of it."""

    recorder: FunctionRecorder
    key: Hashable
    name: str
    owner: Any
    run: FunctionRun | None = None

    def __enter__(self) -> _Step:
        self.run = self.recorder.begin(self.key, self.name, self.owner)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self.run is not None:
            self.recorder.ended(self.run, raised=kind is not None)


class FunctionRecorder:
    """Takes note of every step, from any thread, and records some of them.

    It never raises: after an error of the package's own it lets all further steps pass, and says so in its warnings.

    >>> from tfprof_widget.capturing.sampling import Adaptive
    >>> FunctionRecorder(Adaptive()).recorded().seen
    0
    """

    def __init__(
        self,
        policy: Policy,
        *,
        room: int = ROOM,
        collectives: bool = False,
        kept: Callable[[Any], Sequence[range]] = READING.kept,
    ) -> None:
        self.functions = CalledFunctions()
        self.own_thread = OpeningThread()
        self._policy = policy
        self._dares = collectives
        self._kept = kept
        self._met: set[str] = set()
        self._unrecorded: list[FunctionRun] = []
        self._process = RecordingProcess()
        self._sampler = Sampler(policy)
        self._lock = threading.RLock()
        self._notes: dict[str, None] = {}
        self._traces = TraceStore(self.note, room=room)
        self._windows = Windows(None, self._traces, self._lock, self.note)
        self._kinds: dict[Hashable, Kind] = {}
        self._thread = _Thread()
        self._is_over = False
        self._layers: list[str] = []
        self._variables: dict[int, str] = {}
        self._raised = 0
        self._reading_seconds = 0.0
        self._started = perf_counter()

    def use(self, profiler: TfProfiler, *, eagerly: bool, is_safe: bool = True) -> None:
        """Record with this profiler from now on; if `eagerly`, what runs before the first step too.

        One that is not safe does not record what it may crash in, unless that is asked for.
        """
        with self._lock:
            self._windows.profiler = profiler
            self._windows.is_careful = not (is_safe or self._dares)
            if eagerly and not isinstance(self._policy, Steps):
                self._windows.open()
                self._windows.add_step(EAGER)

    def called(self, function: Any) -> str:
        """Take note of a call of a function (an AtomicFunction of TensorFlow's); returns its name."""
        run = self._thread.run
        name = self.functions.add(function, run.kind.name.partition(LOOP)[2] if run is not None else "")
        if self._windows.is_careful and name not in self._met:
            self._met.add(name)
            self._leave_out_first_collectives(function)
        return name

    @property
    def is_in_step(self) -> bool:
        """Whether this thread is in a step."""
        return self._thread.run is not None

    def step(self, key: Hashable, name: str, owner: Any) -> _Step:
        """The context of a step of the kind `key`; `owner` is kept, so that no other gets its identity."""
        return _Step(self, key, name, owner)

    def begin(self, key: Hashable, name: str, owner: Any) -> FunctionRun | None:
        """Take note of a step that begins now; None within another step of this thread."""
        if self._is_over or self._thread.run is not None or self._process.is_another:
            return None
        if self.own_thread.is_elsewhere:
            if self._windows.is_open:
                self.note(OTHERS_OPS)
            return None
        try:
            with self._lock:
                kind = self._kinds.get(key)
                if kind is None:
                    kind = self._kinds[key] = Kind(self._free_name(name), owner)
                cost = self._windows.costs.of_one(kind.name) + self._traces.waiting_seconds
                choice = self._sampler.choose(key, cost=cost)
                self._adjust(kind, choice)
                number = self._windows.add_step(kind.name + (WARM_UP if choice.warm_up else ""))
                self._windows.under_way += 1
            run = FunctionRun(key, kind, Choice(choice.number, number is not None), number, perf_counter())
            self._thread.run = run
            return run
        except Exception as error:
            self.broke(error)
            return None

    def ended(self, run: FunctionRun, *, raised: bool) -> None:
        """Take note that a step has ended."""
        seconds = perf_counter() - run.started
        self._thread.run = None
        if self._process.is_another:
            return
        try:
            with self._lock:
                self._windows.under_way -= 1
                if run in self._unrecorded:
                    self._unrecorded.remove(run)
                self._windows.rest()
                if run.is_of_loop:
                    self._windows.add_step(EAGER)
                if raised:
                    self._raised += 1
                else:
                    self._count(run, seconds)
            self._make_room()
        except Exception as error:
            self.broke(error)

    def learn(self, layers: Iterable[str], variables: Mapping[int, str]) -> None:
        """Take note of the scopes of layers, and of names of variables by the identity of their handles."""
        self._layers += layers
        self._variables.update(variables)

    def traced_anew(self) -> None:
        """Say that the step that this thread is in traces a function, and so is a warm-up."""
        run = self._thread.run
        if run is not None:
            run.is_traced_anew = True

    def _leave_out_first_collectives(self, function: Any) -> None:
        """Leave this thread's step out of what is recorded if devices may meet in this function for the first time."""
        try:
            if not has_collectives(function.graph):
                return
            with self._lock:
                run = self._thread.run
                if run is not None:
                    self._unrecorded.append(run)
                    if run.number is not None:
                        self._windows.drop(run.number)
                        run.number, run.choice = None, replace(run.choice, traced=False)
                self._windows.close()
        except Exception as error:
            self.broke(error)

    def make_way(self) -> None:
        """Let another use TensorFlow's profiler."""
        if self._process.is_another:
            return
        try:
            with self._lock:
                self._windows.close()
        except Exception as error:
            self.broke(error)

    def give_way(self) -> bool:
        """Let another capture use TensorFlow's profiler, after the steps under way; says whether it may now.

        It waits for the lock a short while only: the other holds its own, and may be asked for the same.
        """
        self._windows.is_wanted = True
        if self._process.is_another or not self._lock.acquire(timeout=WAIT_SECONDS):
            return False
        try:
            if self._is_over or not self._windows.under_way:
                self._windows.close()
            return not self._windows.is_open
        except Exception as error:
            self.broke(error)
            return False
        finally:
            self._lock.release()

    def end_eager_ops(self) -> None:
        """Record no more for now if only eager ops are being recorded."""
        if self._windows.is_of_eager_ops and not self._process.is_another:
            with self._lock:
                if self._windows.is_of_eager_ops:  # no step may have begun while this waited
                    self.make_way()

    def counts(self) -> tuple[int, int]:
        """How many steps there were so far, and how many of them were recorded."""
        kinds = list(self._kinds.values())
        return sum(kind.seen for kind in kinds), sum(kind.traced for kind in kinds)

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that take most of a step, by what was read so far: each with its seconds a traced step.

        >>> from tfprof_widget.capturing.sampling import EVERYTHING
        >>> FunctionRecorder(EVERYTHING).costliest(3)
        []
        """
        return self._traces.costliest(limit)

    def note(self, warning: str) -> None:
        """Keep a sentence that is to be told with the result, once."""
        self._notes.setdefault(warning)

    def broke(self, error: Exception) -> None:
        """Keep what went wrong in the package itself, the first time, and let all further steps pass."""
        if not self._is_over:
            self._is_over = True
            self.note(
                f"capturing stopped early, by an error of tfprof_widget itself ({type(error).__name__}: {error}); "
                "the steps after it went on as usual but are missing here: please report this"
            )

    def recorded(self) -> Recording:
        """Stop recording, and give all that was recorded."""
        if self._process.is_another:
            return Recording((), 0.0, 0.0, 0, (FORKED,))
        with self._lock:
            self._is_over = True
            if self._windows.under_way:
                self.note(f"{_steps(self._windows.under_way)} still going on at the end, and so not counted")
            try:
                self._windows.close()
            except Exception as error:
                self.note(f"the last steps are missing, for TensorFlow did not give them ({error_text(error)})")
        if self._raised:
            self.note(f"{_steps(self._raised)} not counted, having ended in an exception")
        overhead = self._overhead()
        reading_began = perf_counter()
        dropped = 0
        graphs: tuple[GraphRecording, ...] = ()
        try:
            graphs, dropped = self._graphs()
        except Exception as error:
            self.note(f"the steps are missing, for they could not be read ({error_text(error)})")
        ended = perf_counter()
        wall_seconds = ended - self._started
        if overhead is not None:
            overhead += ended - reading_began
            self._note_on_cost(overhead, wall_seconds - overhead)
        return Recording(graphs, wall_seconds, overhead, dropped, tuple(self._notes))

    def _adjust(self, kind: Kind, choice: Choice) -> None:
        """Open or close a window before a step: a window is several steps, and as many go by before the next."""
        windows = self._windows
        if isinstance(self._policy, Adaptive):
            may_open = choice.traced and choice.number >= kind.resting_until
            wanted = windows.has_room if windows.is_open else may_open
            if windows.is_open and not wanted:
                kind.resting_until = 2 * choice.number
        else:
            wanted = choice.traced
        before = windows.seconds
        is_others_turn = windows.is_open and windows.is_wanted
        if windows.is_open and (not wanted or windows.is_full or is_others_turn):
            windows.close()
        if wanted and is_others_turn:
            self.note(SHARED)
        elif wanted and not self._unrecorded:
            affordable = self._sampler.affordable_seconds() - self._traces.waiting_seconds
            windows.open(windows.costs.affordable_steps(kind.name, affordable))
        self._sampler.spent(windows.seconds - before)

    def _count(self, run: FunctionRun, seconds: float) -> None:
        run.kind.add(run, seconds)
        if run.is_warm_up and run.number is not None:
            self._windows.rename(run.number, run.kind.name + WARM_UP)
        if run.choice.warm_up or not run.is_traced_anew:
            self._sampler.ran(run.key, run.choice, seconds)

    def _overhead(self) -> float | None:
        """What recording took in all, None if nothing tells how much longer steps took for it."""
        cost = self._sampler.measured_cost() if any(kind.traced for kind in self._kinds.values()) else 0.0
        if cost is None:
            self.note(COST_UNKNOWN)
            return None
        return self._windows.seconds + self._reading_seconds + cost

    def _note_on_cost(self, overhead: float, untraced_seconds: float) -> None:
        """Say so where tracing cost noticeably more than was asked for."""
        policy = self._policy
        if not isinstance(policy, Adaptive) or policy.allowance or overhead < UNNOTICED_SECONDS:
            return
        if overhead > policy.overhead * untraced_seconds:
            self.note(
                f"tracing cost {written_seconds(overhead)}, more than the {written_percent(policy.overhead)} asked "
                "for: two steps of what takes most are recorded whatever they cost, which weighs less in a longer cell"
            )

    def _make_room(self) -> None:
        """Turn traces into columns; other threads run on meanwhile."""
        seconds = self._traces.read_some()
        if seconds:
            with self._lock:
                self._reading_seconds += seconds
                self._sampler.spent(seconds)

    def _graphs(self) -> tuple[tuple[GraphRecording, ...], int]:
        traces = self._traces.all()
        functions = self.functions.graphs(frozenset().union(*(trace.functions for trace in traces)))
        words = BetterNames(self.functions.labels, self._variables, self._layers)
        gathered = Gathered(reading=Reading(self.note, self._kept))
        gathered.add_functions(functions, traces, words)
        tables = count_float_ops("all")(gathered.tables())
        dropped = sum(trace.dropped for trace in traces)
        for note in notes_on(traces, tables.compiled):
            self.note(note)
        kinds = [kind.runs() for kind in self._kinds.values()]
        if EAGER in tables.step_names:
            # beside steps, the time until the first one and between them is not that of their ops
            seconds = _op_seconds(tables, EAGER) if kinds else self._windows.eager_seconds
            windows = self._windows.eager_steps
            kinds.append(KindOfRun(EAGER, windows, windows, 0.0, seconds, 0.0, untraced=0, warm_ups=0))
        return ((GraphRecording(tables, tuple(kinds)),) if kinds else ()), dropped

    def _free_name(self, name: str) -> str:
        taken = {kind.name for kind in self._kinds.values()}
        candidates = chain([name], (f"{name} ({number})" for number in count(2)))
        return next(candidate for candidate in candidates if candidate not in taken)


def _op_seconds(tables: ProfileTables, name: str) -> float:
    """What all ops in the steps of that name took."""
    named = [place for place, each in enumerate(tables.step_names) if each == name]
    executions = tables.executions
    return float(executions.duration_nanos[np.isin(executions.step, named)].sum()) / 1e9


def _steps(number: int) -> str:
    return "1 step was" if number == 1 else f"{number:,} steps were"
