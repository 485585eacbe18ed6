"""The hooks on TensorFlow 2 and Keras are gone afterwards, and the program goes on whatever happens."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.profiler.internal import _pywrap_profiler

import tfprof_widget
from tests.capturing.program_steps import BATCH, TRAIN, capturing, data, function, small_model
from tfprof_widget.capturing import called_functions, function_hooks, models, windows
from tfprof_widget.capturing.collectives import CONTEXT
from tfprof_widget.capturing.function_hooks import STEPS
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.profiles.data import EAGER


def owner_of(model: Any, name: str) -> Any:
    """The class that a model's method is from."""
    return next(each for each in type(model).__mro__ if name in vars(each))


def hooked(model: Any) -> list[Any]:
    concrete = function(lambda x: x).get_concrete_function(1.0)
    called = type(concrete._inference_function)
    calling = next(name for name in ("call_flat", "call", "__call__") if name in vars(called))
    places = [
        (called, calling),
        (polymorphic_function.Function, "__call__"),
        *((owner_of(model, name), name) for name in STEPS),
        (_pywrap_profiler, "ProfilerSession"),
    ]
    return [vars(owner)[name] for owner, name in places]


def test_hooks_are_gone_afterwards_also_from_models() -> None:
    model = small_model()
    before = hooked(model)
    x, y = data(1)
    with capturing():
        assert all(now is not original for now, original in zip(hooked(model), before, strict=True))
        model.fit(x, y, batch_size=BATCH, verbose=0)
        stepping = model.train_function
    assert hooked(model) == before
    assert model.train_function is stepping.__wrapped__
    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, verbose=0)
    assert captured.runs[TRAIN].seen == 1


def test_error_of_the_user_comes_through() -> None:
    @function
    def failing(x: Any) -> Any:
        tf.debugging.assert_positive(x)
        return tf.square(x)

    with capturing() as captured:
        failing(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError):
            failing(tf.constant(-1.0))
    assert captured.runs["failing"].seen == 1
    assert captured.nodes("failing (warm-up)")["Square"] == 1
    (told,) = captured.warnings  # on a machine that is very slow, with the name and how long it took
    assert re.fullmatch(r"1 step was not counted, having ended in an exception(: failing, after [0-9.]+ s)?", told)


def test_error_of_our_own_lets_the_program_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(windows.Windows, "add_step", fail)
    model = small_model()
    x, y = data(2)
    with capturing() as captured:
        history = model.fit(x, y, batch_size=BATCH, verbose=0)
    assert len(history.history["loss"]) == 1
    assert any("error of tfprof_widget itself (RuntimeError: broken)" in each for each in captured.warnings)


def test_missing_internals_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(polymorphic_function.Function, "__call__")
    with capturing() as captured:
        tf.square(2.0)
    assert captured.warnings == ("this TensorFlow has no __call__, so what runs through it is missing here",)
    assert captured.nodes(EAGER)["eager/Square"] == 1


def test_functions_run_where_tensorflow_does_not_tell_whether_it_is_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the context alone, whose users in TensorFlow have their own name for it."""
    square = function(tf.square)
    with monkeypatch.context() as breaking, capturing() as captured:
        breaking.setitem(sys.modules, CONTEXT, SimpleNamespace())
        assert float(square(tf.constant(3.0))) == 9.0
    assert [each for each in captured.warnings if "does not tell whether it executes eagerly (AttributeError" in each]
    assert {kind.name for graph in captured.recorded.graphs for kind in graph.kinds} <= {EAGER}


def test_functions_run_where_they_have_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    square = function(tf.square)
    monkeypatch.setattr(FunctionSource, "keep_function", lambda self, function: function.no_such_name)
    with capturing() as captured:
        assert float(square(tf.constant(3.0))) == 9.0
    assert [each for each in captured.warnings if "error of tfprof_widget itself (AttributeError" in each]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        ("no_such_count", ["retraced functions count as steady steps, for this TensorFlow has no no_such_count"]),
        ("__init__", []),  # a count that wants to be told something
    ],
)
def test_functions_run_where_nobody_counts_how_often_they_are_traced(
    monkeypatch: pytest.MonkeyPatch, count: str, told: list[str]
) -> None:
    square = function(tf.square)
    for module in (called_functions, function_hooks):
        monkeypatch.setattr(module, "TRACED_TIMES", count)
    with capturing() as captured:
        for each in (1.0, 2.0):
            assert float(square(tf.constant(each))) == each**2
    assert captured.runs["square"].seen == 2
    assert [each for each in captured.warnings if "retraced" in each] == told


def test_steps_are_timed_where_the_profiler_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    square = function(tf.square)
    monkeypatch.delattr(_pywrap_profiler, "ProfilerSession")
    with tfprof_widget.capture() as prof:
        square(tf.constant(3.0))
    assert (prof.measurement.runs_seen, prof.measurement.runs_traced) == (1, 0)
    assert prof.measurement.warnings == (
        "steps are only timed, for the profiler of this TensorFlow has no ProfilerSession",
    )


def test_layers_without_names_of_keras_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    x, y = data(1)

    def gone(layer: Any) -> Any:
        raise AttributeError("no layers")

    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, verbose=0)
        monkeypatch.setattr(models, "_scoped", lambda layer, around: gone(layer))
    assert [each for each in captured.warnings if each.startswith("layers and variables have TensorFlow's names")]
    assert captured.runs[TRAIN].seen == 1


def test_nothing_run_is_nothing_recorded() -> None:
    with capturing() as captured:
        pass
    assert captured.recorded.graphs == ()
    assert sys.modules["tensorflow"] is tf


def test_function_with_a_signature_that_another_names_is_not_built() -> None:
    """It is looked at for models; TensorFlow's own list of what was built would build it first."""

    never_called = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)])
    step = tf.function(lambda x: x if x is not None else never_called(x))
    with capturing():
        step(tf.constant(1.0))
    assert never_called.experimental_get_tracing_count() == 0
