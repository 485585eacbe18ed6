"""Finds ops that are slower than they need to be."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.advisor.finding import Evidence, Finding, with_gain
from tfprof_widget.analysis.advisor.input_wait import FETCHES
from tfprof_widget.analysis.steady import WORTHWHILE, SteadySteps
from tfprof_widget.engine.code import forward_name
from tfprof_widget.engine.measures import measures
from tfprof_widget.ingest.flops.node_reader import NodeReader, Shapes
from tfprof_widget.ingest.parts.nodes import definitions_of
from tfprof_widget.lib.arrays import Flags
from tfprof_widget.lib.text import is_of_library, short_units, written_percent
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

TRANSPOSES = r"_?(Mkl)?(Conjugate)?Transpose|_MklToTf|_MklInputConversion"
PADS = r"(Mirror)?Pad(V2)?(Grad)?"


def layout(profile: ProfileData) -> Iterator[Finding]:
    """A finding if transposing takes much of the op time, and one if padding for convolutions or of the input does."""
    steady = SteadySteps.of(profile)
    transposes = steady.ops(TRANSPOSES)
    before_convolutions, after_input = _beside(steady)
    is_of_input = 2 * steady.share(transposes & after_input) > steady.share(transposes)
    yield from _found(
        steady,
        transposes,
        "Transposing tensors takes {} of the op time and computes nothing.",
        _FIX_OF_INPUT if is_of_input else _FIX_OF_LAYOUT,
    )
    yield from _found(
        steady,
        steady.ops(PADS) & (before_convolutions | after_input),  # the gradient of a slice is a pad that has to be
        "Padding tensors takes {} of the op time, and later ops compute on the padding.",
        "Let the convolution pad (padding='SAME'), pad once in the input pipeline, and batch sequences of similar "
        "length (tf.data's bucket_by_sequence_length).",
    )


_CONVOLUTIONS = r"_?(Mkl|Fused|Native)*(Conv([23]D)?|DepthwiseConv2dNative|(Max|Avg)Pool(3D)?)(V2)?( \+ .*)?"
_GIVEN = FETCHES + r"|Placeholder\w*|_?Arg"
_HANDS_ON = r"Identity|Cast|Reshape|ExpandDims|Transpose"
_MOST_HANDED_ON = 4


_FIX_OF_LAYOUT = (
    "Use one layout from the input on (the same data_format for all convolutions and poolings), and give "
    "tf.matmul transpose_a or transpose_b instead of a transposed tensor."
)
_FIX_OF_INPUT = (
    "Most of it is the input: give it in the order in which it is used. Transpose the data once before training, or in "
    "the input pipeline."
)


def _beside(steady: SteadySteps) -> tuple[Flags, Flags]:
    """The nodes whose output goes to a convolution or pooling, and those that take the input, as it is handed on."""
    edges = steady.profile.nodes.inputs
    target, source = np.repeat(np.arange(len(edges)), np.diff(edges.start)), edges.values
    target, source = target[source >= 0], source[source >= 0]
    hands_on = steady.ops(_HANDS_ON)
    convolved, given = steady.ops(_CONVOLUTIONS), steady.ops(_GIVEN)
    for _ in range(1 + _MOST_HANDED_ON):
        feeds, fed = np.zeros((2, len(edges)), np.bool_)
        feeds[source[convolved[target]]] = True
        fed[target[given[source]]] = True
        convolved |= feeds & hands_on
        given |= fed & hands_on
    return feeds, fed


def _of_step(steady: SteadySteps, nodes: Flags) -> float:
    """The share of a step by the clock in which any of some nodes runs."""
    return steady.of_wall(round(steady.busy(steady.of_nodes(nodes)) * steady.untraced_share))


def _share(steady: SteadySteps, nodes: Flags) -> str:
    return written_percent(steady.share(nodes), 0)


def _found(steady: SteadySteps, nodes: Flags, cause: str, fix: str) -> Iterator[Finding]:
    if steady.share(nodes) >= WORTHWHILE:
        options = {**steady.options, "order_by": "micros", "show_name_regexes": steady.op_names(nodes)}
        maker = _maker_of_most(steady, nodes)
        found = Finding(
            cause.format(_share(steady, nodes)),
            Evidence("op", options),
            _FIX_OF_LIBRARY.format(maker) if maker else fix,
            of_step=_of_step(steady, nodes),
        )
        names = steady.profile.nodes.names
        gone = [re.escape(names[row]) for row in np.flatnonzero(nodes & (steady.nanos > 0)).tolist()]
        yield with_gain(found, steady.profile, {"|".join(gone): 0})


_FIX_OF_LIBRARY = (
    "Let XLA fuse these ops with others (jit_compile=True), or use larger batches or layers: most of these ops are "
    "made in {} and not in your code, so you cannot remove them."
)

_PASSED_ON = re.compile(
    r"/tensorflow/python/|/keras/src/(ops|backend|utils|tree)/|/tf_keras/src/(backend\.py|utils/)"
    r"|/site-packages/(optree|tree|wrapt)/|/lib/python[\d.]+/\w+\.py$"
)
"""Files whose functions make ops, or call functions that make them, on behalf of who calls them."""


def _maker_of_most(steady: SteadySteps, nodes: Flags) -> str:
    """The file of a library's layer in which most of the time of some nodes is made; empty if the user's code does it.

    A gradient is made by whoever made the op it is the gradient of. Nodes without a stack count as the user's.
    """
    profile, found = steady.profile, Counter[str]()
    traces, names = profile.traces_in(steady.steps.tolist()), profile.nodes.names
    for row in np.flatnonzero(nodes & (steady.nanos > 0)).tolist():
        forward = forward_name(names[row])
        of = traces.forward.get(row, bisect_left(names, forward) if forward else row)
        of = of if of < len(names) and names[of] == (forward or names[of]) else row
        stack = int(traces.stack[of])
        frames = traces.stacks[stack].tolist()[::-1] if stack >= 0 else []
        files = (traces.strings[traces.file[frame]].replace("\\", "/") for frame in frames)
        maker = next((file for file in files if not _PASSED_ON.search(file)), "")
        found[maker if is_of_library(maker) else ""] += int(steady.nanos[row])
    ours = found.pop("", 0)
    most = found.most_common(1)
    return "/".join(most[0][0].split("/")[-3:]) if most and found.total() > ours else ""


PRODUCTS = (
    r"_?(Mkl|Fused|Native)*(Batch)?(MatMul|Conv[123]D|Einsum|DepthwiseConv2dNative)(V[23])?(Backprop\w*)?"
    r"( \+ .*)?"  # a fused kernel is named by its parts
)
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
            f"Ops in float64 take {_share(steady, doubles)} of the op time. float64 needs twice the time and memory of "
            "float32, and far more time on most accelerators.",
            _evidence(steady, doubles),
            "Cast the input to tf.float32: NumPy makes float64 by default.",
            of_step=_of_step(steady, doubles),
        )
    singles = (types == _FLOAT32) & steady.ops(PRODUCTS) & _on_accelerator(steady)
    if steady.share(singles) >= FLOAT32_PRODUCTS:
        yield Finding(
            f"Matrix products and convolutions in float32 take {_share(steady, singles)} of the op time. They run on "
            "an accelerator, which is several times as fast in half precision.",
            _evidence(steady, singles),
            "Compute in half precision, and keep the variables in float32: "
            "tf.keras.mixed_precision.set_global_policy('mixed_float16'), or 'mixed_bfloat16' on TPUs.",
            of_step=_of_step(steady, singles),
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


MOST_OF_A_CORE = 320.0
"""Float operations a nanosecond: two units that multiply and add 16 numbers at 5 GHz, as in the fastest of cores."""

MOST_CORES = 512
"""More than a host has."""

MOST_OF_AN_ACCELERATOR = 5_000_000.0
"""Float operations a nanosecond: no accelerator does five quadrillion a second."""

FEWEST_ON_A_HOST = 3
"""In a capture, so many executions of an op on a host tell its rate: one or two may have been interrupted."""

LEAST_SHARE_TO_COMPARE = 0.001
"""A product with a smaller share of the op time may have done less than it counts."""


def flop_rate(profile: ProfileData) -> Iterator[Finding]:
    """A finding for each product that takes much of the time, at a small part of the best rate on its device.

    A rate that no device has is a wrong count, and nothing is compared with it. Of several executions of a node the
    median counts, for any of them may have been interrupted.
    """
    steady = SteadySteps.of(profile)
    if not steady.are_steps:
        return
    nodes, total = profile.nodes, float(steady.nanos.sum())
    of_one = np.where(steady.runs > 0, steady.float_ops / np.maximum(steady.runs, 1), nodes.float_ops)
    counted = steady.ops(PRODUCTS) & (of_one >= FEWEST_FLOAT_OPS) & (steady.nanos > 0)
    each = _usual_nanos(steady, counted)
    nanos = each * steady.runs
    rate = of_one / np.maximum(each, 1)
    best = np.zeros(len(nodes.devices) + 1)
    compared = counted & (rate <= _most(profile)[nodes.device]) & (nanos >= LEAST_SHARE_TO_COMPARE * total)
    np.maximum.at(best, nodes.device[compared], rate[compared])
    is_fast = rate >= SLOW * best[nodes.device]
    was_held_up = each * len(steady.steps) > (steady.clock or np.inf)  # no op takes longer than the step that it is in
    is_seen = (steady.runs >= FEWEST_ON_A_HOST) | _on_accelerator(steady) | (not profile.main_kind)
    slow = counted & ~is_fast & ~was_held_up & is_seen & (nanos >= WORTHWHILE * total)
    slowest = np.flatnonzero(slow)[np.argsort(-nanos[slow], kind="stable")].tolist()
    for row in _unlike(steady, slowest, np.flatnonzero(compared & is_fast).tolist()):
        name, op = nodes.names[row], nodes.ops[nodes.op[row]]
        yield Finding(
            f"{name} ({op}) takes {written_percent(steady.nanos[row] / total, 0)} of the op time, usually at "
            f"{_written(rate[row])}. "
            f"The fastest product on this device reaches {_written(best[nodes.device[row]])}.",
            Evidence(
                "scope",
                {**steady.options, "order_by": "micros", "select": ["micros", "float_ops", "input_shapes"]},
                (name,),
            ),
            "Check its shapes, type and layout. If a dimension is small, the op waits for memory: use larger batches. "
            "Fast kernels may need sizes that are multiples of 8, another type or another layout.",
        )


def _usual_nanos(steady: SteadySteps, counted: Flags) -> NDArray[np.float64]:
    """The time of one execution of each counted node: the median, or the mean if an execution has several rows."""
    found = steady.nanos / np.maximum(steady.runs, 1)
    rows = steady.of_nodes(counted)
    node, duration = steady.node[rows], steady.duration[rows]
    order = np.lexsort((duration, node))
    ran, first, count = np.unique(node[order], return_index=True, return_counts=True)
    is_whole = count == steady.runs[ran]
    found[ran[is_whole]] = duration[order][first + (count - 1) // 2][is_whole]
    return found


def _unlike(steady: SteadySteps, slow: list[int], fast: list[int]) -> list[int]:
    """The slow nodes, without those that do what a fast one does: then neither shape, type nor layout is at fault."""
    nodes = steady.profile.nodes
    reader = NodeReader(steady.profile).as_of(np.arange(len(steady.profile.executions))[steady.rows])

    def does(row: int) -> tuple[str, int, Shapes]:
        op = reader.op(row)
        return op, int(nodes.device[row]), reader.input_shapes(row, op)

    of_fast = {does(row) for row in fast} if slow else set()
    return [row for row in slow if does(row) not in of_fast or not does(row)[-1]]


def _most(profile: ProfileData) -> NDArray[np.float64]:
    """What each device can do at most, in float operations a nanosecond; the last entry is of nodes without a device.

    A capture was made here, or on a machine like this one; of other profiles the machine is not known.
    """
    cores = os.cpu_count() or MOST_CORES if profile.main_kind else MOST_CORES
    is_cpu = [re.search(r"(^|[/:])cpu:\d+$", device) is not None for device in profile.nodes.devices]
    return np.where([*is_cpu, False], cores * MOST_OF_A_CORE, MOST_OF_AN_ACCELERATOR)


def _written(float_ops_a_nano: float) -> str:
    return short_units(float_ops_a_nano * 1e9, "FLOP/s")


SCOPE = "/Initializer/"
"""The scope in which TensorFlow makes the initial value of each variable."""


def initializers(profile: ProfileData) -> Iterator[Finding]:
    """A finding if initializers take much of the op time, and one if many of the float ops are theirs."""
    steady = SteadySteps.of(profile)
    nodes = np.array([SCOPE in name for name in profile.nodes.names], np.bool_)
    hidden = {**steady.options, "hide_name_regexes": [r".*/Initializer(/.*)?"], "account_displayed_op_only": True}
    if steady.share(nodes) >= WORTHWHILE:
        yield Finding(
            f"Initializers take {_share(steady, nodes)} of the op time. They run once, and not in every step.",
            Evidence("scope", {**hidden, "order_by": "micros"}),
            "Run the initializers before profiling starts, or give add_step only the run metadata of training steps; "
            "the view linked here leaves initializers out.",
        )
    share = _share_of_float_ops(steady, nodes)
    if share >= WORTHWHILE:
        yield Finding(
            f"Initializers do {written_percent(share, 0)} of the float operations. They run once, and not in every "
            "step.",
            Evidence("scope", {**hidden, "order_by": "float_ops", "select": ["float_ops"]}),
            "Leave initializers out with hide_name_regexes and account_displayed_op_only, as the view linked here "
            "does.",
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
            f"Matrix products and convolutions on a CPU take {_share(steady, misplaced)} of the op time. The steps "
            "also use an accelerator, which computes them many times as fast.",
            Evidence("scope", {**steady.options, **_ON_CPU}, steady.costliest(misplaced)),
            "Look for what placed them on the CPU: a tf.device('/cpu:0') around them, a type that has no kernel for "
            "the accelerator (float64, integers), or soft placement; "
            "tf.debugging.set_log_device_placement(True) logs the device of each op.",
            of_step=_of_step(steady, misplaced),
        )
