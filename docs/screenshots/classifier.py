"""The small image classifier whose training the screenshots show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

IMAGES, SIZE, CLASSES, BATCH = 1024, 32, 10, 64
FRAMES = 24  # of which each image is the mean


class Classifier(keras.Model):  # type: ignore[misc]
    """Two convolutions, each normalized and pooled, and a dense layer."""

    def __init__(self) -> None:
        super().__init__(name="classifier")
        self.conv_1 = layers.Conv2D(32, 3, use_bias=False, name="conv_1")
        self.norm_1 = layers.BatchNormalization(name="norm_1")
        self.conv_2 = layers.Conv2D(128, 3, use_bias=False, name="conv_2")
        self.norm_2 = layers.BatchNormalization(name="norm_2")
        self.pool = layers.MaxPooling2D(name="pool")
        self.flat = layers.Flatten(name="flat")
        self.logits = layers.Dense(CLASSES, name="logits")

    def call(self, images: Any) -> Any:
        """What Keras runs."""
        edges = self.norm_1(self.conv_1(images))
        edges = self.pool(ops.relu(edges))
        shapes = self.norm_2(self.conv_2(edges))
        shapes = self.pool(ops.relu(shapes))
        return self.logits(self.flat(shapes))


def noise() -> Iterator[tuple[Any, Any]]:
    """Batches made by Python while the model waits, which the pictures tell."""
    random = np.random.default_rng(0)
    for _ in range(IMAGES // BATCH):
        frames = random.normal(size=(FRAMES, BATCH, SIZE, SIZE, 3))
        yield frames.mean(axis=0).astype(np.float32), np.arange(BATCH) % CLASSES


def train(epochs: int) -> None:
    """Fit the classifier to noise, sixteen steps an epoch."""
    keras.utils.set_random_seed(0)
    of_batch = tf.TensorSpec((BATCH, SIZE, SIZE, 3)), tf.TensorSpec((BATCH,), tf.int64)
    batches = tf.data.Dataset.from_generator(noise, output_signature=of_batch)
    model = Classifier()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(batches.repeat(), epochs=epochs, steps_per_epoch=IMAGES // BATCH, shuffle=False, verbose=0)
