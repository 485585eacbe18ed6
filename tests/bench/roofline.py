"""Compares ops that are known to be good with the roof that was measured in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfprof_widget as tfprof
from tests.bench.finding import Finding
from tests.bench.target import TimesMore

SIZE = 1024
LENGTH = 2**24
CALLS = 20
AT_LEAST_85_PERCENT, AT_LEAST_80_PERCENT = TimesMore(1 / 0.85), TimesMore(1 / 0.8)
WITHIN_10_PERCENT = TimesMore(1.1)
GIGA = 1e9


def findings() -> list[Finding]:
    """A product of 1,024 and a sum of 64 MiB tensors beside the roof, and the roof beside itself."""
    import tensorflow as tf

    square, long, other = tf.fill([SIZE, SIZE], 0.5), tf.fill([LENGTH], 0.5), tf.fill([LENGTH], 0.25)
    first = tfprof.machine()
    product = fastest(tf.function(lambda: tf.matmul(square, square)), "MatMul")
    total = fastest(tf.function(lambda: tf.add(long, other)), "AddV2")
    again = tfprof.machine(again=True)
    compute, memory = (first.compute.best, again.compute.best), (first.memory.best, again.memory.best)
    at_roof = 2 * SIZE**3 / max(compute), 12 * LENGTH / max(memory)
    return [
        Finding("product of 1,024 beside the roof", 0, "s", at_roof[0], product, AT_LEAST_85_PERCENT),
        Finding("sum of 64 MiB tensors beside the roof", 0, "s", at_roof[1], total, AT_LEAST_80_PERCENT),
        twice("10^9 float operations at the roof, measured twice", compute),
        twice("10^9 bytes at the roof, measured twice", memory),
    ]


def twice(what: str, rates: tuple[float, float]) -> Finding:
    """The finding that two rates, measured one after the other, differ so much."""
    return Finding(what, 0, "s", GIGA / max(rates), GIGA / min(rates), WITHIN_10_PERCENT)


def fastest(function: Callable[[], Any], op: str) -> float:
    """The least time that an op of this type took in some recorded calls of a function."""
    function()
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(CALLS):
            function()
    nodes, executions = prof.profile.nodes, prof.profile.executions
    rows = [row for row, node in enumerate(executions.node.tolist()) if op in nodes.ops[nodes.op[node]]]
    return float(executions.duration_nanos[rows].min()) / GIGA
