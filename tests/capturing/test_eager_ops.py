"""Ops that Python runs one by one count the float operations of the shapes that they had."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.ingest.flops.registry import EagerOp, with_eager_ops
from tfprof_widget.ingest.xspace.reader import Label, read_xspace

BY_HAND = {
    "MatMul": 2 * 64 * 128 * 32,  # forward, and the gradient of the weights
    "Conv2D": 2 * 16 * 16 * 8 * 27,  # "same" padding is counted as TensorFlow counts it
    "Conv2DBackpropFilter": 2 * 16 * 16 * 8 * 27,
    "Relu": 64 * 32,
    "Reshape": 0,
}


def callbacks() -> list[Any]:
    """TensorFlow's callbacks of this thread."""
    from tensorflow.python.eager import context

    found: list[Any] = context.context()._thread_local_data.op_callbacks
    return found


def train(steps: int) -> None:
    """An eager loop of a product and a convolution."""
    x, image = tf.ones([64, 128]), tf.ones([1, 16, 16, 3])
    weights, kernel = tf.Variable(tf.ones([128, 32])), tf.Variable(tf.ones([3, 3, 3, 8]))
    for _ in range(steps):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(x, weights))
            loss = tf.reduce_sum(hidden) + tf.reduce_sum(tf.nn.conv2d(image, kernel, 1, "SAME"))
        for variable, gradient in zip([weights, kernel], tape.gradient(loss, [weights, kernel]), strict=True):
            variable.assign_sub(gradient)


@pytest.fixture(scope="module")
def captured() -> tfprof.Capture:
    """A capture of a loop of eager ops."""
    train(1)
    with tfprof.capture() as prof:
        train(3)
    return prof


@pytest.mark.parametrize("op", BY_HAND)
def test_each_execution_counts_as_by_hand(captured: tfprof.Capture, op: str) -> None:
    rows = captured.view("op").to_dataframe().set_index("name")
    assert rows.float_ops[op] == rows.runs[op] * BY_HAND[op]
    assert rows.runs[op] > 0


def test_they_are_known(captured: tfprof.Capture) -> None:
    assert captured.profile.flops_coverage().share == 1


def test_tensorflow_is_as_before(captured: tfprof.Capture) -> None:
    from tensorflow.python.eager import execute

    assert callbacks() == []
    assert execute.execute is execute.quick_execute


def test_ops_of_what_is_no_tensor_yet_count_too() -> None:
    """TensorFlow executes them the slow way, and so ops of the variables of Keras 3."""

    class Weights:
        def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
            return tf.ones([128, 32])

    tf.raw_ops.MatMul(a=tf.ones([64, 128]), b=Weights())
    with tfprof.capture() as prof:
        tf.raw_ops.MatMul(a=tf.ones([64, 128]), b=Weights())
    rows = prof.view("op").to_dataframe().set_index("name")
    assert rows.float_ops["MatMul"] == BY_HAND["MatMul"]


def test_callbacks_of_others_get_what_they_expect() -> None:
    """Functions are built while a window is open, and TensorFlow hands on what a callback gives back."""
    seen: list[tuple[str, int]] = []

    def theirs(op: str, inputs: Any, attributes: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        seen.append((op, len(outputs)))

    double = tf.function(lambda x: 2.0 * x)
    with tfprof.capture():
        callbacks().append(theirs)
        try:
            assert double(tf.constant(3.0)).numpy() == 6
        finally:
            callbacks().remove(theirs)
    assert ("Mul", 1) in seen
    assert callbacks() == []


def relu(ended: int, size: int) -> EagerOp:
    """A note of an op that had ended by then."""
    return EagerOp(ended, "Relu", (), [(size,)], [(size,)])


def counted(starts: list[int], durations: list[int], notes: list[EagerOp]) -> dict[int, int]:
    """The float operations of executions of Relu by their rows, as by these notes."""
    count = len(starts)
    none = read_xspace(b"")
    table = replace(
        none,
        labels=(Label("eager run", "", "Relu", "Relu"),),
        label=np.zeros(count, np.int32),
        start=np.array(starts, np.int64),
        duration=np.array(durations, np.int64),
    )
    return dict(with_eager_ops(table, notes).eager_float_ops.tolist())


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ([relu(16, 2), relu(36, 4), relu(51, 8)], {0: 2, 1: 4, 2: 8}),
        ([relu(16, 2), relu(51, 8)], {0: 2, 2: 8}),  # the note on the second is missing
        ([relu(16, 2), relu(36, 4), relu(51, 8), relu(70, 16)], {0: 2, 1: 4, 2: 8}),  # one ran after the recording
        ([relu(9, 2), relu(36, 4)], {1: 4}),  # one ran before the recording
        ([EagerOp(16, "Svd", (), [(3, 3)], [(3,)])], {}),
        ([EagerOp(16, "Relu", (), [None], [None])], {0: 0}),
        ([], {}),
    ],
)
def test_a_note_is_of_the_last_execution_that_had_ended(notes: list[EagerOp], expected: dict[int, int]) -> None:
    assert counted([10, 30, 45], [5, 5, 5], notes) == expected


def test_notes_are_of_executions_in_any_order() -> None:
    assert counted([45, 10], [5, 5], [relu(16, 2), relu(51, 8)]) == {0: 8, 1: 2}


def test_a_kernel_that_does_the_work_of_two_ops_counts_both_beside_eager_ops() -> None:
    """Where one kernel multiplies and adds the bias, the product is counted where that kernel ran, in each step."""
    weights, bias = tf.Variable(tf.ones([64, 128])), tf.Variable(tf.zeros([128]))
    layer = tf.function(lambda x: tf.nn.bias_add(tf.matmul(x, weights), bias))
    x = tf.ones([32, 64])
    layer(x)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(4):
            layer(tf.multiply(x, 2.0))
    by_name = prof.view("scope", run_name_regexes=["<lambda>"]).to_dataframe().set_index("name").float_ops
    product, added = 2 * 32 * 64 * 128, 32 * 128
    assert by_name.filter(regex="^(MatMul|BiasAdd)$").sum() == product + added
