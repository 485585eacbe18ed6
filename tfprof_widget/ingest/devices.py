"""What a device's name says of it: whether it is a node's own device, and whether its time is an accelerator's."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tfprof_widget.tables import Flags

RESTRICTED_COUNTERS = (
    "if the driver keeps the GPU's counters to administrators, set NVreg_RestrictProfilingToAdminUsers=0 for the "
    "kernel module nvidia and restart, or start the container with --cap-add=SYS_ADMIN"
)
MISSING_STREAMS = f"a GPU ran ops, but of none of its kernels there is a time; {RESTRICTED_COUNTERS}"

_CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+", re.ASCII)


def canonical(devices: Sequence[str]) -> Flags:
    """Whether each device, in lower case, is one that ops are placed on.

    >>> canonical(["/job:a/device:gpu:0", "/device:gpu:0/stream:all", "/memcpy"]).tolist()
    [True, False, False]
    """
    return np.array([_CANONICAL.fullmatch(device) is not None for device in devices], np.bool_)


def accelerator_streams(devices: Sequence[str]) -> Flags:
    """Whether each device stands for all streams of an accelerator, where kernels' times are taken from."""
    return np.array(["stream:all" in device for device in devices], np.bool_)


def misses_streams(devices: Sequence[str]) -> bool:
    """Whether a run has ops on a GPU but no times of its kernels, as when the GPU's tracing failed."""
    on_gpu = [device for device in devices if "gpu" in device]
    return bool(on_gpu) and not any("stream:all" in device for device in on_gpu)
