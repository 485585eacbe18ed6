"""Whole networks in training take what a calculation by hand gives, with full and with smaller last batches.

A product of the forward pass is followed by two as large in the backward pass: the gradients of its weights and of its
input. The first layer needs no gradient of its input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from tensorflow.compat import v1

import tfprof_widget as tfprof
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.data import EAGER

BATCH = 4


def of_layer(layer: Any) -> int:
    """The multiply-accumulates of a layer for one example, by the sizes of what it puts out and of its kernel."""
    if isinstance(layer, layers.DepthwiseConv2D):
        sizes = (*layer.output.shape[1:], *layer.kernel.shape[:2])
    elif isinstance(layer, layers.Conv2DTranspose):
        sizes = (*layer.input.shape[1:3], *layer.kernel.shape)
    elif isinstance(layer, layers.Conv2D):
        sizes = (*layer.output.shape[1:], *layer.kernel.shape[:3])
    elif isinstance(layer, layers.Dense):
        sizes = (*layer.output.shape[1:], layer.kernel.shape[0])
    else:
        return 0
    return math.prod(map(int, sizes))


def forward(model: keras.Model) -> list[int]:
    """The multiply-accumulates of each layer that has any, for one example."""
    return [count for layer in model._flatten_layers(include_self=False) if (count := of_layer(layer))]


def in_training(model: keras.Model) -> int:
    """The multiply-accumulates of a model in training, for one example."""
    of_layers = forward(model)
    return 3 * sum(of_layers) - of_layers[0]


def fitted(model: keras.Model, inputs: Any) -> Profile:
    """What was recorded of fitting a model to these inputs."""
    model.compile("sgd", "mse")
    wanted = np.zeros([len(inputs), *model.outputs[0].shape[1:]], np.float32)
    with tfprof.capture(trace_all=True) as prof:
        model.fit(inputs, wanted, batch_size=BATCH, epochs=1, verbose=0, shuffle=False)
    return prof.profile


def counted(profile: Profile) -> list[int]:
    """The multiply-accumulates of each step, without what Python does between steps."""
    found = profile.with_flops(multiply_accumulates=True)
    steps = (step for step, name in zip(profile.steps, profile.step_names, strict=True) if name != EAGER)
    return [int(found.view("op", step=step).grand_total["float_ops"][0]) for step in steps]


def approximately(*by_hand: int) -> Any:
    return pytest.approx(list(by_hand), rel=0.03)


def convnet() -> keras.Model:
    stages = [layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu")]
    head = [layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.5), layers.Dense(10, activation="softmax")]
    return keras.Sequential([keras.Input([28, 28, 1]), *stages, *head])


def alexnet() -> keras.Model:
    wide = [layers.Conv2D(64, 11, 4, activation="relu"), layers.MaxPooling2D(3, 2)]
    middle = [layers.Conv2D(192, 5, padding="same", activation="relu"), layers.MaxPooling2D(3, 2)]
    narrow = [layers.Conv2D(width, 3, padding="same", activation="relu") for width in (384, 384, 256)]
    head = [layers.MaxPooling2D(3, 2), layers.Flatten(), layers.Dense(512, "relu"), layers.Dense(512, "relu")]
    return keras.Sequential([keras.Input([131, 131, 3]), *wide, *middle, *narrow, *head, layers.Dense(10)])


def autoencoder() -> keras.Model:
    down = [layers.Conv2D(width, 3, 2, padding="same", activation="relu") for width in (32, 64)]
    up = [layers.Conv2DTranspose(width, 3, 2, padding="same", activation="relu") for width in (64, 32)]
    code = [layers.Flatten(), layers.Dense(16, "relu"), layers.Dense(2), layers.GaussianNoise(1.0)]
    grow = [layers.Dense(7 * 7 * 64, "relu"), layers.Reshape([7, 7, 64])]
    last = layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid")
    return keras.Sequential([keras.Input([28, 28, 1]), *down, *code, *grow, *up, last])


def inception() -> keras.Model:
    """The first stages of Inception V1, and two of its blocks of four ways."""

    def block(image: Any, one: int, narrow: int, three: int, few: int, five: int, pooled: int) -> Any:
        def convolve(source: Any, width: int, size: int) -> Any:
            return layers.Conv2D(width, size, padding="same", activation="relu")(source)

        ways = [convolve(image, one, 1), convolve(convolve(image, narrow, 1), three, 3)]
        ways += [convolve(convolve(image, few, 1), five, 5)]
        ways += [convolve(layers.MaxPooling2D(3, 1, "same")(image), pooled, 1)]
        return layers.Concatenate()(ways)

    image = keras.Input([64, 64, 3])
    found = layers.Conv2D(64, 7, 2, "same", activation="relu")(image)
    found = layers.Conv2D(192, 3, padding="same", activation="relu")(layers.MaxPooling2D(3, 2, "same")(found))
    found = block(layers.MaxPooling2D(3, 2, "same")(found), 64, 96, 128, 16, 32, 32)
    found = block(found, 128, 128, 192, 32, 96, 64)
    return keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(found)))


FULL, SMALLER = 2 * BATCH, 2 * BATCH + 1


def batches(examples: int) -> list[int]:
    """The batches of so many examples; the last one may be smaller."""
    return [BATCH] * (examples // BATCH) + [examples % BATCH] * (examples % BATCH > 0)


@pytest.mark.parametrize("examples", [FULL, SMALLER], ids=["full", "smaller last"])
@pytest.mark.parametrize("make", [convnet, alexnet, autoencoder, inception])
def test_a_step_takes_what_was_calculated_by_hand(make: Callable[[], keras.Model], examples: int) -> None:
    model = make()
    profile = fitted(model, np.ones([examples, *model.inputs[0].shape[1:]], np.float32))
    assert counted(profile) == approximately(*(batch * in_training(model) for batch in batches(examples)))
    assert profile.flops_coverage(run_name_regexes=[".*train_step.*"]).share > 0.95


LENGTH, WIDTH, UNITS, WORDS = 6, 16, 24, 50


def test_fit_evaluate_and_predict_each_count_their_own_batches() -> None:
    """A convolution with a bias: two for a multiply-accumulate of its 3 by 3 by 2 inputs, and one for the bias."""
    model = keras.Sequential([keras.Input([6, 6, 2]), layers.Conv2D(3, 3), layers.BatchNormalization()])
    model.compile("sgd", "mse")
    inputs, wanted = np.ones([11, 6, 6, 2], np.float32), np.ones([11, 4, 4, 3], np.float32)
    with tfprof.capture(trace_all=True) as prof:
        model.fit(inputs, wanted, batch_size=4, verbose=0, shuffle=False)
        model.evaluate(inputs, wanted, batch_size=6, verbose=0)
        model.predict(inputs, batch_size=8, verbose=0)
    found: dict[str, list[int]] = {"fit": [], "evaluate": [], "predict": []}
    for step, name in zip(prof.profile.steps, prof.profile.step_names, strict=True):
        if name != EAGER:
            view = prof.profile.view("op", step=step)
            own = zip(view.names, view.own["float_ops"].tolist(), strict=True)
            found[name.partition(":")[0]].append(sum(count for op, count in own if op.partition(" + ")[0] == "Conv2D"))
    sizes = {"fit": (4, 4, 3), "evaluate": (6, 5), "predict": (8, 3)}
    assert found == {kind: [size * 4 * 4 * 3 * (2 * 3 * 3 * 2 + 1) for size in each] for kind, each in sizes.items()}


@pytest.mark.parametrize("examples", [FULL, SMALLER], ids=["full", "smaller last"])
def test_a_step_of_an_lstm_takes_what_was_calculated_by_hand(examples: int) -> None:
    """At each time the input and the state times the weights of four gates."""
    model = keras.Sequential([keras.Input([LENGTH]), layers.Embedding(WORDS, WIDTH), layers.LSTM(UNITS)])
    profile = fitted(model, np.ones([examples, LENGTH], np.int32))
    by_hand = 3 * LENGTH * (WIDTH + UNITS) * 4 * UNITS
    assert counted(profile) == approximately(*(batch * by_hand for batch in batches(examples)))


@pytest.mark.parametrize("examples", [FULL, SMALLER], ids=["full", "smaller last"])
def test_a_step_of_a_transformer_takes_what_was_calculated_by_hand(examples: int) -> None:
    """Of each word: query, key, value and result, the scores with all words and their values, and two layers."""
    words = keras.Input([LENGTH])
    found = layers.Embedding(WORDS, WIDTH)(words)
    found = layers.LayerNormalization()(found + layers.MultiHeadAttention(2, WIDTH // 2)(found, found))
    found = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, "relu")(found))
    profile = fitted(keras.Model(words, found), np.ones([examples, LENGTH], np.int32))
    by_hand = LENGTH * (4 * WIDTH * WIDTH + 2 * LENGTH * WIDTH + 8 * WIDTH * WIDTH)
    assert counted(profile) == approximately(*(3 * batch * by_hand for batch in batches(examples)))


def test_gradients_of_unpadded_convolutions_in_a_session() -> None:
    """TensorFlow counts them as if each element of the image had an output; a capture counts the outputs there are."""
    with tf.Graph().as_default() as graph:
        images = v1.placeholder(tf.float32, [BATCH, 12, 12, 3])
        kernels = [v1.get_variable(name, [3, 3, width, 8]) for name, width in (("first", 3), ("second", 8))]
        found = tf.nn.conv2d(tf.nn.conv2d(images, kernels[0], 1, "VALID"), kernels[1], 1, "VALID")
        loss = tf.reduce_mean(found)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        initializer = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(initializer)
        with tfprof.capture(trace_all=True) as prof:
            for _ in range(3):
                session.run([train, loss], {images: np.ones(images.shape)})
    nodes = prof.profile.nodes
    first, second = BATCH * 10 * 10 * 8 * 3 * 3 * 3, BATCH * 8 * 8 * 8 * 3 * 3 * 8
    counts = zip(nodes.names, nodes.float_ops.tolist(), strict=True)
    products = sorted(count for name, count in counts if "Conv2D" in name and count)
    assert products == sorted(2 * each for each in (first, first, second, second, second))
    assert counted(prof.profile) == [2 * first + 3 * second] * 3
    of_tensorflow = Profile.from_protos(graph).nodes.float_ops.sum()
    assert of_tensorflow > prof.profile.nodes.float_ops.sum()
