"""Steps of Keras 2 models are profiled by layer, be it an old TensorFlow's own or tf_keras; counts are told by hand."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing import program_steps
from tests.capturing.program_steps import (
    BATCH,
    CLASSES,
    OPS_OF_A_STEP,
    PREDICT,
    PRODUCTS_OF_GRADIENTS,
    STEADY,
    TEST,
    TRAIN,
    Captured,
    capturing,
    data,
    fit_evaluate_and_predict,
    ops_of_a_step,
    small_model,
)
from tests.made import profile_of_tables

keras: Any = import_module("keras" if find_spec("tf_keras") is None else "tf_keras")


@pytest.fixture(scope="module", autouse=True)
def models_of_keras_2() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_steps, "keras", keras)
        yield


@pytest.fixture(scope="module")
def fitted(models_of_keras_2: None) -> Captured:
    return fit_evaluate_and_predict()


def test_it_is_keras_2() -> None:
    assert keras.__version__.startswith("2.")


def test_steps_are_told_apart_by_what_they_do(fitted: Captured) -> None:
    assert fitted.seen_and_traced == {TRAIN: (6, 6), TEST: (3, 3), PREDICT: (3, 3)}
    assert fitted.warnings == ()


@pytest.mark.parametrize("name", STEADY)
def test_ops_of_a_model_are_as_many_as_by_hand(fitted: Captured, name: str) -> None:
    assert ops_of_a_step(fitted, name) == OPS_OF_A_STEP[name]
    assert fitted.counts(name)["IteratorGetNext"] == STEADY[name]


def test_names_are_by_layer(fitted: Captured) -> None:
    nodes = fitted.nodes(TRAIN)
    assert not [name for name in nodes if "PartitionedCall" in name]
    assert "small/dense/BiasAdd" in nodes
    assert {name for name in nodes if name.startswith("gradient_tape/small/dense/MatMul/")} == PRODUCTS_OF_GRADIENTS


def test_parameters_are_those_of_the_layers(fitted: Captured) -> None:
    nodes = fitted.profile.nodes
    counts = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count > 1}
    assert {name: count for name, count in counts.items() if name.startswith("small/")} == {
        "small/conv/kernel": 3 * 3 * 3 * 4,
        "small/conv/bias": 4,
        "small/norm/gamma": 4,
        "small/norm/beta": 4,
        "small/norm/moving_mean": 4,
        "small/norm/moving_variance": 4,
        "small/dense/kernel": 144 * CLASSES,
        "small/dense/bias": CLASSES,
    }


def test_float_operations_are_those_of_the_formulas(fitted: Captured) -> None:
    nodes = fitted.profile.nodes
    float_ops = dict(zip(nodes.names, nodes.float_ops.tolist(), strict=True))
    assert float_ops["gradient_tape/small/dense/MatMul/MatMul_1"] == 2 * BATCH * 144 * CLASSES
    of_convolution = sum(float_ops[f"small/conv/{name}"] for name in ("Conv2D", "BiasAdd", "Relu"))
    assert of_convolution == BATCH * 6 * 6 * 4 * (2 * 3 * 3 * 3 + 2)


def test_layers_in_a_list_are_in_their_model() -> None:
    class Stack(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name="stack")
            self.blocks = [keras.layers.Dense(3, name="first"), keras.layers.Dense(2, name="second")]

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    model = Stack()
    model.compile("sgd", "mse")
    with capturing() as captured:
        model.fit(np.ones([BATCH, 4]), np.ones([BATCH, 2]), batch_size=BATCH, verbose=0)
    nodes = captured.profile.nodes
    counts = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count > 1}
    assert {name: count for name, count in counts.items() if name.startswith("stack/")} == {
        "stack/first/kernel": 12,
        "stack/first/bias": 3,
        "stack/second/kernel": 6,
        "stack/second/bias": 2,
    }
    assert "stack/second/MatMul" in nodes.names


def test_models_get_their_functions_back() -> None:
    model = small_model()
    x, y = data(1)
    with capturing():
        model.fit(x, y, batch_size=BATCH, verbose=0)
        hooked = model.train_function
    assert model.train_function is hooked.__wrapped__
    model.fit(x, y, batch_size=BATCH, verbose=0)
    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, verbose=0)
    assert captured.runs[TRAIN].seen == 1
    assert profile_of_tables(captured.recorded.graphs[0].tables).steps


def test_layers_have_their_names_beside_a_table_that_has_none() -> None:
    words = keras.layers.TextVectorization(output_sequence_length=3)
    words.adapt(["a b"])
    layers = [words, keras.layers.Embedding(4, 2), keras.layers.Flatten(), keras.layers.Dense(1, name="last")]
    model = keras.Sequential(layers, name="reader")
    model.compile("sgd", "mse")
    with tfprof.capture(trace_all=True) as prof:
        model.fit(tf.constant([["a b"], ["b"]]), tf.ones([2, 1]), verbose=0)
    assert [each for each in model.variables if not hasattr(each, "name")] != []  # the table
    names = prof.profile.nodes.names
    assert "reader/last/kernel" in names
    assert "last/kernel" not in names
    assert "TensorFlow's names" not in prof.text()
