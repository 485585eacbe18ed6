"""Counts the float operations of elementwise ops, reductions, normalization, pooling, images and random numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from itertools import zip_longest
from types import MappingProxyType

from tfprof_widget.ingest.flops.operation import Formula, Operation, UnknownShape
from tfprof_widget.ingest.flops.products import channels_axis

# An elementary function counts 1, as TensorFlow counts Log and Pow; a function made of several counts them all.
_AN_ELEMENT: Mapping[int, tuple[str, ...]] = {
    1: (
        # ops of one tensor
        *("Neg", "Abs", "ComplexAbs", "Sign", "Inv", "Reciprocal", "Square", "Sqrt", "Exp", "Expm1", "Log", "Log1p"),
        *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
        *("Erf", "Erfc", "Erfinv", "Erfcinv", "Ndtri", "Lgamma", "Digamma", "Polygamma", "Zeta", "Betainc", "Igamma"),
        *("Igammac", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "Conj", "Invert", "NextAfter"),
        *("Floor", "Ceil", "Round", "Rint", "IsNan", "IsInf", "IsFinite", "LogicalNot", "Relu"),
        # ops of two tensors
        *("Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "TruncateDiv", "DivNoNan", "MulNoNan"),
        *("Maximum", "Minimum", "Mod", "FloorMod", "TruncateMod", "Pow", "Atan2"),
        *("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "ApproximateEqual"),
        *(
            "LogicalAnd",
            "LogicalOr",
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseXor",
            "LeftShift",
            "RightShift",
            "BiasAdd",
            "BiasAddV1",
            "ReluGrad",
            "SeluGrad",
        ),
    ),
    2: (
        *("Rsqrt", "SquaredDifference", "Relu6", "LeakyRelu", "Relu6Grad", "LeakyReluGrad", "ClipByValue"),
        *("SqrtGrad", "Xdivy", "Xlogy", "Xlog1py", "EluGrad", "Elu"),
    ),
    3: ("Softplus", "Softsign", "Selu", "TanhGrad", "SigmoidGrad", "InvGrad", "ReciprocalGrad", "SoftplusGrad"),
    4: ("Sigmoid", "RsqrtGrad", "SoftsignGrad"),
    5: ("Swish",),
    8: ("Gelu",),
}


def _each(count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        return _size(operation) * count

    return float_ops


def _size(operation: Operation) -> int:
    """The number of output elements; if a run tells only the inputs, that of their broadcast.

    >>> _size(Operation("Mul", ((4, 1), (10,))))
    40
    """
    if operation.outputs:
        return operation.output_size
    shapes = [operation.input(index) for index in range(max(len(operation.inputs), 1))]
    sizes = zip_longest(*map(reversed, shapes), fillvalue=1)
    return math.prod(next((size for size in each if size != 1), 1) for each in sizes)


# TensorFlow counts these by the input, which is as large as the output; either may be unknown.
_BY_INPUT = frozenset({"BiasAdd", "Reciprocal", "Square", "Rsqrt", "Log", "Neg"})


def _each_input_element(count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        with suppress(UnknownShape):
            return operation.input_size() * count
        return operation.output_size * count

    return float_ops


AFTER_MAIN = frozenset(op for ops in _AN_ELEMENT.values() for op in ops)
"""The ops that a fused kernel may apply to the result of its main op."""

BY_OUTPUT = AFTER_MAIN - _BY_INPUT
"""The ops whose count depends only on the output, if it is known."""

_OF_EACH_ELEMENT: Mapping[str, Formula] = MappingProxyType(
    {op: (_each_input_element if op in _BY_INPUT else _each)(count) for count, ops in _AN_ELEMENT.items() for op in ops}
)


def reduction(operation: Operation) -> int:
    """One operation for each element except the first one of each result.

    >>> reduction(Operation("Sum", ((4, 10), (1,)), ((4,),)))
    36
    """
    return operation.input_size() - operation.output_size


def _mean(operation: Operation) -> int:
    """A sum, and a division for each result."""
    operation.output()
    return operation.input_size()


def _norm(operation: Operation) -> int:
    """Square, sum, and a root for each result."""
    operation.output()
    return 2 * operation.input_size()


def _half_of_squares(operation: Operation) -> int:
    """As TensorFlow counts it: square, halve and sum."""
    return 3 * operation.input_size() - 1


def _each_input(operation: Operation) -> int:
    return operation.input_size()


def _sum_of_tensors(operation: Operation) -> int:
    """One addition for each input after the first."""
    return operation.input_size() * (len(operation.inputs) - 1) if operation.inputs else 0


_OF_REDUCTIONS: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("Sum", "Prod", "Max", "Min", "All", "Any", "ArgMax", "ArgMin", "BiasAddGrad"), reduction),
        "Mean": _mean,
        "EuclideanNorm": _norm,
        "L2Loss": _half_of_squares,
        "AddN": _sum_of_tensors,
        **dict.fromkeys(("Cumsum", "Cumprod", "CumulativeLogsumexp"), _each_input),
        **dict.fromkeys(("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"), _each_input),
        **dict.fromkeys(("Bincount", "DenseBincount", "CollectiveReduce", "CollectiveReduceV2"), _each_input),
        **{f"UnsortedSegment{kind}": _each_input for kind in ("Sum", "Prod", "Max", "Min")},
    }
)

# A channel's variance and epsilon, their reciprocal square root (2), the scale, the mean's share, the offset.
_A_CHANNEL = 6


def _is_training(operation: Operation) -> bool:
    return bool(operation.attributes.get("is_training", True))


def batch_norm(operation: Operation) -> int:
    """Scale and shift each element (2); in training the mean (1) and the variance (3) come before.

    These are the counts of the ops in tf.nn.moments and tf.nn.batch_normalization.

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

    The gradient of the input takes 4 for each element in training, because mean and variance depend on it too; else 1.
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

    Maximum, subtract, exponential, sum; then subtract the logarithm, multiply by the labels and sum; then divide and
    subtract for the gradient. Three of these are sums; each row has one logarithm.

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


