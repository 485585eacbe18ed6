"""A Keras 3 model that is fitted, evaluated and asked: each kind of step with its own ops, under its layers' names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks.notebook import Notebook, parted, told

MODEL = """
import keras
keras.utils.set_random_seed(0)
hidden = keras.layers.Dense(64, "relu", name="hidden")
softmax = keras.layers.Dense(10, "softmax", name="softmax")
model = keras.Sequential([keras.Input((784,)), hidden, softmax], name="classifier")
model.compile("sgd", "sparse_categorical_crossentropy")
"""
TRAINING = """%%tfprof --all --out prof
model.fit(images, digits, 32, epochs=2, verbose=0)
model.evaluate(images, digits, 64, verbose=0)
model.predict(images, 160, verbose=0).shape
"""

# What the layers take for one image: two for a multiply-accumulate, and one for each bias that is added and each output
# that is activated. Fused products, here of oneDNN, have the biases and activations in them. In training, the gradients
# of both weights and of what is between them are three products more.
FORWARD = 2 * 784 * 64 + 64 + 64 + 2 * 64 * 10 + 10
BACKWARD = 2 * 784 * 64 + 2 * (2 * 64 * 10)


@pytest.fixture(scope="module")
def outputs(notebook: Notebook) -> list[Any]:
    notebook.run_well(MODEL)
    return notebook.run_well(TRAINING)


def test_the_last_value_is_followed_by_the_profile(outputs: list[Any]) -> None:
    (value,), page = parted(outputs)
    assert told(value) == "(320, 10)"
    assert "runs traced" in page


def test_steps_are_told_apart_and_counted(notebook: Notebook, outputs: list[Any]) -> None:
    assert notebook.runs() == {
        "fit: train_step": (2 * 320 // 32, 2 * 320 // 32),
        "evaluate: test_step": (320 // 64, 320 // 64),
        "predict: predict_step": (320 // 160, 320 // 160),
    }


@pytest.mark.parametrize(
    ("runs", "by_hand"),
    [
        # The gradient of a product is two products, but nobody asks for that of the images.
        ("fit: train_step", {"products": 5, "ReluGrad": 1, "AssignSubVariableOp": 4, "BiasAddGrad": 2}),
        ("evaluate: test_step", {"products": 2, "SparseSoftmaxCrossEntropyWithLogits": 1, "AssignSubVariableOp": 0}),
        ("predict: predict_step", {"products": 2, "SparseSoftmaxCrossEntropyWithLogits": 0, "AssignSubVariableOp": 0}),
    ],
)
def test_ops_are_those_counted_by_hand(
    notebook: Notebook, outputs: list[Any], runs: str, by_hand: dict[str, int]
) -> None:
    ran = notebook.value(f"counted(prof.profiles[0], {runs!r})")
    ran["products"] = sum(number for name, number in ran.items() if "MatMul" in name)
    assert {name: ran.get(name, 0) for name in by_hand} == by_hand


@pytest.mark.parametrize(
    ("runs", "by_hand"),
    [
        ("fit: train_step", 32 * (FORWARD + BACKWARD)),
        ("evaluate: test_step", 64 * FORWARD),
        ("predict: predict_step", 160 * FORWARD),
    ],
)
def test_float_operations_are_those_counted_by_hand(
    notebook: Notebook, outputs: list[Any], runs: str, by_hand: int
) -> None:
    known = notebook.value(f"counted(prof.profiles[0], {runs!r}, 'float_ops')")
    assert sum(number for name, number in known.items() if "MatMul" in name or name in ("BiasAdd", "Relu")) == by_hand


def test_ops_are_under_their_layers_and_gradients_beside(notebook: Notebook, outputs: list[Any]) -> None:
    ran = notebook.value("counted(prof.profiles[0], 'fit: train_step', view='scope')")
    for layer in ("classifier/hidden/", "classifier/softmax/", "gradient_tape/classifier/hidden/", "tf.data/"):
        assert any(name.startswith(layer) for name in ran), layer
    assert not any("StatefulPartitionedCall" in name for name in ran)


def test_when_a_callback_raises_the_steps_before_are_shown(notebook: Notebook) -> None:
    notebook.run_well(MODEL)
    outputs = notebook.run("""%%tfprof --all --out prof
def stop(batch, logs):
    if batch == 4:
        raise ValueError("enough")
model.fit(images, digits, 32, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=stop)])""")
    (error,), _ = parted(outputs)
    assert error.ename == "ValueError"
    assert notebook.runs() == {"fit: train_step": (5, 5)}


def test_an_interrupted_fit_shows_the_steps_before_and_the_next_cell_is_profiled_too(notebook: Notebook) -> None:
    notebook.run_well(MODEL)
    outputs = notebook.run(
        """%%tfprof --out prof
def tell(batch, logs):
    if batch == 4:
        print("running", flush=True)
model.fit(images, digits, 32, 1_000_000, 0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=tell)])""",
        interrupt_at="running",
    )
    (*_, error), _ = parted(outputs)
    assert error.ename == "KeyboardInterrupt"
    assert notebook.value("prof.measurement.runs_seen >= 5 and prof.measurement.runs_traced > 0")
    notebook.run_well(TRAINING)
    assert notebook.runs()["fit: train_step"] == (20, 20)
