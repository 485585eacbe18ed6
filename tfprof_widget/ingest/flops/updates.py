"""Counts the float operations of optimizers: of the updates of variables, whole or of some rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.ingest.flops.operation import Formula, Operation


def _each(gradient: int, count: int) -> Formula:
    """So many for each element of the gradient, which is this input."""

    def float_ops(operation: Operation) -> int:
        return operation.input_size(gradient) * count

    return float_ops


def momentum(operation: Operation) -> int:
    """The accumulator decays and takes the gradient (2), the variable takes its share (2, Nesterov's 4).

    >>> momentum(Operation("ApplyMomentum", ((3, 4), (3, 4), (1,), (3, 4))))
    48
    """
    return operation.input_size(3) * (6 if operation.flag("use_nesterov") else 4)


_ASSIGNED: Mapping[str, Formula] = MappingProxyType(
    {
        "AssignAdd": _each(0, 1),
        "AssignSub": _each(0, 1),
        "AssignAddVariableOp": _each(1, 1),
        "AssignSubVariableOp": _each(1, 1),
    }
)

OPTIMIZERS: Mapping[str, tuple[int, Formula]] = MappingProxyType(
    {
        kind: (gradient, count if callable(count) else _each(gradient, count))
        for kind, gradient, count in (
            ("GradientDescent", 2, 2),
            ("Momentum", 3, momentum),
            ("KerasMomentum", 3, momentum),
            # accumulate the square (2), then rate * gradient / root (3) and subtract; V2 adds epsilon
            ("Adagrad", 3, 6),
            ("AdagradV2", 4, 7),
            # sum of gradients (1) and of squares (2), the sum beyond l1 (5), the denominator (2), rate, division, sign
            ("AdagradDA", 3, 13),
            # the mean square (4), the ratio of two roots with epsilon (6), times gradient, subtract with rate (2), and
            # the mean square of updates (4)
            ("Adadelta", 6, 17),
            # m += (g - m) * rate (3), v += (g * g - v) * rate (4), variable -= m * rate / (root(v) + epsilon) (5)
            ("Adam", 9, 12),
            ("AdamWithAmsgrad", 10, 13),
            # m as Adam's (3), v = max(v * decay, |g|) (3), variable -= rate * m / (v + epsilon) (4)
            ("AdaMax", 8, 10),
            # mean square (4), momentum * rate + rate * g / root(ms + epsilon) (6), subtract
            ("RMSProp", 7, 11),
            # beside RMSProp: the mean gradient (3), its square off the mean square (2), a reciprocal root (1)
            ("CenteredRMSProp", 8, 17),
            # square and add (2), two powers, their difference by the rate, times the variable (5), into the linear
            # term (2), the quadratic one (2), compare with l1 (2), shrink and divide (4)
            ("Ftrl", 3, 17),
            ("FtrlV2", 3, 19),  # and twice the shrinkage times the variable, added to the gradient
            # the mean (3), two signs, their product, decayed, raised or added to (5), times rate and gradient, subtract
            ("AddSign", 6, 11),
            ("PowerSign", 6, 11),
            # a step (2), then what is beyond l1, with its sign, by 1 + l2 (6)
            ("ProximalGradientDescent", 4, 8),
            # square and add (2), the rate by the root (3), a step (2), then as above with an own l1 and l2 each (9)
            ("ProximalAdagrad", 5, 16),
        )
    }
)
"""By optimizer, the number of the gradient among its op's inputs, and the formula."""

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        **_ASSIGNED,
        **{
            f"{kind}Apply{optimizer}": formula
            for kind in ("", "Resource", "Sparse", "ResourceSparse")
            for optimizer, (_, formula) in OPTIMIZERS.items()
        },
    }
)
"""The float operations of one execution, by op type."""
