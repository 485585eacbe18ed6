"""Finds products that are computed on a CPU although there is an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.precision import PRODUCTS
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.profiles import Profile

_ON_CPU = {"order_by": "micros", "select": ["micros", "device"], "device_regexes": [".*cpu:.*"]}


def placement(profile: Profile) -> Iterator[Finding]:
    """A finding if products on CPUs take much of the time of steps that use an accelerator too.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(placement(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    nodes = profile.nodes
    on_cpu = np.array([*("cpu:" in device for device in nodes.devices), False], np.bool_)[nodes.device]
    on_accelerator = np.array([*("gpu:" in device for device in nodes.devices), False], np.bool_)[nodes.device]
    misplaced = steady.ops(PRODUCTS) & on_cpu
    if on_accelerator.any() and steady.share(misplaced) >= WORTHWHILE:
        yield Finding(
            f"{steady.share(misplaced):.0%} of the op time are products on a CPU, though the steps use an "
            "accelerator, which computes them many times as fast.",
            Evidence("scope", {**steady.options, **_ON_CPU}, steady.costliest(misplaced)),
            "Look for what put them there: a tf.device('/cpu:0') around, a type that has no kernel for the "
            "accelerator (float64, integers), or soft placement; tf.debugging.set_log_device_placement(True) tells.",
        )
