"""Catches what this package prints, as bytes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import TypeVar

Returned = TypeVar("Returned")


def with_stdout(function: Callable[[], Returned]) -> tuple[Returned, bytes]:
    """What `function` returned, and the bytes that it printed.

    >>> with_stdout(lambda: print("été"))
    (None, b'\\xc3\\xa9t\\xc3\\xa9\\n')
    """
    printed = io.BytesIO()
    text = io.TextIOWrapper(printed, encoding="utf-8", newline="", write_through=True)
    with contextlib.redirect_stdout(text):
        returned = function()
    text.detach()  # lest it close what it wrote to
    return returned, printed.getvalue()
