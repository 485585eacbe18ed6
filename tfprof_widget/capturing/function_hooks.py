"""Hooks on TensorFlow 2 and Keras: steps of functions and models in the block are seen, and some recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any

from tfprof_widget.capturing import keras_steps, profiler
from tfprof_widget.capturing.collectives import collective_hooks, is_mended
from tfprof_widget.capturing.function_recorder import FunctionRecorder
from tfprof_widget.capturing.imports import when_imported
from tfprof_widget.capturing.interrupts import deliver_interrupt
from tfprof_widget.capturing.keras_steps import ModelSteps
from tfprof_widget.capturing.patches import Hook, Patch, put_patches
from tfprof_widget.capturing.profiler import MakingWay, Profiler
from tfprof_widget.capturing.sessions import SESSION
from tfprof_widget.capturing.tracebacks import SHORTENERS, shortener_hooks
from tfprof_widget.ingest.xspace_names import function_label

FUNCTION = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
ATOMIC_FUNCTION = "tensorflow.python.eager.polymorphic_function.atomic_function"
MONOMORPHIC_FUNCTION = "tensorflow.python.eager.polymorphic_function.monomorphic_function"
CONTEXT = "tensorflow.python.eager.context"
BACKWARD = "__backward_"


@contextmanager
def hooked_functions(recorder: FunctionRecorder) -> Iterator[FunctionRecorder]:
    """Tell the recorder of the steps in the block, in any thread, and of the functions that are called.

    They give and raise what they would without it, and afterwards TensorFlow and Keras are as they were.

    >>> from tfprof_widget.capturing.sampling import Adaptive
    >>> with hooked_functions(FunctionRecorder(Adaptive())) as recorder:
    ...     pass  # model.fit(...)
    >>> recorder.recorded().seen
    0
    """
    patches: list[Patch] = []
    models = ModelSteps(_stepping(recorder))

    def put(hooks: Callable[[ModuleType], Iterator[Hook]]) -> Callable[[ModuleType], None]:
        return lambda module: put_patches(lambda: hooks(module), patches, recorder)

    try:
        with ExitStack() as waiting:
            for name, hooks in (
                (ATOMIC_FUNCTION, lambda module: _atomic_hooks(module, recorder)),
                (MONOMORPHIC_FUNCTION, lambda module: _monomorphic_hooks(module, recorder)),
                (FUNCTION, lambda module: _function_hooks(module, recorder)),
                *((name, models.hooks) for name in keras_steps.TRAINERS),
                (SESSION, lambda module: _session_hooks(module, recorder)),
                (profiler.BINDINGS, lambda module: _profiler_hooks(module, recorder)),
                *collective_hooks(recorder).items(),
                *((name, shortener_hooks) for name in SHORTENERS),
            ):
                waiting.enter_context(when_imported(name, put(hooks)))
            yield recorder
    finally:
        for patch in reversed(patches):
            patch.undo()
        models.undo()
        with suppress(Exception):
            recorder.learn(models.layers(), models.variables())
        recorder.make_way()


def _stepping(recorder: FunctionRecorder) -> Callable[[str, Callable[..., Any]], Callable[..., Any]]:
    def stepping(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            with recorder.step((id(function), name), name, function):
                results = function(*arguments, **named)
            deliver_interrupt()
            return results

        return step

    return stepping


def _function_hooks(module: ModuleType, recorder: FunctionRecorder) -> Iterator[Hook]:
    """Calls of tf.functions from Python; those of others in their code are parts of them."""

    def replace(original: Any) -> Callable[..., Any]:
        def __call__(function: Any, *arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if not _executes_eagerly():
                return original(function, *arguments, **named)
            before = _traced_times(function)
            with recorder.step(id(function), _name_of(function), function):
                results = original(function, *arguments, **named)
                if _traced_times(function) != before:
                    recorder.traced_anew()
            deliver_interrupt()
            return results

        return __call__

    yield getattr(module, "Function", None), "__call__", replace


def _atomic_hooks(module: ModuleType, recorder: FunctionRecorder) -> Iterator[Hook]:
    """What all calls of functions end in, also of loaded ones."""
    owner = getattr(module, "AtomicFunction", None)
    name = "call_flat" if hasattr(owner, "call_flat") else "__call__"  # before 2.15 the latter
    yield owner, name, _calling(recorder)


def _monomorphic_hooks(module: ModuleType, recorder: FunctionRecorder) -> Iterator[Hook]:
    """The same in TensorFlow 2.12, whose functions are not yet atomic."""
    owner = getattr(module, "_EagerDefinedFunction", None)
    if owner is not None:
        yield owner, "call", _calling(recorder)


def _calling(recorder: FunctionRecorder) -> Callable[[Any], Callable[..., Any]]:
    """A call from Python that is in no step is one, but for the backward pass of a function."""

    def replace(original: Any) -> Callable[..., Any]:
        def call(function: Any, *arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if not _executes_eagerly():
                return original(function, *arguments, **named)
            name = recorder.called(function)
            if recorder.is_in_step or BACKWARD in name:
                return original(function, *arguments, **named)
            with recorder.step(name, function_label(name), function):
                results = original(function, *arguments, **named)
            deliver_interrupt()
            return results

        return call

    return replace


def _profiler_hooks(module: ModuleType, recorder: FunctionRecorder) -> Iterator[Hook]:
    original = getattr(module, profiler.SESSION, None)
    if original is not None:
        ours = Profiler(profiler.without_captures(original))
        yield module, profiler.SESSION, MakingWay(ours, recorder.make_way, recorder.give_way)
        recorder.use(ours, eagerly=_executes_eagerly(), is_safe=is_mended(module))


def _session_hooks(module: ModuleType, recorder: FunctionRecorder) -> Iterator[Hook]:
    """Runs of sessions: they are no eager ops, and to trace them on an accelerator takes its one profiler."""

    def replace(original: Any) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            recorder.end_eager_ops()
            return original(*arguments, **named)

        return run

    base = getattr(module, "BaseSession", None)
    for owner, name in ((base, "_call_tf_sessionrun"), (getattr(base, "_Callable", None), "__call__")):
        if hasattr(owner, name):  # else it is noted where sessions are captured
            yield owner, name, replace


def _executes_eagerly() -> bool:
    context = sys.modules.get(CONTEXT)
    return context is not None and bool(context.executing_eagerly())


def _traced_times(function: Any) -> int:
    count = getattr(function, "experimental_get_tracing_count", None)
    return count() if count is not None else 0


def _name_of(function: Any) -> str:
    python = getattr(function, "python_function", None)
    return str(getattr(python, "__name__", None) or getattr(function, "_name", "function"))
