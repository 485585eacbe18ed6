"""Counts the float operations of matrix products, convolutions and recurrent cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.ingest.flops.operation import Dimensions, Formula, Operation
from tfprof_widget.lib.errors import value_error


def channels_axis(operation: Operation) -> int:
    """The axis of the channels: the last one, or the one after the batch.

    >>> channels_axis(Operation("Conv2D", attributes={"data_format": "NCHW"}))
    1
    """
    return 1 if operation.text("data_format").startswith("NC") else -1


def convolution(operation: Operation) -> int:
    """Each output element sums over the filter's window and the input channels of its group.

    >>> convolution(Operation("Conv2D", ((1, 8, 8, 3), (3, 3, 3, 16)), ((1, 6, 6, 16),)))
    15552
    """
    return operation.output_size * math.prod(operation.input(1)[:-1])


def depthwise(operation: Operation) -> int:
    """Each output element sums over the filter's window in one channel.

    >>> depthwise(Operation("DepthwiseConv2dNative", ((1, 8, 8, 3), (3, 3, 3, 2)), ((1, 8, 8, 6),)))
    3456
    """
    return operation.output_size * math.prod(operation.input(1)[:2])


def _by_stride(operation: Operation, image: Dimensions, kernel: Dimensions) -> float:
    """The count of the forward convolution; as in TensorFlow, its output is the image divided by the strides."""
    strides = math.prod(operation.integers("strides")) or 1
    channels = image[channels_axis(operation)]
    return math.prod(image) * math.prod(kernel) / (channels * strides) if channels else 0


def _input_gradient(operation: Operation) -> float:
    return _by_stride(operation, operation.output(), operation.input(1))


def _filter_gradient(operation: Operation) -> float:
    return _by_stride(operation, operation.input(0), operation.output())


def _of_gradient(operation: Operation, kernel: Dimensions) -> int:
    """Each element of the incoming gradient is multiplied once with the filter's window and input channels."""
    return operation.input_size(2) * math.prod(kernel[:-1])


def _volume_input_gradient(operation: Operation) -> int:
    return _of_gradient(operation, operation.input(1))


def _volume_filter_gradient(operation: Operation) -> int:
    return _of_gradient(operation, operation.output())


GRADIENTS_AS_RUN: Mapping[str, Formula] = MappingProxyType(
    {"Conv2DBackpropInput": _volume_input_gradient, "Conv2DBackpropFilter": _volume_filter_gradient}
)
"""What gradients of convolutions take: TensorFlow counts too many where the padding is VALID, as if it were SAME."""


def _depthwise_input_gradient(operation: Operation) -> int:
    return operation.input_size(2) * math.prod(operation.input(1)[:2])


def _depthwise_filter_gradient(operation: Operation) -> int:
    return operation.input_size(2) * math.prod(operation.output()[:2])


