"""Custom loops, functions and ops run one by one are profiled; counts of ops are told by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from tests.capturing.program_steps import TRAIN, capturing, function, like
from tfprof_widget.capturing.sampling import EVERYTHING, Policy, Steps
from tfprof_widget.profiles.data import EAGER

NOTHING = Steps(10**9)


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


def test_functions_of_one_name_are_told_apart_by_line() -> None:
    """Two of one line have a number, and so has what is called as if it were of a notebook's cell."""
    first: Any = tf.function(lambda x: x @ x)
    second, third = (tf.function(lambda x: tf.nn.relu(x)) for _ in range(2))
    cell = compile("lambda x: tf.nn.tanh(x)", "/tmp/ipykernel_7/123456.py", "eval")
    fourth: Any = tf.function(eval(cell, {"tf": tf}))
    x = tf.ones([2, 2])
    with capturing() as captured:
        for each in (first, second, third, fourth):
            each(x)
            each(x)
    line = 1 + Path(__file__).read_text(encoding="utf-8").splitlines().index(
        "    second, third = (tf.function(lambda x: tf.nn.relu(x)) for _ in range(2))"
    )
    named = ["<lambda>", f"<lambda> ({Path(__file__).name}:{line})", "<lambda> (2)", "<lambda> (line 1)"]
    assert {name: runs.seen for name, runs in captured.runs.items() if name != EAGER} == dict.fromkeys(named, 2)
    assert like(captured.counts(named[1]), "Relu") == 1


@pytest.mark.parametrize("policy", [EVERYTHING, NOTHING])
def test_calls_that_trace_their_function_are_warm_ups(policy: Policy) -> None:
    double = function(lambda x: x + x, reduce_retracing=False)
    with capturing(policy) as captured:
        for length in (2, 2, 3, 3, 2, 4):
            double(tf.ones([length]))
    (runs,) = (runs for name, runs in captured.runs.items() if name != EAGER)
    assert (runs.seen, runs.warm_ups) == (6, 3)


@pytest.mark.parametrize("policy", [EVERYTHING, NOTHING])
def test_calls_of_what_was_traced_before_are_no_warm_ups_but_the_first(policy: Policy) -> None:
    double = function(lambda x: x + x, reduce_retracing=False)
    for length in (2, 3):
        double(tf.ones([length]))
    with capturing(policy) as captured:
        for length in (2, 2, 3, 3):
            double(tf.ones([length]))
    (runs,) = (runs for name, runs in captured.runs.items() if name != EAGER)
    assert (runs.seen, runs.warm_ups) == (4, 1)


def test_call_after_one_that_could_not_be_traced_is_a_warm_up() -> None:
    fails = [True, False]

    @function
    def square(x: Any) -> Any:
        if fails.pop(0):
            raise ValueError("not yet")
        return tf.square(x)

    with capturing(NOTHING) as captured:
        with pytest.raises(ValueError, match="not yet"):
            square(tf.constant(2.0))
        for _ in range(3):
            square(tf.constant(2.0))
    assert (captured.runs["square"].seen, captured.runs["square"].warm_ups) == (3, 1)


@pytest.mark.parametrize("policy", [EVERYTHING, NOTHING])
def test_step_of_a_model_that_traces_its_function_again_is_a_warm_up(policy: Policy) -> None:
    model = keras.Sequential([keras.Input((None, 1)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with capturing(policy) as captured:
        for length in (4, 5):
            model.fit(tf.ones([8, length, 1]), tf.ones([8]), batch_size=2, verbose=0)
    assert (captured.runs[TRAIN].seen, captured.runs[TRAIN].warm_ups) == (8, 2)
