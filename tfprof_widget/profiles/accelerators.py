"""Defines what recordings tell of accelerators: the devices themselves, their memory, and the kernels that ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import add
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.lib.arrays import Integers

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
