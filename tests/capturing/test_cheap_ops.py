"""Ops that TensorFlow knows to be cheap are recorded like all others; counts are told by hand."""

from __future__ import annotations

from types import ModuleType

import pytest
import tensorflow as tf
from tensorflow.python.profiler.internal import _pywrap_profiler

from tests.capturing.program_steps import capturing, function, like
from tfprof_widget.capturing import tf_profiler
from tfprof_widget.capturing.sampling import Steps
from tfprof_widget.capturing.tf_profiler import record_cheap_ops


def test_ops_known_to_be_cheap_are_recorded_too() -> None:
    @function
    def powers(x: tf.Tensor) -> tf.Tensor:
        for _ in range(5):
            x = tf.matmul(x, x) * 0.1
        return tf.reduce_sum(x)

    x = tf.ones([4, 4])
    for _ in range(400):
        powers(x)
    with capturing() as captured:
        for _ in range(3):
            powers(x)
    counts = captured.counts("powers", "powers (warm-up)")
    assert (like(counts, "MatMul"), counts["Mul"], counts["Sum"]) == (15, 15, 3)
    assert captured.warnings == ()


def test_ops_that_become_cheap_meanwhile_are_recorded_too() -> None:
    square = function(lambda x: tf.square(x))
    with capturing(Steps(400, 410)) as captured:
        for _ in range(410):
            square(tf.constant(1.0))
    assert sum(captured.counts(*captured.profile.step_names).values()) == 10


def test_level_is_not_raised_without_a_session() -> None:
    """Without one that takes the events, they would be kept for ever."""
    assert not record_cheap_ops(_pywrap_profiler)


def test_bindings_that_know_no_level_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not record_cheap_ops(ModuleType("bindings"))
    monkeypatch.setattr(tf_profiler, "record_cheap_ops", lambda _: False)
    with capturing() as captured:
        function(lambda x: tf.square(x))(tf.constant(1.0))
    (warning,) = captured.warnings
    assert warning.startswith("ops of a few microseconds are missing")
