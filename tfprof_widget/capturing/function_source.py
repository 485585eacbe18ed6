"""Records calls of functions and steps of Keras models: names them, and makes tables of their graphs and traces."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from time import perf_counter
from typing import Any

import numpy as np

from tfprof_widget.capturing.collectives import has_collectives
from tfprof_widget.capturing.recorder import RunUnderWay, SamplingRecorder
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun
from tfprof_widget.capturing.sampling import Adaptive, Choice, KindTally, Policy, Steps
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.capturing.trace_store import ROOM, OpSeconds, ReadTrace, TraceStore
from tfprof_widget.capturing.windows import EAGER_SECONDS, SHARED, RecordedWindow, Windows
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.flops.operation import computes_nothing
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.op_log import READING, Reading
from tfprof_widget.ingest.parts.names import BetterNames
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace
from tfprof_widget.ingest.xspace.resolve import notes_on
from tfprof_widget.lib.errors import ProfileError, error_text
from tfprof_widget.lib.text import written_percent, written_seconds
from tfprof_widget.profiles.data import EAGER, SHORTER, WARM_UP, ProfileTables


class CalledFunctions:
    """The functions called so far, by the names that the runtime has for them.

    They are kept until the capture is over: TensorFlow drops a function with the last reference to it. The functions
    that they call in turn are found in their graphs.
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self._known: dict[str, Any] = {}

    def add(self, function: Any, label: str = "") -> str:
        """Keep a function (an AtomicFunction of TensorFlow's) and a label for it; returns its name."""
        name = function.name
        text = name.decode() if isinstance(name, bytes) else str(name)
        if text not in self._known:
            self._known[text] = function
            if label:
                self.labels[text] = label
        return text

    @property
    def compute(self) -> bool:
        """Whether any has an op that does something, and so should be found in a trace."""
        graphs = [function.graph for function in self._known.values()]
        return any(not computes_nothing(op.type) for graph in graphs for op in graph.get_operations())

    def graphs(self, executed: AbstractSet[str]) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions of these names, in the order first called."""
        return [(name, function.graph) for name, function in self._known.items() if name in executed]


OTHERS_OPS = (
    "steps of another capture ran in another thread meanwhile; some of their ops are among those here, "
    "for TensorFlow does not tell them apart: capture one after the other"
)
UNRECOGNISED = "no op was found in TensorFlow's recording of functions with ops; upgrade tfprof_widget, or report this"
MOST_GUESSED = 10.0
"""What was recorded of eager ops stands for at most so many times as long."""
WAIT_SECONDS = 0.2
UNNOTICED_SECONDS = 0.1
"""Tracing may cost more than asked for without a note, as long as it costs less than this."""

LOOP = ": "
"""Stands in the name of a kind between a library's loop and the function, as in `fit: train_step`."""


@dataclass(slots=True, eq=False)
class FunctionRun(RunUnderWay):
    """A step of a function or a model that has begun."""

    @property
    def is_of_loop(self) -> bool:
        """Whether a library's loop makes the steps, as `fit` does: then all of a step is in its function."""
        return LOOP in self.kind.name


class _Thread(threading.local):
    run: FunctionRun | None = None


