"""Finds ops that are slower than they need to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.analysis.advisor.finding import Evidence, Finding
from tfprof_widget.analysis.steady import WORTHWHILE, SteadySteps
from tfprof_widget.engine.measures import measures
from tfprof_widget.ingest.parts.nodes import definitions_of
from tfprof_widget.lib.arrays import Flags
from tfprof_widget.lib.text import written_count
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

TRANSPOSES = r"_?(Mkl)?(Conjugate)?Transpose|_MklToTf|_MklInputConversion"
PADS = r"(Mirror)?Pad(V2)?(Grad)?"


def layout(profile: ProfileData) -> Iterator[Finding]:
    """A finding if transposing takes much of the op time, and one if padding does."""
    steady = SteadySteps.of(profile)
    yield from _found(
        steady,
        TRANSPOSES,
        "to transpose tensors, which computes nothing",
        "Keep one layout from the input on (data_format of all convolutions and poolings the same), and give "
        "tf.matmul transpose_a or transpose_b instead of a transposed tensor.",
    )
    yield from _found(
        steady,
        PADS,
        "to pad tensors, and what follows computes on the padding",
        "Let the convolution pad (padding='SAME'), pad once in the input pipeline, and make batches of sequences "
        "of similar length: tf.data's bucket_by_sequence_length.",
    )


def _found(steady: SteadySteps, ops: str, what: str, fix: str) -> Iterator[Finding]:
    nodes = steady.ops(ops)
    if steady.share(nodes) >= WORTHWHILE:
        options = {**steady.options, "order_by": "micros", "show_name_regexes": steady.op_names(nodes)}
        yield Finding(
            f"{steady.share(nodes):.0%} of the op time is spent {what}.",
            Evidence("op", options),
            fix,
        )


PRODUCTS = r"_?(Mkl|Fused|Native)*(Batch)?(MatMul|Conv[123]D|Einsum|DepthwiseConv2dNative)(V[23])?(Backprop\w*)?"
FLOAT32_PRODUCTS = 0.2
"""The least share of the op time for a finding; half precision saves at best half of it, a tenth of the op time."""

LEAST_SHARE_OF_A_NODE = 0.001
"""Attributes are read only of nodes with a larger share of the op time; these are few, so reading is quick."""

_FLOAT32, _FLOAT64 = 1, 2


def precision(profile: ProfileData) -> Iterator[Finding]:
    """A finding on ops in float64, and one on products in float32 that run on an accelerator."""
    steady = SteadySteps.of(profile)
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


def _evidence(steady: SteadySteps, nodes: Flags) -> Evidence:
    options = {**steady.options, "order_by": "micros", "show_name_regexes": steady.op_names(nodes)}
    return Evidence("op", options)


def _types(steady: SteadySteps) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The type in which each costly node computes, as a number of TensorFlow's DataType; 0 for other nodes."""
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


def _on_accelerator(steady: SteadySteps) -> Flags:
    flags = np.zeros(len(steady.profile.nodes), np.bool_)
    flags[steady.node[steady.is_on_stream]] = True
    return flags


SLOW = 0.1
"""A product is slow if its rate is below this share of the best rate on its device; usual rates differ less."""

FEWEST_FLOAT_OPS = 1_000_000
"""An op with fewer takes microseconds, and its rate depends on the time to start it."""


def flop_rate(profile: ProfileData) -> Iterator[Finding]:
    """A finding for each product that takes much of the time, at a small part of the best rate on its device."""
    steady = SteadySteps.of(profile)
    nodes, nanos = profile.nodes, steady.nanos
    counted = steady.ops(PRODUCTS) & (nodes.float_ops >= FEWEST_FLOAT_OPS) & (nanos > 0)
    rate = nodes.float_ops * steady.runs / np.maximum(nanos, 1)
    best = np.zeros(len(nodes.devices) + 1)
    np.maximum.at(best, nodes.device[counted], rate[counted])
    slow = counted & (nanos >= WORTHWHILE * nanos.sum()) & (rate < SLOW * best[nodes.device])
    for row in np.flatnonzero(slow)[np.argsort(-nanos[slow], kind="stable")].tolist():
        name, op = nodes.names[row], nodes.ops[nodes.op[row]]
        yield Finding(
            f"{name} ({op}) takes {nanos[row] / nanos.sum():.0%} of the op time at {_written(rate[row])}, while "
            f"other products on this device reach {_written(best[nodes.device[row]])}.",
            Evidence(
                "scope",
                {**steady.options, "order_by": "micros", "select": ["micros", "float_ops", "input_shapes"]},
                (name,),
            ),
            "Look at its shapes, type and layout: if a dimension is one or a few, the device waits for memory (make "
            "larger batches); the fast kernels may need sizes that are multiples of 8, another type or another layout.",
        )