def _local_response_gradient(operation: Operation) -> int:
    """The squares of the neighbours are summed again (2 each); each neighbour takes a part of the gradient (7 each).

    The scale and the power of each element take 4 more.
    """
    radius = int(operation.attributes.get("depth_radius", 5))
    return operation.input_size() * (9 * (2 * radius + 1) + 4)


_OF_NORMALIZATION: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), batch_norm),
        **{f"FusedBatchNormGrad{version}": batch_norm_gradient for version in ("", "V2", "V3")},
        "LayerNorm": _layer_norm,
        "LRN": _local_response,
        "LRNGrad": _local_response_gradient,
        "Softmax": _softmax,
        "LogSoftmax": _log_softmax,
        "SoftmaxCrossEntropyWithLogits": _cross_entropy,
        "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    }
)


def _window(operation: Operation) -> int:
    return math.prod(operation.integers("ksize"))


def _pool(operation: Operation) -> int:
    """The whole window for each output element.

    >>> _pool(Operation("MaxPool", outputs=((1, 2, 2, 3),), attributes={"ksize": [1, 2, 2, 1]}))
    48
    """
    return _window(operation) * operation.output_size


def _mean_gradient(operation: Operation) -> int:
    """Every element of the gradient is scaled and added at each place of its window."""
    return 2 * _window(operation) * operation.input_size(1)


def _maximum_gradient(operation: Operation) -> int:
    """The maximum is searched again, and the gradient is added there."""
    return (_window(operation) + 1) * operation.input_size(1)


def _known_maximum_gradient(operation: Operation) -> int:
    return operation.input_size(1)


_OF_POOLING: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("AvgPool", "MaxPool", "AvgPool3D", "MaxPool3D", "MaxPoolWithArgmax"), _pool),
        "AvgPoolGrad": _mean_gradient,
        "AvgPool3DGrad": _mean_gradient,
        "MaxPoolGrad": _maximum_gradient,
        "MaxPool3DGrad": _maximum_gradient,
        "MaxPoolGradWithArgmax": _known_maximum_gradient,
    }
)


def _each_element_of(operand: int, count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        return operation.input_size(operand) * count

    return float_ops


def _each_output_element(count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        return operation.output_size * count

    return float_ops


def _draws(operation: Operation) -> int:
    """Each logit is shifted, raised and added up (3); each sample is a random number that is scaled (2)."""
    return 3 * operation.input_size() + 2 * operation.output_size


# A uniform number is random bits, and a subtraction. Two normal numbers are made of two uniform ones by a logarithm, a
# root, a sine, a cosine and four products: 4 each.
_OF_RANDOM_NUMBERS: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(
            ("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2", "StatefulUniform"),
            _each_output_element(1),
        ),
        **dict.fromkeys(
            (
                *("RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2", "TruncatedNormal"),
                *("StatelessTruncatedNormal", "StatelessTruncatedNormalV2", "StatefulStandardNormalV2"),
            ),
            _each_output_element(5),
        ),
        **dict.fromkeys(("Multinomial", "StatelessMultinomial"), _draws),
    }
)

_OF_IMAGES: Mapping[str, Formula] = MappingProxyType(
    {
        # between two pixels, three times: subtract, multiply, add
        **dict.fromkeys(
            ("ResizeBilinear", "ImageProjectiveTransformV2", "ImageProjectiveTransformV3"), _each_output_element(9)
        ),
        # each element of the gradient goes to four pixels: two products and an addition
        "ResizeBilinearGrad": _each_element_of(0, 12),
        "ResizeNearestNeighborGrad": _each_element_of(0, 1),
        "CropAndResize": _each_output_element(9),
        # of four pixels in each of four rows, and then of the rows: four products and three additions
        "ResizeBicubic": _each_output_element(35),
    }
)

# Each updated element is one operation; each element that is searched is a comparison.
_OF_SOME_ELEMENTS: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("TopK", "TopKV2", "InTopK", "InTopKV2"), _each_input),
        **{
            f"{kind}Scatter{change}": _each_element_of(2, 1)
            for kind in ("", "Resource", "Tensor")
            for change in ("Add", "Sub", "Mul", "Div", "Min", "Max")
        },
        **{
            f"{kind}ScatterNd{change}": _each_element_of(2, 1) for kind in ("", "Resource") for change in ("Add", "Sub")
        },
    }
)

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        **_OF_EACH_ELEMENT,
        **_OF_REDUCTIONS,
        **_OF_NORMALIZATION,
        **_OF_POOLING,
        **_OF_RANDOM_NUMBERS,
        **_OF_IMAGES,
        **_OF_SOME_ELEMENTS,
    }
)
"""The float operations of one execution, by op type."""
