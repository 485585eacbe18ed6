"""The hooks on TensorFlow 2 and Keras are gone afterwards, and the program goes on whatever happens."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import tensorflow as tf
from keras.src.backend.tensorflow import trainer as keras_trainer
from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function
from tensorflow.python.profiler.internal import _pywrap_profiler

from tests.capture.program_steps import BATCH, TRAIN, capturing, data, function, small_model
from tfprof_widget.capturing import windows
from tfprof_widget.capturing.traces import EAGER

HOOKED = [
    (atomic_function.AtomicFunction, "call_flat"),
    (polymorphic_function.Function, "__call__"),
    (keras_trainer.TensorFlowTrainer, "make_train_function"),
    (keras_trainer.TensorFlowTrainer, "make_test_function"),
    (keras_trainer.TensorFlowTrainer, "make_predict_function"),
    (_pywrap_profiler, "ProfilerSession"),
]


def test_hooks_are_gone_afterwards_also_from_models() -> None:
    before = [vars(owner)[name] for owner, name in HOOKED]
    model = small_model()
    x, y = data(1)
    with capturing():
        assert [vars(owner)[name] for owner, name in HOOKED] != before
        model.fit(x, y, batch_size=BATCH, verbose=0)
        hooked = model.train_function
    assert [vars(owner)[name] for owner, name in HOOKED] == before
    assert model.train_function is hooked.__wrapped__
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
    assert captured.warnings == ("1 step was not counted, having ended in an exception",)


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


def test_nothing_run_is_nothing_recorded() -> None:
    with capturing() as captured:
        pass
    assert captured.recorded.graphs == ()
    assert sys.modules["tensorflow"] is tf
