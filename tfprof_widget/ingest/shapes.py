"""Interns tensor shapes: each distinct shape once, nodes and outputs hold its index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Shapes:
    """A growing dictionary of shapes, found by the bytes of their messages so that each is read once.

    >>> shapes = Shapes()
    >>> shapes.index((3, 4)), shapes.index(()), shapes.index((3, 4)), shapes.known
    (0, 1, 0, [(3, 4), ()])
    """

    def __init__(self) -> None:
        self.known: list[tuple[int, ...]] = []
        self._index: dict[tuple[int, ...], int] = {}
        self._of_message: dict[bytes, int] = {}

    def index(self, dimensions: tuple[int, ...]) -> int:
        """The index of a shape; an unknown rank is the empty shape, and a scalar counts as one element, `(1,)`."""
        found = self._index.get(dimensions)
        if found is None:
            found = self._index[dimensions] = len(self.known)
            self.known.append(dimensions)
        return found

    def of_message(self, shape: Any) -> int:
        """The index of a TensorShapeProto."""
        key = shape.SerializeToString()
        found = self._of_message.get(key)
        if found is None:
            dimensions = tuple(dim.size for dim in shape.dim)
            found = self._of_message[key] = self.index(dimensions or (() if shape.unknown_rank else (1,)))
        return found

    def of_messages(self, shapes: Iterable[Any]) -> tuple[int, ...]:
        """The indices of several TensorShapeProtos."""
        return tuple(self.of_message(shape) for shape in shapes)
