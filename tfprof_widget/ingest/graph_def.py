"""Reads a GraphDef into columns: names, ops, inputs and shapes of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from google.protobuf.message import DecodeError

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.shapes import Shapes
from tfprof_widget.messages import AttrValue, SealedAttribute, SealedGraph
from tfprof_widget.tables import ABSENT


@dataclass(frozen=True)
class GraphColumns:
    """What is read of graph nodes, in the order of the graph; `inputs` is as written there."""

    names: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    inputs: list[list[str]] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    output_shapes: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, name: str, op: str) -> None:
        """Add a node of which nothing else is known."""
        self.names.append(name)
        self.ops.append(op)
        self.inputs.append([])
        self.shape.append(ABSENT)
        self.output_shapes.append(())

    def extend(self, other: GraphColumns) -> None:
        """Add the nodes of `other` after these."""
        self.names.extend(other.names)
        self.ops.extend(other.ops)
        self.inputs.extend(other.inputs)
        self.shape.extend(other.shape)
        self.output_shapes.extend(other.output_shapes)

    def with_output_shapes(self, found: Mapping[str, Sequence[tuple[int, ...] | None]], shapes: Shapes) -> GraphColumns:
        """These nodes with other output shapes for some of them; None is an unknown rank."""
        indices = {
            name: tuple(shapes.index(() if each is None else each or (1,)) for each in of_node)
            for name, of_node in found.items()
        }
        replaced = [indices.get(name, old) for name, old in zip(self.names, self.output_shapes, strict=True)]
        return replace(self, output_shapes=replaced)


def read_graph(graph: SealedGraph, shapes: Shapes, known: Iterable[str] = ()) -> GraphColumns:
    """The columns of a graph; the first node of a name counts, and none whose name is `known`.

    >>> from tfprof_widget.messages import SealedGraph
    >>> graph = SealedGraph(node=[{"name": "w", "op": "VariableV2"}, {"name": "w", "op": "Const"}])
    >>> read_graph(graph, Shapes()).ops
    ['VariableV2']
    """
    columns = GraphColumns()
    seen = set(known)
    attributes = Attributes(shapes)
    for name, op, inputs, entries in map(_NODE, graph.node):
        if name in seen:
            continue
        seen.add(name)
        columns.names.append(name)
        columns.ops.append(op)
        columns.inputs.append(inputs[:])
        shape, outputs = attributes.shapes_of(entries, name)
        columns.shape.append(shape)
        columns.output_shapes.append(outputs)
    return columns


_NODE = attrgetter("name", "op", "input", "attr")

# How a map entry starts: with its key, as every writer does, though none must.
_KEY_FIRST = b"\x0a"
_MAY_BE_SHAPES = (b"\x0a\x05shape", b"\x0a\x0e_output_shapes")


class Attributes:
    """Reads nodes' attributes, each distinct one once: a graph has few of them, and each node has several."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self._read: dict[bytes, tuple[int | None, tuple[int, ...] | None]] = {}

    def shapes_of(self, entries: Iterable[bytes], node: str) -> tuple[int, tuple[int, ...]]:
        """The node's shape and those of its outputs, as the attributes `shape` and `_output_shapes` say."""
        found_shape: int = ABSENT
        found_outputs: tuple[int, ...] = ()
        for entry in entries:
            if not entry.startswith(_MAY_BE_SHAPES) and entry.startswith(_KEY_FIRST):
                continue  # such as the value of a constant, which may be large
            known = self._read.get(entry)
            if known is None:
                known = self._read[entry] = self._meaning(entry, node)
            shape, outputs = known
            if shape is not None:
                found_shape = shape
            if outputs is not None:
                found_outputs = outputs
        return found_shape, found_outputs

    def _meaning(self, entry: bytes, node: str) -> tuple[int | None, tuple[int, ...] | None]:
        """The shape or the output shapes that one attribute gives, None for what it does not give."""
        try:
            attribute = SealedAttribute.FromString(entry)
            if attribute.key not in ("shape", "_output_shapes"):
                return None, None
            value = AttrValue.FromString(attribute.value)
        except DecodeError as error:
            raise ProfileError(
                f"graph: an attribute of node {node!r} cannot be read ({error}); check that the file is whole"
            ) from None
        if attribute.key == "shape":
            return (self.shapes.of_message(value.shape) if value.HasField("shape") else None), None
        return None, (self.shapes.of_messages(value.list.shape) if value.HasField("list") else None)
