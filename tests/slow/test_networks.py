"""Large networks take what their papers say, and in training what a calculation by hand gives."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest

from tests.ingest.flops.test_published import float_ops, graph_of, multiply_accumulates
from tests.ingest.flops.test_training import FULL, SMALLER, approximately, batches, counted, fitted, in_training
from tests.slow.share import share

SIZE = (32, 32, 3)


def mobilenet() -> keras.Model:
    return keras.applications.MobileNet(input_shape=SIZE, alpha=0.25, weights=None, classes=10)


def resnet() -> keras.Model:
    return keras.applications.ResNet50(input_shape=SIZE, weights=None, classes=10)


def efficientnet() -> keras.Model:
    return keras.applications.EfficientNetB0(input_shape=SIZE, weights=None, classes=10)


@pytest.mark.parametrize("examples", share([FULL, SMALLER], [SMALLER]))
@pytest.mark.parametrize("make", share([mobilenet, resnet, efficientnet], [mobilenet]))
def test_a_step_takes_what_was_calculated_by_hand(make: Callable[[], keras.Model], examples: int) -> None:
    model = make()
    profile = fitted(model, np.ones([examples, *SIZE], np.float32))
    assert counted(profile) == approximately(*(batch * in_training(model) for batch in batches(examples)))
    assert profile.flops_coverage().share > 0.95


def test_efficientnet_takes_what_its_paper_says() -> None:
    """arXiv:1905.11946, table 2: 0.39 billion multiply-accumulates for EfficientNet-B0."""
    model = keras.applications.EfficientNetB0(weights=None)
    graph = graph_of(lambda image: model(image), (1, 224, 224, 3))
    assert multiply_accumulates(graph) == pytest.approx(0.39e9, rel=0.03)
    assert float_ops(graph) == pytest.approx(2 * 0.39e9, rel=0.1)
