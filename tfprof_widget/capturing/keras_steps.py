"""Tells the steps of Keras 3 models on TensorFlow: each call of a model's train, test and predict functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from tfprof_widget.capturing.patches import Hook

TRAINER = "keras.src.backend.tensorflow.trainer"
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
        """What is replaced in Keras's trainer."""
        owner = getattr(trainer, "TensorFlowTrainer", None)
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
            optimizer = getattr(model, "optimizer", None)
            for variable in [*model.variables, *getattr(optimizer, "variables", ())]:
                within = f"{model.name}/{variable.path}"
                is_within = within.rpartition("/")[0] in scopes  # a functional model's variables lack its name
                found[id(variable.value.handle)] = within if is_within else variable.path
        return found

    def _models(self) -> list[Any]:
        return list({id(model): model for model, *_ in self._wrapped}.values())

    def _making(self, attribute: str, group: str) -> Callable[[Any], Callable[..., Any]]:
        def replace(original: Any) -> Callable[..., Any]:
            def make(model: Any, *arguments: Any, **named: Any) -> Any:
                made = original(model, *arguments, **named)
                self._wrap(model, attribute, group)
                return made

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
    for each in getattr(layer, "_layers", ()):
        if hasattr(each, "name"):
            yield from _scopes(each, scope)
