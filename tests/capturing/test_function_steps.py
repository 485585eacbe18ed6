"""Custom loops, functions and ops run one by one are profiled; counts of ops are told by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.capturing.program_steps import capturing, function, like
from tfprof_widget.profiles.data import EAGER


def forward(x: Any, weights: Any) -> Any:
    return tf.nn.relu(tf.matmul(x, weights))  # THE FORWARD LINE


def test_custom_loop_with_a_tape() -> None:
    weights = tf.Variable(tf.ones([4, 4]), name="weights")

    @function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(forward(x, weights))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    x = tf.ones([2, 4])
    with capturing() as captured:
        for _ in range(5):
            train(x)
    assert {name: (runs.seen, runs.traced) for name, runs in captured.runs.items() if name == "train"} == {
        "train": (5, 5)
    }
    counts = captured.counts("train")
    # x needs no gradient, so one product forward and one back
    assert (like(counts, "MatMul"), counts["Relu"], counts["ReluGrad"], counts["AssignSubVariableOp"]) == (8, 4, 4, 4)
    nodes = captured.profile.nodes
    parameters = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count}
    assert parameters == {"weights": 16}
    line = 1 + Path(__file__).read_text(encoding="utf-8").splitlines().index(
        "    return tf.nn.relu(tf.matmul(x, weights))  # THE FORWARD LINE"
    )
    rows = captured.profile.view("code", max_depth=200)
    frame = f"{Path(__file__).name}:{line}:forward"
    runs = dict(zip(rows.names, rows.total["runs"].tolist(), strict=True))
    assert runs[frame] == 3 * 5  # the variable is read too
    assert runs[f"{frame} (gradient)"] == 2 * 5


def test_ops_run_one_by_one() -> None:
    x = tf.ones([3, 3])
    with capturing() as captured:
        for _ in range(7):
            x = tf.matmul(x, x)
        tf.nn.sigmoid(x)
    assert captured.nodes(EAGER) == {"eager/MatMul": 7, "eager/Sigmoid": 1}
    assert list(captured.runs) == [EAGER]


def test_function_called_by_a_function_keeps_its_scope() -> None:
    @function
    def helper(x: Any) -> Any:
        return tf.matmul(x, x)

    @function
    def outer(x: Any) -> Any:
        return helper(x) + helper(2.0 * x) + tf.matmul(x, 3.0 * x)

    x = tf.ones([3, 3])
    outer(x)  # traced before
    with capturing() as captured:
        outer(x)
        outer(x)
    nodes = captured.nodes("outer", "outer (warm-up)")
    assert nodes["helper/MatMul"] == 4
    assert like(captured.counts("outer", "outer (warm-up)"), "MatMul") == 6
    assert captured.profile.traces.stack[captured.profile.nodes.names.index("helper/MatMul")] >= 0


def test_loop_and_condition_in_a_function() -> None:
    @function
    def looping(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.matmul(x, x)
        if tf.reduce_sum(x) > 0.0:
            x = tf.sin(x)
        return x

    with capturing() as captured:
        looping(tf.ones([2, 2]))
        looping(tf.ones([2, 2]))
    nodes = captured.nodes("looping")
    assert (nodes["while/MatMul"], nodes["cond/Sin"]) == (3, 1)
