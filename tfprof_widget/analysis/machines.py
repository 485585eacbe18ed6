"""Holds what was measured of this machine: how fast its processor computes, and how fast its memory is."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tfprof_widget.lib.processor import processor
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.text import fixed, short_units, written_percent

DIFFERS = 0.1
"""Rounds differ if the median is by more than this below the best."""


@dataclass(frozen=True)
class Band:
    """How fast something went in several rounds, in units a second.

    >>> Band(100e9, 95e9, 80e9).spread
    0.05
    """

    best: float
    median: float
    worst: float

    @property
    def spread(self) -> float:
        """By how much of the best the median round is below it."""
        return round(1 - self.median / self.best, 6)


@dataclass(frozen=True)
class Machine:
    """What `tfprof_widget.machine()` measured: float operations and bytes a second that TensorFlow's kernels reach.

    `compute` is of matrix products, and `memory` of additions and copies of tensors far larger than the cache; both are
    in `dtype` on the CPU. `products` has the best rate of each size, `tensor_bytes` is the size of an added tensor.
    `others_cores` are the cores that other processes kept busy meanwhile, NaN if that is not known.

    >>> machine = Machine("float32", Band(100e9, 95e9, 90e9), Band(40e9, 39e9, 30e9), {1024: 100e9}, 2**26, 9, 1.0, 0.0)
    >>> machine.ridge
    2.5
    """

    dtype: str
    compute: Band
    memory: Band
    products: Mapping[int, float]
    tensor_bytes: int
    rounds: int
    seconds: float
    others_cores: float
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    taken: str = ""

    @property
    def ridge(self) -> float:
        """The float operations for each byte above which the processor, and no longer the memory, is the limit."""
        return self.compute.best / self.memory.best

    @property
    def repeats(self) -> bool:
        """Whether the rounds differ by at most a tenth."""
        return max(self.compute.spread, self.memory.spread) <= DIFFERS

    def text(self) -> str:
        """What was measured, in a few lines.

        >>> made = {"processor": "a CPU", "cores": "2"}
        >>> bands = Band(100e9, 95e9, 90e9), Band(40e9, 30e9, 20e9)
        >>> print(Machine("float32", *bands, {512: 80e9, 1024: 100e9}, 2**26, 9, 1.0, 1.5, made).text())
        a CPU, 2 cores, float32: measured in 9 rounds, 1.0 s
        compute: 100 GFLOP/s at best, 95 GFLOP/s in the median round (products of 512: 80 GFLOP/s; 1024: 100 GFLOP/s)
        memory: 40 GB/s at best, 30 GB/s in the median round (adding and copying tensors of 67.1 MB)
        an op that does fewer than 2.5 FLOP for each byte waits for the memory
        the rounds differ by 25 %: other processes kept 1.5 cores busy; measure again with again=True when it is quiet
        """
        told = self.fingerprint
        size = short_units(self.tensor_bytes, "B")
        sizes = "; ".join(f"{each}: {short_units(rate, 'FLOP/s')}" for each, rate in self.products.items())
        lines = [
            f"{told.get('processor') or 'this machine'}, {told.get('cores', '?')} cores, {self.dtype}: "
            f"measured in {self.rounds} rounds, {fixed(self.seconds, 1)} s{self.taken and f', {self.taken}'}",
            f"compute: {_told(self.compute, 'FLOP/s')} (products of {sizes})",
            f"memory: {_told(self.memory, 'B/s')} (adding and copying tensors of {size})",
            f"an op that does fewer than {fixed(self.ridge, 1)} FLOP for each byte waits for the memory",
        ]
        if not self.repeats:
            busy = f"other processes kept {fixed(self.others_cores, 1)} cores busy; " if self.others_cores >= 0 else ""
            spread = written_percent(max(self.compute.spread, self.memory.spread), 0)
            lines.append(f"the rounds differ by {spread}: {busy}measure again with again=True when it is quiet")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def _told(band: Band, unit: str) -> str:
    return f"{short_units(band.best, unit)} at best, {short_units(band.median, unit)} in the median round"


# What was measured in this process, by dtype: a measurement takes a second, and its result holds for all profiles.
_MEASURED: dict[str, Machine] = {}


def remember_machine(machine: Machine) -> None:
    """Let the profiles of this process be compared with this measurement."""
    _MEASURED[machine.dtype] = machine


def known_machine(dtype: str = "float32") -> Machine | None:
    """What was measured of this machine in this process, or kept on disk; None if neither was.

    >>> known_machine("complex128") is None
    True
    """
    return _MEASURED.get(dtype) or _read(kept_path(dtype))


def kept_path(dtype: str) -> Path:
    """The file in the user's cache directory in which a measurement of this machine is kept if that is asked for.

    >>> kept_path("float32").parent.name
    'tfprof_widget'
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    made = json.dumps([dtype, *sorted(processor().items())])
    return Path(cache, "tfprof_widget", f"machine-{dtype}-{hashlib.sha256(made.encode()).hexdigest()[:12]}.json")


def keep_machine(machine: Machine) -> None:
    """Write a measurement into the user's cache directory."""
    path = kept_path(machine.dtype)
    with suppress(OSError):  # write_whole tells it
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(machine), indent=1).encode())


def _read(path: Path) -> Machine | None:
    """The measurement in a file; None if there is none, or it is not to be read: it can be taken again."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        told = json.loads(path.read_bytes())
        told["products"] = {int(size): float(rate) for size, rate in told["products"].items()}
        compute, memory = (Band(**told.pop(name)) for name in ("compute", "memory"))
        found = Machine(compute=compute, memory=memory, **told)
        if min(found.compute.best, found.memory.best) > 0 and found.fingerprint == processor():
            return found
    return None
