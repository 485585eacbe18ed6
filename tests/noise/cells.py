"""The cells that are run again and again: a session's loop, a Keras fit, and calls of a function."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

Cell = Callable[[], None]
SECONDS = 0.3
"""How long a loop goes on."""


def session_loop(width: int = 128) -> Cell:
    """Train a dense network of twelve layers in a session; the sixth has its own width."""
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        fed = hidden = tf.placeholder(tf.float32, [64, 128])
        for layer in range(12):
            to = width if layer == 5 else 128
            weights = tf.get_variable(f"weights_{layer}", [hidden.shape[-1], to])
            hidden = tf.nn.relu(tf.matmul(hidden, weights) + 0.1)
        train = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_mean(hidden * hidden))
        initial = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(initial)
    batch = np.random.default_rng(0).random((64, 128), np.float32)

    def cell() -> None:
        began = time.perf_counter()
        while time.perf_counter() - began < SECONDS:
            session.run(train, {fed: batch})

    return cell


def keras_fit(filters: int = 16) -> Cell:
    """Fit a small convolutional network for an epoch of fifty steps."""
    import keras

    layers: list[Any] = [
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(filters, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10),
    ]
    model = keras.Sequential(layers)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    random = np.random.default_rng(0)
    images, labels = random.random((1600, 28, 28, 1), np.float32), random.integers(0, 10, 1600)

    def cell() -> None:
        model.fit(images, labels, batch_size=32, epochs=1, verbose=0)

    return cell


def function_calls(size: int = 96) -> Cell:
    """Call a function of ten products."""
    import tensorflow as tf

    @tf.function  # type: ignore[untyped-decorator]
    def step(matrix: Any) -> Any:
        for _ in range(10):
            matrix = tf.nn.relu(tf.matmul(matrix, matrix) * 0.01)
        return tf.reduce_sum(matrix)

    given = tf.random.normal([size, size])

    def cell() -> None:
        began = time.perf_counter()
        while time.perf_counter() - began < SECONDS:
            step(given)

    return cell


CELLS: dict[str, tuple[Callable[..., Cell], int]] = {
    "session loop": (session_loop, 512),
    "Keras fit": (keras_fit, 24),
    "tf.function": (function_calls, 112),
}
"""Each kind of cell, and what makes its slower variant."""
