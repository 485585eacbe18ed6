"""Notes what the time of a cell depends on beside its code: versions, processor, threads, and what else was running."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from time import perf_counter
from typing import Any

from tfprof_widget.capturing.collectives import CONTEXT
from tfprof_widget.capturing.sampling import Adaptive, Every, Policy, Steps
from tfprof_widget.lib.processor import processor
from tfprof_widget.lib.text import written_percent

PACKAGES = ("tensorflow", "keras", "tf_keras", "numpy", "tfprof-widget")
VARIABLES = (
    "OMP_NUM_THREADS",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_XLA_FLAGS",
)
_BUSY = re.compile(r"cpu +(\d+) +(\d+) +(\d+) +\d+ +\d+ +(\d+) +(\d+) +(\d+)")


@dataclass(frozen=True)
class Surroundings:
    """The fingerprint in words, by name, and how many cores other processes kept busy, NaN if that is not known."""

    fingerprint: Mapping[str, str]
    others_cores: float = math.nan


class LoadClock:
    """How many cores other processes keep busy from now on, by what the system and this process have used.

    >>> clock = LoadClock(iter([(10.0, 4.0, 0.0), (16.0, 6.0, 2.0)]).__next__)
    >>> clock.others_cores()
    2.0
    """

    def __init__(self, read: Any = None) -> None:
        self._read = read or _cpu_seconds
        self._began = self._read()

    def others_cores(self) -> float:
        """The mean since the clock was made; NaN where the system does not tell."""
        (busy, own, began), (busy_now, own_now, now) = self._began, self._read()
        if now <= began:
            return math.nan
        return max((busy_now - busy) - (own_now - own), 0.0) / (now - began)


def _cpu_seconds() -> tuple[float, float, float]:
    """What all processes and this one have used of the processors, and the time; NaN where the system does not tell."""
    own, at = sum(os.times()[:4]), perf_counter()
    with suppress(OSError, ValueError), open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123 that of Path takes longer
        if found := _BUSY.match(file.readline()):
            return sum(map(int, found.groups())) / os.sysconf("SC_CLK_TCK"), own, at
    return math.nan, own, at


def fingerprint(policy: Policy) -> dict[str, str]:
    """What a time depends on beside the code, in words.

    >>> fingerprint(Every(10))["sampling"], "processor" in fingerprint(Every(10))
    ('every 10th run', True)
    """
    return {**_fixed(), **dict(_of_tensorflow()), **dict(_of_environment()), "sampling": _sampling(policy)}


@cache
def _fixed() -> dict[str, str]:
    """What does not change while this process runs."""
    return {**processor(), "python": platform.python_version()}


def _of_tensorflow() -> Iterator[tuple[str, str]]:
    """Versions of what is imported, and the threads and devices that TensorFlow has."""
    for package in PACKAGES:
        if package.replace("-", "_") in sys.modules:
            yield package, _version(package)
    context: Any = sys.modules.get(CONTEXT)
    with suppress(Exception):  # whatever a version of TensorFlow does not tell
        found = context and context.context_safe()
        if found and found._initialized:  # asked before, it would look for accelerators, which takes long
            within, between = found.intra_op_parallelism_threads, found.inter_op_parallelism_threads
            yield "threads", f"{within or 'default'} within ops, {between or 'default'} between ops"


@cache
def _version(package: str) -> str:
    with suppress(Exception):
        return version(package)
    return "not known"


def _of_environment() -> Iterator[tuple[str, str]]:
    for name in VARIABLES:
        if name in os.environ:
            yield name, os.environ[name]


def _sampling(policy: Policy) -> str:
    match policy:
        case Adaptive(overhead, allowance):
            return f"as much as costs {written_percent(overhead)}" + ("" if allowance else " at most")
        case Every(count):
            return "every run" if count == 1 else f"every {count}th run"
        case Steps(start, stop):
            return f"runs {start} to {'the last' if stop is None else stop - 1}"
