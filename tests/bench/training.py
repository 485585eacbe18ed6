"""The training loops whose overhead is measured: of sessions, of Keras, and of a tf.function, on random digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

v1: Any = tf.compat.v1

PIXELS, DIGITS, BATCH = 784, 10, 64


class SessionLoop:
    """Steps of a small classifier in a session, of about 0.5 ms."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        with tf.Graph().as_default() as self.graph:
            image = v1.placeholder(tf.float32, [None, PIXELS])
            digit = v1.placeholder(tf.int32, [None])
            hidden = tf.nn.relu(_dense("hidden", image, PIXELS, 256))
            logits = _dense("logits", hidden, 256, DIGITS)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digit, logits))
            train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())
        self.fetches = [train, loss]
        images, digits = _examples(BATCH)
        self.feeds = {image: images, digit: digits}

    def __call__(self) -> None:
        """Train."""
        for _ in range(self.steps):
            self.session.run(self.fetches, self.feeds)

    def traced_by_hand(self, kept: list[Any]) -> None:
        """Train, with a FULL_TRACE of each step, as one writes it down without this package."""
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        for _ in range(self.steps):
            run_metadata = v1.RunMetadata()
            self.session.run(self.fetches, self.feeds, options=options, run_metadata=run_metadata)
            kept.append(run_metadata)


def fit(steps: int) -> Callable[[], object]:
    """An epoch of a Keras model, of steps of about 1 ms."""
    dense = keras.layers.Dense
    model = keras.Sequential([keras.Input((PIXELS,)), dense(512, "relu"), dense(DIGITS, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    images, digits = _examples(BATCH * steps)
    return lambda: model.fit(images, digits, BATCH, verbose=0)


def function_loop(steps: int) -> Callable[[], None]:
    """Steps of a tf.function with its gradient, of 0.2 to 0.5 ms."""
    weights = tf.Variable(tf.random.normal((256, 256), stddev=0.1))
    inputs = tf.random.normal((BATCH, 256))

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(inputs, weights)), weights)))
        weights.assign_sub(1e-3 * tape.gradient(loss, weights))
        return loss

    function = tf.function(step)

    def train() -> None:
        for _ in range(steps):
            function()

    return train


def _dense(name: str, inputs: Any, width: int, units: int) -> Any:
    weights = v1.get_variable(f"{name}/weights", [width, units])
    return tf.matmul(inputs, weights) + v1.get_variable(f"{name}/biases", [units])


def _examples(number: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.random((number, PIXELS), np.float32), random.integers(0, DIGITS, number)
