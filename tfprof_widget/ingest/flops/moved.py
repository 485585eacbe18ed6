"""Counts the bytes that ops take in and put out, by their shapes and types."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.flops.alike import CountedRuns
from tfprof_widget.ingest.flops.counting import Counter, Outcome
from tfprof_widget.ingest.flops.node_reader import NodeReader
from tfprof_widget.ingest.flops.operation import Operation, Shape, main_op
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.program import MovedBytes

WIDTHS = {
    **dict.fromkeys((4, 6, 10, 11, 12), 1),
    **dict.fromkeys((5, 14, 17, 19), 2),
    **dict.fromkeys((1, 3, 13, 22), 4),
    **dict.fromkeys((2, 8, 9, 23), 8),
    **dict.fromkeys((7, 20, 21), 0),
    18: 16,
}
"""The bytes of an element by the number of its type; those of texts, resources and variants lie elsewhere."""

FLOAT, INT64, BOOL = 1, 9, 10
_REFERENCE = 100
_UNKNOWN = -1

STAY = re.compile(
    r"NoOp|Const|HostConst|_EagerConst|Identity|IdentityN|StopGradient|PreventGradient|EnsureShape|Reshape|Squeeze|"
    r"ExpandDims|Bitcast|Shape|ShapeN|Size|Rank|VariableShape|Placeholder\w*|_?Arg|_?Retval|_DeviceArg|_DeviceRetval|"
    r"ReadVariableOp|_ReadVariablesOp|VarHandleOp|_VarHandlesOp|Variable|VariableV2|VarIsInitializedOp|"
    r"AssignVariableOp|DestroyResourceOp|Enter|RefEnter|Exit|RefExit|Switch|RefSwitch|Merge|RefMerge|_SwitchN|"
    r"NextIteration|RefNextIteration|LoopCond|ControlTrigger|BroadcastGradientArgs|ConcatOffset"
)
"""Ops that pass tensors on as they lie in memory, or tell their shapes."""

CALLS = re.compile(r"(Stateless|Stateful)?(While|If|Case|PartitionedCall)|SymbolicGradient|RemoteCall")
"""Ops that run a function, whose ops count by themselves."""

PICK = re.compile(r"(Strided)?Slice|Gather(V2|Nd)?|ResourceGather(Nd)?")
"""Ops that read as much of their first input as they put out."""

_COMPARE = re.compile(r"(Less|Greater)(Equal)?|(Not)?Equal|ApproximateEqual|Is(Nan|Inf|Finite)|Logical(And|Or|Not)")
_OUTPUT_TYPES = ("DstT", "out_type", "output_type", "output_dtype", "Tout", "dtype")
_INPUT_TYPES = ("T", "SrcT", "dtype", "Tparams", "T1")
_UPDATE = re.compile(r"(Resource)?(Sparse)?Apply(?P<rule>\w+)|Assign(Add|Sub)(VariableOp)?|(Resource)?Scatter\w+")
_SLOTS = {
    **dict.fromkeys(("GradientDescent", "ProximalGradientDescent"), 1),
    **dict.fromkeys(
        ("Momentum", "KerasMomentum", "Adagrad", "AdagradV2", "ProximalAdagrad", "AddSign", "PowerSign"), 2
    ),
    **dict.fromkeys(("Adam", "AdaMax", "RMSProp", "Adadelta", "Ftrl", "FtrlV2", "AdagradDA"), 3),
    **dict.fromkeys(("AdamWithAmsgrad", "CenteredRMSProp"), 4),
}
"""How many variables an update has as its first inputs, by its rule."""

_NAMES = {
    "double": 2,
    "int64": 9,
    "uint64": 23,
    "complex64": 8,
    "complex128": 18,
    "half": 19,
    "bfloat16": 14,
    "bool": 10,
}
_NAMES |= {"int32": 3, "uint32": 22, "int16": 5, "uint16": 17, "int8": 6, "uint8": 4, "string": 7, "resource": 20}
_TYPE_NAME = re.compile(r"(?:^\(|;)(\w+)\[")


def count_moved(tables: ProfileTables) -> MovedBytes:
    """The bytes of all inputs and outputs of one run of each node, in the mean of its runs.

    Each input counts as read once and each output as written once: what a kernel reads twice is not in it, and what it
    finds in a cache is. What an op does not touch is left out, such as the rest of a table of which it gathers rows.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> node = profile.nodes.names.index("layer1/Relu")  # the kernel of a product, a bias and this
    >>> int(count_moved(profile).of_one_run[node]) == 4 * (64 * 784 + 784 * 128 + 128 + 64 * 128)
    True
    """
    counter, runs, types = Counter(tables), CountedRuns(tables), _told_types(tables)
    of_first, of_executions = np.zeros((2, len(tables.nodes)), np.int64)
    is_known = np.zeros(len(tables.nodes), np.bool_)
    with pause_gc():
        ran = np.unique(tables.step_totals.node)
        of_first[ran] = _of_nodes(counter.reader, ran, types)
        is_known[ran] = [of_first[row] >= 0 and _is_counted(counter, row) for row in ran.tolist()]
        of_first = np.maximum(of_first, 0)
        of_each = of_first[tables.executions.node]
        for alike in runs.alike():
            here = np.zeros(len(tables.nodes), np.int64)
            here[alike.nodes] = _of_nodes(counter.reader.as_of(alike.telling, alike.otherwise), alike.nodes, types)
            told = here[tables.executions.node[alike.executions]]
            of_each[alike.executions] = np.where(told > 0, told, of_each[alike.executions])
    node = tables.executions.node[runs.executions]
    np.add.at(of_executions, node, of_each[runs.executions])
    count = np.bincount(node, minlength=len(tables.nodes))
    of_one_run = np.where(count > 0, np.rint(of_executions / np.maximum(count, 1)).astype(np.int64), of_first)
    _take_told(tables, of_one_run, is_known, counter)
    return MovedBytes(of_one_run, is_known)


def _is_counted(counter: Counter, row: int) -> bool:
    """Whether the float operations of a node are known too."""
    if counter.profile.nodes.float_ops[row]:
        return True
    return counter.count(row).outcome is Outcome.COUNTED


def _told_types(tables: ProfileTables) -> dict[int, tuple[int, ...]]:
    """The numbers of the types of the inputs of each node, of those of which a run tells them."""
    executions, written = tables.executions, tables.input_shapes
    told = np.flatnonzero(executions.input_shapes > 0)
    nodes, first = np.unique(executions.node[told], return_index=True)
    codes = executions.input_shapes[told[first]].tolist()
    read = {code: tuple(_NAMES.get(name, FLOAT) for name in _TYPE_NAME.findall(written[code])) for code in set(codes)}
    return {node: read[code] for node, code in zip(nodes.tolist(), codes, strict=True)}


def _of_nodes(reader: NodeReader, rows: NDArray[np.integer], types: Mapping[int, tuple[int, ...]]) -> list[int]:
    """The bytes of one run of each node; nodes that are alike are counted once."""
    counted: dict[Any, int] = {}
    found = []
    for row in rows.tolist():
        op, told = reader.op(row), types.get(row, ())
        key: Any = op
        if op not in counted and not stays(op):
            # A fused kernel takes in other tensors than the node.
            taken, outputs = reader.taken_in(row), reader.output_shapes(row)
            inputs = taken if taken and None not in taken else reader.input_shapes(row, op)
            key = op, inputs, outputs, told, reader.sealed_attributes(row)
            if key not in counted:
                counted[key] = moved_by(Operation(op, inputs, outputs, reader.attributes(row)), told)
        found.append(counted.setdefault(key, 0))
    return found


def stays(op: str) -> bool:
    """Whether an op leaves tensors where they are.

    >>> stays("Reshape"), stays("Transpose")
    (True, False)
    """
    main = main_op(op)
    return bool(STAY.fullmatch(main) or CALLS.fullmatch(main))


def _take_told(tables: ProfileTables, of_one_run: Integers, is_known: Flags, counter: Counter) -> None:
    """Use what XLA's compiler says that its kernels read and write, where a recording tells it."""
    told: dict[str, int] = {}
    for each in tables.kernel_runs:
        if each.accessed_bytes:
            told[each.node] = told.get(each.node, 0) + each.accessed_bytes * each.runs
    runs = np.zeros(len(tables.nodes), np.int64)
    np.add.at(runs, tables.step_totals.node, tables.step_totals.run_count)
    for row, name in enumerate(tables.nodes.names) if told else ():
        if name in told and runs[row]:
            of_one_run[row], is_known[row] = told[name] // int(runs[row]), _is_counted(counter, row)


