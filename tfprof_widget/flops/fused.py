"""Reads from the names and attributes of fused and oneDNN kernels what they are made of."""

from __future__ import annotations

from tfprof_widget.flops.operation import Operation

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
