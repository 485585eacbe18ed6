"""Float operations of kernels that normalize: batch, layer and local response normalization, and softmax."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.convolutions import channels_axis
from tfprof_widget.flops.operation import Formula, Operation

# A channel's variance and epsilon, their reciprocal square root (2), the scale, the mean's share, the offset.
_A_CHANNEL = 6


def _is_training(operation: Operation) -> bool:
    return bool(operation.attributes.get("is_training", True))


def batch_norm(operation: Operation) -> int:
    """Scale and shift each element (2); in training the mean (1) and the variance (3) come before.

    These are the counts of the ops of which tf.nn.moments and tf.nn.batch_normalization are made.

    >>> shapes = {"inputs": ((2, 4, 4, 3),), "outputs": ((2, 4, 4, 3),)}
    >>> batch_norm(Operation("FusedBatchNormV3", **shapes)) == 96 * 6 + 3 * 6
    True
    >>> batch_norm(Operation("FusedBatchNormV3", **shapes, attributes={"is_training": False})) == 96 * 2 + 3 * 6
    True
    """
    channels = operation.input(0)[channels_axis(operation)]
    return operation.input_size() * (6 if _is_training(operation) else 2) + channels * _A_CHANNEL


def batch_norm_gradient(operation: Operation) -> int:
    """The gradients of offset (a sum), of scale (normalize, multiply, sum) and of the input.

    In training the last takes 4 an element, as mean and variance depend on it too, else 1.
    """
    size, channels = operation.input_size(), operation.input(0)[channels_axis(operation)]
    of_offset = size - channels
    of_scale = 3 * size + size - channels
    if _is_training(operation):
        return of_offset + of_scale + 4 * size + 6 * channels
    return of_offset + of_scale + size + 4 * channels


def _layer_norm(operation: Operation) -> int:
    """Mean (1) and variance (3), then subtract, multiply, scale and shift (4); 3 a row for the multiplier."""
    size = operation.input_size()
    return 8 * size + 3 * (size // max(operation.input(0)[-1], 1))


def _local_response(operation: Operation) -> int:
    """Square, sum over the neighbours, scale, add, raise and divide."""
    radius = int(operation.attributes.get("depth_radius", 5))
    return operation.output_size * (5 + 2 * radius)


def _softmax(operation: Operation) -> int:
    """As TensorFlow counts it: shift (2), exponential, sum and divide."""
    return 5 * operation.input_size()


def _log_softmax(operation: Operation) -> int:
    """As softmax, but a row's logarithm is subtracted in place of the division; sums of n are n - 1."""
    size = operation.input_size()
    return 5 * size - _rows(operation)


def _cross_entropy(operation: Operation) -> int:
    """The loss against a distribution, and its gradient.

    Maximum, subtract, exponential, sum; then multiply by the labels what is left of the logarithm and sum;
    then divide and subtract for the gradient. Three of these are sums; a row takes one logarithm.

    >>> _cross_entropy(Operation("SoftmaxCrossEntropyWithLogits", ((4, 10), (4, 10))))
    352
    """
    return 9 * operation.input_size() - 2 * _rows(operation)


def _sparse_cross_entropy(operation: Operation) -> int:
    """The loss against a class, and its gradient: 5 an element, and for a row the logarithm and two subtractions.

    >>> _sparse_cross_entropy(Operation("SparseSoftmaxCrossEntropyWithLogits", ((4, 10), (4,))))
    204
    """
    return 5 * operation.input_size() + _rows(operation)


def _rows(operation: Operation) -> int:
    return operation.input_size() // max(operation.input(0)[-1], 1)


FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), batch_norm),
        **{f"FusedBatchNormGrad{version}": batch_norm_gradient for version in ("", "V2", "V3")},
        "LayerNorm": _layer_norm,
        "LRN": _local_response,
        "Softmax": _softmax,
        "LogSoftmax": _log_softmax,
        "SoftmaxCrossEntropyWithLogits": _cross_entropy,
        "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    }
)