def moved_by(operation: Operation, types: tuple[int, ...] = ()) -> int:
    """The bytes that one execution of an op takes in and puts out; -1 if a shape is not known.

    `types` are the numbers of the types of its inputs, as far as a run tells them.

    >>> moved_by(Operation("MatMul", ((8, 3), (3, 5)), ((8, 5),), {"T": 1})) == 4 * (24 + 15 + 40)
    True
    >>> moved_by(Operation("Reshape", ((8, 3), (1,)), ((24,),))), moved_by(Operation("Relu", (None,), ((8,),)))
    (0, -1)
    """
    op = main_op(operation.op)
    if stays(op):
        return 0
    if "Dataset" in op or "Iterator" in op or not (operation.inputs or operation.outputs):
        return _UNKNOWN
    given = operation.attributes
    of_inputs = [*types[: len(operation.inputs)], *[_type(given, _INPUT_TYPES)] * len(operation.inputs)]
    read = [_bytes(*each) for each in zip(operation.inputs, of_inputs, strict=False)]
    written = [_bytes(shape, _output_type(op, given)) for shape in operation.outputs]
    if PICK.fullmatch(op) and read and written:
        read[0] = written[0]
    elif (update := _UPDATE.fullmatch(op)) and read:
        # Variables are read and written where they lie; each has as many elements as the gradient.
        slots = _SLOTS.get(update["rule"] or "", 1)
        read, written = [2 * max(read[slots:], default=0)] * slots + read[slots:], []
    sizes = [*read, *written]
    return _UNKNOWN if min(sizes, default=0) < 0 else sum(sizes)


def _bytes(shape: Shape, number: int) -> int:
    """The bytes of a tensor; -1 if its shape is not known."""
    width = WIDTHS.get(number % _REFERENCE, 4)
    if width == 0:
        return 0
    if shape is None or min(shape, default=0) < 0:
        return _UNKNOWN
    return width * math.prod(shape)


def _type(attributes: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        found = attributes.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found:
            return found
    return FLOAT


def _output_type(op: str, attributes: Mapping[str, Any]) -> int:
    if _COMPARE.fullmatch(op):
        return BOOL
    if op in ("ArgMax", "ArgMin") and "output_type" not in attributes:
        return INT64
    return _type(attributes, (*_OUTPUT_TYPES, *_INPUT_TYPES))
