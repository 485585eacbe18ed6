"""Describes an op to formulas, splits fused kernels, and lists ops that compute nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Dimensions = tuple[int, ...]
Shape = Dimensions | None
"""None if the rank is unknown, -1 for an unknown dimension; a scalar may be `(1,)`."""


_WRITTEN = re.compile(r"\w+\[(\d{0,18}(?:,\d{0,18})*)\]")


def read_shapes(written: str) -> tuple[Shape, ...]:
    """The shapes in what TensorFlow writes of an op's inputs, where a scalar is `(1,)`; None for what is no tensor.

    >>> read_shapes("(float[2,3];int32[];)"), read_shapes("()")
    (((2, 3), (1,), None), ())
    """
    inside = written.removeprefix("(").removesuffix(")")
    return tuple(map(_shape, inside.split(";"))) if inside else ()


def _shape(written: str) -> Shape:
    match = _WRITTEN.fullmatch(written)
    return None if match is None else tuple(map(int, filter(None, match[1].split(",")))) or (1,)


class UnknownShape(ValueError):
    """Raised if a formula asks for a shape that is not fully known; the op is not counted then."""


@dataclass(frozen=True)
class Operation:
    """One execution of an op: all that decides how much it computes.

    >>> product = Operation("MatMul", ((8, 3), (3, 5)), ((8, 5),), {"transpose_b": False})
    >>> product.input(0), product.output_size, product.flag("transpose_a")
    ((8, 3), 40, False)
    """

    op: str
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def input(self, index: int) -> Dimensions:
        """The shape of an input; raises UnknownShape if it is not fully known."""
        return _known(self.inputs, index)

    def dimension(self, index: int, axis: int) -> int:
        """One dimension of an input; raises UnknownShape if this dimension is not known."""
        shape = self.inputs[index] if index < len(self.inputs) else None
        if shape is None or not -len(shape) <= axis < len(shape) or shape[axis] < 0:
            raise UnknownShape(f"axis {axis} of shape {index} is not known")
        return shape[axis]

    def output(self, index: int = 0) -> Dimensions:
        """The shape of an output; raises UnknownShape if it is not fully known."""
        return _known(self.outputs, index)

    def input_size(self, index: int = 0) -> int:
        """The number of elements of an input."""
        return math.prod(self.input(index))

    @property
    def output_size(self) -> int:
        """The number of elements of the first output."""
        return math.prod(self.output())

    def flag(self, *names: str) -> bool:
        """Whether any of these attributes is true; a missing one counts as false."""
        return any(bool(self.attributes.get(name, False)) for name in names)

    def integers(self, name: str) -> tuple[int, ...]:
        """The list of integers in an attribute; empty if it is missing."""
        return tuple(self.attributes.get(name, ()))

    def text(self, name: str, default: str = "") -> str:
        """The string in an attribute, or `default` if it is missing."""
        return str(self.attributes.get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """The list of strings in an attribute; empty if it is missing."""
        return tuple(self.attributes.get(name, ()))


Formula = Callable[[Operation], float]
"""Counts one execution of an op; may raise UnknownShape or ValueError if it cannot."""


def _known(shapes: tuple[Shape, ...], index: int) -> Dimensions:
    if not -len(shapes) <= index < len(shapes):
        raise UnknownShape(f"there is no shape {index}")
    shape = shapes[index]
    if shape is None or min(shape, default=0) < 0:
        raise UnknownShape(f"shape {index} is {shape}")
    return shape


JOINED = " + "
"""Stands between the ops in the name of what a fused kernel is made of, of which the first is the main op."""

COMPOSED = "_UnaryOpsComposition"
"""The kernel of several elementwise ops, one after another, which Grappler names after the last."""

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
    if op == COMPOSED:
        return True
    return op.startswith("_") and (op.endswith(_ENDINGS) or (op.startswith(_FUSED) and "BatchNorm" not in op))


def main_op(op: str) -> str:
    """The op whose work is all or the main part of what a kernel does; other ops are returned as they are.

    >>> main_op("_MklNativeFusedConv2D"), main_op("_MklMatMul"), main_op("_FusedBatchNormEx"), main_op("MatMul + Relu")
    ('Conv2D', 'MatMul', 'FusedBatchNormV3', 'MatMul')
    """
    op = op.partition(JOINED)[0]
    for prefix in (*_FUSED, *_PLAIN):
        if op.startswith(prefix):
            plain = op.removeprefix(prefix)
            for ending in _ENDINGS:
                plain = plain.removesuffix(ending)
            return _SPELLED_OTHERWISE.get(plain, plain)
    return op


def fused_ops(operation: Operation) -> tuple[str, ...]:
    """The ops that a fused kernel applies to each element after its main op, from its attributes.

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
        *("FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "QueueCloseV2", "QueueSizeV2", "QueueIsClosedV2"),
        *("QueueEnqueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2"),
        *("FIFOQueue", "RandomShuffleQueue", "QueueEnqueue", "QueueEnqueueMany", "QueueDequeue", "QueueDequeueMany"),
        *("ScalarSummary", "HistogramSummary", "ImageSummary", "MergeSummary", "TensorSummaryV2", "WriteSummary"),
        *("MatrixDiagPart", "MatrixDiagPartV3", "MatrixSetDiag", "MatrixSetDiagV3", "ExtractImagePatches"),
        *("LookupTableFindV2", "RaggedTensorToTensor", "UnicodeDecode", "RemoteCall", "VariableShape"),
        *("TensorListGather", "TensorListScatterV2", "TensorListConcatV2", "TensorListSplit", "ResizeNearestNeighbor"),
        *("TemporaryVariable", "DestroyTemporaryVariable", "StatelessRandomGetKeyCounter", "StatelessRandomGetAlg"),
        *("RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2", "LogUniformCandidateSampler"),
        *(
            "SparseSlice",
            "SparseToDense",
            "SparseReshape",
            "ListDiff",
            "UniqueWithCounts",
            "UniqueWithCountsV2",
            "Real",
        ),
        *("Imag", "Complex", "AsString", "StringSplitV2", "StringToHashBucketFast", "ParseExampleV2", "DecodeRaw"),
        *("ParseSingleExample", "StatefulUniformInt", "RngReadAndSkip", "CollectiveBcastSendV2"),
        *(
            "CollectiveBcastRecvV2",
            "CollectiveGatherV2",
            "UniformCandidateSampler",
            "ScatterUpdate",
            "ScatterNdUpdate",
            "ResourceScatterNdUpdate",
        ),
        *("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "ReadFile", "WriteFile", "StringJoin"),
    )
)
"""Ops that move or hold data: their formula counts 0."""

