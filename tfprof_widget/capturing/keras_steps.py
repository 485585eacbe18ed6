"""Tells the steps of Keras models on TensorFlow: each call of a model's train, test and predict functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from tfprof_widget.capturing.patches import Hook

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
