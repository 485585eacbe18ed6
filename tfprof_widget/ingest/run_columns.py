"""The executions of one run as columns, small enough to keep those of thousands of runs, or to send them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.packing import PackedColumns
from tfprof_widget.tables import ABSENT, Indices, Integers


@dataclass
class NodeNames:
    """A growing dictionary of names of nodes, in the order in which they came.

    >>> names = NodeNames()
    >>> names.codes(["b", "a", "b"]).tolist(), names.known
    ([0, 1, 0], ['b', 'a'])
    """

    known: list[str] = field(default_factory=list)
    _code: dict[str, int] = field(default_factory=dict)

    def code(self, name: str) -> int:
        """The place of a name among those that are known."""
        found = self._code.get(name)
        if found is None:
            found = self._code[name] = len(self.known)
            self.known.append(name)
        return found

    def codes(self, names: Iterable[str]) -> Indices:
        """The places of some names."""
        return np.fromiter(map(self.code, names), np.int32)


@dataclass(frozen=True, eq=False)
class RunColumns:
    """The executions of one run in the order recorded, and their outputs and allocations.

    `node` and `device` say of each execution which of `node_names` and of `devices` it is of. `outputs` and
    `allocations` are columns by name; `execution` in them is the row of the execution. `digest` is the same only for
    the very same executions, whatever dictionary they are over.
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
        outputs: Mapping[str, NDArray[np.generic]],
        allocations: Mapping[str, NDArray[np.generic]],
    ) -> RunColumns:
        """The columns, made small; the names are in the order in which they ran first.

        >>> names, nothing = NodeNames(), {"execution": np.zeros(0, np.int64)}
        >>> node = names.codes(["a", "b", "a"])
        >>> RunColumns.of(names, node, ["/cpu:0"], np.zeros(3, np.int64), {}, nothing, nothing).names
        ['a', 'b', 'a']
        """
        return cls(
            node_names=node_names.known,
            node=node,
            devices=tuple(devices),
            device=device.astype(np.min_scalar_type(max(len(devices), 1))),
            values=PackedColumns.of(values),
            outputs=PackedColumns.of(outputs),
            allocations=PackedColumns.of(allocations),
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
        """The names of the nodes that ran, in the order in which they ran first."""
        codes, first = np.unique(self.node, return_index=True)
        return [self.node_names[code] for code in codes[np.argsort(first)].tolist()]

    def over(self, names: NodeNames) -> RunColumns:
        """The same with another dictionary of names, which is made to have all that run here."""
        if self.node_names is names.known:
            return self
        return replace(self, node_names=names.known, node=names.codes(self.node_names)[self.node])

    def with_shapes(self, codes: Integers) -> RunColumns:
        """The same with each shape of the outputs replaced by what `codes` has in its place."""
        shape = self.outputs["shape"]
        known = shape != ABSENT
        moved = np.full(len(shape), ABSENT, np.int64)
        moved[known] = codes[shape[known]]
        return replace(self, outputs=self.outputs.having(shape=moved))


def _digest(
    names: Sequence[str],
    node: Indices,
    devices: Sequence[str],
    device: NDArray[np.integer],
    values: Mapping[str, NDArray[np.integer]],
) -> bytes:
    digest = blake2b("\n".join((*names, "", *devices)).encode("utf-8", "surrogatepass"), digest_size=16)
    for column in (node, device, *(values[name] for name in sorted(values))):
        digest.update(np.ascontiguousarray(column, np.int64).data)
    return digest.digest()
