"""Gives the NodeDefs of a profile's graphs once more, for what no column holds: the attributes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TypeVar

from google.protobuf.message import DecodeError

from tfprof_widget.errors import ProfileError
from tfprof_widget.messages import GraphDef, NodeDef, SealedGraph, SealedNode

Unsealed = TypeVar("Unsealed", GraphDef, NodeDef)


def node_definitions(graphs: Iterable[SealedGraph]) -> Iterator[NodeDef]:
    """The nodes of graphs that were added one after another, their attributes read; the first of a name counts.

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
    """The nodes of these names, which alone are read; the first of a name counts.

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
    """The message with all its parts read; those that were left as bytes may be damaged.

    >>> from tfprof_widget.messages import SealedNode
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
