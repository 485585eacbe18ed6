"""Hooks tf.functions and the steps of Keras models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import ModuleType
from typing import Any

from tfprof_widget.capturing.called_functions import TRACED_TIMES
from tfprof_widget.capturing.collectives import CONTEXT, collective_hooks, is_mended
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.hooks import SHORTENERS, Hook, Patch, put_patches, shortener_hooks, when_imported
from tfprof_widget.capturing.models import names_not_known
from tfprof_widget.capturing.session_hooks import SESSION
from tfprof_widget.capturing.tf_profiler import BINDINGS, SESSION_TYPE, ProfilerTurns, TfProfiler, without_captures
from tfprof_widget.capturing.time_hooks import (
    BUILDING,
    CALLBACKS,
    TIMED,
    WAITING,
    CallbackPhases,
    building_hooks,
    timed_hooks,
    timing,
    waiting,
)
from tfprof_widget.ingest.parts.names import python_name
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.safely import deliver_interrupt
from tfprof_widget.profiles.cell import NEXT_BATCH, STEP

# The modules and classes that make the functions of a model's steps: of Keras 3 on TensorFlow, and of each Keras 2.
TRAINERS = {
    "keras.src.backend.tensorflow.trainer": "TensorFlowTrainer",
    "tf_keras.src.engine.training": "Model",
    "keras.src.engine.training": "Model",
    "keras.engine.training": "Model",
}
STEPS = {
    "make_train_function": ("train_function", "fit: train_step"),
    "make_test_function": ("test_function", "evaluate: test_step"),
    "make_predict_function": ("predict_function", "predict: predict_step"),
}

Stepping = Callable[[str, Callable[..., Any]], Callable[..., Any]]


class ModelSteps:
    """Wraps the functions in which Keras models make their steps; `stepping` makes a wrapper, given the steps' name."""

    def __init__(self, stepping: Stepping) -> None:
        self._stepping = stepping
        self._wrapped: list[tuple[Any, str, Any, Any]] = []

    def hooks(self, trainer: Any) -> Iterator[Hook]:
        """The methods to replace in a module of TRAINERS."""
        owner = getattr(trainer, TRAINERS[trainer.__name__], None)
        for name, (attribute, group) in STEPS.items():
            yield owner, name, self._making(attribute, group)

    def undo(self) -> None:
        """Give the models their own functions back."""
        for model, attribute, wrapped, original in self._wrapped:
            if getattr(model, attribute, None) is wrapped:
                setattr(model, attribute, original)

    @property
    def models(self) -> list[Any]:
        """The models, in the order in which they made their functions."""
        return list({id(model): model for model, *_ in self._wrapped}.values())

    def _making(self, attribute: str, group: str) -> Callable[[Any], Callable[..., Any]]:
        def replace(original: Any) -> Callable[..., Any]:
            def make(model: Any, *arguments: Any, **named: Any) -> Any:
                __tracebackhide__ = True
                made = original(model, *arguments, **named)
                self._wrap(model, attribute, group)
                return made if made is None else getattr(model, attribute)  # Keras 2 keeps the returned function

            return make

        return replace

    def _wrap(self, model: Any, attribute: str, group: str) -> None:
        function = getattr(model, attribute, None)
        known = any(wrapped is function for _, _, wrapped, _ in self._wrapped)
        if function is None or known:
            return
        wrapped = wraps(function, updated=())(self._stepping(group, function))
        setattr(model, attribute, wrapped)
        self._wrapped.append((model, attribute, wrapped, function))


FUNCTION = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
ATOMIC_FUNCTION = "tensorflow.python.eager.polymorphic_function.atomic_function"
MONOMORPHIC_FUNCTION = "tensorflow.python.eager.polymorphic_function.monomorphic_function"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
BACKWARD = "__backward_"


@contextmanager
def hooked_functions(recorder: FunctionSource) -> Iterator[FunctionSource]:
    """Tell the recorder of the steps in the block, in any thread, and of the functions that are called.

    Steps and functions return and raise as they would without hooks; after the block no hook is left.
    """
    patches: list[Patch] = []
    models = ModelSteps(_stepping(recorder))
    recorder.made_models = lambda: models.models

    def put(hooks: Callable[[ModuleType], Iterator[Hook]]) -> Callable[[ModuleType], None]:
        return lambda module: put_patches(lambda: hooks(module), patches, recorder)

    try:
        callbacks = CallbackPhases(recorder.log, patches, recorder)
        with ExitStack() as waiting:
            for name, hooks in (
                (ATOMIC_FUNCTION, lambda module: _atomic_hooks(module, recorder)),
                (MONOMORPHIC_FUNCTION, lambda module: _monomorphic_hooks(module, recorder)),
                (FUNCTION, lambda module: _function_hooks(module, recorder)),
                (ITERATORS, lambda module: _iterator_hooks(module, recorder)),
                (BUILDING, lambda module: building_hooks(module, recorder.log)),
                *((name, models.hooks) for name in TRAINERS),
                *((name, callbacks.hooks) for name in CALLBACKS),
                *((name, timed_hooks(recorder.log, owner, methods)) for name, owner, methods in TIMED),
                (SESSION, lambda module: _session_hooks(module, recorder)),
                (BINDINGS, lambda module: _profiler_hooks(module, recorder)),
                *collective_hooks(recorder).items(),
                *((name, shortener_hooks) for name in SHORTENERS),
            ):
                waiting.enter_context(when_imported(name, put(hooks)))
            yield recorder
    finally:
        for patch in reversed(patches):
            patch.undo()
        models.undo()
        try:
            recorder.take_models(models.models)
        except Exception as error:
            recorder.note(names_not_known(error))
        recorder.release_profiler()


