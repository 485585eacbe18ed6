"""Holds columns of integers in as few bytes as their values take, until they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 64


@dataclass(frozen=True, eq=False)
class PackedColumn:
    """A column as what each value has beyond the least of them; nothing where all are the same.

    >>> column = PackedColumn.of(np.array([10**18, 10**18 + 200]))
    >>> column.beyond, column.whole().tolist()
    (array([  0, 200], dtype=uint8), [1000000000000000000, 1000000000000000200])
    """

    kind: str
    count: int
    least: int
    beyond: NDArray[Any] | None

    @classmethod
    def of(cls, values: NDArray[Any]) -> PackedColumn:
        """The column of some integers of any width and sign, or of flags."""
        kind, count = values.dtype.str, len(values)
        if not count:
            return cls(kind, 0, 0, None)
        least = int(values.min())
        span = int(values.max()) - least
        if not span:
            return cls(kind, count, least, None)
        # Differences wrap around as the values' own bits do, hence are right whatever the signs.
        beyond = values.astype(np.uint64) - np.uint64(least % 2**_BITS)
        return cls(kind, count, least, beyond.astype(np.min_scalar_type(span)))

    def whole(self) -> NDArray[Any]:
        """All values, as they were given; not to be written to."""
        kind = np.dtype(self.kind)
        if self.beyond is None:
            return np.broadcast_to(np.array(self.least, kind), self.count)
        return (self.beyond.astype(np.uint64) + np.uint64(self.least % 2**_BITS)).astype(kind)


@dataclass(frozen=True, eq=False)
class PackedColumns(Mapping[str, NDArray[Any]]):
    """Columns by name, made whole one at a time.

    >>> columns = PackedColumns.of({"bytes": np.array([-1, 300]), "is_first": np.array([True, True])})
    >>> {name: values.tolist() for name, values in columns.items()}
    {'bytes': [-1, 300], 'is_first': [True, True]}
    """

    columns: Mapping[str, PackedColumn]

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> PackedColumns:
        """The columns of a table."""
        return cls({name: PackedColumn.of(values) for name, values in columns.items()})

    def having(self, **changed: NDArray[Any]) -> PackedColumns:
        """The table with some columns changed."""
        return PackedColumns({**self.columns, **{name: PackedColumn.of(values) for name, values in changed.items()}})

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name].whole()

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def held_once(values: NDArray[Any]) -> NDArray[Any]:
    """The same values, not to be written to; where all are one, it alone takes memory.

    >>> held_once(np.zeros(1_000_000, np.int64)).strides
    (0,)
    """
    if not len(values) or values.min() != values.max():
        return values
    return np.broadcast_to(values[:1].copy(), len(values))
