"""A loop of the user's own over tf.functions, one with a GradientTape: its steps are counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks.notebook import Notebook, parted, told

FUNCTIONS = """
weights = tf.Variable(tf.random.normal((784, 64))), tf.Variable(tf.random.normal((64, 10)))

def loss_of(image, digit):
    logits = tf.matmul(tf.nn.relu(tf.matmul(image, weights[0])), weights[1])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digit, logits))

@tf.function
def train_step(image, digit):
    with tf.GradientTape() as tape:
        loss = loss_of(image, digit)
    for variable, gradient in zip(weights, tape.gradient(loss, weights)):
        variable.assign_sub(0.01 * gradient)
    return loss

@tf.function
def test_step(image, digit):
    return loss_of(image, digit)

image, digit = tf.constant(images[:32]), tf.constant(digits[:32])
"""
LOOP = """%%tfprof --all --out prof
for step in range(20):
    loss = train_step(image, digit)
    if step % 5 == 4:
        loss = test_step(image, digit)
float(loss) >= 0
"""
# The multiplications and additions of the products; nobody asks for the gradient of the images.
FORWARD, BACKWARD = 2 * 32 * 784 * 64 + 2 * 32 * 64 * 10, 2 * 32 * 784 * 64 + 2 * (2 * 32 * 64 * 10)


@pytest.fixture(scope="module")
def outputs(notebook: Notebook) -> list[Any]:
    notebook.run_well(FUNCTIONS)
    return notebook.run_well(LOOP)


def test_the_last_value_is_followed_by_the_profile(outputs: list[Any]) -> None:
    (value,), page = parted(outputs)
    assert told(value) == "True"
    assert "runs traced 24 of 24" in page


def test_calls_of_each_function_are_steps(notebook: Notebook, outputs: list[Any]) -> None:
    assert notebook.runs() == {"train_step": (20, 20), "test_step": (4, 4)}


@pytest.mark.parametrize(
    ("runs", "by_hand"),
    [
        ("train_step", {"products": 5, "Relu": 1, "ReluGrad": 1, "Mean": 1, "AssignSubVariableOp": 2}),
        ("test_step", {"products": 2, "Relu": 1, "ReluGrad": 0, "Mean": 1, "AssignSubVariableOp": 0}),
    ],
)
def test_ops_are_those_counted_by_hand(
    notebook: Notebook, outputs: list[Any], runs: str, by_hand: dict[str, int]
) -> None:
    ran = notebook.value(f"counted(prof.profiles[0], {runs!r})")
    ran["products"] = sum(number for name, number in ran.items() if "MatMul" in name)
    assert {name: ran.get(name, 0) for name in by_hand} == by_hand


@pytest.mark.parametrize(("runs", "by_hand"), [("train_step", FORWARD + BACKWARD), ("test_step", FORWARD)])
def test_float_operations_are_those_counted_by_hand(
    notebook: Notebook, outputs: list[Any], runs: str, by_hand: int
) -> None:
    known = notebook.value(f"counted(prof.profiles[0], {runs!r}, 'float_ops')")
    assert sum(number for name, number in known.items() if "MatMul" in name) == by_hand
