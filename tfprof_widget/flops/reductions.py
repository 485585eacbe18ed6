"""Float operations of what makes one element of many: sums, means, extremes, norms, segments."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.operation import Formula, Operation


def reduction(operation: Operation) -> int:
    """Each element but the first of each result is taken in by one operation.

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
    """All inputs but the first are added."""
    return operation.input_size() * (len(operation.inputs) - 1) if operation.inputs else 0


FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("Sum", "Prod", "Max", "Min", "All", "Any", "ArgMax", "ArgMin", "BiasAddGrad"), reduction),
        "Mean": _mean,
        "EuclideanNorm": _norm,
        "L2Loss": _half_of_squares,
        "AddN": _sum_of_tensors,
        **dict.fromkeys(("Cumsum", "Cumprod", "CumulativeLogsumexp"), _each_input),
        **dict.fromkeys(("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"), _each_input),
        **{f"UnsortedSegment{kind}": _each_input for kind in ("Sum", "Prod", "Max", "Min")},
    }
)
