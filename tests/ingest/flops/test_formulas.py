"""Each formula counts what a calculation by hand gives."""

from __future__ import annotations

from typing import Any

import pytest
from tensorflow.python.framework import op_def_registry

from tfprof_widget.ingest.flops.operation import Operation, UnknownShape
from tfprof_widget.ingest.flops.products import MULTIPLY_ACCUMULATES
from tfprof_widget.ingest.flops.registry import FLOAT_OPS, count
from tfprof_widget.ingest.flops.updates import OPTIMIZERS

IMAGE = (2, 8, 8, 3)
IMAGES = (2, 3, 8, 8)

BY_HAND: list[tuple[str, list[Any], list[Any], dict[str, Any], int]] = [
    # linear algebra: a product of m x k and k x n is m * n sums of k products
    ("MatMul", [(4, 5), (5, 6)], [(4, 6)], {}, 2 * 4 * 6 * 5),
    ("MatMul", [(5, 4), (5, 6)], [(4, 6)], {"transpose_a": True}, 2 * 4 * 6 * 5),
    ("MatMul", [(4, 5), (6, 5)], [(4, 6)], {"transpose_b": True}, 2 * 4 * 6 * 5),
    ("SparseMatMul", [(4, 5), (5, 6)], [(4, 6)], {}, 2 * 4 * 6 * 5),
    ("BatchMatMul", [(7, 4, 5), (7, 5, 6)], [(7, 4, 6)], {}, 2 * 7 * 4 * 6 * 5),
    ("BatchMatMulV2", [(7, 1, 4, 5), (3, 5, 6)], [(7, 3, 4, 6)], {}, 2 * 21 * 4 * 6 * 5),
    ("BatchMatMulV3", [(7, 5, 4), (7, 5, 6)], [(7, 4, 6)], {"adj_x": True}, 2 * 7 * 4 * 6 * 5),
    ("_MklMatMul", [(4, 5), (5, 6)], [(4, 6)], {}, 2 * 4 * 6 * 5),
    ("_FusedMatMul", [(4, 5), (5, 6), (6,)], [(4, 6)], {"fused_ops": ["BiasAdd", "Relu"]}, 2 * 4 * 6 * 5 + 24 + 24),
    ("Einsum", [(2, 3, 4), (4, 5)], [(2, 3, 5)], {"equation": "abc,cd->abd"}, 2 * 2 * 3 * 4 * 5),
    ("Einsum", [(2, 9, 4, 8), (2, 7, 4, 8)], [(2, 4, 7, 9)], {"equation": "aecd,abcd->acbe"}, 2 * 2 * 9 * 4 * 8 * 7),
    ("Einsum", [(2, 6, 3, 4), (6, 4, 5)], [(2, 6, 3, 5)], {"equation": "...ij,...jk->...ik"}, 2 * 12 * 3 * 4 * 5),
    ("Einsum", [(3, 4)], [(4, 3)], {"equation": "ij->ji"}, 0),
    ("Einsum", [(3, 4)], [(3,)], {"equation": "ij->i"}, 12 - 3),
    ("Cholesky", [(6, 6)], [(6, 6)], {}, 6**3 // 3),
    ("MatrixInverse", [(6, 6)], [(6, 6)], {}, 2 * 6**3),
    ("MatrixDeterminant", [(6, 6)], [(1,)], {}, 2 * 6**3 // 3),
    ("MatrixTriangularSolve", [(6, 6), (6, 2)], [(6, 2)], {}, 6 * 6 * 2),
    ("MatrixSolve", [(6, 6), (6, 2)], [(6, 2)], {}, 2 * 6**3 // 3 + 2 * 6 * 6 * 2),
    # convolutions: each of the 2 * 6 * 6 * 16 results sums a window of 3 * 3 in 3 channels
    ("Conv2D", [IMAGE, (3, 3, 3, 16)], [(2, 6, 6, 16)], {}, 2 * 2 * 6 * 6 * 16 * 27),
    ("Conv2D", [IMAGES, (3, 3, 3, 16)], [(2, 16, 6, 6)], {"data_format": "NCHW"}, 2 * 2 * 6 * 6 * 16 * 27),
    ("Conv2D", [(2, 8, 8, 4), (3, 3, 2, 16)], [(2, 6, 6, 16)], {}, 2 * 2 * 6 * 6 * 16 * 18),  # two groups
    ("_MklNativeConv2D", [IMAGE, (3, 3, 3, 16)], [(2, 6, 6, 16)], {}, 2 * 2 * 6 * 6 * 16 * 27),
    (
        "_MklNativeFusedConv2D",
        [IMAGE, (3, 3, 3, 16), (16,)],
        [(2, 6, 6, 16)],
        {"fused_ops": ["BiasAdd", "LeakyRelu"]},
        2 * 2 * 6 * 6 * 16 * 27 + 3 * 2 * 6 * 6 * 16,
    ),
    (
        "_FusedConv2D",
        [IMAGE, (3, 3, 3, 16), (16,), (16,), (16,), (16,)],
        [(2, 6, 6, 16)],
        {"fused_ops": ["FusedBatchNorm"]},
        2 * 2 * 6 * 6 * 16 * 27 + 2 * 2 * 6 * 6 * 16 + 6 * 16,
    ),
    ("Conv3D", [(1, 5, 8, 8, 3), (2, 3, 3, 3, 4)], [(1, 4, 6, 6, 4)], {}, 2 * 4 * 6 * 6 * 4 * (2 * 3 * 3 * 3)),
    ("DepthwiseConv2dNative", [IMAGE, (3, 3, 3, 2)], [(2, 6, 6, 6)], {}, 2 * 2 * 6 * 6 * 6 * 9),
    ("Dilation2D", [IMAGE, (3, 3, 3)], [(2, 6, 6, 3)], {}, 2 * 2 * 6 * 6 * 3 * 9),
    # gradients: as the convolution of which they are, at a stride of 2 with a result of 4 x 4
    (
        "Conv2DBackpropInput",
        [(4,), (3, 3, 3, 16), (2, 4, 4, 16)],
        [IMAGE],
        {"strides": [1, 2, 2, 1]},
        2 * 2 * 4 * 4 * 16 * 27,
    ),
    ("Conv2DBackpropFilter", [IMAGE, (4,), (2, 4, 4, 16)], [(3, 3, 3, 16)], {"strides": [1, 2, 2, 1]}, 2 * 512 * 27),
    (
        "Conv2DBackpropFilter",
        [IMAGES, (4,), (2, 16, 4, 4)],
        [(3, 3, 3, 16)],
        {"strides": [1, 1, 2, 2], "data_format": "NCHW"},
        2 * 512 * 27,
    ),
    ("Conv3DBackpropInputV2", [(5,), (2, 3, 3, 3, 4), (1, 4, 6, 6, 4)], [(1, 5, 8, 8, 3)], {}, 2 * 4 * 36 * 4 * 54),
    ("Conv3DBackpropFilterV2", [(1, 5, 8, 8, 3), (5,), (1, 4, 6, 6, 4)], [(2, 3, 3, 3, 4)], {}, 2 * 4 * 36 * 4 * 54),
    ("DepthwiseConv2dNativeBackpropInput", [(4,), (3, 3, 3, 2), (2, 6, 6, 6)], [IMAGE], {}, 2 * 2 * 36 * 6 * 9),
    ("DepthwiseConv2dNativeBackpropFilter", [IMAGE, (4,), (2, 6, 6, 6)], [(3, 3, 3, 2)], {}, 2 * 2 * 36 * 6 * 9),
    # pooling: a window of 4 for each of 2 * 4 * 4 * 3 results
    ("MaxPool", [IMAGE], [(2, 4, 4, 3)], {"ksize": [1, 2, 2, 1]}, 4 * 96),
    ("AvgPool", [IMAGES], [(2, 3, 4, 4)], {"ksize": [1, 1, 2, 2], "data_format": "NCHW"}, 4 * 96),
    ("AvgPool3D", [(1, 4, 8, 8, 3)], [(1, 2, 4, 4, 3)], {"ksize": [1, 2, 2, 2, 1]}, 8 * 96),
    ("AvgPoolGrad", [(4,), (2, 4, 4, 3)], [IMAGE], {"ksize": [1, 2, 2, 1]}, 2 * 4 * 96),
    ("MaxPoolGrad", [IMAGE, (2, 4, 4, 3), (2, 4, 4, 3)], [IMAGE], {"ksize": [1, 2, 2, 1]}, 4 * 96 + 96),
    ("MaxPoolGradWithArgmax", [IMAGE, (2, 4, 4, 3), (2, 4, 4, 3)], [IMAGE], {"ksize": [1, 2, 2, 1]}, 96),
    # normalization: 384 elements in 3 channels
    ("FusedBatchNormV3", [IMAGE], [IMAGE], {"is_training": True}, 6 * 384 + 6 * 3),
    ("FusedBatchNormV3", [IMAGES], [IMAGES], {"is_training": False, "data_format": "NCHW"}, 2 * 384 + 6 * 3),
    ("_FusedBatchNormEx", [IMAGE], [IMAGE], {"is_training": False, "activation_mode": "Relu"}, 3 * 384 + 6 * 3),
    ("FusedBatchNormGradV3", [IMAGE], [IMAGE], {"is_training": True}, 9 * 384 + 4 * 3),
    ("FusedBatchNormGradV3", [IMAGE], [IMAGE], {"is_training": False}, 6 * 384 + 2 * 3),
    ("_MklLayerNorm", [(4, 10)], [(4, 10)], {}, 8 * 40 + 3 * 4),
    ("LRN", [IMAGE], [IMAGE], {"depth_radius": 2}, 384 * (1 + 4 + 4)),
    # a window of 5 neighbours: 2 * 5 for the squares, 7 * 5 for the parts, and 4
    ("LRNGrad", [IMAGE, IMAGE, IMAGE], [IMAGE], {"depth_radius": 2}, 384 * (10 + 35 + 4)),
    # one operation for a uniform number; log, sqrt, sin, cos and 4 products for two normal ones, of two uniform ones
    ("RandomUniform", [(2,)], [(4, 10)], {}, 40),
    ("StatelessRandomNormalV2", [(2,)], [(4, 10)], {}, 40 * 4 + 40),
    ("Multinomial", [(4, 10), ()], [(4, 3)], {}, 3 * 40 + 2 * 12),
    # three times between two values: subtract, multiply, add
    ("ResizeBilinear", [IMAGE, (2,)], [(2, 16, 16, 3)], {}, 9 * 2 * 16 * 16 * 3),
    ("ResizeBilinearGrad", [(2, 16, 16, 3), IMAGE], [IMAGE], {}, 12 * 2 * 16 * 16 * 3),
    # 5 n log2(n) for n complex elements, half of it for real ones
    ("FFT", [(3, 8)], [(3, 8)], {}, 3 * 5 * 8 * 3),
    ("IFFT2D", [(3, 8, 4)], [(3, 8, 4)], {}, 3 * 5 * 32 * 5),
    ("RFFT", [(3, 8), (1,)], [(3, 5)], {}, 3 * 5 * 8 * 3 // 2),
    ("IRFFT", [(3, 5), (1,)], [(3, 8)], {}, 3 * 5 * 8 * 3 // 2),
    ("SparseTensorDenseMatMul", [(7, 2), (7,), (2,), (5, 6)], [(4, 6)], {}, 2 * 7 * 6),
    ("SparseTensorDenseMatMul", [(7, 2), (7,), (2,), (6, 5)], [(4, 6)], {"adjoint_b": True}, 2 * 7 * 6),
    # one for each element that is changed or looked at
    ("ScatterSub", [(100, 4), (3,), (3, 4)], [(100, 4)], {}, 12),
    ("ResourceScatterAdd", [(1,), (3,), (3, 4)], [], {}, 12),
    ("TopKV2", [(4, 10), (1,)], [(4, 2), (4, 2)], {}, 40),
    # what only moves data, counts or waits
    ("QueueEnqueueManyV2", [(1,), (4, 10)], [], {}, 0),
    ("HistogramSummary", [(1,), (4, 10)], [(1,)], {}, 0),
    ("Softmax", [(4, 10)], [(4, 10)], {}, 5 * 40),
    ("LogSoftmax", [(4, 10)], [(4, 10)], {}, 36 + 40 + 40 + 36 + 4 + 40),
    (
        "SoftmaxCrossEntropyWithLogits",
        [(4, 10), (4, 10)],
        [(4,), (4, 10)],
        {},
        36 + 40 + 40 + 36 + 4 + (40 + 40 + 36) + (40 + 40),
    ),
    (
        "SparseSoftmaxCrossEntropyWithLogits",
        [(4, 10), (4,)],
        [(4,), (4, 10)],
        {},
        36 + 40 + 40 + 36 + 4 + 4 + (40 + 4),
    ),
    # reductions: one operation less than there are elements, for each result
    ("Sum", [(4, 10), (1,)], [(4,)], {}, 4 * 9),
    ("Max", [(4, 10), (1,)], [(1,)], {}, 39),
    ("Mean", [(4, 10), (1,)], [(4,)], {}, 4 * 9 + 4),
    ("ArgMax", [(4, 10), (1,)], [(4,)], {}, 4 * 9),
    ("BiasAddGrad", [(4, 10)], [(10,)], {}, 3 * 10),
    ("EuclideanNorm", [(4, 10), (1,)], [(4,)], {}, 40 + 36 + 4),
    ("L2Loss", [(4, 10)], [(1,)], {}, 3 * 40 - 1),
    ("AddN", [(4, 10)] * 3, [(4, 10)], {}, 80),
    ("Cumsum", [(4, 10), (1,)], [(4, 10)], {}, 40),
    ("UnsortedSegmentSum", [(4, 10), (4,), (1,)], [(2, 10)], {}, 40),
    # element-wise: by the size after broadcasting
    ("AddV2", [(4, 1), (10,)], [(4, 10)], {}, 40),
    ("BiasAdd", [(4, 10), (10,)], [(4, 10)], {}, 40),
    ("SquaredDifference", [(4, 1), (10,)], [(4, 10)], {}, 2 * 40),
    ("Relu", [(4, 10)], [(4, 10)], {}, 40),
    ("ReluGrad", [(4, 10), (4, 10)], [(4, 10)], {}, 40),
    ("Tanh", [(4, 10)], [(4, 10)], {}, 40),
    ("TanhGrad", [(4, 10), (4, 10)], [(4, 10)], {}, 3 * 40),  # dy * (1 - y * y)
    ("Sigmoid", [(4, 10)], [(4, 10)], {}, 4 * 40),  # 1 / (1 + exp(-x))
    ("SigmoidGrad", [(4, 10), (4, 10)], [(4, 10)], {}, 3 * 40),  # dy * y * (1 - y)
    ("Rsqrt", [(4, 10)], [(4, 10)], {}, 2 * 40),
    ("RsqrtGrad", [(4, 10), (4, 10)], [(4, 10)], {}, 4 * 40),
    # optimizers, for 12 elements
    ("ResourceApplyGradientDescent", [(1,), (1,), (3, 4)], [], {}, 2 * 12),
    ("ResourceApplyMomentum", [(1,), (1,), (1,), (3, 4), (1,)], [], {}, 4 * 12),
    ("ResourceApplyAdam", [(1,)] * 9 + [(3, 4)], [], {}, 12 * 12),
    ("AssignAddVariableOp", [None, (3, 4)], [], {}, 12),
    # rows of a variable: (2, 4) of them are updated, whatever its size
    ("ResourceSparseApplyAdagrad", [(1,), (1,), (1,), (2, 4), (2,)], [], {}, 6 * 8),
    ("SparseApplyMomentum", [(90, 4), (90, 4), (1,), (2, 4), (2,), (1,)], [], {"use_nesterov": True}, 6 * 8),
    ("ResourceApplyAdamWithAmsgrad", [(1,)] * 10 + [(3, 4)], [], {}, 13 * 12),
    ("ResourceScatterNdAdd", [(1,), (5, 1), (5, 4)], [], {}, 20),
    ("ResizeBicubic", [(1, 2, 2, 3), (2,)], [(1, 4, 4, 3)], {}, 35 * 48),
    # 7 times, 2 sequences, 5 classes, 3 labels: 8 states
    ("CTCLoss", [(7, 2, 5), (3, 2), (3,), (2,)], [(2,), (7, 2, 5)], {}, 8 * 70 + 28 * 7 * 8),
    # 16 x 16: forwards 5 n log2(n)
    ("FFT2D", [(3, 16, 16)], [(3, 16, 16)], {}, 3 * 5 * 256 * 8),
    ("Lu", [(4, 6, 6)], [(4, 6, 6)], {}, 4 * 2 * 6**3 // 3),
    # recurrent: batch 2, 3 features, 5 units, 7 times; 23 a unit for an LSTM's gates, 17 for a GRU's
    ("LSTMBlockCell", [(2, 3), (2, 5), (2, 5), (8, 20)], [], {}, 2 * 2 * 8 * 20 + 23 * 10),
    ("BlockLSTMV2", [(1,), (7, 2, 3), (2, 5), (2, 5), (8, 20)], [], {}, 7 * (2 * 2 * 8 * 20 + 23 * 10)),
    ("GRUBlockCell", [(2, 3), (2, 5), (8, 10), (8, 5)], [], {}, 2 * 2 * 8 * 15 + 17 * 10),
    # two layers in two directions: the second takes both directions' units
    (
        "CudnnRNNV3",
        [(7, 2, 3), (4, 2, 5)],
        [],
        {"rnn_mode": "gru", "direction": "bidirectional"},
        7 * (2 * 2 * 3 * 5 * (2 * (3 + 5) + 2 * (10 + 5)) + 4 * 2 * 5 * 20),
    ),
    # nothing
    ("Reshape", [(4, 10), (1,)], [(40,)], {}, 0),
    ("TensorSliceDataset", [(4, 10)], [(1,)], {}, 0),
]


@pytest.mark.parametrize(("op", "inputs", "outputs", "attributes", "by_hand"), BY_HAND)
def test_formula_counts_what_was_counted_by_hand(
    op: str, inputs: list[Any], outputs: list[Any], attributes: dict[str, Any], by_hand: int
) -> None:
    assert count(Operation(op, tuple(inputs), tuple(outputs), attributes)) == by_hand


def test_formulas_count_nothing_where_no_shape_is_known() -> None:
    for op in sorted({*FLOAT_OPS, *MULTIPLY_ACCUMULATES}):
        nothing = Operation(op, (None, None), (None, None), {"equation": "ab,bc->ac"})
        with pytest.raises(UnknownShape):
            print(op, count(nothing))


@pytest.mark.parametrize(
    ("op", "macs"), [("MatMul", 4 * 6 * 5), ("BiasAdd", 0), ("_FusedMatMul", 4 * 6 * 5), ("Reshape", 0)]
)
def test_multiply_accumulates_are_the_products_alone(op: str, macs: int) -> None:
    operation = Operation(op, ((4, 5), (5, 6), (6,)), ((4, 6),), {"fused_ops": ["BiasAdd"]})
    assert count(operation, multiply_accumulates=True) == macs


@pytest.mark.parametrize("equation", ["abc,cd->abd", "...,ab->ab"])
def test_an_equation_that_does_not_fit_is_an_error_and_no_count(equation: str) -> None:
    with pytest.raises(ValueError, match=r"does not fit"):
        count(Operation("Einsum", ((4, 5), (5, 6, 7)), ((4, 6),), {"equation": equation}))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_gradient_of_an_update_is_the_input_that_tensorflow_says(optimizer: str) -> None:
    """Whole variables and rows of them, as references and as resources: TensorFlow has not all four of each."""
    found = [
        signature.input_arg
        for kind in ("", "Resource", "Sparse", "ResourceSparse")
        if (signature := op_def_registry.get(f"{kind}Apply{optimizer}")) is not None
    ]
    assert found
    for arguments in found:
        assert arguments[OPTIMIZERS[optimizer][0]].name in ("grad", "delta")
