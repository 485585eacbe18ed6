"""Multiply-accumulates of matrix products, and float operations of decompositions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.operation import Dimensions, Formula, Operation

_ELLIPSIS = "..."


def matrix_product(operation: Operation) -> int:
    """Each element of the product, batches and all, is a sum over the rows' length.

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
    """What one tensor is summed down by: nothing for a mere transposition."""
    return operation.input_size() - operation.output_size if len(operation.inputs) == 1 else 0


def _subscript_sizes(operation: Operation) -> dict[str, int]:
    """The size of each subscript; those that an ellipsis stands for are numbered from the right."""
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
        raise ValueError(f"{written!r} does not fit the shape {shape}")
    return [*before, *(f"{_ELLIPSIS}{place}" for place in range(hidden, 0, -1)), *after]


def _cholesky(operation: Operation) -> int:
    """A third of the cube, in each of the batch."""
    return operation.input_size() * operation.input(0)[-1] // 3


def _triangular_solve(operation: Operation) -> int:
    """The square of the order for each right-hand side."""
    return operation.input(0)[-1] * operation.output_size


def _solve(operation: Operation) -> int:
    """Two thirds of the cube to decompose, then two triangular systems."""
    return _determinant(operation) + 2 * _triangular_solve(operation)


def _inverse(operation: Operation) -> int:
    return 2 * operation.input_size() * operation.input(0)[-1]


def _determinant(operation: Operation) -> int:
    return 2 * operation.input_size() * operation.input(0)[-1] // 3


MULTIPLY_ACCUMULATES: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul"), matrix_product),
        "Einsum": einsum,
    }
)

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        "Einsum": einsum_of_one,
        "Cholesky": _cholesky,
        "MatrixTriangularSolve": _triangular_solve,
        "MatrixSolve": _solve,
        "MatrixInverse": _inverse,
        "MatrixDeterminant": _determinant,
    }
)
