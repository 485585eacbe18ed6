"""Reads the shapes of a live tf.Graph's tensors, and completes them by those that a run has seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfprof_widget.ingest.tf_graph import LiveGraph

Shape = tuple[int, ...] | None
OutputShapes = tuple[Shape, ...]
"""A shape an output: None of unknown rank, -1 an unknown dimension, as in a TensorShapeProto."""

UNKNOWN = -1


def add_output_shapes(definition: Any, operations: Iterable[Any]) -> tuple[OutputShapes, ...]:
    """Write the attribute `_output_shapes` of every node of a GraphDef; returns the shapes that it got."""
    known: dict[OutputShapes, tuple[OutputShapes, bytes]] = {}
    found = []
    for node, operation in zip(definition.node, operations, strict=True):
        shapes = tuple([_read_shape(tensor) for tensor in operation.outputs])
        entry = known.get(shapes)
        if entry is None:
            entry = known[shapes] = (shapes, _serialized(shapes))
        shapes, serialized = entry
        found.append(shapes)
        if shapes:
            node.attr["_output_shapes"].MergeFromString(serialized)
    return tuple(found)


def completed_output_shapes(graph: LiveGraph, run_metas: Iterable[Any]) -> dict[str, OutputShapes]:
    """The output shapes of the nodes that unknown dimensions were filled in for, one run after the other.

    Native tfprof sets these shapes on the tf.Graph itself; here it stays as it is. A shape at run time that
    contradicts the graph's is passed over.
    """
    incomplete = {
        node.name: shapes
        for node, shapes in zip(graph.definition.node, graph.output_shapes, strict=True)
        if not all(map(is_complete, shapes))
    }
    completed: dict[str, OutputShapes] = {}
    if not incomplete:
        return completed
    for run_meta in run_metas:
        for device in run_meta.step_stats.dev_stats:
            for execution in device.node_stats:
                name = execution.node_name
                shapes = incomplete.get(name)
                if shapes is None or len(shapes) != len(execution.output):
                    continue
                merged = _completed(shapes, execution.output)
                if merged != shapes:
                    incomplete[name] = completed[name] = merged
    return completed


def is_complete(shape: Shape) -> bool:
    """Whether rank and every dimension are known.

    >>> is_complete((2, 3)), is_complete((-1, 3)), is_complete(None)
    (True, False, False)
    """
    return shape is not None and UNKNOWN not in shape


def merge(shape: Shape, seen: Sequence[int]) -> Shape:
    """The shape with its unknown dimensions taken from one seen at run time, if the two can be the same.

    >>> merge((-1, 3), (2, 3)), merge(None, (2, 3)), merge((-1, 3), (2, 4))
    ((2, 3), (2, 3), (-1, 3))
    """
    if shape is None:
        return tuple(seen)
    if len(shape) != len(seen):
        return shape
    merged = []
    for size, seen_size in zip(shape, seen, strict=True):
        if size != seen_size and UNKNOWN not in (size, seen_size):
            return shape
        merged.append(seen_size if size == UNKNOWN else size)
    return tuple(merged)


def _completed(shapes: OutputShapes, outputs: Iterable[Any]) -> OutputShapes:
    merged = []
    for shape, output in zip(shapes, outputs, strict=True):
        seen = [dim.size for dim in output.tensor_description.shape.dim]
        merged.append(shape if is_complete(shape) else merge(shape, seen))
    return tuple(merged)


def _read_shape(tensor: Any) -> Shape:
    if isinstance(getattr(type(tensor)._shape, "fget", None), FunctionType):  # old TensorFlow's, which warns
        found = tensor.shape
        dimensions, unknown_rank = found.dims and found.as_list(), found.rank is None
    else:  # what `shape` is made of; to make a TensorShape a tensor takes twice as long
        dimensions, unknown_rank = tensor._shape
    if unknown_rank:
        return None
    return tuple([UNKNOWN if size is None else size for size in dimensions])


def _serialized(shapes: OutputShapes) -> bytes:
    from tensorflow.core.framework import attr_value_pb2

    attribute = attr_value_pb2.AttrValue()
    for shape in shapes:
        message = attribute.list.shape.add()
        if shape is None:
            message.unknown_rank = True
        for size in shape or ():
            message.dim.add().size = size
    serialized: bytes = attribute.SerializeToString()
    return serialized
