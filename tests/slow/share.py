"""How much of a hunt is run: a small, fixed share in `make test`, and all of it in `make test-slow`."""

from __future__ import annotations

import os
from typing import TypeVar

Much = TypeVar("Much")
SECONDS = int(os.environ.get("TFPROF_SLOW", "0"))
"""For how long captures follow one another; where that is 0, of other hunts too a small share is enough."""


def share(whole: Much, small: Much) -> Much:
    """How much of a hunt is wanted.

    >>> share(1000, 80) in (1000, 80)
    True
    """
    return whole if SECONDS else small
