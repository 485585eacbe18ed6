"""Reads nodes and shapes of a live tf.Graph, and opens checkpoints."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike, fspath
from types import FunctionType
from typing import Any

from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import NodeDef, SealedNode, TensorShapeProto
from tfprof_widget.profiles.tables import Checkpoint

CHECKPOINT_VARIABLES = "_checkpoint_variables"

_PART_OF_V2 = re.compile(r"\.(index|data-\d+-of-\d+)$")


def open_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """The checkpoint at a path, or the latest one if the path is a directory.

    The path may also be a prefix or any file of a checkpoint of version 2, or the one file of version 1.

    >>> open_checkpoint("no/such/model.ckpt")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: checkpoint 'no/such/model.ckpt': ...
    """
    name = fspath(path)
    train = _train(name)
    prefix = _PART_OF_V2.sub("", name)
    try:
        reader: Any = train.load_checkpoint(prefix)
        shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    except Exception as error:  # TensorFlow raises its own errors, and some of Python's
        raise ProfileError(
            f"checkpoint {name!r}: {_first_line(error)}; give the prefix that the saver was given, such as "
            "model.ckpt-100 of model.ckpt-100.index, or the directory that it wrote to"
        ) from None

    def value(tensor: str) -> NDArray[Any]:
        try:
            found: NDArray[Any] = reader.get_tensor(tensor)
        except Exception as error:
            raise ProfileError(
                f"checkpoint {name!r}: {tensor!r} cannot be read: {_first_line(error)}; "
                "check that all files of the checkpoint are there and whole"
            ) from None
        return found

    return Checkpoint(
        path=name,
        shapes={tensor: tuple(shape) for tensor, shape in shapes.items()},
        types={tensor: int(kind.as_datatype_enum) for tensor, kind in types.items()},
        value=value,
    )


def _train(path: str) -> Any:
    try:
        import tensorflow
    except ImportError:
        raise ProfileError(
            f"checkpoint {path!r}: checkpoints are read by TensorFlow, which is not installed; "
            "run `pip install 'tfprof-widget[tensorflow]'`"
        ) from None
    return tensorflow.train


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0].rstrip(".;: ") or type(error).__name__


@dataclass(frozen=True, eq=False)
class LiveGraph:
    """A tf.Graph and what was read from it: for each node of `definition` its operation and output shapes."""

    graph: Any
    definition: Any
    operations: tuple[Any, ...]
    output_shapes: tuple[OutputShapes, ...]
    version: int

    def is_still(self, graph: Any) -> bool:
        """Whether `graph` is this graph, and no node has been added since it was read."""
        return graph is self.graph and graph.version == self.version


def is_tf_graph(value: object) -> bool:
    """Whether this is a tf.Graph; False if TensorFlow is not loaded."""
    framework = sys.modules.get("tensorflow.python.framework.ops")
    return framework is not None and isinstance(value, framework.Graph)


def default_graph() -> Any | None:
    """TensorFlow's default graph, if TensorFlow is loaded and builds graphs rather than runs eagerly."""
    eager = sys.modules.get("tensorflow.python.eager.context")
    framework = sys.modules.get("tensorflow.python.framework.ops")
    if eager is None or framework is None or eager.executing_eagerly():
        return None
    return framework.get_default_graph()


def read_tf_graph(graph: Any) -> LiveGraph:
    """Read nodes and shapes of a tf.Graph: `definition` is what `as_graph_def(add_shapes=True)` gives.

    TensorFlow makes the shapes in Python, one message for each tensor; here equal lists of shapes are serialized once.
    Bodies of library functions get no shapes, because nothing here needs them.

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
    """The operation of each node of the definition; mostly the nodes are in the order of the graph's operations."""
    listed = tuple(graph.get_operations())
    if len(listed) == len(definition.node) and all(
        operation.name == node.name for operation, node in zip(listed, definition.node, strict=True)
    ):
        return listed
    return tuple(graph.get_operation_by_name(node.name) for node in definition.node)


def read_trainable_variables(graph: Any) -> tuple[str, ...]:
    """The names of the nodes that hold a tf.Graph's trainable variables, in the order in which they were made."""
    variables: Iterable[Any] = graph.get_collection("trainable_variables")
    return tuple(dict.fromkeys(name for variable in variables if (name := _name_of_node(variable)) is not None))


def _name_of_node(variable: Any) -> str | None:
    """The node that holds a variable; None if it is held outside of the graph, as variables of a tf.function are."""
    with suppress(AttributeError, ValueError):  # an eager tensor has no op; a MirroredVariable may have no replica here
        return str(variable.op.name)
    return None


Shape = tuple[int, ...] | None
OutputShapes = tuple[Shape, ...]
"""A shape for each output: None if the rank is unknown, -1 for an unknown dimension, as in a TensorShapeProto."""

UNKNOWN = -1


def add_output_shapes(definition: Any, operations: Iterable[Any]) -> tuple[OutputShapes, ...]:
    """Write the attribute `_output_shapes` of every node of a GraphDef; returns these shapes."""
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