_OF_CONVOLUTIONS: Mapping[str, Formula] = MappingProxyType(
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
    """As a depthwise convolution, with add and compare in place of multiply and add."""
    return 2 * depthwise(operation)


_BESIDE_CONVOLUTIONS: Mapping[str, Formula] = MappingProxyType({"Dilation2D": _dilation})
_ELLIPSIS = "..."


def sparse_product(operation: Operation) -> int:
    """Each value of the sparse matrix is multiplied with a row of the dense one, as wide as the result.

    >>> sparse_product(Operation("SparseTensorDenseMatMul", ((7, 2), (7,), (2,), (5, 6)), ((4, 6),)))
    42
    """
    return operation.dimension(0, 0) * operation.dimension(3, 0 if operation.flag("adjoint_b") else 1)


def matrix_product(operation: Operation) -> int:
    """Each element of the product, in every batch, is a sum over the length of the rows.

    >>> matrix_product(Operation("MatMul", ((8, 3), (3, 5)), ((8, 5),)))
    120
    """
    axis = -2 if operation.flag("transpose_a", "adj_x") else -1
    return operation.output_size * operation.dimension(0, axis)


def einsum(operation: Operation) -> int:
    """One multiply-accumulate for each combination of all subscripts, where two tensors are multiplied.

    >>> einsum(Operation("Einsum", ((2, 3, 4), (4, 5)), ((2, 3, 5),), {"equation": "abc,cd->abd"}))
    120
    """
    if len(operation.inputs) != 2:
        return 0
    return math.prod(_subscript_sizes(operation).values())


def einsum_of_one(operation: Operation) -> int:
    """The additions that reduce one tensor; a transposition has none."""
    return operation.input_size() - operation.output_size if len(operation.inputs) == 1 else 0


def _subscript_sizes(operation: Operation) -> dict[str, int]:
    """The size of each subscript; the subscripts of an ellipsis are numbered from the right."""
    subscripts = operation.text("equation").replace(" ", "").partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for index, written in enumerate(subscripts):
        shape = operation.input(index)
        for subscript, size in zip(_expanded(written, shape), shape, strict=True):
            sizes[subscript] = max(size, sizes.get(subscript, 1)) if size else 0
    return sizes


def _expanded(written: str, shape: Dimensions) -> list[str]:
    before, ellipsis, after = written.partition(_ELLIPSIS)
    hidden = len(shape) - len(before) - len(after) if ellipsis else 0
    if hidden < 0 or len(before) + len(after) + hidden != len(shape):
        raise value_error(f"{written!r} does not fit the shape {shape}")
    return [*before, *(f"{_ELLIPSIS}{place}" for place in range(hidden, 0, -1)), *after]


def _cholesky(operation: Operation) -> int:
    """A third of the order's cube for each matrix of the batch."""
    return operation.input_size() * operation.input(0)[-1] // 3


def _triangular_solve(operation: Operation) -> int:
    """The square of the order for each right-hand side."""
    return operation.input(0)[-1] * operation.output_size


def _solve(operation: Operation) -> int:
    """Two thirds of the order's cube to decompose, then two triangular systems."""
    return _determinant(operation) + 2 * _triangular_solve(operation)


def _inverse(operation: Operation) -> int:
    return 2 * operation.input_size() * operation.input(0)[-1]


def _determinant(operation: Operation) -> int:
    return 2 * operation.input_size() * operation.input(0)[-1] // 3


_OF_PRODUCTS: Mapping[str, Formula] = MappingProxyType(
    {
        "SparseTensorDenseMatMul": sparse_product,
        **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul"), matrix_product),
        "Einsum": einsum,
    }
)

_BESIDE_PRODUCTS: Mapping[str, Formula] = MappingProxyType(
    {
        "Einsum": einsum_of_one,
        "Cholesky": _cholesky,
        "MatrixTriangularSolve": _triangular_solve,
        "MatrixSolve": _solve,
        "MatrixInverse": _inverse,
        "MatrixDeterminant": _determinant,
        "LogMatrixDeterminant": _determinant,
        "Lu": _determinant,
    }
)
_SIGMOID, _TANH = 4, 1
# Bias (4 gates), the forget gate's own bias, three sigmoids, two tanh, c = i * g + f * c and h = o * tanh(c).
_LSTM_UNIT = 4 + 1 + 3 * _SIGMOID + 2 * _TANH + 3 + 1
# Three gates' peepholes: multiply and add.
_PEEPHOLES = 6
# Bias (3 gates), two sigmoids, a tanh, r * h and h = u * h + (1 - u) * c.
_GRU_UNIT = 3 + 2 * _SIGMOID + _TANH + 1 + 4

_GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}
# A cuDNN cell has two biases for each gate.
_CUDNN_UNIT = {"lstm": _LSTM_UNIT - 1 + 4, "gru": _GRU_UNIT + 3, "rnn_relu": 4, "rnn_tanh": 4}


def _lstm_cell(operation: Operation) -> int:
    """Input and previous state, concatenated, times the weights of four gates.

    >>> cell = Operation("LSTMBlockCell", ((2, 3), (2, 5), (2, 5), (8, 20)))
    >>> _lstm_cell(cell) == 2 * 8 * 20
    True
    """
    return operation.input(0)[0] * _elements(operation, 3)


def _lstm_cell_rest(operation: Operation) -> int:
    units = _elements(operation, 1)
    return units * (_LSTM_UNIT + (_PEEPHOLES if operation.flag("use_peephole") else 0))


def _lstm_sequence(operation: Operation) -> int:
    """One cell for each time; the first input is the longest length, the second the sequence."""
    times, batch, _ = operation.input(1)
    return times * batch * _elements(operation, 4)


def _lstm_sequence_rest(operation: Operation) -> int:
    times = operation.input(1)[0]
    unit = _LSTM_UNIT + (_PEEPHOLES if operation.flag("use_peephole") else 0)
    return times * _elements(operation, 2) * unit


def _lstm_sequence_gradient(operation: Operation) -> int:
    """The gradients of the gates times the weights, and times the inputs."""
    return 2 * _lstm_sequence(operation)


