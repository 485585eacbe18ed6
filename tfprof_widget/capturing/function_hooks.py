"""Hooks tf.functions and the steps of Keras models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from types import ModuleType
from typing import Any

from tfprof_widget.capturing.collectives import collective_hooks, is_mended
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.hooks import SHORTENERS, Hook, Patch, put_patches, shortener_hooks, when_imported
from tfprof_widget.capturing.session_hooks import SESSION
from tfprof_widget.capturing.tf_profiler import BINDINGS, SESSION_TYPE, ProfilerTurns, TfProfiler, without_captures
from tfprof_widget.ingest.parts.names import python_name
from tfprof_widget.lib.safely import deliver_interrupt

# Where the functions are made, and by what: in Keras 3 on TensorFlow, and wherever Keras 2 is or was kept.
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
    """The functions of models that were wrapped; `stepping` wraps one, given a name for its steps."""

    def __init__(self, stepping: Stepping) -> None:
        self._stepping = stepping
        self._wrapped: list[tuple[Any, str, Any, Any]] = []

    def hooks(self, trainer: Any) -> Iterator[Hook]:
        """What is replaced in a module of TRAINERS."""
        owner = getattr(trainer, TRAINERS[trainer.__name__], None)
        for name, (attribute, group) in STEPS.items():
            yield owner, name, self._making(attribute, group)

    def undo(self) -> None:
        """Give the models their own functions back."""
        for model, attribute, wrapped, original in self._wrapped:
            if getattr(model, attribute, None) is wrapped:
                setattr(model, attribute, original)

    def layers(self) -> list[str]:
        """The scopes of the models and of their layers."""
        found = dict.fromkeys(scope for model in self._models() for scope in _scopes(model, ""))
        return list(found)

    def variables(self) -> dict[int, str]:
        """The models' variables by the identity of their handles, each named by where its layer is."""
        found = {}
        for model in self._models():
            scopes = set(_scopes(model, ""))
            for variable in [*model.variables, *_optimizer_variables(model)]:
                path = getattr(variable, "path", None) or variable.name.partition(":")[0]
                within = f"{model.name}/{path}"
                is_within = within.rpartition("/")[0] in scopes  # a functional model's variables lack its name
                found[id(_handle(variable))] = within if is_within else path
        return found

    def _models(self) -> list[Any]:
        return list({id(model): model for model, *_ in self._wrapped}.values())

    def _making(self, attribute: str, group: str) -> Callable[[Any], Callable[..., Any]]:
        def replace(original: Any) -> Callable[..., Any]:
            def make(model: Any, *arguments: Any, **named: Any) -> Any:
                __tracebackhide__ = True
                made = original(model, *arguments, **named)
                self._wrap(model, attribute, group)
                return made if made is None else getattr(model, attribute)  # Keras 2 keeps what is returned

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


def _scopes(layer: Any, around: str) -> Iterator[str]:
    """The scopes of a layer and of the layers that it is made of."""
    scope = f"{around}/{layer.name}" if around else str(layer.name)
    yield scope
    layers = getattr(layer, "_layers", None)  # Keras 2 has none, and lists of layers among them
    for each in layer._flatten_layers(recursive=False, include_self=False) if layers is None else layers:
        if hasattr(each, "name"):
            yield from _scopes(each, scope)


def _optimizer_variables(model: Any) -> Iterable[Any]:
    variables = getattr(getattr(model, "optimizer", None), "variables", ())
    found: Iterable[Any] = variables() if callable(variables) else variables
    return found


def _handle(variable: Any) -> Any:
    """What TensorFlow knows a variable by: Keras 3 has its own around it, Keras 2 none."""
    return variable.handle if hasattr(variable, "handle") else variable.value.handle


FUNCTION = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
ATOMIC_FUNCTION = "tensorflow.python.eager.polymorphic_function.atomic_function"
MONOMORPHIC_FUNCTION = "tensorflow.python.eager.polymorphic_function.monomorphic_function"
CONTEXT = "tensorflow.python.eager.context"
BACKWARD = "__backward_"


@contextmanager
def hooked_functions(recorder: FunctionSource) -> Iterator[FunctionSource]:
    """Tell the recorder of the steps in the block, in any thread, and of the functions that are called.

    They give and raise what they would without it, and afterwards TensorFlow and Keras are as they were.
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
                *((name, models.hooks) for name in TRAINERS),
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
        with suppress(Exception):
            recorder.take_names_of_layers(models.layers(), models.variables())
        recorder.release_profiler()


def _stepping(recorder: FunctionSource) -> Callable[[str, Callable[..., Any]], Callable[..., Any]]:
    def stepping(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            with recorder.step((id(function), name), name, function):
                results = function(*arguments, **named)
            deliver_interrupt()
            return results

        return step

    return stepping


def _function_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
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
                    recorder.mark_retraced()
            deliver_interrupt()
            return results

        return __call__

    yield getattr(module, "Function", None), "__call__", replace


def _atomic_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """What all calls of functions end in, also of loaded ones."""
    owner = getattr(module, "AtomicFunction", None)
    name = "call_flat" if hasattr(owner, "call_flat") else "__call__"  # before 2.15 the latter
    yield owner, name, _calling(recorder)


def _monomorphic_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    """The same in TensorFlow 2.12, whose functions are not yet atomic."""
    owner = getattr(module, "_EagerDefinedFunction", None)
    if owner is not None:
        yield owner, "call", _calling(recorder)


def _calling(recorder: FunctionSource) -> Callable[[Any], Callable[..., Any]]:
    """A call from Python that is in no step is one, but for the backward pass of a function."""

    def replace(original: Any) -> Callable[..., Any]:
        def call(function: Any, *arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            if not _executes_eagerly():
                return original(function, *arguments, **named)
            name = recorder.keep_function(function)
            if recorder.is_in_step or BACKWARD in name:
                return original(function, *arguments, **named)
            with recorder.step(name, python_name(name), function):
                results = original(function, *arguments, **named)
            deliver_interrupt()
            return results

        return call

    return replace


def _profiler_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
    original = getattr(module, SESSION_TYPE, None)
    if original is not None:
        ours = TfProfiler(without_captures(original))
        yield module, SESSION_TYPE, ProfilerTurns(ours, recorder.release_profiler, recorder.hand_profiler_over)
        recorder.use(ours, eagerly=_executes_eagerly(), is_safe=is_mended(module))


def _session_hooks(module: ModuleType, recorder: FunctionSource) -> Iterator[Hook]:
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
