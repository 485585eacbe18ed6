"""The graphs of tf.functions become one graph by layer, with the variables, shapes, FLOPs and traces of their ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tfprof_widget.ingest.live.functions import read_functions
from tfprof_widget.ingest.parts.names import NO_BETTER_NAMES, BetterNames, forward_nodes
from tfprof_widget.ingest.parts.nodes import FunctionGraphs, node_definitions
from tfprof_widget.ingest.parts.stacks import StackBuilder

MATRIX = tf.TensorSpec([4, 4], tf.float32)


def function(python: Callable[..., Any], **options: Any) -> Any:
    return tf.function(python, **options)


def read(*functions: Any, words: BetterNames = NO_BETTER_NAMES) -> FunctionGraphs:
    concrete = [each.get_concrete_function(MATRIX) for each in functions]
    return read_functions([(each.name.decode(), each.graph) for each in concrete], StackBuilder(), words)


def inputs(graphs: FunctionGraphs) -> dict[str, list[str]]:
    return {node.name: list(node.input) for node in graphs.definition.node}


@pytest.fixture
def weights() -> Any:
    return tf.Variable(tf.ones([4, 4]), name="weights")


def test_edges_go_through_calls(weights: Any) -> None:
    helper = function(lambda x: tf.matmul(x, weights, name="product"))

    @function
    def outer(x: Any) -> Any:
        return tf.nn.relu(helper(tf.sin(x)), name="end")

    graphs = read(outer)
    edges = inputs(graphs)
    names = [name for name in edges if name.endswith("product")]
    assert len(names) == 1
    read_variable = edges[names[0]][1]
    assert edges[names[0]][0] == "Sin"
    assert edges[read_variable] == ["weights"]
    (identity,) = (name for name in edges if name.endswith("Identity") and edges[name][0] == names[0])
    assert edges["end"] == [identity]


def test_executed_names_are_those_of_the_runtime(weights: Any) -> None:
    @function
    def helper(x: Any) -> Any:
        return tf.matmul(x, weights)

    @function
    def outer(x: Any) -> Any:
        for _ in tf.range(2):
            x = tf.sin(x)
        return helper(helper(x))

    ((_, nodes),) = read(outer).nodes.items()
    assert nodes["StatefulPartitionedCall/MatMul"] == nodes["StatefulPartitionedCall_1/MatMul"] == "helper/MatMul"
    assert nodes["while/body/_/while/Sin"] == "while/Sin"
    assert nodes["StatefulPartitionedCall/MatMul/ReadVariableOp"] == "helper/MatMul/ReadVariableOp"


def test_variable_is_one_node_however_many_functions_use_it(weights: Any) -> None:
    other = tf.Variable(tf.ones([2]), name="weights", trainable=False)
    first = function(lambda x: tf.matmul(x, weights))
    second = function(lambda x: tf.matmul(x, weights) + tf.reduce_sum(other))
    graphs = read(first, second)
    variables = {node.name: node for node in node_definitions([graphs.definition]) if node.op == "VarHandleOp"}
    assert {name: [size.size for size in node.attr["shape"].shape.dim] for name, node in variables.items()} == {
        "weights": [4, 4],
        "weights_1": [2],
    }
    assert graphs.op_log.types == {"weights": ["_trainable_variables"]}


def test_same_name_in_another_function_is_another_node() -> None:
    @function
    def first(x: Any) -> Any:
        return tf.sin(x)

    @function
    def second(x: Any) -> Any:
        return tf.sin(tf.cos(x))

    nodes = list(read(first, second).nodes.values())
    assert (nodes[0]["Sin"], nodes[1]["Sin"], nodes[1]["Cos"]) == ("Sin", "second/Sin", "Cos")


def test_function_traced_again_has_the_same_nodes() -> None:
    sine = function(tf.sin)
    concrete = [sine.get_concrete_function(tf.TensorSpec([size], tf.float32)) for size in (2, 3)]
    nodes = read_functions([(each.name.decode(), each.graph) for each in concrete], StackBuilder()).nodes
    assert [each["Sin"] for each in nodes.values()] == ["Sin", "Sin"]


def test_label_names_what_a_function_calls(weights: Any) -> None:
    inner = function(lambda x: tf.matmul(x, weights), autograph=False)
    outer = function(lambda x: inner(x), autograph=False)
    name = outer.get_concrete_function(MATRIX).name.decode()
    ((_, nodes),) = read(outer, words=BetterNames({name: "train_step"})).nodes.items()
    assert nodes["StatefulPartitionedCall/MatMul"] == "train_step/MatMul"


def test_flops_shapes_and_traces_come_along(weights: Any) -> None:
    graphs = read(function(lambda x: tf.matmul(x, weights)))
    assert graphs.op_log.float_ops["MatMul"] == 2 * 4 * 4 * 4
    assert graphs.op_log.stack["MatMul"] >= 0
    (product,) = (node for node in node_definitions([graphs.definition]) if node.name == "MatMul")
    shape = product.attr["_output_shapes"].list.shape[0]
    assert [size.size for size in shape.dim] == [4, 4]
    (x,) = (node for node in node_definitions([graphs.definition]) if node.op == "Placeholder")
    assert "shape" not in x.attr  # it would count as parameters


def test_gradients_are_found_their_forward_nodes(weights: Any) -> None:
    @function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.name_scope("layer"):
                y = tf.nn.relu(tf.matmul(x, weights) + 1.0)
            loss = tf.reduce_sum(tf.sin(y))
        return tape.gradient(loss, weights)

    forward = read(step).op_log.forward
    assert forward["gradient_tape/layer/ReluGrad"] == "layer/Relu"
    assert forward["gradient_tape/layer/MatMul/MatMul"] == "layer/MatMul"


def test_gradient_of_which_nothing_is_found_is_left_out() -> None:
    ops = {"a/Relu": "Relu", "gradient_tape/b/ReluGrad": "ReluGrad", "gradient_tape/Cos": "Cos"}
    assert forward_nodes(ops) == {}


def test_gradient_without_a_scope_has_the_only_node_of_its_type() -> None:
    ops = {"Relu": "Relu", "gradient_tape/ReluGrad": "ReluGrad"}
    assert forward_nodes(ops) == {"gradient_tape/ReluGrad": "Relu"}
    assert forward_nodes({"Relu_1": "Relu", **ops}) == {}
