"""The graph of a tf.function, read alone, has the variables that it captures and the ops of what it calls."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.options import TRAINABLE_VARIABLES


class Layer:
    """x @ w + b, of 12 to 8; the bias is not trained."""

    def __init__(self) -> None:
        self.w = tf.Variable(tf.ones([12, 8]), name="w")
        self.b = tf.Variable(tf.zeros([8]), name="b", trainable=False)
        self.product = tf.function(lambda x: x @ self.w)

    def direct(self, x: Any) -> Any:
        return tf.nn.relu(x @ self.w + self.b)

    def nested(self, x: Any) -> Any:
        return tf.nn.relu(self.product(x) + self.b)


def graph_of(call: Any, *shape: int | None) -> Any:
    return tf.function(call).get_concrete_function(tf.TensorSpec(shape, tf.float32)).graph


def by_node(profile: Profile, column: str) -> dict[str, int]:
    values = getattr(profile.nodes, column).tolist()
    return {name: value for name, value in zip(profile.nodes.names, values, strict=True) if value}


@pytest.mark.parametrize(("name", "product"), [("direct", "matmul"), ("nested", "<lambda>/matmul")])
def test_parameters_and_float_ops(name: str, product: str) -> None:
    layer = Layer()
    profile = Profile.from_protos(graph_of(getattr(layer, name), 16, 12))
    assert by_node(profile, "parameters") == {"w": 96, "b": 8}  # 12 * 8 and 8, and nothing for the input
    # 2 * 16 * 12 * 8 of the product, and one for each of 16 * 8 elements of the sum and of its positive part
    assert by_node(profile, "float_ops") == {product: 3072, "add": 128, "Relu": 128}
    assert profile.view("scope", account_type_regexes=[TRAINABLE_VARIABLES]).grand_total["params"].tolist() == [96]


def test_keras_model_by_layer() -> None:
    layers = [tf.keras.Input((784,)), tf.keras.layers.Dense(64, name="hidden"), tf.keras.layers.Dense(10, name="out")]
    model = tf.keras.Sequential(layers, name="net")
    profile = Profile.from_protos(graph_of(lambda x: model(x), 1, 784))
    names = tuple(name.rpartition("/")[0] for name in by_node(profile, "parameters"))
    assert len(set(names)) == 2
    counts = sorted(by_node(profile, "parameters").values())
    assert counts == [10, 64, 64 * 10, 784 * 64]
    assert sum(by_node(profile, "float_ops").values()) == 2 * 784 * 64 + 64 + 2 * 64 * 10 + 10
    assert profile.has_traces


def test_variable_of_unknown_shape_counts_none() -> None:
    variable = tf.Variable(tf.ones([3]), shape=tf.TensorShape([None]), name="v")
    profile = Profile.from_protos(graph_of(lambda x: x + variable, 3))
    assert by_node(profile, "parameters") == {}


def test_what_an_op_log_says_goes_before_what_the_graph_knows() -> None:
    layer = Layer()
    op_log = tfprof.OpLogProto(log_entries=[{"name": "matmul", "float_ops": 7}])
    profile = Profile.from_protos(graph_of(layer.direct, 16, 12), op_log=op_log)
    assert by_node(profile, "float_ops") == {"matmul": 7, "add": 128, "Relu": 128}
    assert by_node(profile, "parameters") == {"w": 96, "b": 8}


def test_function_that_captures_nothing_is_as_before() -> None:
    profile = Profile.from_protos(graph_of(lambda x: x + 1.0, 16, 12))
    assert by_node(profile, "parameters") == {"x": 192}


def test_compatible_api_counts_as_native() -> None:
    layer = Layer()
    graph = graph_of(layer.direct, 16, 12)
    native = tf.compat.v1.profiler
    options = native.ProfileOptionBuilder(native.ProfileOptionBuilder.trainable_variables_parameter())
    options = options.account_displayed_op_only(False).with_accounted_types([".*"]).with_empty_output()
    expected = native.profile(graph, options=options.build(), cmd="scope").total_parameters
    ours = tfprof.profile(graph, options=options.build(), cmd="scope")
    assert ours.total_parameters == expected == 194  # the input's 16 * 12, and one for each variable
