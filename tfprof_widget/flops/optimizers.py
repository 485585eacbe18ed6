"""Float operations of the kernels that update variables: so many for each element of the gradient."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.operation import Formula, Operation


def _each_element(operand: int, count: int) -> Formula:
    def float_ops(operation: Operation) -> int:
        return operation.input_size(operand) * count

    return float_ops


def _momentum(operation: Operation) -> int:
    """The accumulator decays and takes the gradient (2), the variable takes its share (2, Nesterov's 4)."""
    return operation.input_size(3) * (6 if operation.flag("use_nesterov") else 4)


FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        "AssignAdd": _each_element(0, 1),
        "AssignSub": _each_element(0, 1),
        "AssignAddVariableOp": _each_element(1, 1),
        "AssignSubVariableOp": _each_element(1, 1),
        "ApplyGradientDescent": _each_element(2, 2),
        "ResourceApplyGradientDescent": _each_element(2, 2),
        "ApplyMomentum": _momentum,
        "ResourceApplyMomentum": _momentum,
        "ResourceApplyKerasMomentum": _momentum,
        # accumulate the square (2), then rate * gradient / root (3) and subtract
        "ApplyAdagrad": _each_element(3, 6),
        "ResourceApplyAdagrad": _each_element(3, 6),
        # m += (g - m) * rate (3), v += (g * g - v) * rate (4), variable -= m * rate / (root(v) + epsilon) (5)
        "ApplyAdam": _each_element(9, 12),
        "ResourceApplyAdam": _each_element(9, 12),
        # mean square (4), momentum * rate + rate * g / root(ms + epsilon) (6), subtract
        "ApplyRMSProp": _each_element(7, 11),
        "ResourceApplyRMSProp": _each_element(7, 11),
    }
)
