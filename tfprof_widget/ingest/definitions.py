"""Gives the NodeDefs of a profile's graphs once more, for what no column holds: the attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.message import DecodeError

from tfprof_widget.errors import ProfileError
from tfprof_widget.messages import GraphDef, NodeDef, SealedGraph


def node_definitions(graphs: Iterable[SealedGraph]) -> Iterator[NodeDef]:
    """The nodes of graphs that were added one after another, their attributes read; the first of a name counts.

    >>> graph = SealedGraph(node=[{"name": "w", "op": "VariableV2"}, {"name": "w", "op": "Const"}])
    >>> [node.op for node in node_definitions([graph])]
    ['VariableV2']
    """
    seen: set[str] = set()
    for graph in graphs:
        for node in _unsealed(graph).node:
            name = node.name
            if name not in seen:
                seen.add(name)
                yield node


def _unsealed(graph: SealedGraph) -> GraphDef:
    try:
        return GraphDef.FromString(graph.SerializeToString())
    except DecodeError as error:
        raise ProfileError(
            f"graph: the attributes of its nodes cannot be read ({error}); check that the file is whole"
        ) from None
