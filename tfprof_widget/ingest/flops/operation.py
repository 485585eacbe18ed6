"""Describes an op to formulas, splits fused kernels, and lists ops that compute nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Dimensions = tuple[int, ...]
Shape = Dimensions | None
"""None of unknown rank, -1 an unknown dimension; a scalar may count as one element, `(1,)`."""


class UnknownShape(ValueError):
    """Raised where a formula asks for a shape that is not wholly known: nothing is counted then."""


@dataclass(frozen=True)
class Operation:
    """One execution of an op, as far as it decides how much is computed.

    >>> product = Operation("MatMul", ((8, 3), (3, 5)), ((8, 5),), {"transpose_b": False})
    >>> product.input(0), product.output_size, product.flag("transpose_a")
    ((8, 3), 40, False)
    """

    op: str
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def input(self, index: int) -> Dimensions:
        """The shape of an input; raises UnknownShape if it is not wholly known."""
        return _known(self.inputs, index)

    def dimension(self, index: int, axis: int) -> int:
        """One dimension of an input, whatever the others; raises UnknownShape if it is not known."""
        shape = self.inputs[index] if index < len(self.inputs) else None
        if shape is None or not -len(shape) <= axis < len(shape) or shape[axis] < 0:
            raise UnknownShape(f"axis {axis} of shape {index} is not known")
        return shape[axis]

    def output(self, index: int = 0) -> Dimensions:
        """The shape of an output; raises UnknownShape if it is not wholly known."""
        return _known(self.outputs, index)

    def input_size(self, index: int = 0) -> int:
        """The number of elements of an input."""
        return math.prod(self.input(index))

    @property
    def output_size(self) -> int:
        """The number of elements of the first output."""
        return math.prod(self.output())

    def flag(self, *names: str) -> bool:
        """Whether any of these attributes is true; one that is not there is false."""
        return any(bool(self.attributes.get(name, False)) for name in names)

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers; empty if it is not there."""
        return tuple(self.attributes.get(name, ()))

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        return str(self.attributes.get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; empty if it is not there."""
        return tuple(self.attributes.get(name, ()))


Formula = Callable[[Operation], float]
"""Counts one execution of an op; may raise UnknownShape or ValueError where it cannot."""


def _known(shapes: tuple[Shape, ...], index: int) -> Dimensions:
    if not -len(shapes) <= index < len(shapes):
        raise UnknownShape(f"there is no shape {index}")
    shape = shapes[index]
    if shape is None or min(shape, default=0) < 0:
        raise UnknownShape(f"shape {index} is {shape}")
    return shape


_FUSED = ("_MklNativeFused", "_MklFused", "_Fused")
_PLAIN = ("_MklNative", "_MklEager", "_Mkl")
_ENDINGS = ("Ex", "WithBias", "WithSum")
_SPELLED_OTHERWISE = {
    "BatchNorm": "FusedBatchNormV3",
    "BatchNormGrad": "FusedBatchNormGradV3",
    "BatchNormV2": "FusedBatchNormV3",
    "BatchNormV3": "FusedBatchNormV3",
    "BatchNormGradV2": "FusedBatchNormGradV3",
    "BatchNormGradV3": "FusedBatchNormGradV3",
    "DepthwiseConv2D": "DepthwiseConv2dNative",
}


def is_fused(op: str) -> bool:
    """Whether this is a kernel that does the work of several ops.

    >>> is_fused("_FusedMatMul"), is_fused("_MklNativeFusedConv2D"), is_fused("_MklFusedBatchNormV3")
    (True, True, False)
    """
    return op.startswith("_") and (op.endswith(_ENDINGS) or (op.startswith(_FUSED) and "BatchNorm" not in op))


def main_op(op: str) -> str:
    """The op that a kernel does, or whose work is the main part of what it does; any other op itself.

    >>> main_op("_MklNativeFusedConv2D"), main_op("_MklMatMul"), main_op("_FusedBatchNormEx"), main_op("MatMul")
    ('Conv2D', 'MatMul', 'FusedBatchNormV3', 'MatMul')
    """
    for prefix in (*_FUSED, *_PLAIN):
        if op.startswith(prefix):
            plain = op.removeprefix(prefix)
            for ending in _ENDINGS:
                plain = plain.removesuffix(ending)
            return _SPELLED_OTHERWISE.get(plain, plain)
    return op


def fused_ops(operation: Operation) -> tuple[str, ...]:
    """What a fused kernel does to each element after its main part, as its attributes have it.

    >>> fused_ops(Operation("_FusedConv2D", attributes={"fused_ops": ["BiasAdd", "Relu"]}))
    ('BiasAdd', 'Relu')
    """
    activation = operation.text("activation_mode", "Identity")
    return operation.texts("fused_ops") + (() if activation == "Identity" else (activation,))


MOVEMENT = frozenset(
    (
        *(
            "Const",
            "HostConst",
            "_EagerConst",
            "Placeholder",
            "PlaceholderV2",
            "PlaceholderWithDefault",
            "NoOp",
            "Identity",
        ),
        *("IdentityN", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape", "ReadVariableOp", "VarHandleOp"),
        *("_VarHandlesOp", "_ReadVariablesOp", "Variable", "VariableV2", "Assign", "AssignVariableOp"),
        *("VarIsInitializedOp", "IsVariableInitialized", "DestroyResourceOp", "_Arg", "_Retval", "_HostRecv"),
        *("_HostSend", "_Send", "_Recv", "Arg", "Retval", "Recv", "_DeviceArg", "_DeviceRetval"),
        *("Reshape", "Squeeze", "ExpandDims", "Shape", "ShapeN", "Size", "Rank", "Fill", "ZerosLike", "OnesLike"),
        *("Empty", "BroadcastTo", "BroadcastArgs", "BroadcastGradientArgs", "Cast", "Bitcast", "Range", "LinSpace"),
        *("Concat", "ConcatV2", "ConcatOffset", "Pack", "Unpack", "ParallelConcat", "Split", "SplitV", "Slice"),
        *("StridedSlice", "StridedSliceGrad", "Pad", "PadV2", "MirrorPad", "Tile", "Transpose", "ConjugateTranspose"),
        *(
            "RandomShuffle",
            "RandomShuffleQueueV2",
            "ReverseV2",
            "ReverseSequence",
            "Roll",
            "Gather",
            "GatherV2",
            "GatherNd",
            "ResourceGather",
            "Where",
        ),
        *("Select", "SelectV2", "OneHot", "Diag", "DiagPart", "MatrixDiag", "MatrixDiagV3", "MatrixBandPart"),
        *("DynamicPartition", "DynamicStitch", "ParallelDynamicStitch", "InvertPermutation", "Unique", "UniqueV2"),
        *("SpaceToBatch", "SpaceToBatchND", "BatchToSpace", "BatchToSpaceND", "SpaceToDepth", "DepthToSpace"),
        *("ScatterNd", "TensorScatterUpdate", "ResourceScatterUpdate", "DataFormatVecPermute", "DataFormatDimMap"),
        *("InplaceUpdate", "DeepCopy", "LowerBound", "UpperBound", "CheckNumerics", "Assert", "Print", "PrintV2"),
        *("Enter", "RefEnter", "Exit", "RefExit", "Switch", "RefSwitch", "Merge", "RefMerge", "NextIteration"),
        *("RefNextIteration", "LoopCond", "ControlTrigger", "_SwitchN", "While", "StatelessWhile", "If"),
        *("StatelessIf", "Case", "StatelessCase", "PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient"),
        *("TensorArrayV3", "TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayGatherV3", "TensorArrayScatterV3"),
        *("TensorArraySizeV3", "TensorArrayCloseV3", "TensorArrayGradV3", "TensorListReserve", "TensorListSetItem"),
        *("TensorListGetItem", "TensorListStack", "TensorListFromTensor", "TensorListPushBack", "TensorListLength"),
        *("TensorListPopBack", "TensorListElementShape", "TensorListResize", "EmptyTensorList", "StackV2"),
        *("StackPushV2", "StackPopV2", "StackCloseV2", "IteratorGetNext", "IteratorV2", "MakeIterator"),
        *("AnonymousIteratorV3", "OptionalHasValue", "OptionalGetValue", "OptionalFromValue", "OptionalNone"),
        *("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "ReadFile", "WriteFile", "StringJoin"),
    )
)
"""Their formula counts no float operations."""

_ITERATORS = frozenset(
    (
        *("Root", "Prefetch", "Map", "ParallelMap", "ParallelMapV2", "FlatMap", "Zip", "Repeat", "ForeverRepeat"),
        *("FiniteRepeat", "EmptyRepeat", "TensorSlice", "FromTensor", "Batch", "BatchV2", "ParallelBatch", "Shuffle"),
        *("ShuffleV3", "Range", "Take", "FiniteTake", "Skip", "FiniteSkip", "Cache", "MemoryCache", "Interleave"),
        *("ParallelInterleaveV4", "Concatenate", "Filter", "Model", "MaxIntraOpParallelism", "PrivateThreadPool"),
        *("TFRecord", "Generator", "Window", "PaddedBatchV2", "Rebatch", "AutoShard", "FiniteRange", "Options"),
    )
)
"""What runs as an iterator of `tf.data`, whose maps are ops of their own."""


def computes_nothing(op: str) -> bool:
    """Whether an op, or the op that a kernel does, only holds, moves or hands on.

    >>> computes_nothing("Reshape"), computes_nothing("_MklReshape"), computes_nothing("MatMul")
    (True, True, False)
    """
    main = main_op(op)
    return main in MOVEMENT or main in _ITERATORS or "Dataset" in op or "Iterator" in op
