"""What was computed for a profile before: some of it for good, the rest until other things were asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Found = TypeVar("Found")

# What a few views of a few steps need: at most three hundred megabytes for a graph of 100,000 nodes.
RECENT = 24


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
            while len(self._recent) > most:
                self._recent.popitem(last=False)
        return made