class FunctionSource(SamplingRecorder):
    """Takes note of every step of functions and Keras models, from any thread, and records some of them."""

    runs = "steps"

    def __init__(
        self,
        policy: Policy,
        *,
        clock: Callable[[], float] = perf_counter,
        room: int = ROOM,
        collectives: bool = False,
        kept: Callable[[Any], Sequence[range]] = READING.kept,
    ) -> None:
        super().__init__(policy, clock)
        self.functions = CalledFunctions()
        self.traces: TraceStore[RecordedWindow, TraceTable] = TraceStore(self._read_window, room=room)
        self._windows = Windows(None, self.traces, self.lock, self.note, self.under_way)
        self._with_collectives = collectives
        self._reading = Reading(self.note, kept)
        self._met: set[str] = set()
        self._unrecorded: list[FunctionRun] = []
        self._thread = _Thread()
        self._layers: list[str] = []
        self._variables: dict[int, str] = {}
        self._dropped = 0
        self._reading_seconds = 0.0
        self._started = self._closed = self.clock()

    def use(self, profiler: TfProfiler, *, eagerly: bool, is_safe: bool = True) -> None:
        """Record with this profiler from now on; if `eagerly`, the ops before the first step too.

        With a profiler that is not safe, collectives are recorded only if the user asked for that.
        """
        with self.lock:
            self._windows.profiler = profiler
            self._windows.is_careful = not (is_safe or self._with_collectives)
            if eagerly and not isinstance(self.sampler.policy, Steps):
                self._windows.open()
                self._windows.add_step(EAGER)

    def keep_function(self, function: Any) -> str:
        """Keep a function (an AtomicFunction of TensorFlow's) that is called; returns its name."""
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

    @contextmanager
    def step(self, key: Hashable, name: str, owner: Any) -> Iterator[None]:
        """Record the block as a step of the kind `key`, unless it is within one; `owner` is kept, so its id stays."""
        run = self.begin(key, name, owner)
        try:
            yield
        except BaseException:
            self.finished(run, raised=True)
            raise
        self.finished(run)

    def begin(self, key: Hashable, name: str, owner: Any) -> FunctionRun | None:
        """Take note of a step that begins now; gives None if this thread is in another step."""
        if self._thread.run is not None:
            return None
        if self.lets_pass:
            if self._windows.is_open and self.opening_thread.is_elsewhere:
                self.note(OTHERS_OPS)
            return None
        try:
            with self.lock:
                kind = self.sampler.kind(key, lambda: KindTally(self._free_name(name), owner))
                cost = self._windows.costs.of_one(kind.name) + self.traces.waiting_seconds
                choice = self.sampler.choose(kind, cost=cost)
                self._adjust(kind, choice)
                number = self._windows.add_step(kind.name + (WARM_UP if choice.is_first else ""))
                run = FunctionRun(kind, Choice(choice.number, number is not None), self.clock(), number)
                self.begun(run)
            self._thread.run = run
            return run
        except Exception as error:
            self.stop_after_error(error)
            return None

    def finished(self, run: FunctionRun | None, *, raised: bool = False) -> None:
        """Take note that a step has ended."""
        if run is None:
            return
        run.ended = self.clock()
        self._thread.run = None
        if self.process.is_another:
            return
        try:
            with self.lock:
                if run in self._unrecorded:
                    self._unrecorded.remove(run)
                self._windows.rest()
                self._windows.add_step(EAGER)  # what Python runs op by op from here on is not the step's
                if run.is_warm_up and run.step is not None and not raised:
                    self._windows.rename(run.step, run.kind.name + WARM_UP)
                self.ended(run, raised=raised)
            self._make_room()
        except Exception as error:
            self.stop_after_error(error)

    def take_names_of_layers(self, layers: Iterable[str], variables: Mapping[int, str]) -> None:
        """Keep the scopes of layers, and the names of variables by the identity of their handles."""
        self._layers += layers
        self._variables.update(variables)

    def mark_retraced(self) -> None:
        """Mark this thread's step as one that traces a function again, which counts as a warm-up."""
        run = self._thread.run
        if run is not None:
            run.is_retraced = True

    def _leave_out_first_collectives(self, function: Any) -> None:
        """Record no ops of this thread's step if devices may meet in this function for the first time."""
        try:
            if not has_collectives(function.graph):
                return
            with self.lock:
                run = self._thread.run
                if run is not None:
                    self._unrecorded.append(run)
                    if run.step is not None:
                        self._windows.drop(run.step)
                        run.step, run.choice = None, replace(run.choice, traced=False)
                self._windows.close()
        except Exception as error:
            self.stop_after_error(error)

    def release_profiler(self) -> None:
        """Close the open window, so that another can use TensorFlow's profiler."""
        if self.process.is_another:
            return
        try:
            with self.lock:
                self._windows.close()
        except Exception as error:
            self.stop_after_error(error)

    def hand_profiler_over(self) -> bool:
        """Let another capture use TensorFlow's profiler, after the steps under way; says whether it may now.

        This waits for the lock a short while only: the other capture holds its own lock, and this one may ask it too.
        """
        self._windows.is_wanted = True
        if self.process.is_another or not self.lock.acquire(timeout=WAIT_SECONDS):
            return False
        try:
            if not self.is_open or not self.under_way:
                self._windows.close()
            return not self._windows.is_open
        except Exception as error:
            self.stop_after_error(error)
            return False
        finally:
            self.lock.release()

    def end_eager_ops(self) -> None:
        """Close the open window if it holds only eager ops."""
        if self._windows.is_of_eager_ops and not self.process.is_another:
            with self.lock:
                if self._windows.is_of_eager_ops:  # no step may have begun while this waited
                    self.release_profiler()

    def end(self) -> None:
        """Close the last window."""
        self._closed = self.clock()
        try:
            self._windows.close()
        except Exception as error:
            self.note(f"the last steps are missing, for TensorFlow did not give them ({error_text(error)})")

    def wall_seconds(self) -> float:
        """The time since the capture began."""
        return self.clock() - self._started

    def dropped_events(self) -> int:
        """How many events TensorFlow's profiler had no room for."""
        return self._dropped

    def overhead_seconds(self) -> float:
        """The time that opening, closing and reading windows took."""
        return self._windows.seconds + self._reading_seconds

    def judge_cost(self, overhead: float, untraced_seconds: float) -> None:
        """Note that tracing cost noticeably more than was asked for, if it did."""
        policy = self.sampler.policy
        if not isinstance(policy, Adaptive) or policy.allowance or overhead < UNNOTICED_SECONDS:
            return
        if overhead > policy.overhead * untraced_seconds:
            self.note(
                f"tracing cost {written_seconds(overhead)}, more than the {written_percent(policy.overhead)} asked "
                "for: two steps of the costliest kind are always recorded; in a longer cell their share is smaller"
            )

    def read(self) -> list[GraphRecording]:
        """Make tables of all that was recorded."""
        shorter = {step for kind in self.sampler.kinds.values() for step in kind.shorter_steps()}
        traces = [_with_shorter(trace, shorter) for trace in self.traces.all()]
        functions = self.functions.graphs(frozenset().union(*(trace.functions for trace in traces)))
        gathered = Gathered(reading=self._reading)
        gathered.add_functions(functions, traces, BetterNames(self.functions.labels, self._variables, self._layers))
        tables = count_float_ops("all", of_what_ran=True)(gathered.tables())
        self._dropped = sum(trace.dropped for trace in traces)
        ran = any(label.kind != "iterator" for trace in traces for label in trace.labels)
        if traces and not ran and self.functions.compute:
            self.note(UNRECOGNISED)
        for note in notes_on(traces, tables.compiled):
            self.note(note)
        kinds = [kind.runs() for kind in self.sampler.kinds.values()]
        if EAGER in tables.step_names:
            kinds.append(self._eager_kind(tables, has_steps=bool(kinds)))
        return [GraphRecording(tables, tuple(kinds))] if kinds else []

    def _eager_kind(self, tables: ProfileTables, *, has_steps: bool) -> KindOfRun:
        """Eager ops as a kind of run: beside steps by their op time, with a guess of what was not recorded."""
        windows, seconds = self._windows.eager_steps, self._windows.eager_seconds
        found, is_cut = _op_seconds(tables, EAGER), seconds >= EAGER_SECONDS
        if not has_steps:
            return KindOfRun(EAGER, windows, windows, 0.0, seconds, 0.0, untraced=0, warm_ups=0)
        between = max(self._closed - self._started - self._busy_seconds - self._windows.seconds, seconds)
        rest = found * min((between - seconds) / seconds, MOST_GUESSED) if is_cut else 0.0
        return KindOfRun(EAGER, windows, windows, rest, found, 0.0, untraced=0, warm_ups=0)

    def _adjust(self, kind: KindTally, choice: Choice) -> None:
        """Open or close a window before a step; after a window, windows rest for as many steps as there were so far."""
        windows = self._windows
        if isinstance(self.sampler.policy, Adaptive):
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
            affordable = self.sampler.affordable_seconds() - self.traces.waiting_seconds
            windows.open(windows.costs.affordable_steps(kind.name, affordable))
        self.sampler.add_overhead(windows.seconds - before)

    def _make_room(self) -> None:
        """Read waiting traces into tables if there is no room, or if it is cheap; other threads run on meanwhile."""
        seconds = self.traces.read_some()
        if seconds:
            with self.lock:
                self._reading_seconds += seconds
                self.sampler.add_overhead(seconds)

    def _read_window(self, window: RecordedWindow) -> ReadTrace[TraceTable] | None:
        try:
            table = read_xspace(window.xspace, window.steps, window.started)
        except ProfileError as error:
            self.note(f"{len(window.steps):,} steps are missing: {error}")
            return None
        return ReadTrace(table, table.nbytes, tuple(_seconds_by_type(table)))

    def _free_name(self, name: str) -> str:
        taken = {kind.name for kind in self.sampler.kinds.values()}
        candidates = chain([name], (f"{name} ({number})" for number in count(2)))
        return next(candidate for candidate in candidates if candidate not in taken)


