"""Finds steps that wait, and functions that are built again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tfprof_widget.analysis.advisor.finding import Evidence, Finding
from tfprof_widget.analysis.steady import WORTHWHILE, SteadySteps
from tfprof_widget.lib.arrays import Flags
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.data import WARM_UP, ProfileData

ACCELERATOR_GAP_NANOS = 100_000
"""In shorter gaps the host launches kernels, one by one."""

HOST_GAP_NANOS = 1_000_000
"""In shorter gaps threads are woken, or other processes have the processor."""

IDLE_SHARE = 0.2
"""Without these gaps steps would take four fifths of the time, which users notice."""


def device_idle(profile: ProfileData) -> Iterator[Finding]:
    """A finding for each accelerator with long idle gaps; without accelerators, one for gaps in which no op runs."""
    steady = SteadySteps.of(profile)
    streams = np.unique(steady.device[steady.is_on_stream]).tolist()
    for code in streams:
        device = profile.nodes.devices[code]
        yield from _idle_found(steady, steady.device == code, device.partition("/stream")[0], ACCELERATOR_GAP_NANOS)
    if not streams and not profile.misses_accelerator_stream:
        yield from _idle_found(steady, np.ones(len(steady.node), np.bool_), "the host", HOST_GAP_NANOS)


def _idle_found(steady: SteadySteps, rows: Flags, device: str, least: int) -> Iterator[Finding]:
    gaps = steady.wall.without(steady.during(rows)).at_least(least)
    if steady.of_wall(gaps.length) < IDLE_SHARE:
        return
    yield Finding(
        f"For {steady.shown(gaps.length)} of {steady.shown(steady.wall.length)} ({steady.of_wall(gaps.length):.0%}) "
        f"of the steps nothing runs on {device}.",
        Evidence("timeline", steady.options, _around(steady, gaps, rows)),
        "Look at what ends where the longest gap begins and what starts where it ends: Python between them "
        "(tf.py_function, callbacks), a wait for input or for another device, or a lock.",
    )


def _around(steady: SteadySteps, gaps: Intervals, rows: Flags) -> tuple[str, ...]:
    """The nodes before and after the longest gap: selecting them shows the gap in the timeline."""
    longest = int((gaps.end - gaps.start).argmax())
    start, end = steady.start, steady.end
    before = np.flatnonzero(rows & (end <= gaps.start[longest]))
    after = np.flatnonzero(rows & (start >= gaps.end[longest]))
    found = [before[end[before].argmax()]] if len(before) else []
    found += [after[start[after].argmin()]] if len(after) else []
    return tuple(dict.fromkeys(steady.profile.nodes.names[steady.node[row]] for row in found))


INPUT = r".*IteratorGetNext\w*|.*Queue(TryDequeue|Dequeue)\w*|Reader(Read|ReadUpTo)(V2)?"
INPUT_SHARE = 0.2
"""From this share on TensorFlow's own analysis of input pipelines calls a step highly input-bound."""


def input_bound(profile: ProfileData) -> Iterator[Finding]:
    """A finding if for much of the steps only ops that fetch input ran."""
    steady = SteadySteps.of(profile)
    fetches = steady.ops(INPUT)
    if not fetches.any():
        return
    waited = steady.alone(steady.of_nodes(fetches | steady.is_data))
    if steady.of_wall(waited) >= INPUT_SHARE:
        yield Finding(
            f"Steps wait for their input: for {steady.shown(waited)} of {steady.shown(steady.wall.length)} "
            f"({steady.of_wall(waited):.0%}) nothing runs but what fetches it.",
            Evidence("timeline", steady.options, steady.costliest(fetches)),
            "Let tf.data work ahead and on several threads: end the pipeline in .prefetch(tf.data.AUTOTUNE), give its "
            ".map() num_parallel_calls=tf.data.AUTOTUNE, and .cache() what is the same in every epoch.",
        )


COPIES = r"(?i).*memcpy.*|Copy(Host)?"
WAITS = r"_(Host)?(Send|Recv)(V2)?|_?X[lL][aA](Send|Recv).*|Recv"


def transfers(profile: ProfileData) -> Iterator[Finding]:
    """A finding for copies, and one for sends and receives, that much of the steps wait for."""
    steady = SteadySteps.of(profile)
    yield from _transfers_found(
        steady,
        steady.of_nodes(steady.ops(COPIES)) | _on_copying_lines(steady),
        "copies between host and device",
        "Keep tensors where they are used: place both ends of the copy on one device, feed by tf.data with "
        "tf.data.experimental.prefetch_to_device, and fetch results every so many steps only.",
    )
    yield from _transfers_found(
        steady,
        steady.of_nodes(steady.ops(WAITS)),
        "what sends and receives tensors between devices",
        "Send less, or earlier: put ops beside the variables that they read, spread or shard what one device "
        "sends to all, and let other work overlap with the wait.",
    )


def _transfers_found(steady: SteadySteps, moves: Flags, what: str, fix: str) -> Iterator[Finding]:
    waited = steady.alone(moves) if moves.any() else 0
    if steady.of_wall(waited) >= WORTHWHILE:
        nodes = np.zeros(len(steady.profile.nodes), np.bool_)
        nodes[steady.node[moves]] = True
        yield Finding(
            f"Steps wait for {what}: for {steady.shown(waited)} of {steady.shown(steady.wall.length)} "
            f"({steady.of_wall(waited):.0%}) nothing else runs.",
            Evidence("timeline", steady.options, steady.costliest(nodes)),
            fix,
        )


def _on_copying_lines(steady: SteadySteps) -> Flags:
    """Whether each row is a copy, on the line of its accelerator that has all copies; other lines repeat them."""
    devices = steady.profile.nodes.devices
    on_line = steady.on_devices(np.array([device.endswith("/memcpy") for device in devices], np.bool_))
    if not on_line.any():
        return on_line
    repeated = steady.is_on_stream & np.isin(steady.start, steady.start[on_line])
    return on_line | (repeated & np.isin(steady.node, steady.node[on_line]))


FEWEST = 3
"""Two traces are common: for the first batch, and for the last batch of the epoch if it is smaller."""


def retracing(profile: ProfileData) -> Iterator[Finding]:
    """A finding for each function of whose recorded calls many had to trace it."""
    calls = Counter(name.removesuffix(WARM_UP) for name in profile.step_names)
    traced = Counter(name.removesuffix(WARM_UP) for name in profile.step_names if name.endswith(WARM_UP))
    for name, count in traced.items():
        if count >= FEWEST and count >= WORTHWHILE * calls[name]:
            yield Finding(
                f"{name} was traced in {count} of {calls[name]} recorded calls, and tracing takes many times as long "
                "as a call.",
                Evidence("scope", {"run_name_regexes": [re.escape(name + WARM_UP)], "order_by": "micros"}),
                "Give tensors instead of Python numbers, make batches of one size (drop_remainder=True) or give "
                "@tf.function an input_signature with None for what varies, and create it outside of loops.",
            )
