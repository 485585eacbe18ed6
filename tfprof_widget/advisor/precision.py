"""Finds float64 where float32 would do, and float32 where an accelerator is faster in half of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.ingest.definitions import definitions_of
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags

PRODUCTS = r"_?(Mkl|Fused|Native)*(Batch)?(MatMul|Conv[123]D|Einsum|DepthwiseConv2dNative)(V[23])?(Backprop\w*)?"
FLOAT32_PRODUCTS = 0.2
"""Half precision takes at best half of their time, which then is a tenth."""

LEAST_SHARE_OF_A_NODE = 0.001
"""So few of all nodes take more than this that their attributes are read in no time."""

_FLOAT32, _FLOAT64 = 1, 2


def precision(profile: Profile) -> Iterator[Finding]:
    """A finding on ops in float64, and one on products in float32 that run on an accelerator.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(precision(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    types = _types(steady)
    doubles = types == _FLOAT64
    if steady.share(doubles) >= WORTHWHILE:
        yield Finding(
            f"{steady.share(doubles):.0%} of the op time is spent on float64, which takes twice the time and memory "
            "of float32, and much more than that on most accelerators.",
            _evidence(steady, doubles),
            "Cast to tf.float32 where the numbers come in: NumPy makes float64 unless told otherwise.",
        )
    singles = (types == _FLOAT32) & steady.ops(PRODUCTS) & _on_accelerator(steady)
    if steady.share(singles) >= FLOAT32_PRODUCTS:
        yield Finding(
            f"{steady.share(singles):.0%} of the op time are products of float32 on an accelerator, which multiplies "
            "several times as fast in half precision.",
            _evidence(steady, singles),
            "Compute in half precision and keep the variables in float32: "
            "tf.keras.mixed_precision.set_global_policy('mixed_float16'), or 'mixed_bfloat16' on TPUs.",
        )


def _evidence(steady: Steady, nodes: Flags) -> Evidence:
    options = {**steady.options, "order_by": "micros", "show_name_regexes": steady.op_names(nodes)}
    return Evidence("op", options)


def _types(steady: Steady) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """What each node that takes some time computes in, as a number of TensorFlow's DataType; else 0."""
    nodes = steady.profile.nodes
    costly = np.flatnonzero(steady.nanos > LEAST_SHARE_OF_A_NODE * float(steady.nanos.sum()))
    row_of = {nodes.names[row]: row for row in costly.tolist()}
    types = np.zeros(len(nodes), np.int64)
    for name, node in definitions_of(steady.profile.graphs, row_of).items():
        for attribute in ("T", "dtype"):
            if attribute in node.attr:
                types[row_of[name]] = node.attr[attribute].type
                break
    return types


def _on_accelerator(steady: Steady) -> Flags:
    flags = np.zeros(len(steady.profile.nodes), np.bool_)
    flags[steady.node[steady.is_on_stream]] = True
    return flags
