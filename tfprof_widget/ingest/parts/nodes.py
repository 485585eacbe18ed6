"""Reads a GraphDef into rows, and gives nodes' attributes back."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tfprof_widget.ingest.parts.names import Layers, may_be_node
from tfprof_widget.ingest.parts.stacks import NodeDetails
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import AttrValue, GraphDef, NodeDef, SealedAttribute, SealedGraph, SealedNode
from tfprof_widget.profiles.tables import Lists


class Shapes:
    """A growing list of shapes; they are found by the bytes of their messages, so that each is read once.

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


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a graph as they were read, in its order; `inputs` are written as in the graph.

    `placed` has the devices of nodes of which only kernels were recorded, and no execution on the device itself.
    """

    names: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    inputs: list[list[str]] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    output_shapes: list[tuple[int, ...]] = field(default_factory=list)
    placed: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, op: str) -> None:
        """Add a node of which only name and op are known."""
        self.names.append(name)
        self.ops.append(op)
        self.inputs.append([])
        self.shape.append(ABSENT)
        self.output_shapes.append(())

    def extend(self, other: NodeTable) -> None:
        """Add the nodes of `other` after these nodes."""
        self.names.extend(other.names)
        self.ops.extend(other.ops)
        self.inputs.extend(other.inputs)
        self.shape.extend(other.shape)
        self.output_shapes.extend(other.output_shapes)
        self.placed.update(other.placed)

    def take_executed(self, ops: Mapping[str, str], variants: Mapping[str, str]) -> None:
        """Give nodes the type of their kernel, such as a fused one, and add nodes that no graph has.

        `variants` has the original of each node that only stands for kernels of another type.
        """
        row_of = {name: row for row, name in enumerate(self.names)}
        for name, op in ops.items():
            row = row_of.get(name)
            if row is not None:
                self.ops[row] = op
            elif may_be_node(name):
                self.add(name, op)
                original = row_of.get(variants.get(name, ""))
                if original is not None:
                    self.inputs[-1] = self.inputs[original]
                    self.output_shapes[-1] = self.output_shapes[original]

    def with_output_shapes(self, found: Mapping[str, Sequence[tuple[int, ...] | None]], shapes: Shapes) -> NodeTable:
        """These nodes with other output shapes for some of them; None is an unknown rank."""
        indices = {
            name: tuple(shapes.index(() if each is None else each or (1,)) for each in of_node)
            for name, of_node in found.items()
        }
        replaced = [indices.get(name, old) for name, old in zip(self.names, self.output_shapes, strict=True)]
        return replace(self, output_shapes=replaced)


def read_graph(graph: SealedGraph, shapes: Shapes, known: Iterable[str] = ()) -> NodeTable:
    """The nodes of a graph; of several with one name the first counts, and names in `known` are left out.

    >>> from tfprof_widget.lib.messages import SealedGraph
    >>> graph = SealedGraph(node=[{"name": "w", "op": "VariableV2"}, {"name": "w", "op": "Const"}])
    >>> read_graph(graph, Shapes()).ops
    ['VariableV2']
    """
    columns = NodeTable()
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

# How a map entry starts: with its key. Every program writes it so, though none has to.
_KEY_FIRST = b"\x0a"
_MAY_BE_SHAPES = (b"\x0a\x05shape", b"\x0a\x0e_output_shapes")


class Attributes:
    """Reads attributes of nodes, each distinct one once: a graph has few distinct ones, and each node has several."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self._read: dict[bytes, tuple[int | None, tuple[int, ...] | None]] = {}

    def shapes_of(self, entries: Iterable[bytes], node: str) -> tuple[int, tuple[int, ...]]:
        """The node's shape and those of its outputs, from the attributes `shape` and `_output_shapes`."""
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
        """The shape or the output shapes that one attribute gives, and None for the other."""
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


Unsealed = TypeVar("Unsealed", GraphDef, NodeDef)


def node_definitions(graphs: Iterable[SealedGraph]) -> Iterator[NodeDef]:
    """The nodes of graphs that were added one after another, with attributes; the first of a name counts.

    >>> graph = SealedGraph(node=[{"name": "w", "op": "VariableV2"}, {"name": "w", "op": "Const"}])
    >>> [node.op for node in node_definitions([graph])]
    ['VariableV2']
    """
    seen: set[str] = set()
    for graph in graphs:
        for node in unsealed(graph, GraphDef).node:
            name = node.name
            if name not in seen:
                seen.add(name)
                yield node


def definitions_of(graphs: Iterable[SealedGraph], names: Container[str]) -> dict[str, NodeDef]:
    """The nodes with these names, with attributes; no others are read, and the first of a name counts.

    >>> graph = SealedGraph(node=[{"name": "w", "op": "VariableV2"}, {"name": "x", "op": "Const"}])
    >>> [node.op for node in definitions_of([graph], {"x"}).values()]
    ['Const']
    """
    found: dict[str, NodeDef] = {}
    for graph in graphs:
        for node in graph.node:
            name = node.name
            if name in names and name not in found:
                found[name] = unsealed(node, NodeDef)
    return found


