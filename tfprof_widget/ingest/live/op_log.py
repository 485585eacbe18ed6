"""Reads what TensorFlow knows of a live graph's nodes: lines of code, FLOPs, trainable variables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from tfprof_widget.ingest.live.graph import LiveGraph, OutputShapes, read_trainable_variables
from tfprof_widget.ingest.live.stacks import read_traces
from tfprof_widget.ingest.parts.stacks import NodeDetails, StackBuilder
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER
from tfprof_widget.lib.errors import ProfileWarning, error_text, warn_user
from tfprof_widget.profiles.options import TRAINABLE_VARIABLES

STATISTIC = "flops"


def read_flops(graph: LiveGraph, completed: Mapping[str, OutputShapes] | None = None) -> dict[str, int]:
    """The float operations of one execution, by node name; `completed` are shapes that a run has completed.

    Nodes without a formula, without known shapes or with a count of 0 are left out. TensorFlow's own formulas depend on
    shapes and attributes only, so a formula is called once for all nodes that agree in these.
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
    """The op, the attributes, and the shapes of outputs and inputs: all that a formula depends on."""
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
        # a copy, because looking for a missing attribute adds it
        value = ops.get_stats_for_node_def(graph, deepcopy(node), STATISTIC).value
        count = int(value) if value else 0
        if count > LARGEST_INTEGER:
            raise OverflowError(f"{count} is more than 64 bits hold")
        return count
    except ValueError:  # formulas raise this if a shape is not complete
        return 0
    except Exception as error:  # a formula may be anyone's
        faults[node.op] = f"{type(error).__name__}: {error} (at {node.name!r})"
        return 0


class _Overlay:
    """Acts as an object of TensorFlow, except for what a subclass overrides."""

    def __init__(self, original: Any, completed: Mapping[str, OutputShapes]) -> None:
        self._original = original
        self._completed = completed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class CompletedGraph(_Overlay):
    """A tf.Graph with some shapes completed, for formulas."""

    def get_operation_by_name(self, name: str) -> Any:
        """The operation with this name, with completed shapes."""
        return CompletedOperation(self._original.get_operation_by_name(name), self._completed)

    def get_tensor_by_name(self, name: str) -> Any:
        """The tensor with this name, with its completed shape."""
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


Part = TypeVar("Part")


@dataclass(frozen=True)
class Reading:
    """How live graphs are read: `note` is told what is missing, and `kept` says which ops were made by kept code."""

    note: Callable[[str], None] = warn_user
    kept: Callable[[Any], Sequence[range]] = lambda graph: ()


READING = Reading()


def live_op_log(
    graph: LiveGraph,
    completed: Mapping[str, OutputShapes],
    stacks: StackBuilder,
    reading: Reading = READING,
) -> NodeDetails:
    """The op log of a tf.Graph; `completed` are shapes that the runs have completed.

    If TensorFlow does not give a part, a note says so, and the other parts are read.
    """

    def read(what: str, reader: Callable[[], Part], nothing: Part) -> Part:
        try:
            return reader()
        except Exception as error:  # an error of TensorFlow, or of a formula registered with it
            reading.note(f"{what} of a graph are missing, for they could not be read ({error_text(error)})")
            return nothing

    no_variables: tuple[str, ...] = ()
    variables = read("the trainable variables", lambda: read_trainable_variables(graph.graph), no_variables)
    return NodeDetails(
        types={name: [TRAINABLE_VARIABLES] for name in variables},
        float_ops=read("the float operations that TensorFlow counts", lambda: read_flops(graph, completed), {}),
        stack=read("the lines of code", lambda: _stacks(graph, stacks, reading), {}),
    )


def _stacks(graph: LiveGraph, stacks: StackBuilder, reading: Reading) -> dict[str, int]:
    traces = read_traces(graph.operations, reading.note, reading.kept(graph.graph))
    strings = [stacks.string(number, text) for number, text in enumerate(traces.strings)]
    frames = [
        stacks.frame((strings[file], line, strings[function], strings[source], start))
        for file, line, function, source, start in zip(
            traces.file.tolist(),
            traces.line.tolist(),
            traces.function.tolist(),
            traces.source.tolist(),
            traces.function_line.tolist(),
            strict=True,
        )
    ]
    stacks.live.update(frames)
    known = [
        stacks.stack(tuple(frames[frame] for frame in traces.stacks[stack].tolist()))
        for stack in range(len(traces.stacks))
    ]
    names = [operation.name for operation in graph.operations]
    return {name: known[stack] for name, stack in zip(names, traces.stack.tolist(), strict=True) if stack != ABSENT}
