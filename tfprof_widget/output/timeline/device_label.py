"""Devices by the short names that people say: CPU:0, GPU:0 · stream all."""

from __future__ import annotations

import re

_TAKEN_AS_READ = re.compile(r"job:(localhost|worker)|(replica|task):0")
_PROCESSORS = ("cpu", "gpu", "tpu", "xla_cpu", "xla_gpu")


def device_label(name: str) -> str:
    """What is left of a device's name once job, replica and task 0 are taken as read.

    >>> device_label("/job:localhost/replica:0/task:0/device:cpu:0"), device_label("/job:ps/task:1/gpu:0/stream:all")
    ('CPU:0', 'job ps · task 1 · GPU:0 · stream all')
    """
    parts = [part for part in name.split("/") if part and not _TAKEN_AS_READ.fullmatch(part)]
    return " · ".join(_part_label(part.removeprefix("device:")) for part in parts) or name or "no device"


def _part_label(part: str) -> str:
    kind, *rest = part.split(":")
    return ":".join([kind.upper(), *rest]) if kind.lower() in _PROCESSORS else " ".join([kind, *rest])
