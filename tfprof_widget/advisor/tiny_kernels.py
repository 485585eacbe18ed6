"""Finds steps that mostly start ops, since these are many and tiny."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import Steady
from tfprof_widget.profiles import Profile

CPU_START_NANOS = 2_000
"""What it takes TensorFlow's executor to schedule an op: one to three microseconds on today's machines."""

KERNEL_START_NANOS = 5_000
"""What it takes to launch a kernel on a GPU: five to ten microseconds."""

FEWEST = 100
"""A step with fewer tiny ops is over in a moment, whatever starting them takes."""

MOST_OF_THE_STEP = 0.25
"""Several threads start ops at once, so that their starts may take up to that many times the share of the clock."""


def tiny_kernels(profile: Profile) -> Iterator[Finding]:
    """A finding if to start the ops that are over sooner than they are started takes much of the steps.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(tiny_kernels(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    on_stream, counts = steady.is_on_stream, ~steady.of_nodes(steady.is_data)
    kernels = int(np.count_nonzero((steady.duration < KERNEL_START_NANOS) & on_stream & counts))
    ops = int(np.count_nonzero((steady.duration < CPU_START_NANOS) & ~on_stream & counts))
    count = (kernels + ops) // max(len(steady.steps), 1)
    starting = kernels * KERNEL_START_NANOS + ops * CPU_START_NANOS
    if count >= FEWEST and steady.of_wall(starting) >= MOST_OF_THE_STEP:
        whole = steady.shown(steady.wall.length)
        yield Finding(
            f"A step runs {count:,} ops that are over sooner than they are started: starting them takes some "
            f"{steady.shown(starting)} on all threads together, and the step {whole} by the clock.",
            Evidence("op", {**steady.options, "order_by": "occurrence", "select": ["occurrence", "micros"]}),
            "Give each op more to do (larger batches, one op for a Python loop of many), or let XLA fuse them: "
            "tf.function(jit_compile=True).",
        )
