"""A distribution strategy's replicas are profiled each in a scope of its own; counts of ops are told by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
from collections import Counter
import numpy as np, keras, tensorflow as tf
from tests.capture.program_steps import BATCH, TRAIN, capturing, data, small_model
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = small_model()
x, y = data(3)
with capturing() as captured:
    model.fit(x, y, batch_size=BATCH, verbose=0)
nodes = captured.nodes(TRAIN)
replicas = ("small/dense/BiasAdd", "replica_1/small/dense/BiasAdd")
gradients = [f"gradient_tape/{scope}small/dense/MatMul/MatMul" for scope in ("", "replica_1/")]
print([nodes[name] for name in (*replicas, *gradients)], captured.warnings)
"""


def test_both_replicas_of_a_fit_are_in_layers() -> None:
    """In a process of its own, for devices are divided before anything runs on them."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "[2, 2, 2, 2] ()"  # two of three steps are no warm-up
