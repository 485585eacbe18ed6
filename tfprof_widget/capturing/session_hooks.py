"""Hooks every way of running a session, and chooses how thoroughly each run is traced."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from tfprof_widget.capturing.collectives import has_collectives
from tfprof_widget.capturing.hooks import (
    CallWatcher,
    Hook,
    Patch,
    RunRecorder,
    TracedCall,
    put_patches,
    when_imported,
)

SOFTWARE_TRACE = 1
FULL_TRACE = 3
PROFILER = "tensorflow.python.profiler.profiler_v2"
HOSTS = frozenset({"CPU", "XLA_CPU"})
UNKNOWN_CLUSTER = (
    "the ops of other tasks are missing if sessions are of a cluster, for this TensorFlow does not tell: its sessions "
    "have no sess_str"
)
UNKNOWN_PROFILING = (
    "kernels of accelerators are missing, for this TensorFlow does not tell whether its profiler is on, beside which a "
    "run traced so thoroughly would fail"
)


class TraceLevels:
    """Chooses the trace level of each run: FULL_TRACE for one run at a time that can use it, else SOFTWARE_TRACE."""

    def __init__(self, note: Callable[[str], None] = lambda sentence: None) -> None:
        self._note = note
        self._accelerated: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._borrowers: dict[int, object] = {}

    def borrow(self, session: Any, borrower: object) -> int:
        """The level for a run of this session; the run gives it back when it ends."""
        if not hasattr(session, "sess_str"):
            self._note(UNKNOWN_CLUSTER)
        elif session.sess_str:
            return FULL_TRACE
        if not self._has_accelerator(session):
            return SOFTWARE_TRACE
        profiling = is_profiling()
        if profiling is None:
            self._note(UNKNOWN_PROFILING)
        if profiling is not False or self._meets_first(session, borrower):
            return SOFTWARE_TRACE
        first = self._borrowers.setdefault(FULL_TRACE, borrower)  # atomic, since other threads may do the same
        return FULL_TRACE if first is borrower else SOFTWARE_TRACE

    def give_back(self, borrower: object) -> None:
        """Let another run have the FULL_TRACE, if this borrower had it."""
        if self._borrowers.get(FULL_TRACE) is borrower:
            del self._borrowers[FULL_TRACE]

    def _meets_first(self, session: Any, borrower: Any) -> bool:
        """Whether devices may meet in this run for the first time: TensorFlow's profiler may crash then."""
        return getattr(borrower, "is_first", False) and has_collectives(session.graph)

    def _has_accelerator(self, session: Any) -> bool:
        known = self._accelerated.get(session)
        if known is None:
            try:
                known = any(device.device_type not in HOSTS for device in session.list_devices())
            except Exception:  # a closed session: the run itself will raise
                return False
            self._accelerated[session] = known
        return known


def is_profiling() -> bool | None:
    """Whether tf.profiler.experimental was started and not yet stopped; None where TensorFlow does not tell."""
    module = sys.modules.get(PROFILER)
    if module is None:
        return False
    return module._profiler is not None if hasattr(module, "_profiler") else None


MOST_FETCHES = 1000
"""The names of the nodes of so many different runs are kept."""

MADE_FROM = "_tfprof_widget_made_from"
PARTIAL_RUN = "TensorFlow gives partial_run neither options nor metadata; use Session.run for what is to be profiled"
UNKNOWN_CALLABLE = (
    "callables, such as a tf_keras model's, cannot be traced if they were made before tfprof_widget could see what "
    "they run; make them in the captured code, a model's by compiling the model there"
)


