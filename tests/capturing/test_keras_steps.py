"""Steps of Keras models are profiled by layer; counts of ops are told by hand."""

from __future__ import annotations

from collections import Counter

import keras
import numpy as np
import pytest

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
from tfprof_widget.profiles.data import EAGER


@pytest.fixture(scope="module")
def fitted() -> Captured:
    return fit_evaluate_and_predict()


def test_steps_are_told_apart_by_what_they_do(fitted: Captured) -> None:
    assert fitted.seen_and_traced == {TRAIN: (6, 6), TEST: (3, 3), PREDICT: (3, 3)}
    names = Counter(name for name in fitted.profile.step_names if name != EAGER)
    warm = " (warm-up)"
    assert names == {
        TRAIN: 5,
        TRAIN + warm: 1,
        TEST: 2,
        TEST + warm: 1,
        PREDICT: 2,
        PREDICT + warm: 1,
    }
    assert fitted.warnings == ()
    assert fitted.runs[TRAIN].warm_up_seconds > fitted.runs[TRAIN].traced_seconds / 5 > 0


@pytest.mark.parametrize("name", STEADY)
def test_ops_of_a_model_are_as_many_as_by_hand(fitted: Captured, name: str) -> None:
    assert ops_of_a_step(fitted, name) == OPS_OF_A_STEP[name]
    batches = 0 if name == PREDICT else STEADY[name]  # a prediction is handed its batches
    assert fitted.counts(name)["IteratorGetNext"] == batches


def test_names_are_by_layer(fitted: Captured) -> None:
    nodes = fitted.nodes(TRAIN)
    assert not [name for name in nodes if "PartitionedCall" in name]
    dense = {name for name in nodes if name.startswith("small/dense/")}
    assert "small/dense/BiasAdd" in dense
    assert {name for name in nodes if name.startswith("gradient_tape/small/dense/MatMul/")} == PRODUCTS_OF_GRADIENTS


def test_what_steps_have_unnamed_is_in_their_own_scope(fitted: Captured) -> None:
    """Metrics are computed outside of any layer, and otherwise in training and in testing."""
    assert {name for name in fitted.nodes(TRAIN) if name.startswith("train_step/")}
    assert not {name for name in fitted.nodes(TRAIN) if name.startswith("test_step/")}
    assert {name for name in fitted.nodes(TEST) if name.startswith("test_step/")}


def test_shapes_are_those_of_the_layers(fitted: Captured) -> None:
    nodes = fitted.profile.nodes

    def shapes(name: str) -> list[tuple[int, ...]]:
        return [nodes.shapes[code] for code in nodes.output_shapes[nodes.names.index(name)].tolist()]

    assert shapes("small/conv/convolution") == [(BATCH, 6, 6, 4)]
    assert shapes("small/dense/MatMul") == [(BATCH, CLASSES)]
    multiplied = nodes.inputs[nodes.names.index("small/dense/MatMul")].tolist()
    assert [nodes.names[source].rpartition("/")[2] for source in multiplied] == ["Reshape", "ReadVariableOp"]


def test_parameters_are_those_of_the_model(fitted: Captured) -> None:
    model = small_model()
    nodes = fitted.profile.nodes
    of_model = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count}
    of_model = {name: count for name, count in of_model.items() if name.startswith("small/")}
    expected = {variable.path: int(np.prod(variable.shape)) for variable in model.variables}
    assert of_model == expected
    assert sum(of_model.values()) == model.count_params() == 3 * 3 * 3 * 4 + 4 + 4 * 4 + 144 * 10 + 10
    trainable = fitted.profile.view("scope", account_type_regexes=["_trainable_variables"], max_depth=9)
    counts = {name: int(own) for name, own in zip(trainable.names, trainable.own["params"], strict=True) if own}
    assert set(counts) == {variable.path for variable in model.trainable_variables}


def test_float_operations_are_those_of_the_formulas(fitted: Captured) -> None:
    nodes = fitted.profile.nodes
    float_ops = dict(zip(nodes.names, nodes.float_ops.tolist(), strict=True))
    product = 2 * BATCH * 144 * CLASSES
    assert (float_ops["small/dense/MatMul"], float_ops["small/dense/BiasAdd"]) in (
        (product, BATCH * CLASSES),
        (0, product + BATCH * CLASSES),  # where one kernel did both
    )
    convolution = 2 * BATCH * 6 * 6 * 4 * 3 * 3 * 3
    assert sum(float_ops[f"small/conv/{name}"] for name in ("convolution", "BiasAdd", "Relu")) == (
        convolution + 2 * BATCH * 6 * 6 * 4
    )
    assert float_ops["gradient_tape/small/dense/MatMul/MatMul_1"] == 2 * BATCH * 144 * CLASSES


def test_nearly_all_time_is_of_ops_with_a_formula(fitted: Captured) -> None:
    assert fitted.profile.flops_coverage(run_name_regexes=[TRAIN]).share > 0.9


def test_float_operations_of_an_unknown_batch() -> None:
    """The last batch is smaller, so that Keras leaves the batch open; the first step's counts for all."""
    model = small_model()
    x, y = data(3)
    with capturing() as captured:
        model.fit(x[:-1], y[:-1], batch_size=BATCH, verbose=0)
    nodes = captured.profile.nodes
    float_ops = dict(zip(nodes.names, nodes.float_ops.tolist(), strict=True))
    of_dense = sum(float_ops[f"small/dense/{name}"] for name in ("MatMul", "BiasAdd"))
    assert of_dense == 2 * BATCH * 144 * CLASSES + BATCH * CLASSES
    assert float_ops["gradient_tape/small/dense/MatMul/MatMul_1"] == 2 * BATCH * 144 * CLASSES
    of_convolution = sum(float_ops[f"small/conv/{name}"] for name in ("convolution", "BiasAdd", "Relu"))
    assert of_convolution == BATCH * 6 * 6 * 4 * (2 * 3 * 3 * 3 + 2)


def test_input_pipeline_is_a_scope_of_its_own(fitted: Captured) -> None:
    pipeline = {name for name in fitted.nodes(TRAIN) if name.startswith("tf.data/")}
    assert "tf.data/Root/Prefetch" in pipeline
    assert not {name for name in pipeline if "Iterator" in name}


def test_variables_of_a_functional_model_are_in_its_layers() -> None:
    """Keras names them without the model."""
    x = keras.layers.Input((4,))
    model = keras.Model(x, keras.layers.Dense(2, name="out")(x), name="functional")
    model.compile("sgd", "mse")
    with capturing() as captured:
        model.fit(np.ones([BATCH, 4]), np.ones([BATCH, 2]), batch_size=BATCH, verbose=0)
    nodes = captured.profile.nodes
    parameters = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count > 1}
    assert parameters == {"functional/out/kernel": 8, "functional/out/bias": 2}
    assert "functional/out/MatMul" in nodes.names
