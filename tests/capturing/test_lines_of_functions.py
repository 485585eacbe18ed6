"""The code view has all that ran, at the lines where it was made, also if functions share nodes' names."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.api.result import Capture
from tfprof_widget.profiles.data import EAGER, WARM_UP

v1: Any = tf.compat.v1


def times_by_line(prof: Capture, **options: Any) -> dict[int, float]:
    """The time of each line of the test in the code view of the steps shown or chosen, with that of gradients."""
    view, found = prof.view("code", **options), defaultdict[int, float](float)
    for name, total in zip(view.names, view.total["micros"].tolist(), strict=True):
        if ":test_" in name:
            found[int(name.split(":")[1])] += total
    return found


def line_of(source: str) -> int:
    """The last line of this file with just this source."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return max(number for number, line in enumerate(lines, 1) if line.strip() == source)


def test_what_two_functions_share_is_at_the_line_of_the_costlier() -> None:
    """A model called in two places has nodes of the same names; its time is not told of the call that came first."""
    weights = tf.Variable(tf.ones([256, 256]))

    def net(batch: Any) -> Any:
        with tf.name_scope("net"):
            return tf.nn.relu(batch @ weights)

    def sample_once(batch: Any) -> Any:
        return net(batch)

    def train_once(batch: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(batch) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))

    sample: Any = tf.function(sample_once)
    train: Any = tf.function(train_once)
    batch = tf.ones([256, 256])
    with tfprof.capture(trace_all=True) as prof:
        sample(batch)
        for _ in range(20):
            train(batch)
    assert prof.profile.main_kind == "train_once"
    told = times_by_line(prof)
    assert told[line_of("sample(batch)")] == 0
    assert told[line_of("train(batch)")] > 0.9 * int(prof.view("op").grand_total["micros"][0])


def test_each_kind_of_steps_is_at_lines_of_its_own() -> None:
    """Two train steps of one model share the names of all their nodes, also of the gradients."""
    weights = tf.Variable(tf.ones([256, 256]))

    def net(batch: Any) -> Any:
        with tf.name_scope("net"):
            return tf.nn.relu(batch @ weights)

    def seldom_once(batch: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(batch) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))

    def often_once(batch: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(batch) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))

    seldom: Any = tf.function(seldom_once)
    often: Any = tf.function(often_once)
    batch = tf.ones([256, 256])
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(4):
            seldom(batch)
        for _ in range(20):
            often(batch)
    lines = {name: line_of(f"{name.partition('_')[0]}(batch)") for name in ("seldom_once", "often_once")}
    for name, other in zip(lines, reversed(lines), strict=True):
        for steps in (name, f"{name}.*"):  # also with the first one, which runs the same function
            told, whole = times_by_line(prof, run_name_regexes=[steps]), prof.view("op", run_name_regexes=[steps])
            assert told[lines[other]] == 0
            assert told[lines[name]] > 0.9 * int(whole.grand_total["micros"][0])
    assert any(name.endswith("(gradient)") for name in prof.view("code", run_name_regexes=["seldom_once"]).names)
    steady = [step for step, name in enumerate(prof.profile.step_names) if not name.endswith(WARM_UP)]
    ran = prof.profile.executions
    steps_of = {name: [each for each in steady if prof.profile.step_names[each].startswith(name)] for name in lines}
    costs = {name: ran.duration_nanos[np.isin(ran.step, steps)].sum() for name, steps in steps_of.items()}
    cheaper, costliest = sorted(lines, key=lambda name: costs[name])  # `often_once`, unless the others were held up
    told = times_by_line(prof, run_name_regexes=[".*"])
    assert told[lines[cheaper]] < 0.1 * told[lines[costliest]]


def test_a_gradient_belongs_to_a_node_of_its_own_function() -> None:
    """Without scopes both functions have a `MatMul`, and both gradients are named after it."""
    weights = tf.Variable(tf.ones([256, 256]))

    def first_once(batch: Any) -> Any:
        return batch @ weights

    def second_once(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(batch @ weights)
        return tape.gradient(loss, weights)

    first: Any = tf.function(first_once)
    second: Any = tf.function(second_once)
    batch = tf.ones([256, 256])
    with tfprof.capture(trace_all=True) as prof:
        first(batch)
        for _ in range(20):
            second(batch)
    told = times_by_line(prof)
    assert told[line_of("first(batch)")] == 0
    assert told[line_of("second(batch)")] > 0


def test_a_gradient_without_a_forward_line_stays_in_the_code_view() -> None:
    """Native tfprof leaves out these gradients, as it takes the first `gradients/` of a name for theirs."""
    with tf.Graph().as_default(), v1.Session() as session:
        with tf.name_scope("my_gradients"):
            weights = v1.get_variable("weights", [256, 256], use_resource=True)
            (change,) = v1.gradients(tf.reduce_sum(tf.tanh(weights @ weights)), [weights])
        session.run(v1.global_variables_initializer())
        with tfprof.capture(trace_all=True) as prof:
            session.run(change)
    gradients = [name for name in prof.profile.nodes.names if name.endswith("_grad/MatMul")]
    assert gradients == ["my_gradients/gradients/my_gradients/matmul_grad/MatMul"]
    view = prof.view("code")
    assert int(view.total["micros"][0]) > 0.9 * int(prof.view("op").grand_total["micros"][0])
    assert any(name.endswith("(gradient)") for name in view.names)


def test_what_a_retraced_function_computes_is_counted_as_it_ran() -> None:
    """Each call takes 2 x 64 x 64 float operations for each of its rows: three calls have 8 rows, others 512."""
    weights = tf.Variable(tf.ones([64, 64]))

    def scale_once(batch: Any) -> Any:
        return batch @ weights

    scale: Any = tf.function(scale_once, reduce_retracing=False)
    with tfprof.capture(trace_all=True) as prof:
        for rows in [8] * 3 + [512] * 60:
            scale(tf.ones([rows, 64]))
    steps = zip(prof.profile.steps, prof.profile.step_names, strict=True)
    views = (prof.view("op", step=step) for step, name in steps if name != EAGER)
    assert [int(view.grand_total["float_ops"][0]) for view in views] == [
        2 * rows * 64 * 64 for rows in [8] * 3 + [512] * 60
    ]


def test_what_goes_round_in_a_loop_is_of_the_loop() -> None:
    """TensorFlow takes loops and branches apart into ops that it names after them and numbers anew each time."""

    def drawn(x: Any, count: Any) -> Any:
        with tf.name_scope("around"):
            for _ in tf.range(count):
                for _ in tf.range(2):
                    x = tf.tanh(x @ x)
                x = tf.exp(-x) if tf.reduce_sum(x) > 0.0 else tf.nn.relu(x)
        return x

    draw: Any = tf.function(drawn)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            draw(tf.ones([64, 64]), tf.constant(4))
    nodes, traces = prof.profile.nodes, prof.profile.traces
    ran = sorted({nodes.names[node] for node in prof.profile.executions.node.tolist()})
    ran = [name for name in ran if not name.startswith("eager/")]
    assert {"around/while/Merge", "around/while/while/NextIteration", "around/while/cond/Switch"} <= {*ran}
    assert [name for name in ran if traces.stack[nodes.names.index(name)] < 0] == []
    assert sum(times_by_line(prof).values()) == int(prof.view("op").grand_total["micros"][0])
