"""The sentence of the overview on real fits into which a cause was planted: sleeps of hundreds of steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.widget.shown import ShownGraph

BATCH, FEATURES, BATCHES = 32, 64, 30
SECONDS = 0.1


class Sleeper(keras.callbacks.Callback):  # type: ignore[misc]
    """Sleeps after each step."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """What Keras calls."""
        time.sleep(SECONDS)  # the callback sleeps


def batches() -> Iterator[tuple[Any, Any]]:
    """Batches, each of which takes long to make."""
    for _ in range(BATCHES):
        time.sleep(SECONDS)  # the generator sleeps
        yield np.ones((BATCH, FEATURES), np.float32), np.ones((BATCH, 1), np.float32)


def fit(data: Any, *callbacks: Any) -> None:
    model = keras.Sequential([keras.Input((FEATURES,)), *(keras.layers.Dense(FEATURES) for _ in range(3))])
    model.compile("sgd", "mse")
    model.fit(data, verbose=0, shuffle=False, steps_per_epoch=BATCHES, callbacks=list(callbacks))


def with_callback() -> None:
    fit(tf.data.Dataset.from_tensors((np.ones((BATCH, FEATURES)), np.ones((BATCH, 1)))).repeat(), Sleeper())


def with_generator() -> None:
    spec = tf.TensorSpec((BATCH, FEATURES)), tf.TensorSpec((BATCH, 1))
    fit(tf.data.Dataset.from_generator(batches, output_signature=spec).repeat())


def with_python_between() -> None:
    step = tf.function(lambda x: tf.reduce_sum(x @ x))
    for _ in range(BATCHES):
        step(tf.ones((FEATURES, FEATURES)))
        time.sleep(SECONDS)  # Python sleeps


@pytest.mark.parametrize(
    ("work", "said", "marked"),
    [
        (with_callback, "The callback Sleeper takes", "the callback sleeps"),
        (with_python_between, "No step runs for", "Python sleeps"),
        (with_generator, "wait", "def batches"),
    ],
)
def test_the_sentence_names_the_planted_line(work: Callable[[], None], said: str, marked: str) -> None:
    with tfprof.capture() as prof:
        work()
    sentence = ShownGraph("planted", prof.profile).overview.sentence
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if marked in text)
    assert said in sentence, sentence
    assert f"test_overview.py:{line}" in sentence, sentence
