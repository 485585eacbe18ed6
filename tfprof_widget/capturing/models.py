"""Finds the Keras models and tf.Modules that functions use, and the layers, scopes and variables in them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any, TypeVar
from weakref import ref

from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.program import ModelLayer

KERAS = ("keras", "tf_keras")
Read = TypeVar("Read")
MOST_LOOKED_AT = 2_000
"""So many objects are looked at for models: a notebook may have many."""


class UsedModels:
    """Models and modules, in the order in which they were added; `note` is told of those that cannot be read.

    >>> UsedModels(print).layers(), UsedModels(print).variables()
    ([], {})
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._models: dict[int, Any] = {}
        self._note = note

    def add(self, model: Any) -> None:
        """Keep a model of Keras, or a tf.Module."""
        self._models.setdefault(id(model), model)

    def add_used_by(self, functions: Iterable[Any]) -> None:
        """Keep the models and modules that functions use: what they are methods of, and what their names stand for."""
        known: set[int] = set()
        waiting = [(function, 0) for function in functions]
        while waiting and len(known) < MOST_LOOKED_AT:
            each, depth = waiting.pop(0)
            if id(each) in known:
                continue
            known.add(id(each))
            if _is_layer(each) or _is_module(each):
                self.add(each)
            elif depth < DEEPEST:
                waiting += [(found, depth + 1) for found in _used_by(each)]

    def layers(self) -> list[ModelLayer]:
        """The layers of all models in their order, each below the one that it is in; none of them twice."""
        found: dict[str, ModelLayer] = {}
        inner = {id(each) for each in self._read(_inside)}
        for layer in self._read(lambda model: _layers_of(model, "", "", set()) if id(model) not in inner else ()):
            found.setdefault(layer.path, layer)
        return list(found.values())

    def scopes(self) -> list[str]:
        """The scopes of models and of all layers in them, whether they are rows of their own or not."""
        scoped = self._read(lambda model: _scoped(model, "") if _is_layer(model) else ())
        return list(dict.fromkeys(scope for scope, _ in scoped))

    def variables(self) -> dict[int, str]:
        """The names of the models' variables, which begin with the layer's scope, by the identity of their handles."""
        found: dict[int, str] = {}
        for variable, name in self._read(_variables_of):
            with suppress(AttributeError):  # not all are variables: a layer TextVectorization has a table there
                found.setdefault(id(_handle(variable)), name)
        return found

    def _read(self, read: Callable[[Any], Iterable[Read]]) -> Iterator[Read]:
        """What is read of each model; one that cannot be read costs no more than its own names."""
        for model in self._models.values():
            try:
                yield from read(model)
            except Exception as error:
                self._note(names_not_known(error))


def names_not_known(error: Exception) -> str:
    """The note for models, or one of them, that cannot be read.

    >>> names_not_known(ValueError("no layers"))
    "layers and variables have TensorFlow's names, for Keras' are not known (ValueError: no layers)"
    """
    return f"layers and variables have TensorFlow's names, for Keras' are not known ({error_text(error)})"


DEEPEST = 3
"""Models are looked for in what a function names, in what that names, and in what that names."""


def _used_by(used: Any) -> Iterator[Any]:
    """What an object of the user's refers to, as far as models may be there."""
    if isinstance(used, list | tuple):
        yield from used
    elif isinstance(used, dict):
        yield from used.values()
    elif isinstance(used, partial):
        yield from (used.func, *used.args)
    elif isinstance(used, MethodType):
        yield from (used.__self__, used.__func__)
    elif isinstance(used, FunctionType):
        yield from _names_of(used)
    elif hasattr(used, "python_function"):  # a tf.function
        yield used.python_function
        yield from _arguments_of(used)
    elif isinstance(used, ref):  # as a tf.function holds the object whose method it is
        yield used()
    elif not is_of_library(getattr(sys.modules.get(type(used).__module__), "__file__", None) or "/lib/python/"):
        yield from getattr(used, "__dict__", {}).values()


def _arguments_of(function: Any) -> Iterator[Any]:
    """What a tf.function was called with beside tensors, such as a model; TensorFlow refers to it weakly.

    TensorFlow's own list would build a function with a signature, and wait while another thread builds it.
    """
    with suppress(Exception):  # older versions tell otherwise, or not
        for traced in list(function._function_cache.values()):
            for parameter in traced.function_type.parameters.values():
                if isinstance(taken := getattr(parameter.type_constraint, "_ref", None), ref):
                    yield taken()


def _names_of(function: FunctionType) -> Iterator[Any]:
    """What the names in a function's code stand for, if the function is the user's or wraps one of the user's."""
    if wrapped := getattr(function, "__wrapped__", None):
        yield wrapped
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is empty
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    if not is_of_library(function.__code__.co_filename):
        names = function.__code__.co_names
        yield from (function.__globals__[name] for name in names if name in function.__globals__)


def _is_layer(found: Any) -> bool:
    return any(each.__name__ == "Layer" and each.__module__.startswith(KERAS) for each in type(found).__mro__)


def _is_module(found: Any) -> bool:
    return any(each.__name__ == "Module" and each.__module__.startswith("tensorflow.") for each in type(found).__mro__)


