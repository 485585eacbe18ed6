"""%%tfprof on training cells in a real kernel: what ran is counted by hand, and its costliest op is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebooks.test_kernel import Kernel, running_kernel, shown

SET_UP = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import threading, time
import numpy as np
import tensorflow as tf
tf1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    image = tf1.placeholder(tf.float32, [None, 784], name="image")
    weights = tf1.get_variable("weights", [784, 10])
    logits = tf.matmul(image, weights, name="logits")
    loss = tf.reduce_mean(tf.square(logits), name="loss")
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, tf1.train.get_or_create_global_step(), name="train")
    start = tf1.global_variables_initializer()
session = tf1.Session(graph=graph)
session.run(start)
batch = {image: np.ones((16, 784), np.float32)}
@tf.function
def step(x, w):
    return tf.reduce_sum(tf.matmul(x, w))
model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(4, name="dense")])
model.compile("sgd", "mse")
examples = np.ones((64, 8), np.float32)
"""

# What a cell does, and how many runs that is.
LOOPS = {
    "session loop": ("for _ in range(50):\n    session.run([train, loss], batch)", 50),
    "initializer and loop": ("session.run(start)\nfor _ in range(50):\n    session.run(loss, batch)", 51),
    "callable": ("with session.as_default():\n    run = session.make_callable(loss, [image])\n"
                 "for _ in range(20):\n    run(batch[image])", 20),
    "threads": ("threads = [threading.Thread(target=lambda: [session.run(loss, batch) for _ in range(10)]) "
                "for _ in range(3)]\n[t.start() for t in threads]\n[t.join() for t in threads]", 30),
    "custom loop": ("for _ in range(20):\n    value = step(tf.ones((4, 784)), tf.ones((784, 10)))", 20),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        assert kernel.run("%load_ext tfprof_widget")[1]["status"] == "ok"
        assert kernel.run(SET_UP)[1]["status"] == "ok"
        yield kernel


def value(kernel: Kernel, expression: str) -> Any:
    ((kind, text),) = shown(kernel.run(expression)[0])
    assert kind == "execute_result", text
    return ast.literal_eval(text)


@pytest.mark.parametrize("loop", LOOPS)
def test_all_runs_of_a_loop_are_seen(kernel: Kernel, loop: str) -> None:
    code, runs = LOOPS[loop]
    outputs, answer = kernel.run(f"%%tfprof --out kept --all\n{code}")
    assert answer["status"] == "ok"
    assert [text for kind, text in shown(outputs) if kind == "stderr"] == []
    assert "text/html" in outputs[-1]["data"]
    kinds = "[(r.seen, r.traced) for r in kept.measurement.runs if r.name != 'eager ops']"  # making the cell's data
    assert [sum(column) for column in zip(*value(kernel, kinds), strict=True)] == [runs, runs]
    # oneDNN's own kernel goes by the name of _MklMatMul.
    assert any(name.endswith("MatMul") for name in value(kernel, "kept.view('op').names"))


def test_a_fit_shows_its_layers(kernel: Kernel) -> None:
    outputs, answer = kernel.run("%%tfprof --out kept --all\nmodel.fit(examples, examples[:, :4], 16, verbose=0);")
    assert answer["status"] == "ok"
    assert "text/html" in outputs[-1]["data"]
    assert any("dense" in name for name in value(kernel, "kept.view('scope').names"))


def test_a_cell_that_raises_shows_the_runs_before(kernel: Kernel) -> None:
    outputs, answer = kernel.run(
        "%%tfprof --out kept --all\nfor _ in range(3):\n    session.run(loss, batch)\nraise ValueError('stop')"
    )
    assert (answer["status"], answer["ename"]) == ("error", "ValueError")
    assert [output["kind"] for output in outputs] == ["error", "display_data"]
    assert value(kernel, "kept.measurement.runs_seen") == 3


def test_an_interrupted_cell_shows_the_runs_before(kernel: Kernel) -> None:
    outputs, answer = kernel.run(
        "%%tfprof --out kept\nsession.run(loss, batch)\nprint('running', flush=True)\n"
        "while True:\n    session.run(loss, batch)",
        interrupt_at="running",
    )
    assert (answer["status"], answer["ename"]) == ("error", "KeyboardInterrupt")
    assert "text/html" in outputs[-1]["data"]
    assert value(kernel, "kept.measurement.runs_seen > 0")


def test_sessions_are_themselves_again_afterwards(kernel: Kernel) -> None:
    kernel.run("plain = {name: tf1.Session.__dict__.get(name) for name in dir(tf1.Session)}")
    kernel.run("%%tfprof --quiet\nsession.run(loss, batch)")
    assert value(kernel, "all(tf1.Session.__dict__.get(name) is each for name, each in plain.items())")


def test_a_cell_without_tensorflow_says_why_it_is_empty(kernel: Kernel) -> None:
    outputs, _ = kernel.run("%%tfprof\nsum(range(10))")
    assert shown(outputs)[0] == ("execute_result", "45")
    assert shown(outputs)[1][1].startswith("Nothing was captured: ")
