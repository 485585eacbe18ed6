"""Every public name of TensorFlow's profiler modules is here, with the same parameters.

`python -m tests.test_same_names` lists what differs. Where TensorFlow has the module no longer, the names are those of
its last version that had it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

GONE = {
    # tensorflow/python/profiler of TensorFlow 2.0, and tensorflow/contrib/tfprof of TensorFlow 1.1 to 1.15
    "profile_context": ("MAX_TRACED_STEPS", "ProfileContext", "WARMUP_STEPS"),
    "pprof_profiler": ("get_profiles", "profile"),
    "": (
        *("model_analyzer", "tfprof_logger", "ProfileContext", "print_model_analysis", "ALL_ADVICE"),
        *("FLOAT_OPS_OPTIONS", "PRINT_ALL_TIMING_MEMORY", "TRAINABLE_VARS_PARAMS_STAT_OPTIONS"),
    ),
}
METHODS_GONE = {
    "ProfileContext": {
        "__init__": ("self", "profile_dir", "trace_steps", "dump_steps", "enabled", "debug"),
        "add_auto_profiling": ("self", "cmd", "options", "profile_steps"),
        "get_profiles": ("self", "cmd"),
        "trace_next_step": ("self",),
        "dump_next_step": ("self",),
    }
}


def theirs() -> Iterator[tuple[str, ModuleType]]:
    """TensorFlow's modules by the name that they have here."""
    import tensorflow as tf

    yield "", tf.compat.v1.profiler
    for name in ("model_analyzer", "option_builder", "tfprof_logger"):
        yield name, import_module(f"tensorflow.python.profiler.{name}")


def ours(name: str) -> ModuleType:
    return import_module(".".join(filter(None, ["tfprof_widget", name])))


def parameters(function: Any) -> list[str]:
    """The parameters without their defaults, which natively are numbers that stand for options."""
    return list(inspect.signature(function).parameters)


def differences(name: str, there: ModuleType) -> Iterator[str]:
    """What a module of TensorFlow's offers and ours does not."""
    here = ours(name)
    for each in filter(lambda each: _is_public(there, each), dir(there)):
        wanted, found = getattr(there, each), getattr(here, each, None)
        if found is None:
            yield f"{name}.{each} is missing"
        elif inspect.isfunction(wanted):
            yield from _differing(f"{name}.{each}", wanted, found)
        elif inspect.isclass(wanted) and not hasattr(wanted, "DESCRIPTOR"):
            for method, function in inspect.getmembers(wanted, inspect.isfunction):
                if method == "__init__" or not method.startswith("_"):
                    yield from _differing(f"{name}.{each}.{method}", function, getattr(found, method, None))


def _is_public(module: ModuleType, name: str) -> bool:
    """Whether it is of the module itself: not imported from elsewhere in TensorFlow."""
    value = getattr(module, name)
    if name.startswith("_") or inspect.ismodule(value):
        return False
    return getattr(value, "__module__", module.__name__) == module.__name__ or module.__name__.endswith(".profiler")


def _differing(name: str, wanted: Any, found: Any) -> Iterator[str]:
    if found is None:
        yield f"{name} is missing"
    elif parameters(found)[: len(parameters(wanted))] != parameters(wanted):
        yield f"{name} takes {parameters(found)}, natively {parameters(wanted)}"


def test_every_public_name_is_here_with_the_same_parameters() -> None:
    assert [told for name, module in theirs() for told in differences(name, module)] == []


def test_a_name_that_is_missing_is_told() -> None:
    here = ModuleType("model_analyzer")
    vars(here).update(no_such=lambda one: one, advise=lambda graph, meta: None)
    for value in vars(here).values():
        if inspect.isfunction(value):
            value.__module__ = here.__name__
    assert list(differences("model_analyzer", here)) == [
        "model_analyzer.advise takes ['graph', 'run_meta', 'options', 'tfprof_options'], natively ['graph', 'meta']",
        "model_analyzer.no_such is missing",
    ]


@pytest.mark.parametrize("name", GONE)
def test_names_of_modules_that_tensorflow_has_no_longer_are_here(name: str) -> None:
    for module in ("model_analyzer", "tfprof_logger"):
        ours(module)  # as `from tfprof_widget import model_analyzer` does
    assert [each for each in GONE[name] if not hasattr(ours(name), each)] == []


def test_profile_context_takes_what_it_took() -> None:
    context = ours("profile_context").ProfileContext
    for name, wanted in METHODS_GONE["ProfileContext"].items():
        assert tuple(parameters(getattr(context, name))) == wanted
    assert isinstance(context.profiler, property)
    assert (ours("profile_context").WARMUP_STEPS, ours("profile_context").MAX_TRACED_STEPS) == (10, 100)


if __name__ == "__main__":
    for module_name, module in theirs():
        print(*differences(module_name, module), sep="\n", end="")
