"""How often things are done: shortened, or at length where `TFPROF_SOAK` is set, as `make soak` sets it."""

from __future__ import annotations

import os
from typing import TypeVar

Number = TypeVar("Number", int, float)
IS_LONG = bool(os.environ.get("TFPROF_SOAK"))


def often(at_length: Number, shortened: Number) -> Number:
    """A number as asked for.

    >>> often(3, 1) in (3, 1)
    True
    """
    return at_length if IS_LONG else shortened
