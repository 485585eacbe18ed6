"""Layers of real Keras models and modules: each op's time is in the layer whose name it has, in the right pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.slow.share import share
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View

DENSE = keras.layers.Dense


def mlp() -> keras.Model:
    return keras.Sequential([keras.Input([8]), DENSE(16, name="lower"), DENSE(8, name="middle"), DENSE(1, name="top")])


def convolutional() -> keras.Model:
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input([8, 8, 3]),
            layers.Conv2D(4, 3, name="convolution"),
            layers.BatchNormalization(name="normal"),
            layers.Flatten(),
            DENSE(1, name="top"),
        ]
    )


def recurrent() -> keras.Model:
    memory = keras.layers.LSTM(4, name="memory")
    return keras.Sequential([keras.Input([5, 8]), memory, DENSE(4, name="middle"), DENSE(1, name="top")])


def nested() -> keras.Model:
    inner = keras.Sequential([keras.Input([16]), DENSE(8, name="deep"), DENSE(8, name="deeper")], name="inner")
    given = keras.Input([8])
    return keras.Model(given, DENSE(1, name="top")(inner(DENSE(16, name="first")(given))), name="outer")


def transformer() -> keras.Model:
    layers = keras.layers
    given = keras.Input([6, 8])
    attended = layers.MultiHeadAttention(2, 4, name="attention")(given, given)
    normal = layers.LayerNormalization(name="normal")(layers.Add(name="beside")([given, attended]))
    return keras.Model(given, DENSE(1, name="top")(normal))


MODELS: dict[str, tuple[Callable[[], keras.Model], tuple[str, ...]]] = {
    "mlp": (mlp, ("lower", "middle", "top")),
    "nested": (nested, ("first", "deep", "deeper", "top")),
    **share(
        {
            "convolutional": (convolutional, ("convolution", "normal", "top")),
            "recurrent": (recurrent, ("memory", "middle", "top")),
            "transformer": (transformer, ("attention", "normal", "top")),
        },
        {},
    ),
}
"""The models, each with its trainable layers in their order."""


@cache
def fitted(name: str) -> Profile:
    """A profile of all steps of a fit."""
    model = MODELS[name][0]()
    model.compile("adam", "mse")
    shape = (32, *model.input_shape[1:])
    with tfprof.capture(trace_all=True) as prof:
        model.fit(np.ones(shape, np.float32), np.ones([32, 1], np.float32), batch_size=8, epochs=2, verbose=0)
    return prof.profile


each_model = pytest.mark.parametrize("name", MODELS)


def rows_of(view: View) -> dict[str, dict[Any, Any]]:
    frame = view.to_dataframe()
    return {row["name"]: row for row in frame.to_dict("records")}


@each_model
def test_trainable_layers_are_rows_in_the_order_of_the_model_with_all_passes(name: str) -> None:
    rows = rows_of(fitted(name).view("layers"))
    layers = MODELS[name][1]
    assert [each for each in rows if each in layers] == list(layers)
    for layer in layers:
        total = rows[layer]
        assert total["total_parameters"] > 0
        assert min(total[f"total_{each}_micros"] for each in ("forward", "backward", "update")) > 0, layer


@each_model
def test_rows_add_up_to_all_ops(name: str) -> None:
    view = fitted(name).view("layers")
    assert view.own["micros"].sum() == fitted(name).view("op").own["micros"].sum()


@each_model
def test_forward_and_backward_are_those_of_the_names(name: str) -> None:
    """A layer's name is in those of its ops, behind that of the tape in the backward pass."""
    profile = fitted(name)
    rows = rows_of(profile.view("layers"))
    nodes = profile.view("scope", max_depth=100, account_displayed_op_only=False)
    micros = dict(zip(nodes.names, (nodes.own["micros"] / nodes.time_scale).tolist(), strict=True))
    for layer in MODELS[name][1]:
        inside = {node: took for node, took in micros.items() if re.search(rf"(^|/){layer}(/|$)", node)}
        backward = sum(took for node, took in inside.items() if "gradient_tape/" in node)
        forward = sum(took for node, took in inside.items() if "gradient_tape/" not in node)
        assert rows[layer]["total_backward_micros"] >= backward * (1 - 1e-9)
        assert rows[layer]["total_forward_micros"] == pytest.approx(forward, rel=0.02)


