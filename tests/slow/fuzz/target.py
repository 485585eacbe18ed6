"""What a target is: a reader, and how its inputs are damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.slow.fuzz.mutations import TEXTS, mutated_bytes, mutated_message

PIECES = (
    *"-=,\"'{[()\\|*?:+",
    *("--", "-9", "true", "null", "{1000}", "[[:alpha:]]", "\\Q", "(?i)", "-step", "-min_micros"),
    *(str(2**63 - 1), str(2**53), "9" * 30, *TEXTS),
)


@dataclass(frozen=True)
class Target:
    """A reader; `is_message` tells that its input is a protobuf message, else a text.

    `modules` are those that read the input, by the start of their paths in the package.
    """

    name: str
    read: Callable[[bytes], object]
    healthy: Callable[[], Sequence[bytes]]
    modules: tuple[str, ...]
    is_message: bool = True

    def mutated(self, data: bytes, random: Random) -> bytes:
        """The input, changed in a place."""
        return mutated_message(data, random) if self.is_message else mutated_bytes(data, random, PIECES)
