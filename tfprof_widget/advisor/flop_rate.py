"""Finds costly ops that compute far more slowly than the same device does elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.precision import PRODUCTS
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.output.numbers import count
from tfprof_widget.profiles import Profile

SLOW = 0.1
"""Of the best rate: products of usual sizes are within this of each other."""

FEWEST_FLOAT_OPS = 1_000_000
"""With fewer an op is over in microseconds, and its rate is that of its start."""


def flop_rate(profile: Profile) -> Iterator[Finding]:
    """A finding for each product that takes much of the time, at a small part of the best rate on its device.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(flop_rate(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    nodes, nanos = profile.nodes, steady.nanos
    counted = steady.ops(PRODUCTS) & (nodes.float_ops >= FEWEST_FLOAT_OPS) & (nanos > 0)
    rate = nodes.float_ops * steady.runs / np.maximum(nanos, 1)
    best = np.zeros(len(nodes.devices) + 1)
    np.maximum.at(best, nodes.device[counted], rate[counted])
    slow = counted & (nanos >= WORTHWHILE * nanos.sum()) & (rate < SLOW * best[nodes.device])
    for row in np.flatnonzero(slow)[np.argsort(-nanos[slow], kind="stable")].tolist():
        name, op = nodes.names[row], nodes.ops[nodes.op[row]]
        yield Finding(
            f"{name} ({op}) takes {nanos[row] / nanos.sum():.0%} of the op time at {_written(rate[row])}, while "
            f"other products on this device reach {_written(best[nodes.device[row]])}.",
            Evidence(
                "scope",
                {**steady.options, "order_by": "micros", "select": ["micros", "float_ops", "input_shapes"]},
                (name,),
            ),
            "Look at its shapes: a dimension of one or a few leaves the device waiting for memory (batch more "
            "together), odd sizes miss the fast kernels (multiples of 8), and so may its type and layout.",
        )


def _written(float_ops_a_nano: float) -> str:
    return f"{count(round(float_ops_a_nano * 1e9))} FLOP/s"
