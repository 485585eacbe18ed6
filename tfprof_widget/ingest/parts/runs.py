"""Holds one recorded run as packed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Indices, Integers

_BITS = 64


@dataclass(frozen=True, eq=False, slots=True)
class PackedColumn:
    """A column that stores the difference of each value to the smallest one, and nothing if all values are equal.

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
            return _constant(kind, 0, 0)
        least = int(values.min())
        span = int(values.max()) - least
        if not span:
            return _constant(kind, count, least)
        # Differences wrap around as the values' bits do, so they are right for any signs.
        beyond = values.astype(np.uint64) - np.uint64(least % 2**_BITS)
        return cls(kind, count, least, beyond.astype(np.min_scalar_type(span)))

    def whole(self) -> NDArray[Any]:
        """All values as they were given; read-only."""
        kind = np.dtype(self.kind)
        if self.beyond is None:
            return np.broadcast_to(np.array(self.least, kind), self.count)
        return (self.beyond.astype(np.uint64) + np.uint64(self.least % 2**_BITS)).astype(kind)


@lru_cache(maxsize=256)
def _constant(kind: str, count: int, value: int) -> PackedColumn:
    """A column of equal values: of thousands of runs most are empty, or zeros."""
    return PackedColumn(kind, count, value, None)


@dataclass(frozen=True, eq=False, slots=True)
class PackedColumns(Mapping[str, NDArray[Any]]):
    """Packed columns by name; each is unpacked alone.

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
        """The columns with the given ones in place of their own."""
        return PackedColumns({**self.columns, **{name: PackedColumn.of(values) for name, values in changed.items()}})

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name].whole()

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def constant_as_one(values: NDArray[Any]) -> NDArray[Any]:
    """The same values, read-only; if all are equal, they take the memory of one.

    >>> constant_as_one(np.zeros(1_000_000, np.int64)).strides
    (0,)
    """
    if not len(values) or values.min() != values.max():
        return values
    return np.broadcast_to(values[:1].copy(), len(values))


@dataclass
class NodeNames:
    """A growing list of names of nodes, in the order in which they came.

    >>> names = NodeNames()
    >>> names.codes(["b", "a", "b"]).tolist(), names.known
    ([0, 1, 0], ['b', 'a'])
    """

    known: list[str] = field(default_factory=list)
    _code: dict[str, int] = field(default_factory=dict)

    def code(self, name: str) -> int:
        """The index of a name, which is added if it is new."""
        found = self._code.get(name)
        if found is None:
            found = self._code[name] = len(self.known)
            self.known.append(name)
        return found

    def codes(self, names: Iterable[str]) -> Indices:
        """The indices of some names, which are added if they are new."""
        return np.fromiter(map(self.code, names), np.int32)


VALUES = (
    "start_micros",
    "duration_micros",
    "start_nanos",
    "duration_nanos",
    "thread",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "temporary_bytes",
    "persistent_bytes",
    "bytes_in_use",
    "input_shapes",
)
"""The columns of executions. A column that a source does not have is 0; micros are computed from nanos."""

_OUTPUTS = {"execution": np.int64, "slot": np.int64, "bytes": np.int64, "address": np.uint64, "shape": np.int64}
_ALLOCATIONS = {"execution": np.int64, "micros": np.int64, "bytes": np.int64, "on_accelerator": np.bool_}


@dataclass(frozen=True, eq=False, slots=True)
class RunTable:
    """The executions of one run in the order recorded, and their outputs and allocations.

    `node` and `device` are indices into `node_names` and `devices`. `outputs` and `allocations` are columns by name, in
    which `execution` is the row of an execution. Two tables have the same `digest` only if they have the same
    executions, whatever the order of their names.
    """

    node_names: Sequence[str]
    node: Indices
    devices: tuple[str, ...]
    device: NDArray[np.integer]
    values: PackedColumns
    outputs: PackedColumns
    allocations: PackedColumns
    digest: bytes

    @classmethod
    def of(
        cls,
        node_names: NodeNames,
        node: Indices,
        devices: Sequence[str],
        device: NDArray[np.integer],
        values: Mapping[str, NDArray[np.integer]],
        outputs: Mapping[str, NDArray[np.generic]] | None = None,
        allocations: Mapping[str, NDArray[np.generic]] | None = None,
    ) -> RunTable:
        """The table with packed columns; names are in the order in which they first ran.

        >>> names = NodeNames()
        >>> node = names.codes(["a", "b", "a"])
        >>> table = RunTable.of(names, node, ["/cpu:0"], np.zeros(3, np.int64), {"start_nanos": np.full(3, 7500)})
        >>> table.names, table.values["start_micros"].tolist(), len(table.outputs["slot"])
        (['a', 'b', 'a'], [7, 7, 7], 0)
        """
        values = {name: _value(name, values, len(node)) for name in VALUES}
        return cls(
            node_names=node_names.known,
            node=node,
            devices=tuple(devices),
            device=device.astype(np.min_scalar_type(max(len(devices), 1))),
            values=PackedColumns.of(values),
            outputs=PackedColumns.of(_none(_OUTPUTS) if outputs is None else outputs),
            allocations=PackedColumns.of(_none(_ALLOCATIONS) if allocations is None else allocations),
            digest=_digest(node_names.known, node, devices, device, values),
        )

    def __len__(self) -> int:
        return len(self.node)

    @property
    def names(self) -> list[str]:
        """The name of the node of each execution."""
        return [self.node_names[code] for code in self.node.tolist()]

    @property
    def executed(self) -> list[str]:
        """The names of the nodes that ran, in the order in which they first ran."""
        codes, first = np.unique(self.node, return_index=True)
        return [self.node_names[code] for code in codes[np.argsort(first)].tolist()]

    def over(self, names: NodeNames) -> RunTable:
        """The same table with indices into another list of names, to which missing names are added."""
        if self.node_names is names.known:
            return self
        return replace(self, node_names=names.known, node=names.codes(self.node_names)[self.node])

    def renamed(self, names: NodeNames, new: Mapping[str, str]) -> RunTable:
        """The same table, over `names`, with executions of some nodes given to others."""
        codes = np.arange(len(names.known))
        for name, other in new.items():
            codes[names.code(name)] = names.code(other)
        return replace(self, node=codes.astype(self.node.dtype)[self.node])

    def with_shapes(self, codes: Integers) -> RunTable:
        """The same table, in which `codes` has the new index of each shape of outputs."""
        shape = self.outputs["shape"]
        known = shape != ABSENT
        moved = np.full(len(shape), ABSENT, np.int64)
        moved[known] = codes[shape[known]]
        return replace(self, outputs=self.outputs.having(shape=moved))


def _value(name: str, given: Mapping[str, NDArray[np.integer]], count: int) -> NDArray[np.integer]:
    if name in given:
        return given[name]
    nanos = given.get(name.replace("_micros", "_nanos"))
    return np.zeros(count, np.int64) if nanos is None else nanos // NANOS_A_MICRO


def _none(columns: Mapping[str, type[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {name: np.zeros(0, kind) for name, kind in columns.items()}


def _digest(
    names: Sequence[str],
    node: Indices,
    devices: Sequence[str],
    device: NDArray[np.integer],
    values: Mapping[str, NDArray[np.integer]],
) -> bytes:
    digest = blake2b("\n".join((*names, "", *devices)).encode("utf-8", "surrogatepass"), digest_size=16)
    # Shapes and threads are indices into what is known of all runs; names are, too.
    measured = (values[name] for name in sorted(values) if name not in ("input_shapes", "thread"))
    for column in (node, device, *measured):
        digest.update(np.ascontiguousarray(column, np.int64).data)
    return digest.digest()
