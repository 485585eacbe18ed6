"""Reads a node's shapes and attributes for formulas: shapes that the graph lacks come from the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tfprof_widget.ingest.flops.elementwise import AFTER_MAIN
from tfprof_widget.ingest.flops.operation import Operation, Shape, main_op, read_shapes
from tfprof_widget.ingest.parts.nodes import Attributes, unsealed
from tfprof_widget.ingest.parts.nodes import Shapes as KnownShapes
from tfprof_widget.lib.arrays import ABSENT, Integers
from tfprof_widget.lib.messages import AttrValue, GraphDef, SealedAttribute, SealedGraph, SealedNode
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.tables import ExecutedKernel

Shapes = tuple[Shape, ...]

_UNKNOWN = -1
_FED = re.compile(r"_arg_(?P<name>.+)_(?P<port>\d+)_\d+", re.DOTALL)
_CALL = re.compile(r"/_\d+/")
_OUTPUT_SHAPES = b"\x0a\x0e_output_shapes"
# The batch is in the first input of most ops; these ops have the sizes of the output as an input.
_INPUT_WITH_BATCH = {
    "AvgPool3DGrad": 1,
    "AvgPoolGrad": 1,
    "Conv2DBackpropInput": 2,
    "Conv3DBackpropInputV2": 2,
    "DepthwiseConv2dNativeBackpropInput": 2,
    "StridedSliceGrad": 4,
}
_MOST_NOT_SEEN = 64
_PASS_ON = frozenset(
    {"CheckNumerics", "DeepCopy", "EnsureShape", "Identity", "PreventGradient", "Snapshot", "StopGradient"}
)
"""Ops that put out what they take in; Grappler removes them, so that a run tells no shape of theirs."""

_HOLD_THEIR_SHAPE = frozenset({"Variable", "VariableV2", "Placeholder", "PlaceholderV2"})


class _Definitions:
    """What graphs say of the nodes of a profile."""

    def __init__(self, profile: ProfileTables) -> None:
        self._profile = profile
        self._attributes: dict[bytes, tuple[str, Any]] = {}

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each node by its name."""
        return {name: row for row, name in enumerate(self._profile.nodes.names)}

    @cached_property
    def nodes(self) -> dict[str, Any]:
        """The definitions by name; of several nodes with one name the first counts."""
        graphs = reversed(self._profile.graphs)
        return {node.name: node for graph in graphs for node in reversed(graph.node)}

    @cached_property
    def of_functions(self) -> dict[str, Any]:
        """The nodes of all library functions by name; of several with one name the first counts."""
        found: dict[str, Any] = {}
        for graph in self._profile.graphs:
            for function in unsealed(graph, GraphDef).library.function:
                nodes = GraphDef(node=function.node_def).SerializeToString()
                for node in SealedGraph.FromString(nodes).node:
                    found.setdefault(node.name, node)
        return found

    def in_functions(self, name: str) -> Any | None:
        """The node of a library function that was executed under this name, which begins with the calls."""
        while name:
            if name in self.of_functions:
                return self.of_functions[name]
            name = name.partition("/")[2]
        return None

    def attribute(self, sealed: bytes) -> tuple[str, Any]:
        """The name and the value of an attribute."""
        found = self._attributes.get(sealed)
        if found is None:
            entry = SealedAttribute.FromString(sealed)
            found = self._attributes[sealed] = (entry.key, _value(AttrValue.FromString(entry.value)))
        return found


