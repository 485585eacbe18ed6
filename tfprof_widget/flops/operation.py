"""What a formula sees of an op: its type, its attributes and the shapes of what goes in and comes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Dimensions = tuple[int, ...]
Shape = Dimensions | None
"""None of unknown rank, -1 an unknown dimension; a scalar may count as one element, `(1,)`."""


class UnknownShape(ValueError):
    """Raised where a formula asks for a shape that is not wholly known: nothing is counted then."""


@dataclass(frozen=True)
class Operation:
    """One execution of an op, as far as it decides how much is computed.

    >>> product = Operation("MatMul", ((8, 3), (3, 5)), ((8, 5),), {"transpose_b": False})
    >>> product.input(0), product.output_size, product.flag("transpose_a")
    ((8, 3), 40, False)
    """

    op: str
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def input(self, index: int) -> Dimensions:
        """The shape of an input; raises UnknownShape if it is not wholly known."""
        return _known(self.inputs, index)

    def dimension(self, index: int, axis: int) -> int:
        """One dimension of an input, whatever the others; raises UnknownShape if it is not known."""
        shape = self.inputs[index] if index < len(self.inputs) else None
        if shape is None or not -len(shape) <= axis < len(shape) or shape[axis] < 0:
            raise UnknownShape(f"axis {axis} of shape {index} is not known")
        return shape[axis]

    def output(self, index: int = 0) -> Dimensions:
        """The shape of an output; raises UnknownShape if it is not wholly known."""
        return _known(self.outputs, index)

    def input_size(self, index: int = 0) -> int:
        """The number of elements of an input."""
        return math.prod(self.input(index))

    @property
    def output_size(self) -> int:
        """The number of elements of the first output."""
        return math.prod(self.output())

    def flag(self, *names: str) -> bool:
        """Whether any of these attributes is true; one that is not there is false."""
        return any(bool(self.attributes.get(name, False)) for name in names)

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers; empty if it is not there."""
        return tuple(self.attributes.get(name, ()))

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        return str(self.attributes.get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; empty if it is not there."""
        return tuple(self.attributes.get(name, ()))


Formula = Callable[[Operation], float]
"""Counts one execution of an op; may raise UnknownShape or ValueError where it cannot."""


def _known(shapes: tuple[Shape, ...], index: int) -> Dimensions:
    if not -len(shapes) <= index < len(shapes):
        raise UnknownShape(f"there is no shape {index}")
    shape = shapes[index]
    if shape is None or min(shape, default=0) < 0:
        raise UnknownShape(f"shape {index} is {shape}")
    return shape
