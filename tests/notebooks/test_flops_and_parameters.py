"""MobileNet's size: what its paper states, what Keras documents, and what is counted layer by layer by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.documents.mobilenet import layers
from tests.notebooks.notebook import Notebook
from tests.notebooks.shipped import assert_accounted, executed, printed

# The documentation of Keras, and the paper: 569 million.
PARAMETERS = 4_253_864
PAPER = 569
ALL = list(layers(alpha=1.0, side=224))


@pytest.fixture(scope="module")
def mobilenet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with executed("flops_and_parameters", tmp_path_factory.mktemp("flops")) as notebook:
        yield notebook


def test_parameters(mobilenet: Notebook) -> None:
    trained = sum(layer.parameters for layer in ALL)
    assert printed(mobilenet, "trainable") == (
        f"{PARAMETERS:,} parameters, {trained:,} of them trained; Keras counts {PARAMETERS:,}\n"
    )


def test_the_two_largest_layers(mobilenet: Notebook) -> None:
    largest = mobilenet.value("layers.total_params.head(2).tolist()")
    assert largest == [1024 * 1024, 1024 * 1000 + 1000]
    assert sum(largest) / PARAMETERS == pytest.approx(0.5, abs=0.02)  # "half of all parameters"


def test_multiply_accumulates(mobilenet: Notebook) -> None:
    by_hand = sum(layer.float_ops for layer in ALL) // 2
    assert mobilenet.value("int(macs.float_ops.sum())") == by_hand
    assert round(by_hand / 1e6) == PAPER
    assert f"{by_hand:,} multiply-accumulates an image" in printed(mobilenet, "flops")
    # "a little more than twice as many"
    assert 2 < mobilenet.value("float(float_ops)") / by_hand < 2.1


def test_every_op_has_a_formula_and_all_but_two_of_keras_have_shapes(mobilenet: Notebook) -> None:
    """So nearly all of the time is covered: the two compare scalars, but on a busy machine may be held up for long."""
    assert mobilenet.value("profile.flops_coverage().without_formula") == ()
    assert set(mobilenet.value("profile.flops_coverage().without_shapes")) <= {"All", "Equal"}
    assert "float operations are known for " in printed(mobilenet, "coverage")


def test_little_is_not_accounted_for(mobilenet: Notebook) -> None:
    assert_accounted(mobilenet, "prof")
