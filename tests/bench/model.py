"""The graph that the benchmark profiles: towers of nested blocks with gradients, of any number of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

v1: Any = tf.compat.v1

SHARE_THAT_RUNS = 0.45
WIDTH = 4
DEPTHS = (1, 1, 2, 1, 5, 3, 9, 14, 4)


@dataclass(frozen=True)
class Model:
    """A graph of so many nodes, the step of it that runs, and what must run before it."""

    graph: Any
    step: Any
    initialise: Any


def build(count: int) -> Model:
    """A graph of about `count` nodes; `step` needs some 45 % of them."""
    graph = tf.Graph()
    steps: list[Any] = []
    with graph.as_default():
        with v1.variable_scope("", use_resource=True):
            while _size(graph) < count:
                steps.append(_tower(f"tower_{len(steps)}", DEPTHS[len(steps) % len(DEPTHS)]))
        step = tf.group(*_steps_that_need(steps, SHARE_THAT_RUNS * _size(graph)), name="step")
        return Model(graph, step, v1.global_variables_initializer())


def run(model: Model) -> Any:
    """The RunMetadata of one step, with no rewriting, so that the graph's own nodes run."""
    run_meta = v1.RunMetadata()
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    with v1.Session(graph=model.graph, config=config) as session:
        session.run(model.initialise)
        session.run(model.step)
        session.run(model.step, options=options, run_metadata=run_meta)
    return run_meta


def silence_deprecations() -> None:
    """Let TensorFlow not say that its profiler is deprecated."""
    tf.get_logger().setLevel("ERROR")


def _size(graph: Any) -> int:
    return len(graph.get_operations())


def _steps_that_need(steps: list[Any], wanted: float) -> list[Any]:
    """As many of the towers' steps as need the wanted number of nodes, and hardly more."""
    needed: set[Any] = set()
    chosen = []
    for step in steps:
        of_step = _all_that_runs(step)
        if len(needed) + len(of_step) <= 1.05 * wanted:
            needed |= of_step
            chosen.append(step)
    return chosen


def _all_that_runs(step: Any) -> set[Any]:
    found: set[Any] = set()
    pending = [step]
    while pending:
        operation = pending.pop()
        if operation not in found:
            found.add(operation)
            pending.extend(tensor.op for tensor in operation.inputs)
            pending.extend(operation.control_inputs)
    return found


def _tower(name: str, depth: int) -> Any:
    """A network of its own and its training step."""
    with v1.variable_scope(name):
        hidden = _stem(tf.ones([2, WIDTH]))
        hidden = _block(hidden, depth)
        loss = _loss(hidden)
        weights = v1.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES, scope=f"{name}/")
        return _descend(loss, weights)


def _stem(images: Any) -> Any:
    with v1.variable_scope("stem"):
        return _dense(_whiten(images), "project")


def _block(hidden: Any, depth: int) -> Any:
    """A block around another one, and so on `depth` times: each level is a scope and a stack frame deeper."""
    with v1.variable_scope("block"):
        hidden = _branch(_dense(hidden, "enter"), "left") + _branch(hidden, "right")
        if depth > 1:
            hidden = hidden + _block(hidden, depth - 1)
        return _gate(hidden)


def _branch(hidden: Any, name: str) -> Any:
    with v1.variable_scope(name):
        return tf.nn.relu(_whiten(_dense(hidden, "mix")))


def _whiten(hidden: Any) -> Any:
    with v1.name_scope("whiten"):
        mean = tf.reduce_mean(hidden, axis=1, keepdims=True)
        centred = hidden - mean
        return centred * tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axis=1, keepdims=True) + 1e-6)


def _gate(hidden: Any) -> Any:
    with v1.name_scope("gate"):
        gates = tf.sigmoid(tf.reshape(hidden, [WIDTH, 2]))
        return hidden * tf.transpose(gates)


def _dense(hidden: Any, name: str) -> Any:
    with v1.variable_scope(name):
        weights = v1.get_variable("weights", [WIDTH, WIDTH])
        bias = v1.get_variable("bias", [WIDTH], initializer=v1.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(hidden, weights), bias)


def _loss(hidden: Any) -> Any:
    with v1.name_scope("loss"):
        labels = tf.zeros_like(hidden)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, hidden))


def _descend(loss: Any, weights: list[Any]) -> Any:
    gradients = v1.gradients(loss, weights)
    with v1.name_scope("descend"):
        return tf.group(*[_update(*pair) for pair in zip(weights, gradients, strict=True)])


def _update(weight: Any, gradient: Any) -> Any:
    return weight.assign_sub(0.01 * tf.clip_by_value(gradient, -1.0, 1.0)).op
