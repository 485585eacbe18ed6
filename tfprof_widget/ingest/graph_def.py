"""Reads a GraphDef into columns: names, ops, inputs and shapes of its nodes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tfprof_widget.ingest.shapes import Shapes
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


def read_graph(graph: Any, shapes: Shapes, known: Container[str] = ()) -> GraphColumns:
    """The columns of a GraphDef; the first node of a name counts, and none whose name is `known`.

    >>> from tfprof_widget.messages import GraphDef
    >>> graph = GraphDef(node=[{"name": "w", "op": "VariableV2"}, {"name": "w", "op": "Const"}])
    >>> read_graph(graph, Shapes()).ops
    ['VariableV2']
    """
    nodes = list(graph.node)
    names = [node.name for node in nodes]
    first = {name: index for index, name in reversed(list(enumerate(names))) if name not in known}
    if len(first) < len(names):
        nodes = [node for index, node in enumerate(nodes) if first.get(names[index]) == index]
        names = [node.name for node in nodes]
    attributes = [node.attr for node in nodes]
    return GraphColumns(
        names=names,
        ops=[node.op for node in nodes],
        inputs=[node.input[:] for node in nodes],
        shape=[_shape(each["shape"], shapes) if "shape" in each else ABSENT for each in attributes],
        output_shapes=[
            _output_shapes(each["_output_shapes"], shapes) if "_output_shapes" in each else () for each in attributes
        ],
    )


def _shape(value: Any, shapes: Shapes) -> int:
    return shapes.of_message(value.shape) if value.HasField("shape") else ABSENT


def _output_shapes(value: Any, shapes: Shapes) -> tuple[int, ...]:
    return shapes.of_list(value) if value.HasField("list") else ()


def first_of_each_name(graphs: Iterable[Any]) -> Iterator[Any]:
    """The NodeDefs of graphs that were added one after another; the first of a name counts.

    >>> from tfprof_widget.messages import GraphDef
    >>> graph = GraphDef(node=[{"name": "w", "op": "VariableV2"}, {"name": "w", "op": "Const"}])
    >>> [node.op for node in first_of_each_name([graph])]
    ['VariableV2']
    """
    seen: set[str] = set()
    for graph in graphs:
        for node in graph.node:
            if node.name not in seen:
                seen.add(node.name)
                yield node
