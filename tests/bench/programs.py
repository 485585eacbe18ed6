"""The programs whose cells take five seconds: sessions, a tf.function, and fits of Keras, as many steps as wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.bench.gauges import seconds

v1: Any = tf.compat.v1

BATCH = 32
WIDTHS = (32, 64, 96, 128, 192, 256, 384, 512, 768)

Steps = Callable[[int], object]
"""Makes so many steps."""


def session(step_seconds: float) -> Steps:
    """Runs of a session, each of about so many seconds."""
    for width in WIDTHS:
        with tf.Graph().as_default():
            value = _products(v1.get_variable("weights", [width, width]))
            opened = v1.Session()
            opened.run(v1.global_variables_initializer())
        work = _repeated(partial(opened.run, value.op))
        work(20)
        if seconds(work, 50) / 50 >= step_seconds:
            break
    return work


def function(step_seconds: float) -> Steps:
    """Calls of a tf.function, each of about so many seconds."""
    for width in WIDTHS:
        weights = tf.Variable(tf.random.normal((width, width)))
        work = _repeated(tf.function(partial(_products, weights)))
        work(20)
        if seconds(work, 50) / 50 >= step_seconds:
            break
    return work


def _products(weights: Any) -> Any:
    value = weights
    for _ in range(5):
        value = tf.nn.relu(tf.matmul(value, weights) / 100.0)
    return tf.reduce_sum(value)


def _repeated(call: Callable[[], object]) -> Steps:
    def work(steps: int) -> None:
        for _ in range(steps):
            call()

    return work


def _fit(shape: tuple[int, ...], layers: Callable[[], list[Any]]) -> Steps:
    """Epochs of a fit; a step of it takes one of 64 batches."""
    model = keras.Sequential([keras.Input(shape), *layers(), keras.layers.Dense(10, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    random = np.random.default_rng(0)

    def work(steps: int) -> None:
        images = random.random((1, *shape), np.float32).repeat(BATCH * steps, 0)
        model.fit(images, np.zeros(BATCH * steps, np.int64), BATCH, verbose=0)

    return work


def dense() -> Steps:
    return _fit((784,), lambda: [keras.layers.Dense(512, "relu")])


def convolution() -> Steps:
    return _fit((28, 28, 1), lambda: [keras.layers.Conv2D(32, 3, activation="relu"), keras.layers.Flatten()])


def recurrent() -> Steps:
    return _fit((20, 16), lambda: [keras.layers.LSTM(32)])
