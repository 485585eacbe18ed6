"""The classic: digits learnt in a session. Initializer, training and evaluation are told apart, and counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks.notebook import Notebook, parted

# Without Grappler, so that the ops that run are those of the graph, and can be counted.
GRAPH = """
with tf.Graph().as_default() as graph:
    image = tf1.placeholder(tf.float32, [32, 784], name="image")
    digit = tf1.placeholder(tf.int64, [32], name="digit")
    def dense(name, inputs, width, units):
        with tf1.variable_scope(name):
            biases = tf1.get_variable("biases", [units], initializer=tf1.zeros_initializer())
            return tf.matmul(inputs, tf1.get_variable("weights", [width, units])) + biases
    logits = dense("softmax", tf.nn.relu(dense("hidden", image, 784, 64)), 64, 10)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digit, logits), name="loss")
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, name="train")
    right = tf.equal(tf.argmax(tf.nn.softmax(logits), 1), digit)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32), name="accuracy")
    start = tf1.global_variables_initializer()
config = tf1.ConfigProto()
config.graph_options.rewrite_options.disable_meta_optimizer = True
"""
TRAINING = """%%tfprof --all --out prof
with tf1.Session(graph=graph, config=config) as session:
    session.run(start)
    for epoch in range(2):
        for at in range(0, 320, 32):
            batch = {image: images[at:at + 32], digit: digits[at:at + 32]}
            session.run([train, loss], batch)
        print("epoch", epoch, session.run(accuracy, batch) <= 1)
"""

# The multiplications and additions of the two layers' matrix products.
FORWARD = 2 * 32 * 784 * 64 + 2 * 32 * 64 * 10


@pytest.fixture(scope="module")
def outputs(notebook: Notebook) -> list[Any]:
    notebook.run_well(GRAPH)
    return notebook.run_well(TRAINING)


def test_the_cell_s_output_is_followed_by_the_profile(outputs: list[Any]) -> None:
    (printed,), page = parted(outputs)
    assert printed.text == "epoch 0 True\nepoch 1 True\n"
    assert "runs traced 23 of 23" in page


def test_initializer_training_and_evaluation_are_told_apart(notebook: Notebook, outputs: list[Any]) -> None:
    assert notebook.runs() == {"init": (1, 1), "loss, train": (20, 20), "accuracy": (2, 2)}


@pytest.mark.parametrize(
    ("runs", "by_hand"),
    [
        # Two layers, each of two variables. The gradient of a product is two products, of the layer's input too.
        (
            "loss, train",
            {"MatMul": 6, "AddV2": 2, "Relu": 1, "ReluGrad": 1, "SparseSoftmaxCrossEntropyWithLogits": 1, "Mean": 1}
            | {"VarHandleOp": 4, "ReadVariableOp": 4, "ResourceApplyGradientDescent": 4}
            | {"ArgMax": 0, "RandomUniform": 0, "AssignVariableOp": 0},
        ),
        (
            "accuracy",
            {"MatMul": 2, "AddV2": 2, "Relu": 1, "Softmax": 1, "ArgMax": 1, "Equal": 1, "Cast": 1, "Mean": 1}
            | {"VarHandleOp": 4, "ReadVariableOp": 4}
            | {"ReluGrad": 0, "ResourceApplyGradientDescent": 0, "RandomUniform": 0},
        ),
        # Weights are random, biases zeros.
        ("init", {"RandomUniform": 2, "AssignVariableOp": 4, "VarHandleOp": 4, "MatMul": 0, "ReadVariableOp": 0}),
    ],
)
def test_ops_are_those_counted_by_hand(
    notebook: Notebook, outputs: list[Any], runs: str, by_hand: dict[str, int]
) -> None:
    warm_up = r" \(warm-up\)" if runs == "init" else ""  # which runs but once
    ran = notebook.value(f"counted(prof.profiles[0], {runs + warm_up!r})")
    assert {name: ran.get(name, 0) for name in by_hand} == by_hand


@pytest.mark.parametrize(("runs", "by_hand"), [("loss, train", 3 * FORWARD), ("accuracy", FORWARD)])
def test_float_operations_are_those_counted_by_hand(
    notebook: Notebook, outputs: list[Any], runs: str, by_hand: int
) -> None:
    assert notebook.value(f"counted(prof.profiles[0], {runs!r}, 'float_ops')")["MatMul"] == by_hand


def test_parameters_are_those_counted_by_hand(notebook: Notebook, outputs: list[Any]) -> None:
    parameters = notebook.value("counted(prof.profiles[0], 'loss, train', 'params', 'scope')")
    variables = {name: number for name, number in parameters.items() if name.startswith(("hidden", "softmax"))}
    assert variables == {
        "hidden/weights": 784 * 64,
        "hidden/biases": 64,
        "softmax/weights": 64 * 10,
        "softmax/biases": 10,
    }
