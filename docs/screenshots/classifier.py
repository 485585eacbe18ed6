"""The small image classifier whose training the screenshots show."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import layers, ops

IMAGES, SIZE, CLASSES, BATCH = 1024, 32, 10, 64


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


def train(epochs: int) -> None:
    """Fit the classifier to noise, sixteen steps an epoch."""
    keras.utils.set_random_seed(0)
    images = np.random.default_rng(0).normal(size=(IMAGES, SIZE, SIZE, 3)).astype(np.float32)
    labels = np.arange(IMAGES) % CLASSES
    model = Classifier()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(images, labels, BATCH, epochs=epochs, verbose=0)
