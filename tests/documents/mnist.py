"""Images of digits as TensorFlow's tutorials read them, but drawn at random."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

PIXELS, DIGITS = 784, 10


class Digits:
    """Some images and what is on them, one of ten."""

    def __init__(self, count: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.images = random.random([count, PIXELS], np.float32)
        self.labels = np.eye(DIGITS, dtype=np.float32)[random.integers(0, DIGITS, count)]

    def next_batch(self, size: int) -> tuple[Any, Any]:
        """The first images, again and again."""
        return self.images[:size], self.labels[:size]


def read_data_sets(directory: str, one_hot: bool) -> SimpleNamespace:
    """The sets to train and to test with."""
    return SimpleNamespace(train=Digits(200, seed=1), test=Digits(1000, seed=2))


input_data = SimpleNamespace(read_data_sets=read_data_sets)