class NodeReader:
    """Reads nodes of one profile, each when it is asked for.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> row = profile.nodes.names.index("layer1/MatMul")
    >>> NodeReader(profile).operation(row).op
    'MatMul'
    """

    def __init__(self, profile: ProfileTables) -> None:
        self._profile = profile
        self._definitions = _Definitions(profile)
        self._executions: Integers | None = None  # those that tell shapes; None for all
        self._otherwise: Mapping[str, SealedNode] = {}
        self._shapes: dict[int, Shapes] = {}
        self._taken: dict[int, Shapes] = {}

    def as_of(self, executions: Integers, otherwise: Sequence[SealedNode] = ()) -> NodeReader:
        """A reader of the nodes as they were in these executions, where some are defined otherwise: by the first."""
        found = NodeReader(self._profile)
        found._definitions = self._definitions
        found._executions = executions
        found._otherwise = {node.name: node for node in reversed(otherwise)}
        return found

    def operation(self, row: int, op: str = "") -> Operation:
        """The operation that ran for a node, or the node as an operation of type `op`."""
        op = op or self.op(row)
        return Operation(op, self.input_shapes(row, op), self.output_shapes(row), self.attributes(row))

    def op(self, row: int) -> str:
        """The type of the kernel that ran for a node if it is known, else of its op."""
        nodes = self._profile.nodes
        kernel = self._kernel(row)
        return kernel.op if kernel is not None else str(nodes.ops[nodes.op[row]])

    def graph_op(self, row: int) -> str:
        """The type of a node's op in the graph."""
        sealed = self._sealed(row)
        return self.op(row) if sealed is None else str(sealed.op)

    def sources(self, row: int) -> tuple[list[int], list[int]]:
        """The source of each input of a node as a row and an output number; control inputs are left out."""
        name = self._profile.nodes.names[row]
        if name in self._profile.kernels and name not in self._definitions.nodes:
            return self._named(self._profile.kernels[name].inputs)
        inputs = self._profile.nodes.inputs
        start, end = int(inputs.start[row]), int(inputs.start[row + 1])
        sealed = self._sealed(row)
        if sealed is not None:
            taken = [written for written in sealed.input if not written.startswith("^")]
            if sealed.name in self._otherwise:
                return self._named(taken)
            end = start + len(taken)
        ports = np.maximum(self._profile.nodes.input_ports[start:end], 0)
        return inputs.values[start:end].tolist(), ports.tolist()

    def input_shapes(self, row: int, op: str = "") -> Shapes:
        """The shapes of a node's inputs, or of the inputs of its kernel if that is of type `op`."""
        if row in self._told and op == self.op(row):
            return self._told[row]
        if row in self._taken:
            return self._taken[row]
        kernel, shapes = self._kernel(row), self._put_out(*self.sources(row))
        if kernel is not None and kernel.inputs and not all(map(_is_complete, shapes)):
            executed = self._put_out(*self._named(kernel.inputs))
            return executed if all(map(_is_complete, executed)) else shapes
        return shapes

    def _put_out(self, sources: Sequence[int], ports: Sequence[int]) -> Shapes:
        found = []
        for source, port in zip(sources, ports, strict=True):
            shapes = self.output_shapes(source) if source != ABSENT else ()
            found.append(self._passed_on(source, shapes[port] if port < len(shapes) else None))
        return tuple(found)

    def _passed_on(self, row: int, shape: Shape) -> Shape:
        """The shape that a node puts out, with unknown dimensions from where its tensor comes from."""
        passed: set[int] = set()
        while row not in (ABSENT, *passed) and not _is_complete(shape) and self.graph_op(row) in _PASS_ON:
            passed.add(row)
            sources, ports = self.sources(row)
            if not sources or sources[0] == ABSENT:
                break
            row = sources[0]
            shapes = self.output_shapes(row)
            shape = merged(shape, shapes[ports[0]] if ports[0] < len(shapes) else None)
        return shape

    def output_shapes(self, row: int) -> Shapes:
        """The shapes of a node's outputs: the graph's, with unknown dimensions from a run."""
        found = self._shapes.get(row)
        if found is None:
            found = self._shapes[row] = self._read_shapes(row)
        return found

    def take_shape(self, row: int, seen: Sequence[int]) -> None:
        """Complete the shape of a node's first output by a shape that it must have."""
        first, *others = self.output_shapes(row) or (None,)
        self._shapes[row] = (merged(first, seen), *others)

    def take_input_shapes(self, row: int, seen: Shapes) -> None:
        """Set the shapes of a node's inputs; there may be more shapes than inputs."""
        count = len(self.sources(row)[0])
        if len(seen) >= count:
            self._taken[row] = seen[:count]

    def taken_in(self, row: int) -> Shapes:
        """The shapes of the inputs of a node's kernel, if a run tells them."""
        kernel = self._kernel(row)
        if row in self._told or kernel is None:
            return self._told.get(row, ())
        return self._put_out(*self._named(kernel.inputs))

    def attributes(self, row: int) -> Mapping[str, Any]:
        """A node's attributes, without its output shapes."""
        return dict(map(self._definitions.attribute, self.sealed_attributes(row)))

    def is_executed_only(self, row: int) -> bool:
        """Whether only a run has the node, as nodes of functions and loops."""
        return self._profile.nodes.names[row] not in self._definitions.nodes

    def sealed_attributes(self, row: int) -> tuple[bytes, ...]:
        """The attributes as bytes: nodes with equal bytes have equal attributes."""
        sealed = self._sealed(row)
        if sealed is None:
            return ()
        return tuple([entry for entry in sealed.attr if not entry.startswith(_OUTPUT_SHAPES)])

    def _read_shapes(self, row: int) -> Shapes:
        nodes = self._profile.nodes
        shapes = self._of_graph(row)
        if not shapes and self.op(row) in _HOLD_THEIR_SHAPE and nodes.shape[row] != ABSENT:
            shapes = [nodes.shapes[nodes.shape[row]] or None]
        if shapes and all(map(_is_complete, shapes)) and self._executions is None:
            return tuple(shapes)
        seen = self._seen.get(row, {})
        if not seen and len(shapes) == 1:
            seen = self._with_batch(row, shapes[0])
        most = len(shapes) + len(seen) + _MOST_NOT_SEEN  # a limit on outputs: a damaged file may name the two billionth
        shapes += [None] * (max((slot for slot in seen if slot < most), default=-1) + 1 - len(shapes))
        if self._executions is not None:  # the graph's may have been completed by other executions
            shapes = [seen.get(slot, shape) for slot, shape in enumerate(shapes)]
        return tuple(merged(shape, seen.get(slot)) for slot, shape in enumerate(shapes))

    def _of_graph(self, row: int) -> list[Shape]:
        """The shapes of a node's outputs, as far as the graph tells them."""
        sealed = self._sealed(row) if self._otherwise else None
        if sealed is not None and sealed.name in self._otherwise:
            shapes = KnownShapes()
            _, codes = Attributes(shapes).shapes_of(sealed.attr, sealed.name)
            return [shapes.known[code] or None for code in codes]
        nodes = self._profile.nodes
        return [nodes.shapes[code] or None for code in nodes.output_shapes[row].tolist()]

    def _kernel(self, row: int) -> ExecutedKernel | None:
        return self._profile.kernels.get(self._profile.nodes.names[row])

    def _with_batch(self, row: int, shape: Shape) -> dict[int, tuple[int, ...]]:
        """The shape of an output whose first dimension alone is unknown: mostly it is the batch of an input."""
        told = self._told.get(row, ())
        if not told or not shape or shape[0] != _UNKNOWN or _UNKNOWN in shape[1:]:
            return {}
        has_batch = _INPUT_WITH_BATCH.get(main_op(self.op(row)), 0)
        took_in = told[has_batch] if has_batch < len(told) else None
        if not took_in or len(took_in) == 1 < len(shape):  # a list of sizes, such as the input of Fill
            return {}
        is_transposed = len(took_in) > 1 and self.attributes(row).get("transpose_a")  # as in a weight's gradient
        return {0: (took_in[1 if is_transposed else 0], *shape[1:])}

    @cached_property
    def _told(self) -> dict[int, Shapes]:
        """The shapes that the kernels of nodes took in, those of the first execution; the node that ran first first."""
        executions, written = self._profile.executions, self._profile.input_shapes
        rows = np.arange(len(executions)) if self._executions is None else self._executions
        rows = rows[executions.input_shapes[rows] > 0]
        rows = rows[np.argsort(executions.start_nanos[rows], kind="stable")]
        first = rows[np.sort(np.unique(executions.node[rows], return_index=True)[1])]
        codes = executions.input_shapes[first].tolist()
        read = {code: read_shapes(written[code]) for code in set(codes)}
        return {row: read[code] for row, code in zip(executions.node[first].tolist(), codes, strict=True)}

    @cached_property
    def _seen(self) -> dict[int, dict[int, tuple[int, ...]]]:
        """The shape of each output in its first execution, by node and output; of a fed tensor, its own shape."""
        profile = self._profile
        outputs = profile.outputs
        is_known = outputs.shape != ABSENT
        if self._executions is not None:
            is_telling = np.zeros(len(profile.executions), np.bool_)
            is_telling[self._executions] = True
            is_known &= is_telling[outputs.execution]
        known = np.flatnonzero(is_known)
        node = profile.executions.node[outputs.execution[known]].astype(np.int64)
        slot = outputs.slot[known].astype(np.int64)
        _, first = np.unique(node * (int(slot.max(initial=0)) + 1) + slot, return_index=True)
        found: dict[int, dict[int, tuple[int, ...]]] = {}
        codes = outputs.shape[known][first].tolist()
        for row, port, code in zip(node[first].tolist(), slot[first].tolist(), codes, strict=True):
            found.setdefault(row, {})[port] = profile.nodes.shapes[code]
        for row in list(found):
            fed = _FED.fullmatch(profile.nodes.names[row])
            if fed is not None and fed["name"] in self._definitions.rows and 0 in found[row]:
                found.setdefault(self._definitions.rows[fed["name"]], {}).setdefault(int(fed["port"]), found[row][0])
        for row, shapes in self._told.items():
            self._add_taken_in(row, shapes, found)
        for row in list(found):
            self._pass_back(row, found)
        return found

    def _add_taken_in(self, row: int, shapes: Shapes, found: dict[int, dict[int, tuple[int, ...]]]) -> None:
        """Use the shapes of a kernel's inputs for its sources, if they fit: the runtime may have swapped inputs."""
        sources, ports = self.sources(row)
        if len(sources) != len(shapes):
            return
        for source, port, shape in zip(sources, ports, shapes, strict=True):
            if source == ABSENT or shape is None:
                continue
            declared = self._of_graph(source)
            if port >= len(declared) or (known := declared[port]) is None or _can_be(known, shape):
                found.setdefault(source, {}).setdefault(port, shape)

    def _pass_back(self, row: int, found: dict[int, dict[int, tuple[int, ...]]]) -> None:
        """Use the shape that a node put out, if it did not run, for where its tensor comes from.

        Grappler removes a product with 1 or a sum with 0, such as those after a uniform random number.
        """
        shape = found[row].get(0)
        while shape is not None and row not in self._ran and self.graph_op(row) in _PASS_ON | AFTER_MAIN:
            sources = [
                (source, port)
                for source, port in zip(*self.sources(row), strict=True)
                if source != ABSENT and self._may_put_out(source, port, shape)
            ]
            if len(sources) != 1 or sources[0][1] in found.setdefault(sources[0][0], {}):
                return
            row, port = sources[0]
            found[row][port] = shape

    def _may_put_out(self, row: int, port: int, shape: Sequence[int]) -> bool:
        """Whether a shape completes an output of which only the first dimension, the batch, is unknown."""
        declared = self._of_graph(row)
        known = declared[port] if port < len(declared) else None
        return known is not None and known[0] == _UNKNOWN and _UNKNOWN not in known[1:] and _can_be(known, shape)

    @cached_property
    def _ran(self) -> set[int]:
        if self._executions is not None:
            return set(self._profile.executions.node[self._executions].tolist())
        return set(self._profile.step_totals.node.tolist())

    def _sealed(self, row: int) -> Any | None:
        name = self._profile.nodes.names[row]
        found = self._defined(name)
        if found is None:  # a node with a kernel of another type in another function has a name derived from it
            found = self._defined(name.removesuffix("/" + self.op(row)))
        if found is None and name in self._profile.kernels:
            found = self._definitions.in_functions(_CALL.split(name)[-1])
        return found

    def _defined(self, name: str) -> Any | None:
        return self._otherwise.get(name) or self._definitions.nodes.get(name)

    def _named(self, inputs: Iterable[str]) -> tuple[list[int], list[int]]:
        """Inputs as rows and output numbers."""
        rows, ports = [], []
        for written in inputs:
            name, _, port = written.partition(":")
            rows.append(self._definitions.rows.get(name, ABSENT))
            ports.append(int(port) if port.isdecimal() else 0)
        return rows, ports


def merged(shape: Shape, seen: Sequence[int] | None) -> Shape:
    """A shape, with unknown dimensions from one that was seen if both can be the same shape.

    >>> merged((-1, 3), (2, 3)), merged(None, (2, 3)), merged((-1, 3), (2, 4)), merged((-1, 3), None)
    ((2, 3), (2, 3), (-1, 3), (-1, 3))
    """
    if seen is None or (shape is not None and not _can_be(shape, seen)):
        return shape
    return tuple(seen) if shape is None else tuple(max(pair) for pair in zip(shape, seen, strict=True))


def _is_complete(shape: Shape) -> bool:
    return shape is not None and _UNKNOWN not in shape


def _can_be(shape: Sequence[int], seen: Sequence[int]) -> bool:
    return len(shape) == len(seen) and all(
        size == other or _UNKNOWN in (size, other) for size, other in zip(shape, seen, strict=True)
    )


def _value(message: Any) -> Any:
    """The value of an attribute: a number, a text or a list of these as Python has them, else the message."""
    kind = message.WhichOneof("value")
    if kind is None:
        return None
    if kind == "list":
        fields = message.list.ListFields()
        return [_plain(each) for each in fields[0][1]] if fields else []
    return _plain(getattr(message, kind))


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
