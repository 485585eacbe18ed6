"""Reads a GraphDef into columns: names, ops, inputs and shapes of its nodes."""

from __future__ import annotations

from collections.abc import Container
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
    columns = GraphColumns()
    seen: set[str] = set()
    for node in graph.node:
        name = node.name
        if name in seen or name in known:
            continue
        seen.add(name)
        columns.names.append(name)
        columns.ops.append(node.op)
        columns.inputs.append(list(node.input))
        attributes = node.attr
        columns.shape.append(_shape(attributes["shape"], shapes) if "shape" in attributes else ABSENT)
        listed = "_output_shapes" in attributes
        columns.output_shapes.append(_output_shapes(attributes["_output_shapes"], shapes) if listed else ())
    return columns


def _shape(value: Any, shapes: Shapes) -> int:
    return shapes.of_message(value.shape) if value.HasField("shape") else ABSENT


def _output_shapes(value: Any, shapes: Shapes) -> tuple[int, ...]:
    return shapes.of_list(value) if value.HasField("list") else ()
