"""Finds steps in which devices wait, for each other or for Python, and ops that run one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tfprof_widget.analysis.advisor.cell_time import FIX_OF_CALLS, of_cell, of_step
from tfprof_widget.analysis.advisor.finding import Evidence, Finding, felt
from tfprof_widget.analysis.advisor.input_wait import FETCHES
from tfprof_widget.analysis.advisor.patches import as_graph, not_eagerly
from tfprof_widget.analysis.steady import WORTHWHILE, SteadySteps
from tfprof_widget.ingest.parts.names import EAGER_SCOPE
from tfprof_widget.lib.arrays import Flags
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.text import written_percent, written_seconds
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.data import EAGER, ProfileData

ACCELERATOR_GAP_NANOS = 100_000
"""In shorter gaps the host launches kernels, one by one."""

HOST_GAP_NANOS = 1_000_000
"""In shorter gaps threads are woken, or other processes have the processor."""

MORE_IN_SHORT_GAPS = 0.05
"""If shorter gaps take such a share, too, they are told: else the device's utilization seems to say otherwise."""

IDLE_SHARE = 0.2
"""Without these gaps steps would take four fifths of the time, which users notice."""


@felt
def device_idle(profile: ProfileData) -> Iterator[Finding]:
    """A finding for accelerators with long idle gaps; without accelerators, one for gaps in which no op runs.

    While something is copied to or from an accelerator, it is not idle: `transfers` tells of that.
    """
    steady = SteadySteps.of(profile)
    if not steady.are_steps:
        return
    found: list[_Idle] = []
    streams = np.unique(steady.device[steady.is_on_stream]).tolist()
    for code in streams:
        name = profile.nodes.devices[code].partition("/stream")[0]
        rows = steady.device == code
        gaps = steady.wall.without(steady.during(rows)).without(steady.copies(name))
        found.append(_idle(steady, rows, name, gaps, ACCELERATOR_GAP_NANOS))
    if not streams and not profile.misses_accelerator_stream:
        everything = np.ones(len(steady.node), np.bool_)
        gaps = steady.wall.without(steady.during(everything))
        found.append(_idle(steady, everything, "the host", gaps, HOST_GAP_NANOS))
    idle = sorted((each for each in found if steady.of_wall(each.nanos) >= IDLE_SHARE), key=lambda each: -each.nanos)
    if idle:
        yield _idle_found(steady, *idle)


class _Idle(NamedTuple):
    """The time in which nothing ran on a device, by the clock, and the rows and gaps of it."""

    device: str
    nanos: int
    rows: Flags
    gaps: Intervals
    told: str = ""


