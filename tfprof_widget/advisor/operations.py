"""Checks for ops that have a faster equivalent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.ingest.definitions import node_definitions
from tfprof_widget.profiles import Profile


def operations(profile: Profile) -> Iterator[str]:
    """A report a kind of op that is used and has a faster equivalent.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(operations(demo_profile()))
    []
    """
    nodes = profile.nodes
    if any("BatchNorm" in name for name in nodes.names) and "FusedBatchNorm" not in nodes.type_names:
        yield "Maybe use faster FusedBatchNorm instead of BatchNorm"
    if _has_channels_last_on_accelerator(profile):
        yield "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def _has_channels_last_on_accelerator(profile: Profile) -> bool:
    nodes = profile.nodes
    on_accelerator = np.array(["gpu" in device for device in nodes.devices] + [False], np.bool_)[nodes.device]
    names = {nodes.names[node] for node in np.flatnonzero(on_accelerator).tolist()}
    return any(
        node.name in names and "data_format" in node.attr and node.attr["data_format"].s == b"NHWC"
        for node in (node_definitions(profile.graphs) if names else ())
    )
