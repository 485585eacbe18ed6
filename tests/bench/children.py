"""Calls functions in processes of their own: native tfprof allows one profiler a process, and keeps what it has read."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def call(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a fresh interpreter."""
    return _call("spawn", function, *arguments)


def call_in_fork(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a copy of this process."""
    return _call("fork", function, *arguments)


def _call(method: str, function: Callable[..., Result], *arguments: Any) -> Result:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        return pool.submit(function, *arguments).result()