def completed_output_shapes(graph: LiveGraph, seen: Mapping[str, Iterable[Sequence[bytes]]]) -> dict[str, OutputShapes]:
    """The output shapes of nodes whose unknown dimensions were completed from `seen`, the shapes of executions.

    Native tfprof sets these shapes on the tf.Graph itself; here the graph stays unchanged. A shape at run time that
    contradicts the graph's is ignored.
    """
    completed: dict[str, OutputShapes] = {}
    for node, shapes in zip(graph.definition.node, graph.output_shapes, strict=True):
        if node.name not in seen or all(map(is_complete, shapes)):
            continue
        merged = shapes
        for outputs in seen[node.name]:
            if len(outputs) == len(shapes):
                merged = tuple([_completed(shape, output) for shape, output in zip(merged, outputs, strict=True)])
        if merged != shapes:
            completed[node.name] = merged
    return completed


def is_complete(shape: Shape) -> bool:
    """Whether rank and every dimension are known.

    >>> is_complete((2, 3)), is_complete((-1, 3)), is_complete(None)
    (True, False, False)
    """
    return shape is not None and UNKNOWN not in shape


def merge(shape: Shape, seen: Sequence[int]) -> Shape:
    """The shape, with its unknown dimensions filled in from a shape seen at run time, unless the two contradict.

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


def _completed(shape: Shape, output: bytes) -> Shape:
    if is_complete(shape):
        return shape
    try:
        seen = TensorShapeProto.FromString(output)
    except DecodeError:  # a damaged shape tells nothing
        return shape
    return merge(shape, [dim.size for dim in seen.dim])


def _read_shape(tensor: Any) -> Shape:
    quick = getattr(type(tensor), "_shape", None)
    if quick is None or isinstance(getattr(quick, "fget", None), FunctionType):  # in old versions `_shape` warns
        found = tensor.shape
        dimensions, unknown_rank = found.dims and found.as_list(), found.rank is None
    else:  # `shape` is made from this; making a TensorShape for each tensor takes twice as long
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


@dataclass(frozen=True)
class Variable:
    """A variable; its shape is None if the rank is unknown or it is a replica's copy; -1 is an unknown dimension."""

    name: str
    shape: tuple[int, ...] | None
    is_trainable: bool

    def node(self) -> SealedNode:
        """The node that stands for the variable in a graph."""
        node = NodeDef(name=self.name, op="VarHandleOp")
        shape = node.attr["shape"].shape
        shape.unknown_rank = self.shape is None
        for size in self.shape or ():
            shape.dim.add(size=size)
        return SealedNode.FromString(node.SerializeToString())


@dataclass
class Variables:
    """The variables met so far; two with one name get different names.

    A mirrored variable has a copy for each replica, `kernel/replica_1` of `kernel`. A copy has no shape here, so that
    the parameters count once.

    `names` has better names than TensorFlow's for some variables, by the identity of their handles.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    known: dict[int, tuple[Any, Variable]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    met: set[str] = field(default_factory=set)

    def captured_by(self, graph: Any) -> Iterator[tuple[Variable, str]]:
        """The variables that a FuncGraph captures, and the names of its inputs for them."""
        of_handle = {id(variable.handle): variable for variable in _living(graph) if hasattr(variable, "handle")}
        self.met.update(_name_of(variable) for variable in of_handle.values())
        for captured, placeholder in graph.captures:
            variable = of_handle.get(id(captured))
            if variable is not None:
                yield self._variable(captured, variable), placeholder.op.name

    def _variable(self, handle: Any, variable: Any) -> Variable:
        found = self.known.get(id(handle))
        if found is None:
            # the handle is kept alive, so that no other object gets its id
            found = self.known[id(handle)] = (handle, self._read(handle, variable))
        return found[1]

    def _read(self, handle: Any, variable: Any) -> Variable:
        name = base = self.names.get(id(handle)) or _name_of(variable) or "variable"
        number = 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        copied = _COPY.fullmatch(_name_of(variable))
        is_whole = variable.shape.rank is not None and (copied is None or copied[1] not in self.met)
        shape = None if not is_whole else tuple(-1 if size is None else int(size) for size in variable.shape.as_list())
        return Variable(name, shape, bool(variable.trainable))


_COPY = re.compile(r"(.+)/replica_[1-9]\d*", re.ASCII | re.DOTALL)


def _name_of(variable: Any) -> str:
    name: str = variable.name.partition(":")[0]
    return name


def captures_resources(graph: Any) -> bool:
    """Whether this is the graph of a function that captures variables or other resources."""
    captures = getattr(graph, "captures", ())
    return is_tf_graph(graph) and any(captured.dtype.name == "resource" for captured, _ in captures)


def _living(graph: Any) -> Iterator[Any]:
    """The variables of a FuncGraph that are still alive: the graph does not keep them alive."""
    for reference in getattr(graph, "_weak_variables", ()):
        variable = reference()
        if variable is not None:
            yield variable
