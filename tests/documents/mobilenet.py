"""MobileNet as the option-builder reference makes it, but for its weights, and its costs worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tf_keras.applications import mobilenet

MobileNet = partial(mobilenet.MobileNet, weights=None)  # trained ones would have to be fetched

CLASSES = 1000
STEM = 32
# Filters of the pointwise convolution of each block, and the stride of its depthwise one: table 1 of the paper.
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]


@dataclass(frozen=True)
class Costs:
    """A layer: its op type, multiplications and additions, and trained weights."""

    op: str
    float_ops: int
    parameters: int


def layers(alpha: float, side: int) -> Iterator[Costs]:
    """All layers with weights, for one image of that side; batch normalization trains a scale and an offset."""
    side //= 2
    before = int(STEM * alpha)
    yield _convolution(side, 3, 3, before)
    for width, stride in BLOCKS:
        side, after = side // stride, int(width * alpha)
        yield Costs("DepthwiseConv2dNative", 2 * side**2 * before * 9, 9 * before + 2 * before)
        yield _convolution(side, 1, before, after)
        before = after
    yield Costs("Conv2D", 2 * before * CLASSES, before * CLASSES + CLASSES)


def _convolution(side: int, kernel: int, before: int, after: int) -> Costs:
    weights = kernel**2 * before * after
    return Costs("Conv2D", 2 * side**2 * weights, weights + 2 * after)
