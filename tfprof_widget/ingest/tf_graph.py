"""Reads a live tf.Graph, without changing it and without importing TensorFlow for anyone who has none."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tfprof_widget.ingest.tf_shapes import OutputShapes, add_output_shapes


@dataclass(frozen=True, eq=False)
class LiveGraph:
    """A tf.Graph and what was read of it: for each node of `definition` its operation and output shapes."""

    graph: Any
    definition: Any
    operations: tuple[Any, ...]
    output_shapes: tuple[OutputShapes, ...]
    version: int

    def is_still(self, graph: Any) -> bool:
        """Whether this is that graph, and no node has been added to it since it was read."""
        return graph is self.graph and graph.version == self.version


def is_tf_graph(value: object) -> bool:
    """Whether this is a tf.Graph; where TensorFlow is not loaded, nothing is.

    >>> is_tf_graph("graph")
    False
    """
    framework = sys.modules.get("tensorflow.python.framework.ops")
    return framework is not None and isinstance(value, framework.Graph)


def default_graph() -> Any | None:
    """TensorFlow's default graph, if TensorFlow is loaded and builds graphs rather than runs eagerly.

    >>> default_graph() is None or is_tf_graph(default_graph())
    True
    """
    eager = sys.modules.get("tensorflow.python.eager.context")
    framework = sys.modules.get("tensorflow.python.framework.ops")
    if eager is None or framework is None or eager.executing_eagerly():
        return None
    return framework.get_default_graph()


def read_tf_graph(graph: Any) -> LiveGraph:
    """Read nodes and shapes of a tf.Graph: `definition` is what `as_graph_def(add_shapes=True)` gives.

    TensorFlow asks for the shapes in Python, one message a tensor; here equal lists of shapes are written
    once. Bodies of library functions are left without shapes, which nothing here looks at.

    >>> read_tf_graph(None)
    Traceback (most recent call last):
    ...
    TypeError: graph: got NoneType; give a tf.Graph
    """
    if not is_tf_graph(graph):
        raise TypeError(f"graph: got {type(graph).__name__}; give a tf.Graph")
    definition = graph.as_graph_def()
    operations = _operations(graph, definition)
    return LiveGraph(graph, definition, operations, add_output_shapes(definition, operations), graph.version)


def _operations(graph: Any, definition: Any) -> tuple[Any, ...]:
    """The operations of the definition's nodes, in their order: mostly that in which the graph lists them."""
    listed = tuple(graph.get_operations())
    if len(listed) == len(definition.node) and all(
        operation.name == node.name for operation, node in zip(listed, definition.node, strict=True)
    ):
        return listed
    return tuple(graph.get_operation_by_name(node.name) for node in definition.node)


def read_trainable_variables(graph: Any) -> tuple[str, ...]:
    """The names of the nodes that hold a tf.Graph's trainable variables, in the order they were made.

    >>> class Graph:
    ...     def get_collection(self, name):
    ...         return []
    >>> read_trainable_variables(Graph())
    ()
    """
    variables: Iterable[Any] = graph.get_collection("trainable_variables")
    return tuple(dict.fromkeys(name for variable in variables if (name := _name_of_node(variable)) is not None))


def _name_of_node(variable: Any) -> str | None:
    """The node that holds a variable; None for one that is held outside of the graph, as those of a tf.function are."""
    with suppress(AttributeError, ValueError):  # an eager tensor has no op; a MirroredVariable may have no replica here
        return str(variable.op.name)
    return None