_ITERATORS = frozenset(
    (
        *("Root", "Prefetch", "Map", "ParallelMap", "ParallelMapV2", "FlatMap", "Zip", "Repeat", "ForeverRepeat"),
        *("FiniteRepeat", "EmptyRepeat", "TensorSlice", "FromTensor", "Batch", "BatchV2", "ParallelBatch", "Shuffle"),
        *(
            "ShuffleV3",
            "Range",
            "Take",
            "FiniteTake",
            "Skip",
            "FiniteSkip",
            "Cache",
            "MemoryCache",
            "MemoryCacheImpl",
            "Interleave",
        ),
        *("ParallelInterleaveV4", "Concatenate", "Filter", "Model", "MaxIntraOpParallelism", "PrivateThreadPool"),
        *("TFRecord", "Generator", "Window", "PaddedBatchV2", "Rebatch", "AutoShard", "FiniteRange", "Options"),
        *("MapAndBatch", "RebatchV2", "Unbatch", "Shard", "ShuffleAndRepeat", "IgnoreErrors", "AssertCardinality"),
        *("DirectedInterleave", "GroupByWindow", "TakeWhile", "Random"),
    )
)
"""Iterators of `tf.data`; the ops of their maps count by themselves."""


def computes_nothing(op: str) -> bool:
    """Whether an op, or the main op of a kernel, only holds or moves data.

    >>> computes_nothing("Reshape"), computes_nothing("_MklReshape"), computes_nothing("MatMul")
    (True, True, False)
    """
    main = main_op(op)
    return main in MOVEMENT or main in _ITERATORS or "Dataset" in op or "Iterator" in op
