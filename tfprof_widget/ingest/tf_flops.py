"""Reads the float operations that TensorFlow's own formulas count for the nodes of a live tf.Graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from tfprof_widget.errors import ProfileWarning
from tfprof_widget.ingest.tf_shapes import OutputShapes
from tfprof_widget.integers import LARGEST_INTEGER

if TYPE_CHECKING:
    from tfprof_widget.ingest.tf_graph import LiveGraph

STATISTIC = "flops"


def read_flops(graph: LiveGraph, completed: Mapping[str, OutputShapes] | None = None) -> dict[str, int]:
    """The float operations of one execution, by node name; `completed` are shapes that a run has filled in.

    Nodes whose op has no formula, whose shapes are not known or that count 0 are left out. TensorFlow's own
    formulas see nothing but shapes and attributes, so each is asked once for nodes that agree in these.
    """
    from tensorflow.python.util import deprecation

    nodes = graph.definition.node
    shapes = {node.name: known for node, known in zip(nodes, graph.output_shapes, strict=True)}
    shapes.update(completed or {})
    formulas = _registered_formulas()
    asked = CompletedGraph(graph.graph, completed) if completed else graph.graph
    counted: dict[Any, int] = {}
    faults: dict[str, str] = {}
    flops: dict[str, int] = {}
    with deprecation.silence():  # the formulas call a deprecated function
        for node in nodes:
            formula = formulas.get(node.op)
            if formula is None:
                continue
            is_tensorflows = getattr(formula, "__module__", "").startswith("tensorflow.")
            key = _circumstances(node, shapes) if is_tensorflows else node.name
            if key not in counted:
                counted[key] = _count(asked, node, faults)
            if count := counted[key]:
                flops[node.name] = count
    for op, fault in faults.items():
        warnings.warn(
            f"graph: the FLOP formula of {op} failed for some nodes, which count none: {fault}",
            ProfileWarning,
            stacklevel=2,
        )
    return flops


def _registered_formulas() -> dict[str, Callable[..., Any]]:
    from tensorflow.python.framework import ops
    from tensorflow.python.profiler.internal import flops_registry  # noqa: F401 - registers most of them

    registry = ops._stats_registry
    keys = (key for key in registry.list() if key.endswith(f",{STATISTIC}"))
    return {key.removesuffix(f",{STATISTIC}"): registry.lookup(key) for key in keys}


def _circumstances(node: Any, shapes: Mapping[str, OutputShapes]) -> tuple[Any, ...]:
    """Op, attributes, and the shapes of outputs and inputs."""
    attributes = node.attr
    inputs = []
    for entry in node.input:
        name, _, port = entry.partition(":")
        inputs.append((shapes.get(name), port))
    return (
        node.op,
        shapes[node.name],
        *inputs,
        *[(name, attributes[name].SerializeToString()) for name in sorted(attributes) if not name.startswith("_")],
    )


def _count(graph: Any, node: Any, faults: dict[str, str]) -> int:
    from tensorflow.python.framework import ops

    try:
        # a copy, as to look for an attribute that is not there adds it
        value = ops.get_stats_for_node_def(graph, deepcopy(node), STATISTIC).value
        count = int(value) if value else 0
        if count > LARGEST_INTEGER:
            raise OverflowError(f"{count} is more than 64 bits hold")
        return count
    except ValueError:  # how formulas say that a shape is not complete
        return 0
    except Exception as error:  # a formula of anyone's
        faults[node.op] = f"{type(error).__name__}: {error} (at {node.name!r})"
        return 0


class _Overlay:
    """Stands for an object of TensorFlow's, but for what a subclass says otherwise."""

    def __init__(self, original: Any, completed: Mapping[str, OutputShapes]) -> None:
        self._original = original
        self._completed = completed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class CompletedGraph(_Overlay):
    """A tf.Graph as its formulas would see it with some shapes completed."""

    def get_operation_by_name(self, name: str) -> Any:
        """The operation of that name, with completed shapes."""
        return CompletedOperation(self._original.get_operation_by_name(name), self._completed)

    def get_tensor_by_name(self, name: str) -> Any:
        """The tensor of that name, with its completed shape."""
        return CompletedTensor(self._original.get_tensor_by_name(name), self._completed)


class CompletedOperation(_Overlay):
    """An operation whose tensors have completed shapes."""

    @property
    def inputs(self) -> list[Any]:
        """Its input tensors."""
        return [CompletedTensor(tensor, self._completed) for tensor in self._original.inputs]

    @property
    def outputs(self) -> list[Any]:
        """Its output tensors."""
        return [CompletedTensor(tensor, self._completed) for tensor in self._original.outputs]


class CompletedTensor(_Overlay):
    """A tensor with a completed shape."""

    @property
    def shape(self) -> Any:
        """Its shape."""
        from tensorflow.python.framework import tensor_shape

        shapes = self._completed.get(self._original.op.name)
        if shapes is None:
            return self._original.shape
        shape = shapes[self._original.value_index]
        return tensor_shape.TensorShape(None if shape is None else [None if size == -1 else size for size in shape])

    def get_shape(self) -> Any:
        """Its shape."""
        return self.shape