def _gru_cell(operation: Operation) -> int:
    """Input and previous state times the weights of reset and update, then of the candidate.

    >>> cell = Operation("GRUBlockCell", ((2, 3), (2, 5), (8, 10), (8, 5)))
    >>> _gru_cell(cell) == 2 * 8 * 15
    True
    """
    return operation.input(0)[0] * (_elements(operation, 2) + _elements(operation, 3))


def _gru_cell_rest(operation: Operation) -> int:
    return _elements(operation, 1) * _GRU_UNIT


def _cudnn(operation: Operation) -> int:
    """For each layer and direction: input and previous state times the weights of all gates."""
    times, batch, features = operation.input(0)
    states, _, units = operation.input(1)
    gates = _GATES[operation.text("rnn_mode", "lstm")]
    directions = 2 if operation.text("direction") == "bidirectional" else 1
    first = directions * (features + units)
    others = (states - directions) * (directions * units + units)
    return times * batch * gates * units * (first + others)


def _cudnn_rest(operation: Operation) -> int:
    times = operation.input(0)[0]
    return times * _elements(operation, 1) * _CUDNN_UNIT[operation.text("rnn_mode", "lstm")]


def _cudnn_gradient(operation: Operation) -> int:
    return 2 * _cudnn(operation)


def _elements(operation: Operation, index: int) -> int:
    return operation.input_size(index)


_CUDNN = ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")

_OF_CELLS: Mapping[str, Formula] = MappingProxyType(
    {
        "LSTMBlockCell": _lstm_cell,
        "BlockLSTM": _lstm_sequence,
        "BlockLSTMV2": _lstm_sequence,
        "BlockLSTMGrad": _lstm_sequence_gradient,
        "BlockLSTMGradV2": _lstm_sequence_gradient,
        "GRUBlockCell": _gru_cell,
        **dict.fromkeys(_CUDNN, _cudnn),
        **{op.replace("RNN", "RNNBackprop"): _cudnn_gradient for op in _CUDNN},
    }
)

_BESIDE_CELLS: Mapping[str, Formula] = MappingProxyType(
    {
        "LSTMBlockCell": _lstm_cell_rest,
        "BlockLSTM": _lstm_sequence_rest,
        "BlockLSTMV2": _lstm_sequence_rest,
        "GRUBlockCell": _gru_cell_rest,
        **dict.fromkeys(_CUDNN, _cudnn_rest),
    }
)


def ctc_loss(operation: Operation) -> int:
    """The probability of all alignments of labels with times, forwards and backwards, and the gradient.

    Softmax and its gradient take 8 for each class at each time. Each label, and the blanks around it, is a state: two
    sums of logarithms (5 each) and an addition forwards, as many backwards, and 6 for its share in the gradient.

    >>> ctc_loss(Operation("CTCLoss", ((7, 2, 5), (3, 2), (3,), (2,)))) == 8 * 7 * 2 * 5 + 28 * 7 * (2 * 3 + 2)
    True
    """
    times, batch, classes = operation.input(0)
    states = 2 * operation.dimension(1, 0) + batch
    return 8 * times * batch * classes + 28 * times * states


def _transform(axes: int, each: float) -> Formula:
    """The usual 5 n log2(n) for the transform of n complex elements, and half of that for real ones."""

    def float_ops(operation: Operation) -> int:
        shape = max(operation.input(0), operation.output(), key=math.prod)
        return round(each * math.prod(shape) * math.log2(max(math.prod(shape[-axes:]), 1)))

    return float_ops


_OF_TRANSFORMS: Mapping[str, Formula] = MappingProxyType(
    {
        f"{way}{kind}FFT{suffix}": _transform(axes, each)
        for way in ("", "I")
        for kind, each in (("", 5.0), ("R", 2.5))
        for axes, suffix in ((1, ""), (2, "2D"), (3, "3D"))
    }
)

MULTIPLY_ACCUMULATES: Mapping[str, Formula] = MappingProxyType({**_OF_PRODUCTS, **_OF_CONVOLUTIONS, **_OF_CELLS})
"""The multiply-accumulates by op type; each is two float operations."""

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        **_BESIDE_CONVOLUTIONS,
        **_BESIDE_PRODUCTS,
        **_BESIDE_CELLS,
        **_OF_TRANSFORMS,
        **dict.fromkeys(("CTCLoss", "CTCLossV2"), ctc_loss),
    }
)
"""The float operations besides multiply-accumulates; an op may have both."""
