"""Float operations of pooling and of its gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.operation import Formula, Operation


def _window(operation: Operation) -> int:
    return math.prod(operation.integers("ksize"))


def _pool(operation: Operation) -> int:
    """The whole window for each element put out.

    >>> _pool(Operation("MaxPool", outputs=((1, 2, 2, 3),), attributes={"ksize": [1, 2, 2, 1]}))
    48
    """
    return _window(operation) * operation.output_size


def _mean_gradient(operation: Operation) -> int:
    """Every element of the gradient is scaled and added at each place of its window."""
    return 2 * _window(operation) * operation.input_size(1)


def _maximum_gradient(operation: Operation) -> int:
    """The maximum is looked for again, and the gradient added there."""
    return (_window(operation) + 1) * operation.input_size(1)


def _known_maximum_gradient(operation: Operation) -> int:
    return operation.input_size(1)


FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        **dict.fromkeys(("AvgPool", "MaxPool", "AvgPool3D", "MaxPool3D", "MaxPoolWithArgmax"), _pool),
        "AvgPoolGrad": _mean_gradient,
        "AvgPool3DGrad": _mean_gradient,
        "MaxPoolGrad": _maximum_gradient,
        "MaxPool3DGrad": _maximum_gradient,
        "MaxPoolGradWithArgmax": _known_maximum_gradient,
    }
)
