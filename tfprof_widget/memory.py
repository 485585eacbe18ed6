"""What was computed for a profile before: some of it for good, the rest until other things were asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

import numpy as np

Found = TypeVar("Found")

# What a few views of a few steps need: at most three hundred megabytes for a graph of 100,000 nodes.
RECENT = 24
# Larger results are fewer, but never less than two views need.
MOST_BYTES = 10**9
FEWEST = 8


class Memory:
    """Results by key. Two threads that ask at once may both compute, but both get a whole result.

    >>> memory = Memory()
    >>> memory.kept("tree", lambda: "grown"), memory.kept("tree", lambda: "grown again")
    ('grown', 'grown')
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._recent: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        """What was computed can be computed again: it stays behind when a profile is pickled or copied."""
        return Memory, ()

    def kept(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """What was made under this key, or what `make` makes now."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Found = self._kept[key]
        return found

    def recent(self, key: Hashable, make: Callable[[], Found], most: int = RECENT) -> Found:
        """As `kept`, but of these only the `most` asked for last are held."""
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                found: Found = self._recent[key]
                return found
        made = make()
        with self._lock:
            self._recent[key] = made
            for key in self._too_many(most):
                del self._recent[key]
        return made

    def _too_many(self, most: int) -> list[Hashable]:
        """The results to let go: columns may have been added to any since, so that all are measured again."""
        if len(self._recent) <= min(FEWEST, most):
            return []
        counted: dict[int, int] = {}
        latest = list(reversed(self._recent))
        for place, key in enumerate(latest):
            _count(self._recent[key], counted)
            if place >= most or (place >= FEWEST and sum(counted.values()) > MOST_BYTES):
                return latest[place:]
        return []


def _count(value: Any, counted: dict[int, int]) -> None:
    """Add the bytes of the columns that a result refers to; what several share counts once."""
    if id(value) in counted:
        return
    if isinstance(value, np.ndarray | bytes):
        counted[id(value)] = value.nbytes if isinstance(value, np.ndarray) else len(value)
        return
    parts = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    counted[id(value)] = 0
    for part in tuple(parts.values()):
        _count(part, counted)
