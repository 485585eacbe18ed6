"""Devices by the short names that people say: CPU:0, GPU:0 · stream all, ps 1 · CPU:0."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLACED = re.compile(r"/job:([^/]+)(?:/replica:(\d+))?(?:/task:(\d+))?(/.*)?")
_PROCESSORS = ("cpu", "gpu", "tpu", "xla_cpu", "xla_gpu")


def device_label(name: str, devices: Iterable[str] = ()) -> str:
    """A device's name without what is taken as read: its job and task, where `devices` have one and it is usual.

    >>> device_label("/job:localhost/replica:0/task:0/device:cpu:0"), device_label("/job:ps/task:1/gpu:0/stream:all")
    ('CPU:0', 'ps 1 · GPU:0 · stream all')
    """
    placed = _placed(name)
    job, replica, task = placed or ("", "0", "0")
    rest = _PLACED.sub(r"\4", name) if placed else name
    is_usual = job in ("localhost", "worker") and task == "0" and len({*map(_placed, devices)} - {None}) < 2
    parts = [part for part in rest.split("/") if part and part not in ("replica:0", "task:0")]
    label = [
        f"{job} {task}" if job and not is_usual else "",
        f"replica {replica}" if replica != "0" else "",
        *(_part_label(part.removeprefix("device:")) for part in parts),
    ]
    return " · ".join(filter(None, label)) or name or "no device"


def _placed(name: str) -> tuple[str, str, str] | None:
    """A device's job, replica and task; None where its name does not tell them."""
    found = _PLACED.fullmatch(name)
    return found and (found[1], found[2] or "0", found[3] or "0")


def _part_label(part: str) -> str:
    kind, *rest = part.split(":")
    return ":".join([kind.upper(), *rest]) if kind.lower() in _PROCESSORS else " ".join([kind, *rest])
