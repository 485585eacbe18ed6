"""A function that XLA compiles is one op: it is told so, and it counts the float operations of all that it does."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.capturing.program_steps import Captured, capturing, function

NOTE = (
    "XLA compiled {} to one op, so the ops inside show no time. "
    "To see the time of each op, profile with jit_compile=False, which Keras's compile takes too"
)
PRODUCT = 2 * 16 * 12 * 8


def dense(x: Any) -> Any:
    """16 x 12 times 12 x 8, and the positive part of it."""
    return tf.nn.relu(x @ tf.ones([12, 8]))


def executed(captured: Captured, name: str) -> int:
    profile = captured.profile
    return int((profile.executions.node == profile.nodes.names.index(name)).sum())


def float_ops(captured: Captured, name: str) -> int:
    nodes = captured.profile.nodes
    return int(nodes.float_ops[nodes.names.index(name)])


def test_function_that_python_calls() -> None:
    compiled = function(dense, jit_compile=True)
    compiled(tf.ones([16, 12]))
    with capturing() as captured:
        for _ in range(3):
            compiled(tf.ones([16, 12]))
    assert executed(captured, "dense") == 3
    assert float_ops(captured, "dense") == PRODUCT + 16 * 8
    assert NOTE.format("'dense'") in captured.warnings
    shown = captured.profile.view("op", run_name_regexes=["dense"])
    assert int(shown.grand_total["float_ops"][0]) // shown.unit("float_ops") == PRODUCT + 16 * 8
    macs = captured.profile.with_flops(multiply_accumulates=True).nodes
    assert int(macs.float_ops[macs.names.index("dense")]) == PRODUCT // 2


def test_function_that_another_calls() -> None:
    compiled = function(dense, jit_compile=True)
    outer = function(lambda x: 2.0 * compiled(x))
    outer(tf.ones([16, 12]))
    with capturing() as captured:
        outer(tf.ones([16, 12]))
    assert (executed(captured, "dense"), executed(captured, "mul")) == (1, 1)
    assert (float_ops(captured, "dense"), float_ops(captured, "mul")) == (PRODUCT + 16 * 8, 16 * 8)
    assert NOTE.format("'dense'") in captured.warnings


def test_two_traces_of_a_function_are_one_op() -> None:
    compiled = function(dense, jit_compile=True)
    with capturing() as captured:
        for size in (16, 4, 16):
            compiled(tf.ones([size, 12]))
    assert executed(captured, "dense") == 3


def test_model() -> None:
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(16)])
    model.compile("sgd", "mse", jit_compile=True)
    x, y = np.ones((64, 32), np.float32), np.ones((64, 16), np.float32)
    model.fit(x, y, verbose=0)
    with capturing() as captured:
        model.fit(x, y, verbose=0)
    (name,) = captured.profile.compiled
    assert executed(captured, name) == 2
    # the product forward and that of the weights' gradient, of 32 samples each; the rest is some ops on 32 * 16 numbers
    assert 2 * (2 * 32 * 32 * 16) < float_ops(captured, name) < 2 * (2 * 32 * 32 * 16) + 20 * 32 * 16
    assert NOTE.format(repr(name)) in captured.warnings


def test_nothing_is_said_of_what_is_not_compiled() -> None:
    plain = function(dense)
    plain(tf.ones([16, 12]))
    with capturing() as captured:
        plain(tf.ones([16, 12]))
    assert not captured.profile.compiled
    assert "dense" not in captured.profile.nodes.names
    assert not [each for each in captured.warnings if "XLA" in each]


def test_lambda_that_calls_another_function() -> None:
    inner = function(dense)
    compiled = function(lambda x: inner(x) + 1.0, jit_compile=True)
    compiled(tf.ones([16, 12]))
    with capturing() as captured:
        compiled(tf.ones([16, 12]))
    assert executed(captured, "<lambda>") == 1
    assert float_ops(captured, "<lambda>") == PRODUCT + 2 * 16 * 8
