"""The training on two parameter servers that the screenshots of the workers show."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import tensorflow.compat.v1 as tf

SIZES = (75, 1000, 240, 400, 871, 100)
WORKERS, BATCH = 2, 64


def train(target: str, steps: int) -> None:
    """Train layers whose weights lie on the servers in turn, as they do by default."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        weights = [_weights(layer, shape) for layer, shape in enumerate(pairwise(SIZES))]
        step = tf.group(*(update for worker in range(WORKERS) for update in _updates(worker, weights)))
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)


def _weights(layer: int, shape: tuple[int, int]) -> Any:
    with tf.device(f"/job:ps/task:{layer % 2}"):
        return tf.get_variable(f"layer{layer}/weights", shape, use_resource=True)


def _updates(worker: int, weights: list[Any]) -> list[Any]:
    with tf.device(f"/job:worker/task:{worker}"), tf.name_scope(f"worker{worker}"):
        values = tf.random.uniform([BATCH, SIZES[0]])
        for each in weights:
            values = tf.nn.relu(tf.matmul(values, each))
        gradients = tf.gradients(tf.reduce_mean(values), weights)
    updates = []
    for each, gradient in zip(weights, gradients, strict=True):
        with tf.device(each.device):
            updates.append(each.assign_sub(0.01 * gradient))
    return updates
