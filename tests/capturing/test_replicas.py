"""A distribution strategy's replicas are profiled each in a scope of its own; counts of ops are told by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.ingest.live import functions
from tfprof_widget.ingest.live import graph as tf_graph
from tfprof_widget.lib.arrays import ABSENT

ROOT = Path(__file__).parents[2]

PROGRAM = """
from collections import Counter
import numpy as np, keras, tensorflow as tf
from tests.capturing.program_steps import BATCH, TRAIN, capturing, data, small_model
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


CUSTOM_LOOP = """
import keras, tensorflow as tf, tfprof_widget as tfprof
from tfprof_widget.capturing import sampling
from tfprof_widget.lib.arrays import ABSENT
sampling.LEAST_COMPARED = 3600.0  # a busy machine makes no step shorter than most
strategy = tf.distribute.MirroredStrategy(["CPU:0"])
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(4)], name="net")
    optimizer = keras.optimizers.Adam()

def replica(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

step = tf.function(lambda x: strategy.run(replica, args=(x,)))
with tfprof.capture(trace_all=True) as prof:
    for _ in range(5):
        step(tf.ones([8, 8]))
nodes = prof.profile.nodes
layer = [row for row, name in enumerate(nodes.names) if name in ("net/dense/MatMul", "net/dense/BiasAdd")]
has_lines = ABSENT not in prof.profile.traces.stack[layer]
lost = [each for each in prof.measurement.warnings if "could not be read" in each]
steps = sum(name.startswith("<lambda>") for name in prof.profile.step_names)
print(steps, nodes.float_ops[layer].sum(), has_lines, lost)
"""


def test_custom_loop_over_a_model_that_it_builds() -> None:
    """As TensorFlow's own tutorial has it: variables that are mirrored within a function have no op there.

    In a process of its own, for the strategy leaves its variables with the graphs of all functions that follow. One
    kernel does both ops of the layer, and is named after either.
    """
    ran = subprocess.run([sys.executable, "-c", CUSTOM_LOOP], cwd=ROOT, check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == f"5 {2 * 8 * 8 * 4 + 8 * 4} True []"


FIT = """
import json, math
import keras, numpy as np, tensorflow as tf, tfprof_widget as tfprof
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(30), keras.layers.Dense(1)], name="net")
    model.compile("sgd", "mse")

def train():
    model.fit(np.ones([128, 20]), np.ones([128, 1]), batch_size=32, verbose=0)

def replica(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    model.optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

def outer(x):
    return strategy.run(replica, args=(x,))

with tfprof.capture(trace_all=True) as fitted:
    train()
step = tf.function(outer)
with tfprof.capture(trace_all=True) as looped:
    for _ in range(4):
        step(tf.ones([8, 20]))

def paths(prof):
    stacks = prof.profile.traces
    ran = {int(stacks.stack[row]) for row in prof.profile.executions.node.tolist()} - {-1}
    for stack in ran:
        yield [stacks.strings[stacks.function[frame]] for frame in stacks.stacks[stack].tolist()]

tracked = [*model.weights, *model.optimizer.variables, *(each for metric in model.metrics for each in metric.variables)]
(task,) = fitted.profile.cluster().tasks
print(json.dumps({
    "fit": [path for path in paths(fitted) if "_bootstrap" in path or "run" in path],
    "loop": [path for path in paths(looped) if "replica" in path],
    "parameters": [int(fitted.profile.nodes.parameters.sum()), task.parameters],
    "true": sum(math.prod(each.shape) for each in tracked),
}))
"""


@pytest.fixture(scope="module")
def two_replicas() -> dict[str, Any]:
    """What captures of a fit and of a loop over two replicas have, in a process whose CPU is divided."""
    ran = subprocess.run([sys.executable, "-c", FIT], cwd=ROOT, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


def test_parameters_of_replicas_count_once(two_replicas: dict[str, Any]) -> None:
    """Keras' own count of weights, of what the optimizer keeps and of metrics; in views and of the task alike."""
    assert two_replicas["parameters"] == [two_replicas["true"]] * 2


def test_frames_of_replicas_threads_follow_the_call_that_started_them(two_replicas: dict[str, Any]) -> None:
    """The call of `fit`, and in a loop of one's own the call of the function that has `strategy.run`."""
    assert two_replicas["fit"]
    assert two_replicas["loop"]
    for path in two_replicas["fit"]:
        assert path.index("train") < path.index("fit")
        assert "_bootstrap" not in path
    for path in two_replicas["loop"]:
        assert path.index("outer") < path.index("replica")
        assert "_bootstrap" not in path


def test_function_that_cannot_be_read_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others keep their lines and shapes, and a note names the one that is lost."""
    read = tf_graph.read_tf_graph

    def unless_broken(graph: Any) -> Any:
        if "broken" in graph.name:
            raise RuntimeError("no such graph")
        return read(graph)

    monkeypatch.setattr(functions, "read_tf_graph", unless_broken)

    def broken(x: Any) -> Any:
        return x - 1.0

    whole, lost = tf.function(lambda x: x + 1.0), tf.function(broken)
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            whole(tf.ones([4]))
            lost(tf.ones([4]))
    added = prof.profile.nodes.names.index("add")
    assert prof.profile.traces.stack[added] != ABSENT
    assert [each for each in prof.measurement.warnings if "of broken could not be read (RuntimeError: no such" in each]


def test_both_replicas_of_a_fit_are_in_layers() -> None:
    """In a process of its own, for devices are divided before anything runs on them."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "[2, 2, 2, 2] ()"  # two of three steps are no warm-up