class SessionRuns(CallWatcher):
    """Watches `BaseSession._call_tf_sessionrun`, and hands users the metadata that their runs asked for."""

    def __init__(self, recorder: RunRecorder, levels: TraceLevels, bindings: Any, run_options: Any, run_metadata: Any):
        super().__init__(recorder)
        self.levels = levels
        self.bindings = bindings
        self.run_options = run_options
        self.run_metadata = run_metadata
        self.get_buffer: Callable[[Any], bytes] = bindings.TF_GetBuffer
        self.answers: dict[Any, bytes] = {}
        self._names: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def begin(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Take note of a run, and trace it if the recorder chooses it."""
        session, options, feeds, fetches, targets, metadata = arguments
        names = self._names.get((*fetches, *targets)) or self._names_of(fetches, targets)
        run = self.recorder.begin(session.graph, names)
        if run is None or not run.traced:
            return run
        try:
            return _TracedRun(self, run, session, options, (feeds, fetches, targets), metadata)
        except Exception:
            self.levels.give_back(run)
            self.recorder.withdraw(run)
            raise

    def _names_of(self, fetches: Sequence[Any], targets: Sequence[Any]) -> tuple[str, ...]:
        """The names of the nodes that a run fetches, which are kept: to ask for a name takes half a microsecond.

        TensorFlow has one object for each output of a graph, and one for each operation. They are kept with the names,
        so that no other object gets the identity of one.
        """
        known = self._names
        if len(known) >= MOST_FETCHES:
            known.clear()
        name = self.bindings.TF_OperationName
        outputs, operations = (name(output.oper) for output in fetches), (name(target) for target in targets)
        names = known[(*fetches, *targets)] = (*outputs, *operations)
        return names

    def answering(self, original: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        """`TF_GetBuffer` that also reads users' buffers that a traced run left empty: only TensorFlow can fill them."""

        def hook(buffer: Any) -> bytes:
            answer = self.answers.pop(buffer, None) if self.answers else None
            return original(buffer) if answer is None else answer

        return hook


class _TracedRun(TracedCall):
    """A traced run: with its own buffer for options, and for metadata unless the user too asked for step stats."""

    def __init__(
        self, runs: SessionRuns, run: Any, session: Any, options: Any, what: Sequence[Any], metadata: Any
    ) -> None:
        self.runs = runs
        self.users_metadata = metadata
        asked = runs.run_options.FromString(runs.get_buffer(options)) if options is not None else runs.run_options()
        self.is_asked_for = metadata is not None and _asks_for_step_stats(asked)
        asked.trace_level = max(asked.trace_level, runs.levels.borrow(session, run))
        self.options_buffer = runs.bindings.TF_NewBufferFromString(asked.SerializeToString())
        self.buffer = metadata if self.is_asked_for else runs.bindings.TF_NewBuffer()
        super().__init__(runs.recorder, run, (session, self.options_buffer, *what, self.buffer), {})

    def metadata(self) -> bytes:
        """The run's metadata; if the user asked for metadata but not for step stats, the rest is kept for the user."""
        metadata = self.runs.get_buffer(self.buffer)
        if self.users_metadata is not None and not self.is_asked_for:
            self.runs.answers[self.users_metadata] = metadata  # fallback if stripping step stats fails
            self.runs.answers[self.users_metadata] = _without_step_stats(self.runs.run_metadata.FromString(metadata))
        return metadata

    def release(self) -> None:
        """Free the buffers and the level."""
        self.runs.levels.give_back(self.run)
        self.runs.bindings.TF_DeleteBuffer(self.options_buffer)
        if not self.is_asked_for:
            self.runs.bindings.TF_DeleteBuffer(self.buffer)


class CallableRuns(CallWatcher):
    """Watches calls of `BaseSession._Callable`. Its options are fixed: a twin with a trace level does the tracing."""

    def __init__(self, recorder: RunRecorder, levels: TraceLevels) -> None:
        super().__init__(recorder)
        self.levels = levels
        self._twins: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()

    def begin(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Take note of a call, and trace it if the recorder chooses it and it is known what the callable runs."""
        called = arguments[0]
        made_from = getattr(called, MADE_FROM, None)
        if made_from is None:
            nodes, reason = ["a callable"], UNKNOWN_CALLABLE
        else:
            nodes, reason = [_node(fetch) for fetch in (*made_from.fetch, *made_from.target)], ""
        run = self.recorder.begin(called._session.graph, nodes, untraceable=reason)
        if run is None:
            return None
        is_closed = getattr(called._session, "_closed", False)  # then let the user's callable raise, not its twin
        if is_closed or not run.traced:
            return run
        try:
            return _TracedCallable(self, run, arguments, keywords)
        except Exception:
            self.levels.give_back(run)
            self.recorder.withdraw(run)
            raise

    def twin(self, called: Any, level: int) -> Any:
        """A callable that runs the same as this one, at the given trace level."""
        made_from = getattr(called, MADE_FROM)
        if made_from.run_options.trace_level >= level:
            return called
        twins = self._twins.setdefault(called, {})
        if level not in twins:
            options = deepcopy(made_from)
            options.run_options.trace_level = level
            twins[level] = type(called)(called._session, options)
        return twins[level]


class _TracedCallable(TracedCall):
    """A call of a callable's twin, with metadata of its own."""

    def __init__(self, runs: CallableRuns, run: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        called, *feeds = arguments
        self.runs = runs
        self.users_metadata = keywords.get("run_metadata")
        self.is_asked_for = _asks_for_step_stats(getattr(called, MADE_FROM).run_options)
        self.serialized = _Serialized()
        twin = runs.twin(called, runs.levels.borrow(called._session, run))
        super().__init__(runs.recorder, run, (twin, *feeds), {**keywords, "run_metadata": self.serialized})

    def metadata(self) -> bytes | None:
        """The run's metadata."""
        return self.serialized.metadata

    def release(self) -> None:
        """Free the level."""
        self.runs.levels.give_back(self.run)

    def hand_over(self) -> None:
        """Fill in the user's metadata, with step stats only if the user asked for them."""
        if not self.users_metadata or self.serialized.metadata is None:
            return
        self.users_metadata.ParseFromString(self.serialized.metadata)
        if not self.is_asked_for:
            self.users_metadata.ClearField("step_stats")


class _Serialized:
    """Stands in for a RunMetadata, and keeps the bytes that TensorFlow would parse into it."""

    metadata: bytes | None = None

    def ParseFromString(self, metadata: bytes) -> None:
        """Keep serialized metadata."""
        self.metadata = metadata


class PartialRuns(CallWatcher):
    """Watches `BaseSession._call_tf_sessionprun`: partial runs are counted but cannot be traced."""

    def __init__(self, recorder: RunRecorder, bindings: Any) -> None:
        super().__init__(recorder)
        self._bindings = bindings

    def begin(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Take note of a partial run."""
        session, _, _, fetches = arguments
        nodes = [self._bindings.TF_OperationName(output.oper) for output in fetches]
        return self.recorder.begin(session.graph, nodes, untraceable=PARTIAL_RUN)


def remembering(original: Callable[..., None]) -> Callable[..., None]:
    """`_Callable.__init__` that keeps with the callable the options from which it was made."""

    def hook(made: Any, *arguments: Any, **keywords: Any) -> None:
        __tracebackhide__ = True
        original(made, *arguments, **keywords)
        with suppress(Exception):
            setattr(made, MADE_FROM, deepcopy(keywords.get("callable_options", arguments[-1])))

    return hook


def _asks_for_step_stats(run_options: Any) -> bool:
    return bool(run_options.trace_level or run_options.report_tensor_allocations_upon_oom)


def _without_step_stats(run_metadata: Any) -> bytes:
    run_metadata.ClearField("step_stats")
    remaining: bytes = run_metadata.SerializeToString()
    return remaining


def _node(fetch: str) -> str:
    return fetch.removeprefix("^").split(":")[0]


SESSION = "tensorflow.python.client.session"


@contextmanager
def hooked_sessions(recorder: RunRecorder) -> Iterator[None]:
    """Tell the recorder of every session run in the block, in any thread, and trace the runs that it chooses.

    Runs return and raise as they would without hooks; after the block no hook is left.
    """
    patches: list[Patch] = []

    def put(session: ModuleType) -> None:
        put_patches(lambda: _hooks(session, recorder), patches, recorder)

    try:
        with when_imported(SESSION, put):
            yield
    finally:
        for patch in reversed(patches):
            patch.undo()


@contextmanager
def remembered_callables() -> Iterator[None]:
    """Remember what callables made in the block run, so that a later capture can trace them."""
    patches: list[Patch] = []

    def put(session: ModuleType) -> None:
        with suppress(Exception):
            patches.append(Patch(session.BaseSession._Callable, "__init__", remembering))

    try:
        with when_imported(SESSION, put):
            yield
    finally:
        for patch in patches:
            patch.undo()


def _hooks(session: ModuleType, recorder: RunRecorder) -> Iterator[Hook]:
    """The functions of TensorFlow to replace."""
    bindings, base = getattr(session, "tf_session", None), getattr(session, "BaseSession", None)
    callables = getattr(base, "_Callable", None)
    levels = TraceLevels(recorder.note)
    runs = SessionRuns(recorder, levels, bindings, session.config_pb2.RunOptions, session.config_pb2.RunMetadata)
    yield bindings, "TF_GetBuffer", runs.answering
    yield base, "_call_tf_sessionrun", runs.hook
    yield base, "_call_tf_sessionprun", PartialRuns(recorder, bindings).hook
    yield callables, "__init__", remembering
    yield callables, "__call__", CallableRuns(recorder, levels).hook
