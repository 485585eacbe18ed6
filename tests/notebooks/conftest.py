"""One notebook for all tests that train in one: TensorFlow takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebooks.notebook import Notebook, opened_notebook

SET_UP = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import threading
import numpy as np
import tensorflow as tf
from tests.notebooks.counted import counted
tf1 = tf.compat.v1
tf.get_logger().setLevel("ERROR")
images = np.random.default_rng(0).random((320, 784), np.float32)
digits = np.arange(320) % 10
%load_ext tfprof_widget
"""


@pytest.fixture(scope="package")
def notebook() -> Iterator[Notebook]:
    """A notebook with TensorFlow, the extension, and random data of MNIST's shape."""
    with opened_notebook() as notebook:
        assert [each for each in notebook.run(SET_UP) if each.output_type == "error"] == []
        yield notebook
