"""Finds time spent to transpose and to pad tensors."""

from __future__ import annotations

from collections.abc import Iterator

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.profiles import Profile

TRANSPOSES = r"_?(Mkl)?(Conjugate)?Transpose|_MklToTf|_MklInputConversion"
PADS = r"(Mirror)?Pad(V2)?(Grad)?"


def layout(profile: Profile) -> Iterator[Finding]:
    """A finding if transposing takes much of the op time, and one if padding does.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(layout(demo_profile()))
    []
    """
    steady = Steady.of(profile)
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


def _found(steady: Steady, ops: str, what: str, fix: str) -> Iterator[Finding]:
    nodes = steady.ops(ops)
    if steady.share(nodes) >= WORTHWHILE:
        options = {**steady.options, "order_by": "micros", "show_name_regexes": steady.op_names(nodes)}
        yield Finding(
            f"{steady.share(nodes):.0%} of the op time is spent {what}.",
            Evidence("op", options),
            fix,
        )
