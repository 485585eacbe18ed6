"""What the benchmark reads off: the clock, and what memory a process has and has had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


@dataclass(frozen=True)
class Cost:
    """What some work took: seconds, the bytes at its peak beyond those before, and all bytes of the process then."""

    seconds: float
    grown: int
    peak: int


def seconds(work: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """How long the work takes."""
    start = perf_counter()
    work(*arguments, **options)
    return perf_counter() - start


def processor_seconds(work: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """How long the work takes one core, whoever else is at work on the machine."""
    start = process_time()
    work(*arguments, **options)
    return process_time() - start


def cost(work: Callable[..., object], *arguments: Any) -> Cost:
    """What the work takes; the peak is right in a process that has not had more memory before than it has now."""
    before = _memory("VmRSS")
    taken = seconds(work, *arguments)
    peak = _memory("VmHWM")
    return Cost(taken, peak - before, peak)


def _memory(line: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = next(each for each in status if each.startswith(f"{line}:"))
    return int(found.split()[1]) * 1024
