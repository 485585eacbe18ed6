"""Watches the three ways in which runs reach TensorFlow: plain runs, callables made from options, and partial runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

from tfprof_widget.capturing.hooks import Begun, Recording, Watcher
from tfprof_widget.capturing.trace_level import TraceLevels

MADE_FROM = "_tfprof_widget_made_from"
PARTIAL_RUN = "TensorFlow gives partial_run neither options nor metadata; use Session.run for what is to be profiled"
UNKNOWN_CALLABLE = (
    "of callables, such as a tf_keras model's, that were made before tfprof_widget could learn what they run; "
    "make them in the captured code, a model's by compiling it there"
)


class SessionRuns(Watcher):
    """Watches `BaseSession._call_tf_sessionrun`, and hands users the metadata that their runs asked for."""

    def __init__(self, recorder: Recording, levels: TraceLevels, bindings: Any, run_options: Any, run_metadata: Any):
        super().__init__(recorder)
        self.levels = levels
        self.bindings = bindings
        self.run_options = run_options
        self.run_metadata = run_metadata
        self.get_buffer: Callable[[Any], bytes] = bindings.TF_GetBuffer
        self.answers: dict[Any, bytes] = {}

    def begin(self, *arguments: Any, **keywords: Any) -> Begun | None:
        """Take note of a run, and trace it if its turn has come."""
        session, options, feeds, fetches, targets, metadata = arguments
        name = self.bindings.TF_OperationName
        nodes = [name(output.oper) for output in fetches] + [name(target) for target in targets]
        run = self.recorder.begin(session.graph, nodes)
        if run is None:
            return None
        if not run.traced:
            return Begun(self.recorder, run, arguments, keywords)
        try:
            return _TracedRun(self, run, session, options, (feeds, fetches, targets), metadata)
        except Exception:
            self.levels.give_back(run)
            self.recorder.forget(run)
            raise

    def answering(self, original: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        """`TF_GetBuffer`, for the buffers of users that a traced run has left empty: TensorFlow alone can fill them."""

        def hook(buffer: Any) -> bytes:
            answer = self.answers.pop(buffer, None) if self.answers else None
            return original(buffer) if answer is None else answer

        return hook


class _TracedRun(Begun):
    """A traced run, with its own buffer for options, and one for metadata unless the user's gets step stats too."""

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
        """The run's metadata; what is not step stats is kept for the user."""
        metadata = self.runs.get_buffer(self.buffer)
        if self.users_metadata is not None and not self.is_asked_for:
            self.runs.answers[self.users_metadata] = metadata  # rather too much than nothing, if the next line fails
            self.runs.answers[self.users_metadata] = _without_step_stats(self.runs.run_metadata.FromString(metadata))
        return metadata

    def release(self) -> None:
        """Free the buffers and the level."""
        self.runs.levels.give_back(self.run)
        self.runs.bindings.TF_DeleteBuffer(self.options_buffer)
        if not self.is_asked_for:
            self.runs.bindings.TF_DeleteBuffer(self.buffer)


class CallableRuns(Watcher):
    """Watches `BaseSession._Callable`, whose options are fixed when it is made: a twin with others does the tracing."""

    def __init__(self, recorder: Recording, levels: TraceLevels) -> None:
        super().__init__(recorder)
        self.levels = levels
        self._twins: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()

    def begin(self, *arguments: Any, **keywords: Any) -> Begun | None:
        """Take note of a call, and trace it if its turn has come and it is known what is called."""
        called = arguments[0]
        made_from = getattr(called, MADE_FROM, None)
        if made_from is None:
            nodes, reason = ["a callable"], UNKNOWN_CALLABLE
        else:
            nodes, reason = [_node(fetch) for fetch in (*made_from.fetch, *made_from.target)], ""
        run = self.recorder.begin(called._session.graph, nodes, untraceable=reason)
        if run is None:
            return None
        is_closed = getattr(called._session, "_closed", False)  # then the error is to be TensorFlow's, not the twin's
        if is_closed or not run.traced:
            return Begun(self.recorder, run, arguments, keywords)
        try:
            return _TracedCall(self, run, arguments, keywords)
        except Exception:
            self.levels.give_back(run)
            self.recorder.forget(run)
            raise

    def twin(self, called: Any, level: int) -> Any:
        """A callable that does the same as this one, and traces it."""
        made_from = getattr(called, MADE_FROM)
        if made_from.run_options.trace_level >= level:
            return called
        twins = self._twins.setdefault(called, {})
        if level not in twins:
            options = deepcopy(made_from)
            options.run_options.trace_level = level
            twins[level] = type(called)(called._session, options)
        return twins[level]


class _TracedCall(Begun):
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
        """Fill the user's metadata."""
        if not self.users_metadata or self.serialized.metadata is None:
            return
        self.users_metadata.ParseFromString(self.serialized.metadata)
        if not self.is_asked_for:
            self.users_metadata.ClearField("step_stats")


class _Serialized:
    """Stands in for a RunMetadata, and keeps what is to be parsed as it is."""

    metadata: bytes | None = None

    def ParseFromString(self, metadata: bytes) -> None:
        """Keep serialized metadata."""
        self.metadata = metadata


class PartialRuns(Watcher):
    """Watches `BaseSession._call_tf_sessionprun`, for the count only."""

    def __init__(self, recorder: Recording, bindings: Any) -> None:
        super().__init__(recorder)
        self._bindings = bindings

    def begin(self, *arguments: Any, **keywords: Any) -> Begun | None:
        """Take note of a partial run."""
        session, _, _, fetches = arguments
        nodes = [self._bindings.TF_OperationName(output.oper) for output in fetches]
        run = self.recorder.begin(session.graph, nodes, untraceable=PARTIAL_RUN)
        return None if run is None else Begun(self.recorder, run, arguments, keywords)


def remembering(original: Callable[..., None]) -> Callable[..., None]:
    """`_Callable.__init__`, keeping with the callable what it was made from."""

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
