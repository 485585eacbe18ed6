"""Defines what recordings tell of accelerators: the devices themselves, their memory, and the kernels that ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

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
    def of(cls, name: str, device: str, capacity_bytes: int, points: Iterable[tuple[int, int]]) -> Allocator:
        """An allocator that had so many bytes in use at these times, in any order.

        >>> Allocator.of("GPU_0_bfc", "/device:gpu:0", 0, [(20, 64), (10, 256)]).bytes_in_use
        (256, 64)
        """
        nanos, bytes_in_use = zip(*_thinned(sorted(points)), strict=True)
        return cls(name, device, max(bytes_in_use), capacity_bytes, nanos, bytes_in_use)


def _thinned(points: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The points that a picture of the curve needs: of each stretch of time the largest, and the last."""
    first, last = points[0][0], points[-1][0]
    for _, group in groupby(points, lambda point: STRETCHES * (point[0] - first) // (last - first + 1)):
        stretch = list(group)
        largest = max(range(len(stretch)), key=lambda place: stretch[place][1])
        yield from (stretch[place] for place in sorted({largest, len(stretch) - 1}))


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


@dataclass(frozen=True, order=True)
class KernelRuns:
    """The runs of one kernel for a node, all launched alike on one stream.

    `grid` and `block` are the shape of the launch, such as `1,1,1`; `shared_bytes` are those of a block. What the
    recording does not tell is 0 or empty. `delay_nanos` adds up how long after the host began to launch it the kernel
    began, over the `launches` of which the recording tells.

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
    runs: int = 0
    nanos: int = 0
    launches: int = 0
    delay_nanos: int = 0


def added_up(kernels: Iterable[KernelRuns]) -> tuple[KernelRuns, ...]:
    """The runs of equal kernels added up, in the order of the nodes' names.

    >>> one = KernelRuns("x", "gpu:0", 7, "copy", runs=1, nanos=5)
    >>> [each.nanos for each in added_up([one, replace(one, runs=2, nanos=9)])]
    [14]
    """
    found: dict[KernelRuns, KernelRuns] = {}
    for each in kernels:
        key = replace(each, runs=0, nanos=0, launches=0, delay_nanos=0)
        known = found.get(key, key)
        found[key] = replace(
            key,
            runs=known.runs + each.runs,
            nanos=known.nanos + each.nanos,
            launches=known.launches + each.launches,
            delay_nanos=known.delay_nanos + each.delay_nanos,
        )
    return tuple(found[key] for key in sorted(found))
