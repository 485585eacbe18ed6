"""The sentence of the overview on ten cells into which a cause was planted, and on three without one.

All run for real. What is planted takes most of its cell, so that no load of the machine makes anything else larger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.slow.load.test_clusters import SLOW, Shape, recorded, started
from tests.slow.share import share
from tfprof_widget.analysis.advisor.overview import Overview
from tfprof_widget.widget.shown import ShownGraph

v1 = tf.compat.v1
BATCH, FEATURES, BATCHES = 32, 64, 30
SECONDS = 0.1

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


class Sleeper(keras.callbacks.Callback):  # type: ignore[misc]
    """Sleeps after each step."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """What Keras calls."""
        time.sleep(SECONDS)  # the callback sleeps


def batches() -> Iterator[tuple[Any, Any]]:
    """Batches, each of which takes long to make."""
    for _ in range(BATCHES):
        time.sleep(SECONDS)  # the generator sleeps
        yield ones(BATCH, FEATURES), ones(BATCH, 1)


def crowded(x: tf.Tensor, y: tf.Tensor) -> Any:
    """A map of many ops, on one thread."""
    noise = tf.random.uniform((1500, 1500))  # the map is slow
    return x + tf.reduce_sum(tf.sort(noise)) * 0.0, y


def repeated() -> tf.data.Dataset:
    """One batch again and again."""
    return tf.data.Dataset.from_tensors((ones(BATCH, FEATURES), ones(BATCH, 1))).repeat()


def fit(data: Any, *callbacks: Any, layers: Any = None, steps: int = BATCHES) -> None:
    layers = layers or [keras.layers.Dense(FEATURES) for _ in range(3)]
    model = keras.Sequential([keras.Input(data.element_spec[0].shape[1:]), *layers])
    model.compile("sgd", "mse")
    model.fit(data, verbose=0, shuffle=False, steps_per_epoch=steps, callbacks=list(callbacks))


def with_callback() -> None:
    fit(repeated(), Sleeper())


def with_slow_map() -> None:
    data = repeated().map(crowded)  # the map is read
    fit(data)


def with_generator() -> None:
    spec = tf.TensorSpec((BATCH, FEATURES)), tf.TensorSpec((BATCH, 1))
    data = tf.data.Dataset.from_generator(batches, output_signature=spec)  # the generator is read
    fit(data.repeat())


@tf.function  # type: ignore[untyped-decorator]
def grown(x: tf.Tensor, times: int) -> tf.Tensor:
    for number in range(200):
        x = tf.tanh(x) * (times + number)
    return tf.reduce_sum(x)


def with_retracing() -> None:
    for times in range(25):
        grown(tf.ones((8, 8)), times)  # the function is built again


def with_heavy_layer() -> None:
    layers = [
        keras.layers.Dense(1500, name="heavy"),  # the layer is heavy
        keras.layers.Dense(4, name="narrow"),
        keras.layers.Dense(1, name="last"),
    ]
    data = tf.data.Dataset.from_tensors((ones(512, 1500), ones(512, 1))).repeat().prefetch(2)
    fit(data, layers=layers, steps=60)


def with_lstm() -> None:
    layers = [keras.layers.LSTM(256, name="loop"), keras.layers.Dense(8), keras.layers.Dense(1)]  # the layer loops
    data = tf.data.Dataset.from_tensors((ones(128, 80, 64), ones(128, 1))).repeat().prefetch(2)
    fit(data, layers=layers, steps=20)


@cache
def session_of_tiny_ops() -> tuple[Any, tf.Tensor]:
    """A session that ran already: to build and optimize so many ops takes longer than to run them."""
    with tf.Graph().as_default() as graph:
        total = start = tf.random.uniform([2])
        for _ in range(1000):
            total = tf.tanh(total) * start
    session = v1.Session(graph=graph)
    session.run(total)
    return session, total


def with_tiny_ops() -> None:
    session, total = session_of_tiny_ops()
    for _ in range(1000):
        session.run(total)


def with_python_between() -> None:
    with tf.Graph().as_default() as graph:
        product = tf.matmul(tf.random.uniform([64, 64]), tf.ones([64, 64]))
    with v1.Session(graph=graph) as session:
        for _ in range(BATCHES):
            session.run(product)
            time.sleep(SECONDS)  # Python sleeps


def with_eager_ops() -> None:
    for _ in range(400):
        scaled(tf.ones((2, 2)))


def scaled(x: tf.Tensor) -> tf.Tensor:  # its ops run one by one
    return tf.tanh(tf.tanh(tf.tanh(x * 1.5 + 0.5) * x - 2.0) * x + 1.0) * x


def captured(work: Callable[[], None]) -> Overview:
    if work is with_tiny_ops:
        session_of_tiny_ops()
    with tfprof.capture() as prof:
        work()
    return ShownGraph("planted", prof.profile).overview


PLANTED: dict[str, tuple[Callable[[], None], str, str, str]] = {
    "callback": (with_callback, "The callback Sleeper takes", "the callback sleeps", "+ def on_epoch_end("),
    "slow map": (with_slow_map, "wait", "def crowded", "+ data = repeated().map(crowded, num_parallel_calls="),
    "generator": (with_generator, "wait", "def batches", ""),
    "retracing": (
        with_retracing,
        "grown was built 25 times",
        "the function is built again",
        "+ @tf.function(input_signature=",
    ),
    "heavy layer": (with_heavy_layer, "the layer heavy (Dense)", "the layer is heavy", ""),
    "LSTM": (with_lstm, "the layer loop (LSTM)", "the layer loops", ""),
    "tiny ops": (with_tiny_ops, "ops that take longer to start than to run", "", ""),
    "Python between": (with_python_between, "No step runs for", "Python sleeps", ""),
    "eager ops": (with_eager_ops, "Ops run one by one", "def scaled", "+ @tf.function"),
}


@pytest.mark.parametrize("cause", list(PLANTED)[: share(None, 2)])
def test_the_sentence_names_the_planted_cause_and_its_line(cause: str) -> None:
    work, said, marked, change = PLANTED[cause]
    shown = captured(work)
    assert said in shown.sentence, shown.sentence
    if marked:
        lines = Path(__file__).read_text(encoding="utf-8").splitlines()
        line = next(number for number, text in enumerate(lines, 1) if marked in text)
        assert f"test_overview.py:{line}" in shown.sentence, shown.sentence
    patch = shown.leading.patch if shown.leading is not None else None
    assert (change in str(patch)) if change else patch is None


@pytest.mark.skipif(not share(True, False), reason="starts a cluster of four processes")
def test_the_sentence_names_the_slow_worker() -> None:
    with started(Shape(1, 2, 1, 1)) as cluster:
        said = ShownGraph("cluster", recorded(cluster, extra=60)).overview.sentence
    assert said.startswith(f"Other tasks wait for {SLOW}"), said


def plain_fit() -> None:
    layers = [keras.layers.Dense(700) for _ in range(4)]
    data = tf.data.Dataset.from_tensors((ones(512, FEATURES), ones(512, 1))).repeat().prefetch(2)
    fit(data, layers=layers, steps=150)


def plain_function() -> None:
    step = tf.function(lambda x: tf.linalg.matmul(x, x) + tf.linalg.matmul(x, x, transpose_b=True))
    x = tf.ones((500, 500))
    for _ in range(200):
        step(x)


def plain_session() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.random.uniform([600, 600])
        with v1.name_scope("a"):
            one = tf.matmul(x, x)
        with v1.name_scope("b"):
            other = tf.matmul(one, x)
        with v1.name_scope("c"):
            last = tf.matmul(other, x)
    with v1.Session(graph=graph) as session:
        for _ in range(200):
            session.run(last)


UNPLANTED = [plain_function, plain_session, plain_fit]


@pytest.mark.parametrize("work", UNPLANTED[: share(None, 1)])
def test_the_sentence_claims_nothing_where_nothing_was_planted(work: Callable[[], None]) -> None:
    """Each runs twice: in the first run TensorFlow builds and warms up, which takes most of so short a cell."""
    work()
    shown = captured(work)
    assert shown.sentence.startswith("Nothing stands out."), shown.sentence
    assert shown.leading is None
