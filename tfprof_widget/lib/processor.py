"""Tells what processor this machine has, how many of its cores this process may use, and how large its cache is."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

USUAL_CACHE = 32 * 2**20
"""The bytes of the last cache where the system does not tell."""

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@cache
def processor() -> dict[str, str]:
    """What of a machine the time of an op depends on, in words: its processor, cores and system.

    >>> sorted(processor())
    ['cores', 'processor', 'system']
    """
    system = f"{platform.system()} {platform.machine()}"
    return {"processor": _model(), "cores": str(cores()), "system": system}


def cores() -> int:
    """How many cores this process may use.

    >>> cores() > 0
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _model() -> str:
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def last_cache_bytes(folder: str = "/sys/devices/system/cpu/cpu0/cache") -> int:
    """The size of the last cache before the memory, which several cores may share.

    >>> last_cache_bytes("/no/such/folder") == USUAL_CACHE
    True
    """
    found = []
    for size in Path(folder).glob("index*/size"):
        with suppress(OSError, ValueError):
            written = size.read_text(encoding="ascii").strip()
            found.append(int(written.rstrip("KMG")) * _UNITS.get(written[-1:], 1))
    return max(found, default=USUAL_CACHE)
