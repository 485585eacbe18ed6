"""The ops that compute nothing: they hold, move, reshape, convert, call, or hand on."""

from __future__ import annotations

from tfprof_widget.flops.fused import main_op

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
