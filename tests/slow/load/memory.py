"""What Python and the process hold, after all is thrown away that nobody needs."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def traced_memory() -> Iterator[None]:
    """Have Python count the bytes that it gives out."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def held() -> int:
    """The bytes that Python gave out in `traced_memory` and that are still in use."""
    for _ in range(3):  # what dies may leave others that nobody needs
        gc.collect()
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """The bytes of the whole process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
