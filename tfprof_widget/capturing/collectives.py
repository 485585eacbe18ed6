"""Stops recording where TensorFlow's profiler may crash the process: in collectives, ops that several devices share.

The profiler crashes if an activity ends in another thread than it began in: when recording stops, TensorFlow writes to
the old address of the activity's record, which may have moved. The only such activity is
CollectiveExecutor::CompleteParams, in which TensorFlow finds out which devices take part in a collective. (We recorded
all threads of sessions, functions, Keras fits, tf.data and its service, parameter servers, DTensor and all strategies
to establish this.) In every worker except the first of a cluster this activity runs in each collective; in one process
with several devices it runs when a group of devices meets for the first time. The change that mended the profiler (July
2026, after TensorFlow 2.21) also added a function to it; a TensorFlow with this function is safe.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import isfunction, signature
from types import ModuleType
from typing import Any, Protocol

from tfprof_widget.capturing.called_functions import op_types
from tfprof_widget.capturing.hooks import Hook

CONTEXT = "tensorflow.python.eager.context"
COLLECTIVES = "tensorflow.python.ops.collective_ops"
DTENSOR = "tensorflow.dtensor.python.api"
DTENSOR_DEVICE = "tensorflow.dtensor.python.dtensor_device"
FLUSH = "_ZN3tsl8profiler15TraceMeRecorder5FlushEv"
COLLECTIVE = "Collective"
"""The prefix of the types of all collective ops."""

HOW_TO_RECORD_COLLECTIVES = (
    "so only the times of its steps are here: TensorFlow's profiler may crash the process in collectives (that of 2.21 "
    "crashed 15 of 25 pairs of workers); to record ops anyway: capture(collectives=True), %%tfprof --collectives, "
    "tfprof run --collectives"
)


def is_mended(bindings: ModuleType) -> bool:
    """Whether the profiler of these bindings has the change that keeps it from crashing in collectives."""
    try:
        return hasattr(ctypes.CDLL(bindings.__file__ or "missing"), FLUSH)
    except (AttributeError, OSError):
        return False


def why_never() -> str:
    """Why TensorFlow's profiler may crash this process at any time; an empty text if it may not."""
    context = getattr(sys.modules.get(CONTEXT), "context_safe", lambda: None)()
    if getattr(context, "_collective_ops_server_def", None) is not None:
        return f"this process takes part in collectives of several workers, {HOW_TO_RECORD_COLLECTIVES}"
    if getattr(sys.modules.get(DTENSOR), "_dtensor_singleton", None) is not None:
        return f"this process runs DTensor, {HOW_TO_RECORD_COLLECTIVES}"
    return ""


def has_collectives(graph: Any) -> bool:
    """Whether a graph, or a function that it calls, has a collective op."""
    return any(kind.startswith(COLLECTIVE) for kind in op_types(graph))


class StopsRecording(Protocol):
    """A recorder that can close its open window."""

    def release_profiler(self) -> None:
        """Close the window that is open now."""


def collective_hooks(recorder: StopsRecording) -> dict[str, Callable[[ModuleType], Iterator[Hook]]]:
    """By module, the hooks that close the recorder's window before the profiler could crash in a collective.

    They close it before the first eager collective of each group, and when workers are joined or DTensor starts.

    >>> sorted(collective_hooks(None))[0]
    'tensorflow.dtensor.python.dtensor_device'
    """
    met: set[Any] = set()

    def stopping(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            recorder.release_profiler()
            return original(*arguments, **named)

        return call

    def stopping_first(original: Callable[..., Any]) -> Callable[..., Any]:
        names = tuple(signature(original).parameters)

        def call(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            with suppress(Exception):
                given = dict(zip(names, arguments, strict=False)) | named
                group = str(given.get("group_key", given.get("communicator")))
                if group not in met:
                    met.add(group)
                    recorder.release_profiler()
            return original(*arguments, **named)

        return call

    def of_context(module: ModuleType) -> Iterator[Hook]:
        yield from _there(getattr(module, "Context", None), ["enable_collective_ops"], stopping)

    def of_dtensor(module: ModuleType) -> Iterator[Hook]:
        yield from _there(getattr(module, "DTensorDevice", None), ["__init__"], stopping)

    def of_collectives(module: ModuleType) -> Iterator[Hook]:
        names = [name for name, each in vars(module).items() if isfunction(each)]
        yield from _there(module, names, stopping_first)

    return {CONTEXT: of_context, DTENSOR_DEVICE: of_dtensor, COLLECTIVES: of_collectives}


def _there(owner: Any, names: list[str], replacement: Callable[[Any], Callable[..., Any]]) -> Iterator[Hook]:
    return ((owner, name, replacement) for name in names if owner is not None and name in vars(owner))
