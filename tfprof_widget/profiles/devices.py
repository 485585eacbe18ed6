"""Reads the names of devices, and defines what recordings tell of accelerators, their memory and their kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfprof_widget.lib.arrays import Flags, Indices, Integers

if TYPE_CHECKING:
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


def named_threads(profile: ProfileTables) -> tuple[Indices, tuple[str, ...]]:
    """The thread of each execution, and the names of all threads in their order; empty where none is known.

    Threads of the host come first, Python's before the others; then streams of accelerators.

    >>> from tfprof_widget.demo import demo_profile
    >>> named_threads(demo_profile())[1]
    ('',)
    """
    executions, devices = profile.executions, profile.nodes.devices
    if not len(executions):
        return np.zeros(0, np.int32), ()
    is_tpu = np.array([":tpu:" in device for device in devices], np.int64)
    kind = (accelerator_streams(devices) * (1 + is_tpu))[executions.device]
    pairs, place = np.unique(np.stack([kind, executions.thread]), axis=1, return_inverse=True)
    named = [_thread_name(profile.thread_names, *pair) for pair in pairs.T.tolist()]
    order = sorted(range(len(named)), key=lambda at: (int(pairs[0, at]), *_natural(named[at]), at))
    code = np.empty(len(order), np.int32)
    code[order] = np.arange(len(order))
    return code[place.reshape(-1)], tuple(named[at] for at in order)


def _thread_name(names: Sequence[str], kind: int, thread: int) -> str:
    if kind == 0:
        return names[thread] if 0 <= thread < len(names) else ""
    if kind == 1:
        return f"stream {thread}" if thread else ""
    return "XLA ops"


def _natural(name: str) -> tuple[bool, str, int]:
    """Orders names with numbers by these, and Python's threads before others."""
    text, _, number = name.rpartition(" ")
    is_numbered = number.isdecimal() and len(number) < len(str(2**31))
    return not name.startswith("Python"), text if is_numbered else name, int(number) if is_numbered else 0


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


STRETCHES = 400
"""Of the curve of an allocator, so many stretches of time keep their largest and their last point."""


@dataclass(frozen=True, order=True)
class Accelerator:
    """What an accelerator can do, by what it tells of itself; 0 or an empty text where it does not tell.

    >>> Accelerator("/device:gpu:0", model="", clock_hertz=1_530_000_000, cores=80).cores
    80
    """

    name: str
    model: str = ""
    clock_hertz: int = 0
    cores: int = 0
    memory_bytes: int = 0
    bytes_per_second: int = 0
    float_ops_per_second: int = 0
    compute_capability: str = ""


@dataclass(frozen=True)
class Allocator:
    """How much memory an allocator had in use at most, and how much its device has; 0 if that is not known.

    Where there are several workers, each with allocators of these names, the worker's stands before the name.
    `nanos` and `bytes_in_use` are the curve of what it had in use, in order of time; of many points those that matter.

    >>> Allocator("GPU_0_bfc", "/device:gpu:0", 2**30, 2**34).peak_bytes
    1073741824
    """

    name: str
    device: str
    peak_bytes: int
    capacity_bytes: int = 0
    nanos: tuple[int, ...] = ()
    bytes_in_use: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, device: str, capacity_bytes: int, nanos: Integers, bytes_in_use: Integers) -> Allocator:
        """An allocator that had so many bytes in use at these times, in any order.

        >>> Allocator.of("GPU_0_bfc", "/device:gpu:0", 0, np.array([20, 10]), np.array([64, 256])).bytes_in_use
        (256, 64)
        """
        order = np.lexsort((bytes_in_use, nanos))
        nanos, bytes_in_use = nanos[order], bytes_in_use[order]
        rows = _of_curve(nanos, bytes_in_use)
        curve = tuple(nanos[rows].tolist()), tuple(bytes_in_use[rows].tolist())
        return cls(name, device, int(bytes_in_use.max()), capacity_bytes, *curve)


def _of_curve(nanos: Integers, bytes_in_use: Integers) -> Integers:
    """The points that a picture of the curve needs: of each stretch of time the largest, and the last."""
    since = (nanos - nanos[0]).astype(np.float64)
    stretch = (since * (STRETCHES / (since[-1] + 1))).astype(np.int64)
    last = np.flatnonzero(np.diff(stretch, append=STRETCHES + 1))
    by_size = np.lexsort((bytes_in_use, stretch))
    return np.unique(np.concatenate([by_size[last], last]))


def fullest(allocators: Iterable[Allocator]) -> tuple[Allocator, ...]:
    """Each allocator once, as it was when it had most memory in use.

    >>> [each.peak_bytes for each in fullest([Allocator("cpu", "", 5), Allocator("cpu", "", 9)])]
    [9]
    """
    found: dict[tuple[str, str], Allocator] = {}
    for each in allocators:
        known = found.setdefault((each.name, each.device), each)
        found[each.name, each.device] = max(known, each, key=lambda one: (one.peak_bytes, one.capacity_bytes))
    return tuple(found[key] for key in sorted(found))


class KernelRuns(NamedTuple):
    """The runs of one kernel for a node, all launched alike on one stream.

    `grid` and `block` are the shape of the launch, such as `1,1,1`; `shared_bytes` are those of a block, and
    `accessed_bytes` those of the device's memory that one run reads and writes, by what XLA's compiler says of its op.
    What the recording does not tell is 0 or empty. `delay_nanos` adds up how long after the host began to launch it the
    kernel began, over the `launches` of which the recording tells.

    >>> KernelRuns("dense/MatMul", "/device:gpu:0", 7, "volta_sgemm", "8,1,1", "256,1,1", runs=2, nanos=900).runs
    2
    """

    node: str
    device: str
    stream: int
    kernel: str
    grid: str = ""
    block: str = ""
    registers: int = 0
    shared_bytes: int = 0
    occupancy_percent: int = 0
    accessed_bytes: int = 0
    runs: int = 0
    nanos: int = 0
    launches: int = 0
    delay_nanos: int = 0


SUMS = ("runs", "nanos", "launches", "delay_nanos")
"""The last fields of KernelRuns, which add up."""


def added_up(kernels: Iterable[KernelRuns]) -> tuple[KernelRuns, ...]:
    """The runs of equal kernels added up, in the order of the nodes' names.

    >>> one = KernelRuns("x", "gpu:0", 7, "copy", runs=1, nanos=5)
    >>> [each.nanos for each in added_up([one, one._replace(runs=2, nanos=9)])]
    [14]
    """
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for each in kernels:
        kernel, counts = each[: -len(SUMS)], each[-len(SUMS) :]
        found[kernel] = tuple(map(add, found[kernel], counts)) if kernel in found else counts
    return tuple(KernelRuns(*kernel, *counts) for kernel, counts in sorted(found.items()))