def _stepping(recorder: FunctionSource) -> Callable[[str, Callable[..., Any]], Callable[..., Any]]:
    def stepping(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            depth = recorder.log.phases.enter(STEP)
            run = recorder.begin((id(function), name), name, function)
            try:
                results = function(*arguments, **named)
            except BaseException:
                recorder.finished(run, raised=True)
                recorder.log.phases.leave(depth)
                raise
            recorder.finished(run)
            recorder.log.phases.leave(depth)
            deliver_interrupt()
            return results

        return step

    return stepping


def _function_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """Hooks calls of tf.functions from Python; a call within another tf.function is part of that function's step."""

    were_traced = recorder.functions.were_traced

    def replace(original: Any) -> Callable[..., Any]:
        def __call__(function: Any, *arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if not _executes_eagerly(recorder):
                return original(function, *arguments, **named)
            run = recorder.begin(id(function), _name_of, function)
            if run is None:  # such as a call within a step of a model
                were_traced(function)
            try:
                results = original(function, *arguments, **named) if named else original(function, *arguments)
            except BaseException:
                recorder.finished(run, raised=True)
                raise
            if run is not None:
                recorder.finished(run)
            elif were_traced(function):
                recorder.mark_retraced()
            deliver_interrupt()
            return results

        return __call__

    function_type = getattr(module, "Function", None)
    yield function_type, "__call__", replace
    if not hasattr(function_type, TRACED_TIMES):
        recorder.note(f"retraced functions count as steady steps, for this TensorFlow has no {TRACED_TIMES}")


def _atomic_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """Hooks the method in which all calls of functions end, those of loaded functions too."""
    owner = getattr(module, "AtomicFunction", None)
    name = "call_flat" if hasattr(owner, "call_flat") else "__call__"  # before TensorFlow 2.15 `__call__`
    yield owner, name, _calling(recorder)


def _monomorphic_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """Hooks the same method in TensorFlow 2.12, where its class has another name."""
    owner = getattr(module, "_EagerDefinedFunction", None)
    if owner is not None:
        yield owner, "call", _calling(recorder)


def _calling(recorder: FunctionSource) -> Callable[[Any], Callable[..., Any]]:
    """Record a call from Python as a step, unless it is within a step.

    The backward pass of a function, which a tape calls after the function, is a step of a kind of its own: its ops take
    none of the time of the function's own steps.
    """

    def replace(original: Any) -> Callable[..., Any]:
        def call(function: Any, *arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if recorder.has_called(function):
                return original(function, *arguments, **named) if named else original(function, *arguments)
            name = _name_kept(recorder, function) if _executes_eagerly(recorder) else ""
            if recorder.is_in_step or not name:
                return original(function, *arguments, **named)
            kind = python_name(name)
            kind = f"gradient of {kind}" if BACKWARD in name else kind
            run = recorder.begin(kind if BACKWARD in name else name, kind, function)
            try:
                results = original(function, *arguments, **named)
            except BaseException:
                recorder.finished(run, raised=True)
                raise
            recorder.finished(run)
            deliver_interrupt()
            return results

        return call

    return replace


def _iterator_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """Hooks the making of iterators, which tells of the functions that their datasets call, and waiting for batches."""
    waits, of_phase = waiting(recorder.log), timing(recorder.log, NEXT_BATCH)

    def replace(original: Any) -> Callable[..., Any]:
        make = of_phase(original)

        def _create_iterator(iterator: Any, dataset: Any, *arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            recorder.keep_functions_of_data(dataset)
            return make(iterator, dataset, *arguments, **named)

        return _create_iterator

    owner = getattr(module, "OwnedIterator", None)
    yield owner, "_create_iterator", replace
    for name in WAITING:
        yield owner, name, waits


def _profiler_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    original = getattr(module, SESSION_TYPE, None)
    if original is None:
        recorder.note(f"steps are only timed, for the profiler of this TensorFlow has no {SESSION_TYPE}")
        return
    ours = TfProfiler(without_captures(original))
    yield module, SESSION_TYPE, ProfilerTurns(ours, recorder.release_profiler, recorder.hand_profiler_over)
    recorder.use(ours, eagerly=_executes_eagerly(recorder), is_safe=is_mended(module))


def _session_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """End the window of eager ops before a session run: to trace the run on an accelerator needs the one profiler."""

    windows = recorder.windows

    def replace(original: Any) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if windows.is_open:
                recorder.end_eager_ops()
            return original(*arguments, **named) if named else original(*arguments)

        return run

    base = getattr(module, "BaseSession", None)
    for owner, name in ((base, "_call_tf_sessionrun"), (getattr(base, "_Callable", None), "__call__")):
        if hasattr(owner, name):  # else it is noted where sessions are captured
            yield owner, name, replace


def _executes_eagerly(recorder: FunctionSource) -> bool:
    """Whether ops run as they are made; False, with a note, where TensorFlow cannot be asked in the user's call."""
    try:
        does: bool = sys.modules[CONTEXT].executing_eagerly()
        return does
    except KeyError:  # it is not imported yet
        return False
    except Exception as error:
        recorder.note(
            "calls of functions are missing, for this TensorFlow does not tell whether it executes eagerly "
            f"({error_text(error)})"
        )
        return False


def _name_kept(recorder: FunctionSource, function: Any) -> str:
    """The name of a function that is kept from now on; empty if it cannot be kept."""
    try:
        return recorder.keep_function(function)
    except Exception as error:
        recorder.stop_after_error(error)
        return ""


def _name_of(function: Any) -> str:
    python = getattr(function, "python_function", None)
    return str(getattr(python, "__name__", None) or getattr(function, "_name", "function"))