def test_a_module_whose_ops_have_no_scope() -> None:
    class Body(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name="body")
            self.w = tf.Variable(tf.ones([16, 16]), name="w")

        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return tf.nn.tanh(x @ self.w)

    body = Body()

    def total(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(body(x))

    step = tf.function(total)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            step(tf.ones([8, 16]))
    view = prof.profile.view("layers")
    body_row = rows_of(view)["body"]
    assert body_row["type"] == "Body"
    assert body_row["forward_micros"] > 0
    assert view.own["micros"].sum() == prof.profile.view("op").own["micros"].sum()


def test_a_module_without_a_name() -> None:
    """Modules whose `__init__` does not call that of tf.Module, as in TensorFlow's guide to its core, have none."""

    class Perceptron(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.w = tf.Variable(tf.ones([16, 16]))

        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return tf.nn.tanh(x @ self.w)

    step = tf.function(Perceptron().__call__)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            step(tf.ones([8, 16]))
    row = rows_of(prof.profile.view("layers"))["Perceptron"]
    assert row["type"] == "Perceptron"
    assert row["forward_micros"] > 0
    assert not any("Keras'" in note for note in prof.measurement.warnings)


SCOPES = ("lower", "middle", "upper")


class Layer(tf.Module):  # type: ignore[misc]
    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.w = tf.Variable(tf.ones([16, 16]), name="w")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.tanh(x @ self.w)


class Body(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="body")
        self.layers = [Layer(scope) for scope in SCOPES]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def trained_module() -> Profile:
    body = Body()
    variables = [layer.w for layer in body.layers]

    def train(x: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(body(x))
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)

    step = tf.function(train)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            step(tf.ones([8, 16]))
    return prof.profile


def trained_session() -> Profile:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = tf.ones([8, 8])
        for scope in SCOPES:
            with v1.variable_scope(scope):
                x = tf.nn.tanh(tf.matmul(x, v1.get_variable("w", [8, 8])))
        train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(x))
        start = v1.global_variables_initializer()
    session = v1.Session(graph=graph)
    session.run(start)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            session.run(train)
    return prof.profile


def nodes_of_modules(place: int) -> dict[str, list[str]]:
    """TensorFlow counts ops of one name; it differentiates the last layer first, and not the input of the first."""
    count, back = f"_{place}" if place else "", f"_{2 - place}" if place < 2 else ""
    products = ["MatMul", "MatMul_1"] if place else ["MatMul"]
    return {
        "forward": [f"matmul{count}", f"matmul{count}/ReadVariableOp", f"Tanh{count}"],
        "backward": [
            f"gradient_tape/TanhGrad{back}",
            *(f"gradient_tape/matmul{count}/{product}" for product in products),
        ],
        "update": [f"mul{count}", f"mul{count}/x", f"AssignSubVariableOp{count}"],
    }


def nodes_of_scopes(place: int) -> dict[str, list[str]]:
    scope = SCOPES[place]
    return {
        "forward": [f"{scope}/{each}" for each in ("w", "MatMul/ReadVariableOp", "MatMul", "Tanh")],
        "backward": [
            f"gradients/{scope}/{each}" for each in ("Tanh_grad/TanhGrad", "MatMul_grad/MatMul", "MatMul_grad/MatMul_1")
        ],
        "update": [f"GradientDescent/update_{scope}/w/ResourceApplyGradientDescent"],
    }


@pytest.mark.parametrize(
    ("trained", "layers", "nodes_of"),
    [
        (trained_module, tuple(f"layers.{place}" for place in range(3)), nodes_of_modules),
        (trained_session, SCOPES, nodes_of_scopes),
    ],
    ids=["modules", "scopes"],
)
def test_passes_are_those_of_the_nodes_that_are_known_by_hand(
    trained: Callable[[], Profile], layers: tuple[str, ...], nodes_of: Callable[[int], dict[str, list[str]]]
) -> None:
    profile = trained()
    view = profile.view("layers")
    rows = rows_of(view)
    nodes = profile.view("scope", max_depth=100, account_displayed_op_only=False)
    micros = dict(zip(nodes.names, (nodes.own["micros"] / nodes.time_scale).tolist(), strict=True))
    for place, layer in enumerate(layers):
        for each, names in nodes_of(place).items():
            by_hand = sum(micros.get(name, 0.0) for name in names)
            assert by_hand > 0, (layer, each)
            assert rows[layer][f"total_{each}_micros"] == pytest.approx(by_hand), (layer, each)
    assert view.own["micros"].sum() == profile.view("op").own["micros"].sum()


class Autoencoder(keras.Model):  # type: ignore[misc]
    """A model whose `train_step` calls the models in it, and never the model itself, as those of VAEs and GANs do."""

    def __init__(self) -> None:
        super().__init__(name="whole")
        self.encoder = keras.Sequential([keras.Input([8]), DENSE(64, name="lower")], name="encoder")
        self.decoder = keras.Sequential([keras.Input([64]), DENSE(8, name="upper"), DENSE(8)], name="decoder")

    def train_step(self, data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(self.decoder(self.encoder(data[0])) - data[0]))
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def test_layers_that_a_train_step_calls_without_their_model_have_their_ops() -> None:
    model = Autoencoder()
    model.compile("adam")
    rows = np.ones([32, 8], np.float32)
    with tfprof.capture(trace_all=True) as prof:
        model.fit(rows, rows, batch_size=8, epochs=2, verbose=0)
    found = rows_of(prof.profile.view("layers"))
    for layer in ("encoder", "lower", "decoder", "upper"):
        assert min(found[layer][f"total_{each}_micros"] for each in ("forward", "backward", "update")) > 0, layer
    nodes = prof.profile.view("scope", max_depth=100, account_displayed_op_only=False)
    micros = dict(zip(nodes.names, (nodes.own["micros"] / nodes.time_scale).tolist(), strict=True))
    products = sum(took for node, took in micros.items() if "MatMul" in node)
    assert products == pytest.approx(
        sum(took for node, took in micros.items() if "MatMul" in node and "whole/" in node)
    )


class Chain(keras.Model):  # type: ignore[misc]
    """A model of two layers with a step of its own."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.lower, self.upper = DENSE(16, name="lower"), DENSE(8, name="upper")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.upper(self.lower(x))

    @tf.function  # type: ignore[untyped-decorator]
    def predicted(self, x: tf.Tensor) -> tf.Tensor:
        return self(x)


@tf.function  # type: ignore[untyped-decorator]
def predicted(model: keras.Model, x: tf.Tensor) -> tf.Tensor:
    return model(x)


@pytest.mark.parametrize("is_method", [True, False])
def test_layers_of_a_model_that_a_function_is_given_or_is_a_method_of(is_method: bool) -> None:
    model = Chain("taken")
    step = model.predicted if is_method else lambda x: predicted(model, x)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            step(tf.ones([4, 8]))
    found = rows_of(prof.profile.view("layers"))
    assert {found["lower"]["type"], found["upper"]["type"]} == {"Dense"}
    assert min(found[layer]["total_forward_micros"] for layer in ("lower", "upper")) > 0


def test_layers_of_a_model_that_is_called_in_a_loop_of_a_function() -> None:
    model = Chain("looped")

    @tf.function  # type: ignore[untyped-decorator]
    def epoch(x: tf.Tensor) -> tf.Tensor:
        total = tf.zeros([4, 8])
        for _ in tf.range(5):
            total += model(x)
        return total

    model(tf.ones([4, 8]))
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            epoch(tf.ones([4, 8]))
    found = rows_of(prof.profile.view("layers"))
    assert min(found[layer]["total_forward_micros"] for layer in ("lower", "upper")) > 0
    nodes = prof.profile.view("scope", max_depth=100, account_displayed_op_only=False)
    micros = dict(zip(nodes.names, (nodes.own["micros"] / nodes.time_scale).tolist(), strict=True))
    inside = sum(took for name, took in micros.items() if re.search("(lower|upper)/", name))
    assert sum(found[layer]["total_forward_micros"] for layer in ("lower", "upper")) == pytest.approx(inside, rel=0.02)
