"""Checks how much of a step each accelerator spent executing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Indices, Integers

LOW = 0.5


def accelerator_utilization(profile: Profile) -> Iterator[str]:
    """A report a device: the time of its kernels, as a share of the time from its first start to its last end.

    Of each node counts the last step in which it was seen.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(accelerator_utilization(demo_profile()))
    []
    """
    totals, devices = profile.step_totals, profile.nodes.devices
    last = _last_of_each_node(totals.node)
    device = profile.nodes.device[totals.node[last]]
    for code in np.unique(device[device >= 0]).tolist():
        if "gpu" not in devices[code]:
            continue
        chosen = last[device == code]
        start = totals.start_micros[chosen]
        span = int(totals.end_micros[chosen].max() - start[start > 0].min(initial=2**63 - 1))
        if span > 0:
            utilization = int(totals.accelerator_micros[chosen].sum()) / span
            low = "" if utilization >= LOW else "low "
            yield f"device: {devices[code]} {low}utilization: {utilization:.2f}"


def _last_of_each_node(node: Indices) -> Integers:
    """The row of each node's last step, where rows are sorted by node and then step."""
    result: Integers = np.flatnonzero(np.diff(node, append=np.int32(ABSENT)))
    return result
