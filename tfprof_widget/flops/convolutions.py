"""Multiply-accumulates of convolutions of any kind and of their gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.operation import Dimensions, Formula, Operation


def channels_axis(operation: Operation) -> int:
    """Where the channels are: the last axis, or the one after the batch.

    >>> channels_axis(Operation("Conv2D", attributes={"data_format": "NCHW"}))
    1
    """
    return 1 if operation.text("data_format").startswith("NC") else -1


def convolution(operation: Operation) -> int:
    """Each element put out sums over the filter's window and its input channels (those of one group).

    >>> convolution(Operation("Conv2D", ((1, 8, 8, 3), (3, 3, 3, 16)), ((1, 6, 6, 16),)))
    15552
    """
    return operation.output_size * math.prod(operation.input(1)[:-1])


def depthwise(operation: Operation) -> int:
    """Each element put out sums over the filter's window in its one channel.

    >>> depthwise(Operation("DepthwiseConv2dNative", ((1, 8, 8, 3), (3, 3, 3, 2)), ((1, 8, 8, 6),)))
    3456
    """
    return operation.output_size * math.prod(operation.input(1)[:2])


def _by_stride(operation: Operation, image: Dimensions, kernel: Dimensions) -> float:
    """The forward convolution's, with its output taken to be the image over the strides, as TensorFlow has it."""
    strides = math.prod(operation.integers("strides")) or 1
    channels = image[channels_axis(operation)]
    return math.prod(image) * math.prod(kernel) / (channels * strides) if channels else 0


def _input_gradient(operation: Operation) -> float:
    return _by_stride(operation, operation.output(), operation.input(1))


def _filter_gradient(operation: Operation) -> float:
    return _by_stride(operation, operation.input(0), operation.output())


def _of_gradient(operation: Operation, kernel: Dimensions) -> int:
    """Each element of the gradient that comes in meets the filter's window and input channels once."""
    return operation.input_size(2) * math.prod(kernel[:-1])


def _volume_input_gradient(operation: Operation) -> int:
    return _of_gradient(operation, operation.input(1))


def _volume_filter_gradient(operation: Operation) -> int:
    return _of_gradient(operation, operation.output())


def _depthwise_input_gradient(operation: Operation) -> int:
    return operation.input_size(2) * math.prod(operation.input(1)[:2])


def _depthwise_filter_gradient(operation: Operation) -> int:
    return operation.input_size(2) * math.prod(operation.output()[:2])


MULTIPLY_ACCUMULATES: Mapping[str, Formula] = MappingProxyType(
    {
        "Conv2D": convolution,
        "Conv3D": convolution,
        "DepthwiseConv2dNative": depthwise,
        "Conv2DBackpropInput": _input_gradient,
        "Conv2DBackpropFilter": _filter_gradient,
        "Conv3DBackpropInput": _volume_input_gradient,
        "Conv3DBackpropInputV2": _volume_input_gradient,
        "Conv3DBackpropFilter": _volume_filter_gradient,
        "Conv3DBackpropFilterV2": _volume_filter_gradient,
        "DepthwiseConv2dNativeBackpropInput": _depthwise_input_gradient,
        "DepthwiseConv2dNativeBackpropFilter": _depthwise_filter_gradient,
    }
)


def _dilation(operation: Operation) -> int:
    """Adds and compares where a depthwise convolution multiplies and adds."""
    return 2 * depthwise(operation)


FLOAT_OPS: Mapping[str, Formula] = MappingProxyType({"Dilation2D": _dilation})