def _idle(steady: SteadySteps, rows: Flags, device: str, gaps: Intervals, least: int) -> _Idle:
    whole = gaps.length
    gaps = gaps.at_least(round(least / max(steady.untraced_share, 1e-9)))  # tracing makes gaps longer
    if steady.untraced_share < 1:  # a gap that is longer than a whole step is not in most of them
        gaps = gaps.at_most(steady.wall.length // max(len(steady.steps), 1))
    told = ""
    if steady.untraced_share == 1 and steady.of_wall(whole - gaps.length) >= MORE_IN_SHORT_GAPS:
        with_shorter = written_percent(steady.of_wall(whole), 0)
        told = f" in gaps of {least / 1e6:g} ms or more ({with_shorter} with shorter gaps)"
    return _Idle(device, steady.of_clock(gaps.length, rows), rows, gaps, told)


def _idle_found(steady: SteadySteps, most: _Idle, *others: _Idle) -> Finding:
    """The finding on the device that is idle for longest; it tells how many others are idle, and for how long."""
    around = _around(steady, most.gaps, most.rows)
    also = ""
    if others:
        several, least = _of_others(steady, [each.nanos for each in others])
        also = f", and on {several} for {least}"
    # Of a step with a graph, eager ops are those of the loop that calls it: between them Python works.
    return Finding(
        f"Nothing runs on {most.device} for {of_step(steady, most.nanos)}{most.told}{also}.",
        Evidence("timeline", steady.options, around),
        FIX_OF_CALLS if any(name.startswith(f"{EAGER_SCOPE}/") for name in around) else _FIX_OF_IDLE,
        of_step=steady.of_wall(most.nanos),
    )


def _of_others(steady: SteadySteps, nanos: Sequence[int]) -> tuple[str, str]:
    """How many other devices there are, and the least of their times, the longest of which comes first."""
    least = written_percent(steady.of_wall(nanos[-1]), 0)
    return f"{len(nanos)} other device{'s' if len(nanos) > 1 else ''}", f"{least} or more"


_FIX_OF_IDLE = (
    "Look at the op before the longest gap and at the op after it. Common causes of a gap are Python (callbacks, "
    "Python functions in the graph), waiting for input or for another device, and locks."
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


FEWEST_EAGER = 10
"""To give a graph its arguments takes a few eager ops, too."""

MOSTLY = 0.8
"""The least share of eager ops in a step without a graph."""


@felt
def eager_ops(profile: ProfileData) -> Iterator[Finding]:
    """A finding if ops run one by one in a loop for much of the cell, and one if those of a step do.

    There is none if the ops' own work takes nearly all of that time.
    """
    yield from _eager_loop(profile)
    yield from _eager_step(SteadySteps.of(profile))


def _eager_step(steady: SteadySteps) -> Iterator[Finding]:
    """A finding on steps that would be a graph, had the user not asked to run functions eagerly."""
    own = ~steady.of_nodes(steady.is_data)
    eager = np.array([name.startswith(f"{EAGER_SCOPE}/") for name in steady.profile.nodes.names], np.bool_)
    rows = steady.of_nodes(eager)
    count = int(np.count_nonzero(rows)) // max(len(steady.steps), 1)
    python = steady.of_clock(steady.wall.length, own)
    is_eager = count >= FEWEST_EAGER and np.count_nonzero(rows) >= MOSTLY * np.count_nonzero(own)
    if steady.are_steps and is_eager and steady.of_wall(python) >= WORTHWHILE:
        yield Finding(
            f"A step runs its {count:,} ops one by one: Python takes {of_step(steady, python)} to start them.",
            Evidence("op", {**steady.options, "order_by": "micros"}),
            "Compile the model without run_eagerly=True, and remove tf.config.run_functions_eagerly(True): then a "
            "step runs as one graph. That saves at most the time that Python takes.",
            of_step=steady.of_wall(python),
            patch=not_eagerly(steady.profile.own_code),
        )


_FIX_OF_LIBRARY = (
    "Call the library's function through tf.function (generate = tf.function(model.generate)), or use the library's "
    "own option for that (jit_compile=True, or no run_eagerly=True)"
)


def _eager_loop(profile: ProfileData) -> Iterator[Finding]:
    cell, eager = profile.cell, profile.steps_named(EAGER)
    found = next((each for each in cell.outside if each.doing == "ops"), None) if cell is not None else None
    if cell is None or found is None or not found.place or not eager:
        return
    outside = sum(each.seconds for each in cell.outside)
    ran = min(_share_of_ops(SteadySteps(profile, np.array(eager, np.int64))) * outside, found.seconds)
    if found.seconds < IDLE_SHARE * cell.seconds or found.seconds - ran < WORTHWHILE * cell.seconds:
        return
    if found.by_library:
        where, fix = f"a loop of the library called at {found.place}", _FIX_OF_LIBRARY
    elif found.function:
        where, fix = f"the function {found.function} at {found.place}", "Decorate this function with @tf.function"
    else:
        where = f"the loop at {found.place}"
        fix = "Move the body of this loop into a function, decorated with @tf.function"
    yield Finding(
        f"Ops run one by one for {of_cell(found.seconds, cell)}, mostly in {where}. The ops themselves take "
        f"about {written_seconds(ran)} of that; Python, which starts each op, takes the rest.",
        Evidence("op", {"run_name_regexes": [re.escape(EAGER)], "order_by": "micros"}),
        f"{fix}: TensorFlow then runs its ops as one graph. That saves at most the "
        f"{written_seconds(found.seconds - ran)} that Python takes.",
        of_cell=(found.seconds - ran) / cell.seconds,
        line=CodeLine(found.file, found.line, found.function),
        patch=as_graph(profile.own_code, found.file, found.line) if found.function else None,
    )


def _share_of_ops(eager: SteadySteps) -> float:
    """The share of ops in the recorded time between steps, without ops of input, which mostly wait.

    In a cell without other steps eager ops are recorded now and then: each time tells of the time since the one before,
    and the last one of the rest of the cell too. For what comes first may only set up.
    """
    profile, cell = eager.profile, eager.profile.cell
    others = SteadySteps(profile, np.array([*set(range(len(profile.steps))) - {*eager.steps.tolist()}], np.int64))
    if len(others.steps) or cell is None:
        ran, recorded = _ran_between(eager, others)
        return ran / max(recorded, 1)
    windows = [SteadySteps(profile, np.array([step])) for step in eager.steps.tolist()]
    windows = sorted((each for each in windows if each.wall.length), key=lambda each: int(each.wall.end[-1]))
    ends = [int(each.wall.end[-1]) for each in windows]
    spans = np.diff([cell.entered, *ends[:-1], cell.entered + cell.nanos]).clip(1)
    shares = [ran / max(recorded, 1) for ran, recorded in (_ran_between(each, others) for each in windows)]
    return float(np.average(shares, weights=spans)) if shares else 0.0


def _ran_between(eager: SteadySteps, others: SteadySteps) -> tuple[int, int]:
    """How long eager ops but those of input ran between other steps, and how long that was."""
    counts = ~eager.of_nodes(eager.is_data | eager.ops(FETCHES + "|MakeIterator|.*Dataset.*"))
    between = eager.wall.without(others.wall)
    return between.length - between.without(eager.during(counts)).length, between.length


CPU_START_NANOS = 2_000
"""The time in which TensorFlow's executor schedules an op: one to three microseconds on today's machines."""

KERNEL_START_NANOS = 5_000
"""The time in which a GPU's kernel is launched: five to ten microseconds."""

FEWEST = 100
"""If starting fewer tiny ops than this takes much of a step, the step is short anyway."""

MOST_OF_THE_STEP = 0.25
"""The least share of the starts in the time of the step."""


def tiny_kernels(profile: ProfileData) -> Iterator[Finding]:
    """A finding if much of the steps is spent on starting ops that take longer to start than to run.

    Starting an op takes less on some machines: all starts together take at most what other ops leave of a step.
    """
    steady = SteadySteps.of(profile)
    if not steady.are_steps:
        return
    on_stream, counts = steady.is_on_stream, ~steady.of_nodes(steady.is_data)
    kernels = (steady.duration < KERNEL_START_NANOS) & on_stream & counts
    ops = (steady.duration < CPU_START_NANOS) & ~on_stream & counts
    count = int(np.count_nonzero(kernels | ops)) // max(len(steady.steps), 1)
    most = int(np.count_nonzero(kernels)) * KERNEL_START_NANOS + int(np.count_nonzero(ops)) * CPU_START_NANOS
    others = steady.busy(counts & ~kernels & ~ops)
    starting = min(most, max(steady.clock - round(others * steady.untraced_share), 0))
    if count >= FEWEST and steady.of_wall(starting) >= MOST_OF_THE_STEP:
        yield Finding(
            f"A step runs {count:,} ops that take longer to start than to run. To start and run them takes up to "
            f"{of_step(steady, starting)}.",
            Evidence("op", {**steady.options, "order_by": "occurrence", "select": ["occurrence", "micros"]}),
            "Give each op more to do (larger batches, one op in place of a Python loop), or let XLA fuse them: "
            "tf.function(jit_compile=True), or global_jit_level in the config of a session.",
            of_step=steady.of_wall(starting),
        )


COPIES = r"(?i).*memcpy.*|Copy(Host)?"
WAITS = r"_(Host)?(Send|Recv)(V2)?|_?X[lL][aA](Send|Recv).*|Recv"


@felt
def transfers(profile: ProfileData) -> Iterator[Finding]:
    """A finding for copies, and one for sends and receives, that much of the steps wait for."""
    steady = SteadySteps.of(profile)
    of_devices = list(_copies_found(steady))
    yield from of_devices or _transfers_found(
        steady,
        steady.of_nodes(steady.ops(COPIES)) | _on_copying_lines(steady),
        "copies between host and device",
        "Keep tensors on the device that uses them: place the op that makes a tensor and the op that reads it on one "
        "device, end the pipeline with tf.data.experimental.prefetch_to_device, and fetch results less often.",
    )
    yield from _transfers_found(
        steady,
        steady.of_nodes(steady.ops(WAITS)),
        "tensors that devices send to each other",
        "Send less, or send earlier: place ops on the device of the variables that they read, shard what one device "
        "sends to all others, and let other ops run while tensors are sent.",
    )


def _copies_found(steady: SteadySteps) -> Iterator[Finding]:
    """A finding on the accelerators that compute nothing for much of the steps while tensors are copied."""
    found: dict[str, list[tuple[int, str]]] = {}
    for code in np.unique(steady.device[steady.is_on_stream]).tolist() if steady.are_steps else ():
        device = steady.profile.nodes.devices[code].partition("/stream")[0]
        own = (steady.device == code) & steady.moves
        rows = (steady.device == code) & ~own
        idle = steady.wall.without(steady.during(rows))
        waited = steady.of_clock(idle.length - idle.without(steady.copies(device)).length, rows)
        if steady.of_wall(waited) >= WORTHWHILE:
            fix = _FIX_OF_OWN_COPIES if 2 * steady.during(own).length > waited else _FIX_OF_COPIES
            found.setdefault(fix, []).append((waited, device))
    for fix, waits in found.items():
        (waited, device), *others = sorted(waits, key=lambda each: -each[0])
        also = ""
        if others:
            several, least = _of_others(steady, [nanos for nanos, _ in others])
            also = f"; {several} wait{'s' if len(others) == 1 else ''} for {least}"
        yield Finding(
            f"{device} computes nothing for {of_step(steady, waited)}, while it waits for copies of tensors{also}.",
            Evidence("timeline", steady.options),
            fix,
            of_step=steady.of_wall(waited),
        )


_FIX_OF_COPIES = (
    "Copy the next batch while the current one is computed: end the pipeline with "
    "tf.data.experimental.prefetch_to_device(device), or with .prefetch(2) under a tf.distribute strategy; "
    "feed smaller types (uint8 images), and fetch results less often."
)
_FIX_OF_OWN_COPIES = (
    "Copy less between the memories of device and host: the program's own ops make these copies. Keep on the device "
    "what is soon used again, and let other ops run between the start of a copy and its end."
)
"""What to do where kernels or ops of XLA, such as `copy-done`, take most of the time in which data are copied."""


def _transfers_found(steady: SteadySteps, moves: Flags, what: str, fix: str) -> Iterator[Finding]:
    if not moves.any() or not steady.are_steps:
        return
    waited = steady.of_clock(steady.alone(moves), ~moves)
    if steady.of_wall(waited) >= WORTHWHILE:
        nodes = np.zeros(len(steady.profile.nodes), np.bool_)
        nodes[steady.node[moves]] = True
        yield Finding(
            f"A step waits {of_step(steady, waited, 'its')} for {what}.",
            Evidence("timeline", steady.options, steady.costliest(nodes)),
            fix,
            of_step=steady.of_wall(waited),
        )


def _on_copying_lines(steady: SteadySteps) -> Flags:
    """Whether each row is a copy, on the line of its accelerator that has all copies; other lines repeat them."""
    devices = steady.profile.nodes.devices
    on_line = steady.on_devices(np.array([device.endswith("/memcpy") for device in devices], np.bool_))
    if not on_line.any():
        return on_line
    repeated = steady.is_on_stream & np.isin(steady.start, steady.start[on_line])
    return on_line | (repeated & np.isin(steady.node, steady.node[on_line]))