def _written(float_ops_a_nano: float) -> str:
    return f"{written_count(round(float_ops_a_nano * 1e9))} FLOP/s"


CPU_START_NANOS = 2_000
"""The time in which TensorFlow's executor schedules an op: one to three microseconds on today's machines."""

KERNEL_START_NANOS = 5_000
"""The time in which a GPU's kernel is launched: five to ten microseconds."""

FEWEST = 100
"""If starting fewer tiny ops than this takes much of a step, the step is short anyway."""

MOST_OF_THE_STEP = 0.25
"""The least ratio of the starts of all threads, added up, to the wall time; threads start ops at the same time."""


def tiny_kernels(profile: ProfileData) -> Iterator[Finding]:
    """A finding if much of the steps is spent on starting ops that take longer to start than to run."""
    steady = SteadySteps.of(profile)
    on_stream, counts = steady.is_on_stream, ~steady.of_nodes(steady.is_data)
    kernels = int(np.count_nonzero((steady.duration < KERNEL_START_NANOS) & on_stream & counts))
    ops = int(np.count_nonzero((steady.duration < CPU_START_NANOS) & ~on_stream & counts))
    count = (kernels + ops) // max(len(steady.steps), 1)
    starting = kernels * KERNEL_START_NANOS + ops * CPU_START_NANOS
    if count >= FEWEST and steady.of_wall(starting) >= MOST_OF_THE_STEP:
        whole = steady.shown(steady.wall.length)
        yield Finding(
            f"A step runs {count:,} ops that take longer to start than to run: starting them takes some "
            f"{steady.shown(starting)} on all threads together, and the step takes {whole} by the clock.",
            Evidence("op", {**steady.options, "order_by": "occurrence", "select": ["occurrence", "micros"]}),
            "Give each op more to do (larger batches, one op in place of a Python loop), or let XLA fuse them: "
            "tf.function(jit_compile=True).",
        )


SCOPE = "/Initializer/"
"""The scope in which TensorFlow makes the initial value of each variable."""


def initializers(profile: ProfileData) -> Iterator[Finding]:
    """A finding if initializers take much of the op time, and one if many of the float ops are theirs."""
    steady = SteadySteps.of(profile)
    nodes = np.array([SCOPE in name for name in profile.nodes.names], np.bool_)
    hidden = {**steady.options, "hide_name_regexes": [r".*/Initializer(/.*)?"], "account_displayed_op_only": True}
    if steady.share(nodes) >= WORTHWHILE:
        yield Finding(
            f"{steady.share(nodes):.0%} of the op time are initializers, which run once and not in every step.",
            Evidence("scope", {**hidden, "order_by": "micros"}),
            "Run the initializers before the profiler is on, or give add_step the run metadata of training steps "
            "only; the view linked here counts without them.",
        )
    share = _share_of_float_ops(steady, nodes)
    if share >= WORTHWHILE:
        yield Finding(
            f"{share:.0%} of the float ops are those of initializers, which run once and not in every step.",
            Evidence("scope", {**hidden, "order_by": "float_ops", "select": ["float_ops"]}),
            "Count without them, as the view linked here does: hide_name_regexes and account_displayed_op_only.",
        )


def _share_of_float_ops(steady: SteadySteps, nodes: Flags) -> float:
    """The share of these nodes in all float operations, which are multiplied by the runs, if any, as in views."""
    columns = measures(steady.profile, Options.of(**steady.options)).columns
    counts = columns["float_ops"].astype(np.float64)
    return float(counts[nodes].sum()) / max(float(counts.sum()), 1.0)


_ON_CPU = {"order_by": "micros", "select": ["micros", "device"], "device_regexes": [".*cpu:.*"]}


def placement(profile: ProfileData) -> Iterator[Finding]:
    """A finding if products on CPUs take much of the time of steps that use an accelerator too."""
    steady = SteadySteps.of(profile)
    nodes = profile.nodes
    on_cpu = np.array([*("cpu:" in device for device in nodes.devices), False], np.bool_)[nodes.device]
    on_accelerator = np.array([*("gpu:" in device for device in nodes.devices), False], np.bool_)[nodes.device]
    misplaced = steady.ops(PRODUCTS) & on_cpu
    if on_accelerator.any() and steady.share(misplaced) >= WORTHWHILE:
        yield Finding(
            f"{steady.share(misplaced):.0%} of the op time are products on a CPU, though the steps use an "
            "accelerator, which computes them many times as fast.",
            Evidence("scope", {**steady.options, **_ON_CPU}, steady.costliest(misplaced)),
            "Look for what put them there: a tf.device('/cpu:0') around them, a type that has no kernel for the "
            "accelerator (float64, integers), or soft placement; "
            "tf.debugging.set_log_device_placement(True) logs the device of each op.",
        )
