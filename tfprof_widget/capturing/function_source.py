"""Records calls of functions and steps of Keras models: names them, and makes tables of their graphs and traces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from tfprof_widget.capturing.called_functions import CalledFunctions, free_name
from tfprof_widget.capturing.collectives import has_collectives
from tfprof_widget.capturing.models import UsedModels
from tfprof_widget.capturing.recorder import OTHERS_OPS, SamplingRecorder
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, steps_shown
from tfprof_widget.capturing.sampling import Adaptive, Policy, Steps
from tfprof_widget.capturing.sampling_notes import note_on_cost, note_on_parts
from tfprof_widget.capturing.servers import with_servers
from tfprof_widget.capturing.tallies import EARLY_RUNS, FEWEST_COMPARED, Choice, KindTally, eager_runs
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.capturing.trace_store import ROOM, TraceStore, read_window, with_marks
from tfprof_widget.capturing.windows import (
    EAGER_SECONDS,
    LOOP,
    RUN_SECONDS,
    SHARED,
    FunctionRun,
    RecordedWindow,
    Windows,
)
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.flops.fused import name_kernels
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.op_log import READING, Reading
from tfprof_widget.ingest.parts.names import BetterNames
from tfprof_widget.ingest.xspace.events import notes_on
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.lib.errors import error_text
from tfprof_widget.profiles.data import EAGER, WARM_UP, ProfileTables

UNRECOGNISED = "no op was found in TensorFlow's recording of functions with ops; upgrade tfprof_widget, or report this"
WAIT_SECONDS = 0.2


class _Thread(threading.local):
    run: FunctionRun | None = None


class FunctionSource(SamplingRecorder):
    """Times every step of functions and Keras models, in any thread, and records the ops of some."""

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
        self.traces: TraceStore[RecordedWindow, TraceTable] = TraceStore(
            lambda window: read_window(window, self.note), room=room
        )
        self.windows = Windows(None, self.traces, self.lock, self.note, self.under_way)
        self.windows.cut, self.windows.affordable_eager = self._cut, self._affordable_eager_seconds
        self.windows.opened = self.functions.keep_data
        self._with_collectives, self._reading = collectives, Reading(self.note, kept)
        self._met: set[str] = set()
        self._unrecorded: list[FunctionRun] = []
        self._thread = _Thread()
        self._models = UsedModels(self.note)
        self.made_models: Callable[[], Iterable[Any]] = tuple
        self._kind_of: dict[str, str] = {}
        self._called: dict[str | bytes, KindTally] = {}
        self._dropped, self._closed = 0, self.clock()
        self._reading_seconds = self._watching_seconds = self._windows_seconds = 0.0

    def use(self, profiler: TfProfiler, *, eagerly: bool, is_safe: bool = True) -> None:
        """Record with this profiler from now on; with `eagerly`, record the ops before the first step too.

        If the profiler is not safe, collectives are recorded only if the user asked for them.
        """
        with self.lock:
            self.windows.profiler = profiler
            self.windows.is_careful = not (is_safe or self._with_collectives)
            if eagerly and not isinstance(self.sampler.policy, Steps):
                self.windows.open()
                self.windows.add_step(EAGER)

    def keep_function(self, function: Any) -> str:
        """Keep a function (an AtomicFunction of TensorFlow's) that is called; returns its name."""
        run = self._thread.run
        name = self.functions.add(function, run.kind.name.partition(LOOP)[2] if run is not None else "")
        if self.windows.is_careful and name not in self._met:
            self._met.add(name)
            self._leave_out_first_collectives(function)
        if run is not None:
            run.built = run.built or self.clock()
            self._kind_of[name] = run.kind.name
            self._called[function.name] = run.kind
            run.functions |= {name}
            self._limit_loops(run, name)
        return name

    def has_called(self, function: Any) -> bool:
        """Whether this thread's step is not recorded and its kind has called this function before."""
        run = self._thread.run
        return run is not None and run.step is None and self._called.get(function.name) is run.kind

    def keep_functions_of_data(self, dataset: Any) -> None:
        """Keep the functions of a dataset that is iterated."""
        try:
            with self.lock:
                self.functions.add_of_data(dataset, is_recorded=self.windows.is_open)
        except Exception as error:
            self.note(f"ops of tf.data have no lines and shapes: its functions could not be read ({error_text(error)})")

    @property
    def is_in_step(self) -> bool:
        """Whether this thread is in a step."""
        return self._thread.run is not None

    def begin(self, key: Hashable, name: str | Callable[[Any], str], owner: Any) -> FunctionRun | None:
        """Start a step of the kind `key` now; gives None if this thread is in another step.

        `owner` is kept alive, so that no other object gets its id; `name` may be a function that names the owner.
        """
        since, thread = self.clock(), self._thread
        if thread.run is not None:
            return None
        if self.lets_pass:
            if self.windows.is_open and self.opening_thread.is_elsewhere:
                self.note(OTHERS_OPS)
            return None
        try:
            with self.lock:
                kind, windows, step = self.sampler.kinds.get(key), self.windows, None
                if kind is None:
                    named = name if isinstance(name, str) else name(owner)
                    taken = {each.name for each in self.sampler.kinds.values()}
                    kind = self.sampler.kind(key, lambda: KindTally(free_name(named, owner, taken), owner))
                    self.functions.were_traced(owner)
                number, traced = self.sampler.begin(kind, lambda kind: windows.costs.of_one(kind.name))
                if traced or windows.is_open:
                    self._adjust(kind, Choice(number, traced))
                    step = windows.add_step(kind.name + ("" if number else WARM_UP))
                opening = self._count_cost() if windows.seconds != self._windows_seconds else 0.0
                started = self.clock()
                run = FunctionRun(kind, number, step is not None, started, step)
                run.since, run.asked = started, since
                if opening or windows.is_open:
                    run.opening = started - since if windows.is_open else opening
                self.begun(run)
            thread.run = run
            return run
        except Exception as error:
            self.stop_after_error(error)
            return None

    def finished(self, run: FunctionRun | None, *, raised: bool = False) -> None:
        """End a step."""
        if run is None:
            return
        ended = run.ended = self.clock()
        self._thread.run = None
        if self.process.is_another:
            return
        try:
            with self.lock:
                windows, is_open = self.windows, self.windows.is_open
                if self._unrecorded and run in self._unrecorded:
                    self._unrecorded.remove(run)
                if run.functions and self.functions.were_traced(run.kind.owner):
                    run.is_retraced = True
                if is_open or run.part_seconds is not None:
                    windows.add_part(run)
                    windows.rest()
                    windows.add_step(EAGER)  # what Python runs op by op from here on is not the step's
                    if run.is_warm_up and run.step is not None and run.part_seconds is None and not raised:
                        windows.rename(run.step, run.kind.name + WARM_UP)
                self.ended(run, raised=raised)
                if not windows.servers.are_asked and not run.is_warm_up:
                    windows.servers.record(ended - run.started)
                watching = self.held_up(run, run.asked, ended)
                if not is_open:
                    self._watching_seconds += watching - run.opening
                    self.sampler.overhead_seconds += watching - run.opening
            if self.traces.is_due:
                self._make_room()
        except Exception as error:
            self.stop_after_error(error)

    def take_models(self, models: Iterable[Any]) -> None:
        """Keep layers and variables of these models, and of the models that the called functions use."""
        for model in models:
            self._models.add(model)
        self._models.add_used_by(kind.owner for kind in self.sampler.kinds.values())

    def mark_retraced(self) -> None:
        """Mark this thread's step as one that traces a function again, which counts as a warm-up."""
        if (run := self._thread.run) is not None:
            run.is_retraced = True

    def _leave_out_first_collectives(self, function: Any) -> None:
        """Record no ops of this thread's step if devices may meet in this function for the first time."""
        try:
            if not has_collectives(function.graph):
                return
            with self.lock:
                if (run := self._thread.run) is not None:
                    self._unrecorded.append(run)
                    if run.step is not None:
                        self.windows.drop(run.step)
                        run.step, run.traced = None, False
                self.windows.close()
        except Exception as error:
            self.stop_after_error(error)

    def release_profiler(self) -> None:
        """Close the open window, so that another can use TensorFlow's profiler."""
        if self.process.is_another:
            return
        try:
            with self.lock:
                self.windows.close()
        except Exception as error:
            self.stop_after_error(error)

    def hand_profiler_over(self) -> bool:
        """Let another capture use TensorFlow's profiler once the current steps end; returns whether it may now.

        This waits for the lock only for a moment: the other capture holds its own lock, and may in turn be asked.
        """
        self.windows.is_wanted = True
        if self.process.is_another or not self.lock.acquire(timeout=WAIT_SECONDS):
            return False
        try:
            if not self.is_open or not self.under_way:
                self.windows.close()
            return not self.windows.is_open
        except Exception as error:
            self.stop_after_error(error)
            return False
        finally:
            self.lock.release()

    def end_eager_ops(self) -> None:
        """Close the open window if it holds only eager ops."""
        if not self.windows.is_open:
            return
        if self.windows.is_of_eager_ops and not self.process.is_another:
            with self.lock:
                if self.windows.is_of_eager_ops:  # no step may have begun while this waited
                    self.release_profiler()

    def end(self) -> None:
        """Close the last window."""
        self._closed = self.clock()
        try:
            self.windows.servers.end()
            self.windows.end()
        except Exception as error:
            self.note(f"the last steps are missing: TensorFlow did not return them ({error_text(error)})")

    def dropped_events(self) -> int:
        """How many events TensorFlow's profiler had no room for."""
        return self._dropped

    def overhead_seconds(self) -> float:
        """The time spent on opening, closing and reading windows, and on watching steps outside of windows."""
        return self.windows.seconds + self._reading_seconds + self._watching_seconds

    def judge_cost(self, overhead: float, untraced_seconds: float) -> None:
        """Note that tracing cost noticeably more than was asked for, if it did."""
        if note := note_on_cost(self.sampler.policy, overhead, untraced_seconds):
            self.note(note)

    def read(self) -> list[GraphRecording]:
        """Make tables of the recording; try twice, because another thread may change a graph meanwhile."""
        with suppress(Exception):
            return self._read(self.note)
        return self._read(self.note)

    def read_so_far(self, note: Callable[[str], None]) -> list[GraphRecording]:
        """Make tables of what was recorded so far; what servers recorded is read at the end."""
        self.take_models(self.made_models())
        return self._read(note, is_over=False)

    def _read(self, note: Callable[[str], None], *, is_over: bool = True) -> list[GraphRecording]:
        marks = self.sampler.marked_steps()
        traces = [with_marks(trace, marks) for trace in self.traces.all()]
        served = self.windows.servers.traces(self._kind_of) if is_over else {}
        functions = self.functions.graphs(frozenset().union(*(each.functions for each in (*traces, *served.values()))))
        of_servers = {task: self._tables(functions, [trace]) for task, trace in served.items()}
        tables = with_servers(self._tables(functions, traces), of_servers)
        self._dropped = sum(trace.dropped for trace in traces)
        ran = any(label.kind != "iterator" for trace in traces for label in trace.labels)
        if not ran and self.functions.compute and any({*trace.step_names.values()} - {EAGER} for trace in traces):
            note(UNRECOGNISED)
        kinds = [kind.runs() for kind in self.sampler.kinds.values()]
        kinds = self.windows.servers.recorded(kinds, tables) if is_over else kinds
        parts = note_on_parts((runs, steps_shown(tables, runs)) for runs in kinds)
        for told in filter(
            None, (*notes_on([each for trace in traces for each in trace.notes], tables.compiled), parts)
        ):
            note(told)
        if EAGER in tables.step_names:
            kinds.append(self._eager_kind(tables, has_steps=bool(kinds)))
        runs = (kind.all_runs(self.log.entered) for kind in self.sampler.kinds.values())
        return [GraphRecording(tables, tuple(kinds), tuple(runs))] if kinds else []

    def _tables(self, functions: Sequence[tuple[str, Any]], traces: Sequence[TraceTable]) -> ProfileTables:
        gathered = Gathered(reading=self._reading)
        names = BetterNames(self.functions.labels, self._models.variables(), self._models.scopes())
        gathered.add_functions(functions, traces, names, self.functions.data_graphs())
        tables = name_kernels(count_float_ops("all", of_what_ran=True)(gathered.tables()))
        return tables.having(model_layers=tuple(self._models.layers()), **self.functions.told(self._kind_of))

    def _eager_kind(self, tables: ProfileTables, *, has_steps: bool) -> KindOfRun:
        windows, seconds = self.windows.eager_steps, self.windows.eager_seconds
        between = self._closed - self.log.entered - self.busy_seconds() if seconds >= EAGER_SECONDS else 0.0
        return eager_runs(tables, windows, seconds, between if has_steps else None)

    def _adjust(self, kind: KindTally, choice: Choice) -> None:
        """Open or close a window before a step; after a window, they rest for as many steps as there were so far."""
        windows = self.windows
        if isinstance(self.sampler.policy, Adaptive):
            is_missing = choice.traced and kind.is_missing and not choice.is_first
            may_open = choice.traced and choice.number >= kind.resting_until
            has_room = windows.has_room
            is_missing |= self.sampler.is_asked_for(kind, choice.number)
            wanted = is_missing or (has_room if windows.is_open else may_open)
            if windows.is_open and not wanted:
                kind.resting_until = 2 * choice.number if choice.number > EARLY_RUNS else EARLY_RUNS
        else:
            wanted, has_room = choice.traced, not windows.is_full
        is_others_turn = windows.is_open and windows.is_wanted
        if windows.is_open and (not wanted or not has_room or windows.is_full or is_others_turn):
            windows.close()
        if wanted and is_others_turn:
            self.note(SHARED)
        elif wanted and not self._unrecorded:
            windows.open(self._affordable_steps(kind))

    def _affordable_steps(self, kind: KindTally) -> int:
        """How many steps the next window may hold; a few if nothing is left but what this kind may cost by itself."""
        costs, left = self.windows.costs, self.sampler.affordable_seconds()
        if left >= costs.of_one(kind.name):
            return costs.affordable_steps(kind.name, left)
        return min(costs.affordable_steps(kind.name, self.sampler.affordable_for(kind)), FEWEST_COMPARED)

    def _count_cost(self) -> float:
        """Let the sampler know what opening and closing windows took since it was last told; returns that."""
        seconds, self._windows_seconds = self.windows.seconds - self._windows_seconds, self.windows.seconds
        self.add_overhead(seconds)
        return seconds

    def _affordable_eager_seconds(self, since: float) -> float:
        """How long eager ops may be recorded again, so many seconds after the last time; 0 once a step has run."""
        self._count_cost()
        left, policy = self.sampler.affordable_seconds(self.clock() - self.log.entered), self.sampler.policy
        left = max(left, policy.overhead * since) if isinstance(policy, Adaptive) else left
        return 0.0 if self.sampler.kinds else self.windows.costs.affordable_time(EAGER, left)

    def _limit_loops(self, run: FunctionRun, name: str) -> None:
        """Let the window be cut in a while if the function has loops: no graph tells how many ops these will run."""
        if run.step is None or not isinstance(self.sampler.policy, Adaptive):
            return
        if self.functions.repeats(name):
            with self.lock:
                self.windows.cut_after(run, self._affordable_seconds(run))

    def _affordable_seconds(self, run: FunctionRun) -> float:
        """The seconds that recording a run may still cost; half for a warm-up, as later runs show the usual work."""
        seconds = self.sampler.affordable_seconds(self.clock() - run.started)
        if run.is_warm_up:
            return max((seconds - run.cost) / 2, RUN_SECONDS / 2 - run.cost)
        return max(seconds, RUN_SECONDS - run.cost)

    def _cut(self) -> None:
        """Close the window within steps, or end their pause, and go on recording the steps while the cost allows it."""
        try:
            windows, is_after_pause = self.windows, not self.windows.is_open
            runs = windows.end_pause() if is_after_pause else windows.close_within_steps()
            self._count_cost()
            windows.go_on(runs, min(map(self._affordable_seconds, runs), default=0.0), is_after_pause=is_after_pause)
        except Exception as error:
            self.stop_after_error(error)

    def _make_room(self) -> None:
        """Read waiting traces into tables if they take too much memory or are cheap to read; other threads go on."""
        if seconds := self.traces.read_some():
            with self.lock:
                self._reading_seconds += seconds
                self.add_overhead(seconds)
                self.log.own.add((now := self.clock()) - seconds, now)