def unsealed(message: SealedGraph | SealedNode, kind: type[Unsealed]) -> Unsealed:
    """The message with all its parts read; parts that were left as bytes may turn out to be damaged.

    >>> from tfprof_widget.lib.messages import SealedNode
    >>> unsealed(SealedNode(name="w"), NodeDef).name
    'w'
    """
    try:
        return kind.FromString(message.SerializeToString())
    except DecodeError as error:
        raise ProfileError(
            f"graph: the attributes of its nodes, or its functions, cannot be read ({error}); "
            "check that the file is whole"
        ) from None


def types_of(
    ops: tuple[str, ...],
    op: Indices,
    devices: tuple[str, ...],
    places: tuple[NDArray[np.integer], NDArray[np.integer]],
    own: Collection[tuple[int, str]],
) -> tuple[tuple[str, ...], Lists]:
    """The types in byte order, and the set of each node: its op, its devices in `places`, and its `own` types.

    >>> device = np.array([0])
    >>> names, types = types_of(("Add",), np.array([0, 0]), ("/cpu:0",), (np.array([1]), device), [(0, "mine")])
    >>> [[names[code] for code in types[node]] for node in range(2)]
    [['Add', 'mine'], ['/cpu:0', 'Add']]
    """
    node, device = places
    used_devices = {devices[code] for code in np.unique(device).tolist()}
    names = tuple(sorted({*ops, *used_devices, *(type_name for _, type_name in own)}))
    code_of = {name: code for code, name in enumerate(names)}
    op_codes = np.array([code_of[name] for name in ops], np.int64)
    device_codes = np.array([code_of.get(name, ABSENT) for name in devices], np.int64)
    rows = np.concatenate([np.arange(len(op)), node, [row for row, _ in own]]).astype(np.int64)
    codes = np.concatenate([op_codes[op], device_codes[device], [code_of[name] for _, name in own]])
    pairs = np.unique(rows * len(names) + codes.astype(np.int64))
    start = np.searchsorted(pairs, np.arange(len(op) + 1) * len(names))
    return names, Lists(start, (pairs % max(len(names), 1)).astype(np.int32))


def parameters_of(names: tuple[str, ...], shape: Indices, shapes: Sequence[tuple[int, ...]]) -> Integers:
    """How many parameters each node has: the product of its shape, 0 if the shape is not known in full."""
    sizes = [math.prod(known) if known and min(known) >= 0 else 0 for known in shapes]
    used = set(shape.tolist()) - {ABSENT}
    too_large = {code for code in used if sizes[code] > LARGEST_INTEGER}
    if too_large:
        row = next(row for row, code in enumerate(shape.tolist()) if code in too_large)
        raise ProfileError(
            f"graph: node {names[row]!r} has the shape {'x'.join(map(str, shapes[shape[row]]))}, whose product "
            "is more than 2**63 - 1 parameters; the graph is damaged"
        )
    counts = np.array([size if code in used else 0 for code, size in enumerate(sizes)] + [0], np.int64)
    parameters: Integers = counts[shape]
    return parameters


_LEFT_OUT = {"Placeholder": "shape", "Const": "value"}
_LARGEST_CONSTANT = 1000


def defined_as(name: str, node: SealedNode, inputs: Sequence[str], *, has_attributes: bool = True) -> SealedNode:
    """A node under another name and with other inputs, without attributes that are useless or harmful, or without any.

    The shape of a placeholder would count as parameters, and the value of a constant may be large.

    >>> defined_as("layer/x", SealedNode(name="x", op="Relu"), ["layer/y"]).name
    'layer/x'
    """
    added = SealedNode.FromString(node.SerializeToString(deterministic=True))
    added.name, added.input[:] = name, inputs
    if node.op in _LEFT_OUT or not has_attributes:
        added.attr[:] = [each for each in added.attr if has_attributes and not _is_left_out(node.op, each)]
    return added


def _is_left_out(op: str, sealed: bytes) -> bool:
    """Whether an attribute is useless or harmful: the shape of a placeholder would count as parameters."""
    attribute = SealedAttribute.FromString(sealed)
    return attribute.key == _LEFT_OUT[op] and (op != "Const" or len(attribute.value) > _LARGEST_CONSTANT)


@dataclass(frozen=True)
class FunctionGraphs:
    """Functions as one graph, with an op log for its nodes and, by function, the node of each executed name.

    A function is a node too, because a function that XLA compiled is executed as one op. `compiled` has such functions
    that others call, each with the nodes of its ops. `data` has the executed names in functions of `tf.data`. A node of
    `mixed` stands for ops of unlike shapes, which a trace does not tell apart. `elsewhere` has, by function, the stack
    and the forward node of each node that this function made elsewhere than the op log says; `otherwise` the nodes that
    it defines otherwise than `definition` does: with other shapes, attributes or inputs.
    """

    definition: SealedGraph
    op_log: NodeDetails
    nodes: dict[str, dict[str, str]]
    layers: Layers
    compiled: dict[str, frozenset[str]]
    data: dict[str, dict[str, str]] = field(default_factory=dict)
    mixed: Collection[str] = ()
    elsewhere: Mapping[str, Mapping[str, tuple[int, str]]] = field(default_factory=dict)
    otherwise: Mapping[str, Sequence[SealedNode]] = field(default_factory=dict)
