"""Hooks on TensorFlow's sessions: every way of running one in the block is seen, and traced when its turn has come.

All ways but two end in `BaseSession._call_tf_sessionrun`, which even callables look up anew at each call: one hook
there is enough, also for sessions and callables made before. The two are callables made from CallableOptions, as
tf_keras makes them, and partial runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

from tfprof_widget.capturing.hooks import Recording
from tfprof_widget.capturing.imports import when_imported
from tfprof_widget.capturing.patches import Hook, Patch, put_patches
from tfprof_widget.capturing.session_runs import CallableRuns, PartialRuns, SessionRuns, remembering
from tfprof_widget.capturing.trace_level import TraceLevels

SESSION = "tensorflow.python.client.session"


@contextmanager
def hooked_sessions(recorder: Recording) -> Iterator[None]:
    """Tell the recorder of every session run in the block, in any thread, and trace those that it wants.

    The runs give and raise what they would without it, and afterwards TensorFlow is as it was.

    >>> from tfprof_widget.capturing.recorder import Recorder
    >>> from tfprof_widget.capturing.sampling import Adaptive
    >>> recorder = Recorder(Adaptive())
    >>> with hooked_sessions(recorder):
    ...     pass  # session.run(train)
    >>> recorder.recorded().seen
    0
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
    """Let callables that are made in the block be traced by a capture that comes later.

    >>> with remembered_callables():
    ...     pass  # model.fit(...)
    """
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


def _hooks(session: ModuleType, recorder: Recording) -> Iterator[Hook]:
    """What is replaced: its owner, its name, and what makes the replacement."""
    bindings, base = getattr(session, "tf_session", None), getattr(session, "BaseSession", None)
    callables = getattr(base, "_Callable", None)
    levels = TraceLevels()
    runs = SessionRuns(recorder, levels, bindings, session.config_pb2.RunOptions, session.config_pb2.RunMetadata)
    yield bindings, "TF_GetBuffer", runs.answering
    yield base, "_call_tf_sessionrun", runs.hook
    yield base, "_call_tf_sessionprun", PartialRuns(recorder, bindings).hook
    yield callables, "__init__", remembering
    yield callables, "__call__", CallableRuns(recorder, levels).hook