def _with_shorter(table: TraceTable, shorter: AbstractSet[int]) -> TraceTable:
    """The table, with the names of steps saying which are shorter than most."""
    names = {step: name + (SHORTER if step in shorter else "") for step, name in table.step_names.items()}
    return replace(table, step_names=names)


def _seconds_by_type(table: TraceTable) -> Iterator[OpSeconds]:
    """The time of each op type, in the steps of warm-up runs and in the others."""
    for are_warm_ups in (False, True):
        steps = [
            number
            for number, name in table.step_names.items()
            if name != EAGER and name.endswith(WARM_UP) == are_warm_ups
        ]
        counted = np.isin(table.step, steps)
        nanos = np.bincount(table.label[counted], table.duration[counted], minlength=len(table.labels))
        found: Counter[str] = Counter()
        for label, each in zip(table.labels, nanos.tolist(), strict=True):
            if label.kind not in ("eager part", "iterator"):  # iterators mostly wait
                found[label.op] += each / 1e9
        if steps:
            yield OpSeconds(len(steps), found, are_warm_ups)


def _op_seconds(tables: ProfileTables, name: str) -> float:
    """The time of all ops in the steps of this name."""
    named = [place for place, each in enumerate(tables.step_names) if each == name]
    executions = tables.executions
    return float(executions.duration_nanos[np.isin(executions.step, named)].sum()) / 1e9
