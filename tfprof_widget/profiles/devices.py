"""Reads the name of a device: whether ops run on it, which stream, which task, and a short label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from tfprof_widget.lib.arrays import Flags
from tfprof_widget.profiles.data import ProfileTables

RESTRICTED_COUNTERS = (
    "if the driver keeps the GPU's counters to administrators, set NVreg_RestrictProfilingToAdminUsers=0 for the "
    "kernel module nvidia and restart, or start the container with --cap-add=SYS_ADMIN"
)
MISSING_STREAMS = f"a GPU ran ops, but of none of its kernels there is a time; {RESTRICTED_COUNTERS}"
CPU_MEMORY = (
    "on the CPU, TensorFlow's profiler tells of the memory of large tensors only, "
    "so the bytes of functions, Keras steps and eager ops are too low"
)

INPUT_THREADS = "/tf.data"
"""Where the stages of `tf.data` stand that wait for others or work ahead: on no device, so that it is no op time."""

_CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+", re.ASCII)


def canonical(devices: Sequence[str]) -> Flags:
    """Whether ops are placed on each device, and not a stream or the like; names are in lower case.

    >>> canonical(["/job:a/device:gpu:0", "/device:gpu:0/stream:all", "/memcpy"]).tolist()
    [True, False, False]
    """
    return np.array([_CANONICAL.fullmatch(device) is not None for device in devices], np.bool_)


def accelerator_streams(devices: Sequence[str]) -> Flags:
    """Whether each device stands for all streams of an accelerator; times of kernels are taken from it."""
    return np.array(["stream:all" in device for device in devices], np.bool_)


def misses_streams(devices: Sequence[str]) -> bool:
    """Whether a run has ops on a GPU but no times of its kernels, as when the GPU's tracing failed."""
    on_gpu = [device for device in devices if "gpu" in device]
    return bool(on_gpu) and not any("stream:all" in device for device in on_gpu)


# `GPU_0_bfc`, `gpu_async_0`; memory of the host that a GPU can read directly is of the allocator `gpu_host_bfc`.
_ALLOCATOR = re.compile(r"(?P<kind>[A-Za-z]+)_(?:async_)?(?P<number>\d{1,9})(?:_\w+)?", re.ASCII)
_ON_HOST = frozenset({"cpu"})


@lru_cache(maxsize=256)
def accelerator_of_allocator(name: str) -> str:
    """The accelerator whose memory an allocator has, by the allocator's name; empty if it is the host's.

    >>> accelerator_of_allocator("GPU_0_bfc"), accelerator_of_allocator("gpu_host_bfc")
    ('gpu:0', '')
    """
    found = _ALLOCATOR.fullmatch(name)
    kind = found["kind"].lower() if found is not None else ""
    return "" if found is None or kind in _ON_HOST else f"{kind}:{found['number']}"


_PLACED = re.compile(r"/job:([^/]+)(?:/replica:(\d+))?(?:/task:(\d+))?(/.*)?", re.ASCII)
_PROCESSORS = ("cpu", "gpu", "tpu", "xla_cpu", "xla_gpu")


def device_label(name: str, devices: Iterable[str] = ()) -> str:
    """A short name of a device: without job and task if all `devices` have the same, usual ones.

    >>> device_label("/job:localhost/replica:0/task:0/device:cpu:0"), device_label("/job:ps/task:1/gpu:0/stream:all")
    ('CPU:0', 'ps 1 · GPU:0 · stream all')
    """
    job, replica, task = _placed(name) or ("", "0", "0")
    rest = (found[4] or "") if (found := _PLACED.fullmatch(name)) else name
    is_usual = job in ("localhost", "worker") and task == "0" and len({*map(_placed, devices)} - {None}) < 2
    parts = [part for part in rest.split("/") if part and part not in ("replica:0", "task:0")]
    label = [
        f"{job} {task}" if job and not is_usual else "",
        f"replica {replica}" if replica != "0" else "",
        *(_part_label(part.removeprefix("device:")) for part in parts),
    ]
    return " · ".join(filter(None, label)) or name or "no device"


def _placed(name: str) -> tuple[str, str, str] | None:
    """A device's job, replica and task; None if its name does not have them."""
    found = _PLACED.fullmatch(name)
    return found and (found[1], found[2] or "0", found[3] or "0")


def _part_label(part: str) -> str:
    kind, *rest = part.split(":")
    return ":".join([kind.upper(), *rest]) if kind.lower() in _PROCESSORS else " ".join([kind, *rest])


def ran_on_cpus(profile: ProfileTables) -> bool:
    """Whether all known devices are CPUs.

    >>> from tfprof_widget.demo import demo_profile
    >>> ran_on_cpus(demo_profile())
    True
    """
    return all("cpu:" in device for device in profile.nodes.devices if device != INPUT_THREADS)


_TASK = re.compile(r"(?:.*?)(/job:[^/]*(?:/replica:\d+)?(?:/task:\d+)?)", re.ASCII)


def task_of_device(device: str) -> str:
    """The task in a device's name, which is the process with that device; empty if the name has none.

    >>> task_of_device("/job:ps/replica:0/task:1/device:cpu:0"), task_of_device("/device:gpu:0/stream:all")
    ('/job:ps/replica:0/task:1', '')
    """
    found = _TASK.match(device)
    return found[1] if found is not None else ""


def job_of_task(task: str) -> str:
    """The name of the group of tasks that do the same work: the task's job, or one group for all merged workers.

    >>> job_of_task("/job:ps/replica:0/task:1"), job_of_task("worker 0")
    ('/job:ps', '')
    """
    found = re.search(r"/job:[^/]*", task)
    return found[0] if found is not None else ""
