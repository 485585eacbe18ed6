"""Types integer arrays, and refuses sums that 64 bits cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.errors import ProfileError

LARGEST_INTEGER = 2**63 - 1
NANOS_A_MICRO = 1000
_PART = 2**20


def check_sum(name: str, *columns: NDArray[Any], factor: int = 1) -> None:
    """Refuse values whose sum, times `factor`, does not fit 64 bits: it would wrap around without an error.

    >>> check_sum("bytes", np.array([2**62]), np.array([2**62]))
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: bytes: the values add up to more than 2**63 - 1, ...
    """
    roughly = sum(np.abs(part.astype(np.float64)).sum() for column in columns for part in _parts(column)) * factor
    if roughly * 1.001 < LARGEST_INTEGER:
        return
    if sum(abs(value) for column in columns for value in column.tolist()) * factor > LARGEST_INTEGER:
        raise ProfileError(
            f"{name}: the values add up to more than 2**63 - 1, which no 64-bit count can hold; "
            "the run metadata or the shapes of the graph are damaged: record them again"
        )


def _parts(column: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The column in pieces: a copy of the whole column in another type might not fit into memory."""
    for first in range(0, len(column), _PART):
        yield column[first : first + _PART]


Integers = NDArray[np.int64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]

ABSENT = -1
