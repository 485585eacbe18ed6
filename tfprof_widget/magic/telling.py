"""Says a line to the user that is neither the cell's output nor a reason to stop it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


def tell(message: str) -> None:
    """Say something to the user that is neither the cell's output nor a reason to stop it."""
    print(f"tfprof: {message}", file=sys.stderr)


@contextmanager
def stepping_aside(trouble: str) -> Iterator[None]:
    """Tell of a fault of ours in a line, and go on without what it was for."""
    try:
        yield
    except Exception as error:
        tell(f"{trouble}: {type(error).__name__}: {error}")