def _is_taken_apart(layer: Any) -> bool:
    """Whether the layers in a layer are rows of their own: those of models, and of layers that are not Keras's own."""
    is_keras = type(layer).__module__.partition(".")[0] in KERAS
    return hasattr(layer, "fit") or not is_keras


def _inner_layers(layer: Any) -> Iterable[Any]:
    """The layers directly in a layer, in the order of the model."""
    listed = getattr(layer, "layers", None) if hasattr(layer, "fit") else None
    if listed is None:
        listed = getattr(layer, "_layers", None)  # missing in Keras 2
    if listed is None:
        listed = layer._flatten_layers(recursive=False, include_self=False)
    return [each for each in listed if hasattr(each, "name")]


def _layers_of(found: Any, around: str, within: str, known: set[int]) -> Iterator[ModelLayer]:
    """The rows of a layer or module and of what is in it; `around` is the scope that it is called in."""
    if id(found) in known:
        return
    known.add(id(found))
    if not _is_layer(found):
        yield from _modules_of(found, _name_of(found), _name_of(found), within, known)
        return
    path = f"{around}/{found.name}" if around else str(found.name)
    yield ModelLayer(path, str(found.name), type(found).__name__, within)
    for each in _inner_layers(found) if _is_taken_apart(found) else ():
        yield from _layers_of(each, path, path, known)


def _name_of(module: Any) -> str:
    """A module's name; its class's if it has none, since its own `__init__` does not call that of tf.Module."""
    return str(getattr(module, "name", type(module).__name__))


def _modules_of(module: Any, path: str, name: str, within: str, known: set[int]) -> Iterator[ModelLayer]:
    yield ModelLayer(path, name, type(module).__name__, within, is_module=True)
    for inner, each in _members(module):
        if _is_layer(each):
            yield from _layers_of(each, "", path, known)
        elif _is_module(each) and id(each) not in known:
            known.add(id(each))
            yield from _modules_of(each, f"{path}/{inner}", inner, path, known)


def _members(module: Any) -> Iterator[tuple[str, Any]]:
    """What a module's attributes hold, with the names of these; of lists and dicts also what is in them."""
    for name, value in getattr(module, "__dict__", {}).items():
        if name.startswith("_self_"):  # what TensorFlow keeps there for checkpoints
            continue
        if isinstance(value, list | tuple):
            yield from ((f"{name}.{place}", each) for place, each in enumerate(value))
        elif isinstance(value, Mapping):
            yield from ((f"{name}.{key}", each) for key, each in value.items())
        else:
            yield name, value


def _inside(found: Any, known: set[int] | None = None) -> Iterator[Any]:
    """The layers and modules in a layer or module, however deep."""
    known = known if known is not None else {id(found)}
    inner = _inner_layers(found) if _is_layer(found) else (each for _, each in _members(found))
    for each in inner:
        if (_is_layer(each) or _is_module(each)) and id(each) not in known:
            known.add(id(each))
            yield each
            yield from _inside(each, known)


def _scoped(layer: Any, around: str) -> Iterator[tuple[str, Any]]:
    """A layer and all layers in it, each with its scope and after the one that it is in."""
    scope = f"{around}/{layer.name}" if around else str(layer.name)
    yield scope, layer
    layers = getattr(layer, "_layers", None)  # missing in Keras 2
    for each in layer._flatten_layers(recursive=False, include_self=False) if layers is None else layers:
        if hasattr(each, "name"):
            yield from _scoped(each, scope)


def _variables_of(model: Any) -> Iterator[tuple[Any, str]]:
    return _variables_of_layer(model) if _is_layer(model) else _variables_of_module(model, _name_of(model))


def _variables_of_layer(model: Any) -> Iterator[tuple[Any, str]]:
    """A model's variables under names in the scope of the innermost layer that has them, and its optimizer's."""
    holder: dict[int, str] = {}
    for scope, layer in _scoped(model, ""):
        holder.update((id(variable), scope) for variable in getattr(layer, "variables", ()))
    for variable in [*model.variables, *_optimizer_variables(model)]:
        path = getattr(variable, "path", None) or str(getattr(variable, "name", "")).partition(":")[0]
        scope = holder.get(id(variable), "")
        yield variable, path if not scope or path.startswith(f"{scope}/") else f"{scope}/{path.rpartition('/')[2]}"


def _variables_of_module(module: Any, path: str, known: set[int] | None = None) -> Iterator[tuple[Any, str]]:
    """The variables of a module and of those in it, named by where they are; Keras's layers have names of their own."""
    known = known if known is not None else {id(module)}
    for name, each in _members(module):
        if _is_layer(each):
            yield from _variables_of_layer(each)
        elif _is_module(each) and id(each) not in known:
            known.add(id(each))
            yield from _variables_of_module(each, f"{path}/{name}", known)
        elif hasattr(each, "handle") and hasattr(each, "assign"):
            yield each, f"{path}/{name}"


def _optimizer_variables(model: Any) -> Iterable[Any]:
    variables = getattr(getattr(model, "optimizer", None), "variables", ())
    found: Iterable[Any] = variables() if callable(variables) else variables
    return found


def _handle(variable: Any) -> Any:
    """The handle by which TensorFlow knows a variable; a variable of Keras 3 has TensorFlow's variable in `value`."""
    return variable.handle if hasattr(variable, "handle") else variable.value.handle
