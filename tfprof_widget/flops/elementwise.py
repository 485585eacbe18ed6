"""Float operations of ops that work element by element: so many for each element put out, after broadcasting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import zip_longest
from types import MappingProxyType

from tfprof_widget.flops.operation import Formula, Operation

# An elementary function counts one, as TensorFlow counts Log and Pow; what is made of several counts its parts.
_AN_ELEMENT: Mapping[int, tuple[str, ...]] = {
    1: (
        # of one tensor
        *("Neg", "Abs", "ComplexAbs", "Sign", "Inv", "Reciprocal", "Square", "Sqrt", "Exp", "Expm1", "Log", "Log1p"),
        *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
        *("Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Digamma"),
        *("Floor", "Ceil", "Round", "Rint", "IsNan", "IsInf", "IsFinite", "LogicalNot", "Relu"),
        # of two
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


def _each_element(count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        return _size(operation) * count

    return float_ops


def _size(operation: Operation) -> int:
    """The number of elements put out, of an op whose run tells only what it took in that of the inputs' broadcast.

    >>> _size(Operation("Mul", ((4, 1), (10,))))
    40
    """
    if operation.outputs:
        return operation.output_size
    shapes = [operation.input(index) for index in range(max(len(operation.inputs), 1))]
    sizes = zip_longest(*map(reversed, shapes), fillvalue=1)
    return math.prod(next((size for size in each if size != 1), 1) for each in sizes)


# TensorFlow counts these by what goes in; it is as large as what comes out, which may be unknown.
_BY_INPUT = frozenset({"BiasAdd", "Reciprocal", "Square", "Rsqrt", "Log", "Neg"})


def _each_input_element(count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        return operation.input_size() * count

    return float_ops


AFTER_MAIN = frozenset(op for ops in _AN_ELEMENT.values() for op in ops)
"""What a kernel may do by the way to the result of its main op."""

BY_OUTPUT = AFTER_MAIN - _BY_INPUT
"""The ops of which nothing counts but what is put out, if that is known."""

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        op: (_each_input_element if op in _BY_INPUT else _each_element)(count)
        for count, ops in _AN_ELEMENT.items()
        for op in ops
    }
)
