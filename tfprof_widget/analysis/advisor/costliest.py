"""Checks which ops cost most, as native tfprof does and exactly."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfprof_widget.analysis.own_lines import own_lines
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.ingest.parts.nodes import node_definitions
from tfprof_widget.lib.arrays import ABSENT, Indices, Integers
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.lib.text import written_time
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

MOST = 3
DEEPEST = 3
LEAST_MICROS_OF_A_LINE = 1000


def expensive_operations(profile: ProfileData) -> Iterator[str]:
    """A report for each view: the costliest op types, graph nodes and, if there are traces, lines of code.

    >>> from tfprof_widget.demo import demo_profile
    >>> next(expensive_operations(demo_profile())).splitlines()[0]
    'top 1 operation type: MatMul, cpu: ...us, accelerator: 0us, total: ...us (...%)'
    """
    if profile.steps:
        yield from op_types(_expensive_view(profile, "op", max_depth=MOST, min_micros=1))
        yield from _graph_nodes(_expensive_view(profile, "scope", min_micros=100))
    else:
        _warn("op types or graph nodes", "run metadata", "give that of a step")
    if profile.has_traces:
        yield from lines(_expensive_view(profile, "code", min_micros=1), LEAST_MICROS_OF_A_LINE)
    else:
        _warn("lines of code", "code traces", "give an op_log with traces, or the tf.Graph itself")


def _expensive_view(profile: ProfileData, view: str, **options: Any) -> ViewData:
    return evaluate(profile, view, Options.of(order_by="micros", timing="tfprof", **options))


def _warn(rows: str, lacking: str, way_out: str) -> None:
    warnings.warn(
        f"ExpensiveOperationChecker: it can name no {rows}, as there are no {lacking}; {way_out}",
        ProfileWarning,
        stacklevel=6,
    )


def op_types(view: ViewData) -> Iterator[str]:
    """A report on the first rows of an op view, each with its share of the whole."""
    whole = int(view.grand_total["micros"][0]) + 1e-10  # as in native tfprof: it decides how exact halves round
    told = []
    for row, name in enumerate(view.names[:MOST]):
        share = 100.0 * int(view.own["micros"][row]) / whole
        told.append(f"top {row + 1} operation type: {name}, {_times(view, view.own, row)} ({share:.2f}%)")
    if told:
        yield "\n".join(told)


def _graph_nodes(view: ViewData) -> Iterator[str]:
    told = [
        f"top {place} graph node: {view.names[row]}, {_times(view, view.own, row)}"
        for place, row in enumerate(_below(view, 0)[:MOST], 1)
    ]
    if told:
        yield "\n".join(told)


def lines(view: ViewData, least: int) -> Iterator[str]:
    """The costliest calls from the first frame with several calls; frames above it are mostly of libraries.

    Calls that take less than `least`, in units of the view, are left out.
    """
    row = 0
    while len(below := _below(view, row)) == 1:
        row = below[0]
    if below:
        yield "\n".join(_calls(view, below, 0, least))


def _calls(view: ViewData, rows: Sequence[int], depth: int, least: int) -> Iterator[str]:
    for row in rows[:MOST]:
        if view.total["micros"][row] < least:
            continue
        yield f"{'  ' * depth}{view.names[row]}, {_times(view, view.total, row)}"
        below = _below(view, row)
        if len(below) > 1 and depth < DEEPEST:
            yield from _calls(view, below, depth + 1, least)


def _below(view: ViewData, row: int) -> list[int]:
    found: list[int] = np.flatnonzero(view.parent == row).tolist()
    return found


def _times(view: ViewData, columns: Mapping[str, Integers], row: int) -> str:
    return times(columns, row, view.time_scale)


def times(columns: Mapping[str, Integers], row: int, scale: int) -> str:
    """The times of a row as reports write them; columns are in units of `1 / scale` microseconds.

    >>> columns = {"micros": 30, "accelerator_micros": 10, "cpu_micros": 20}
    >>> times({name: np.array([value]) for name, value in columns.items()}, 0, 1)
    'cpu: 20us, accelerator: 10us, total: 30us'
    """
    cpu, accelerator, both = (
        written_time(int(columns[measure][row]), scale) for measure in ("cpu_micros", "accelerator_micros", "micros")
    )
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {both}"


SMALLEST_SHARE = 0.01
"""Lines of code with a smaller share are left out; native tfprof leaves out lines below a millisecond."""


def costliest(profile: ProfileData) -> Iterator[str]:
    """Reports on op types, graph nodes and lines of code; they name rows that the reader can select.

    Native tfprof names a scope as a graph node, and reports its own time, which is 0.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(costliest(demo_profile()))[1].splitlines()[0]
    'top 1 graph node: gradients/layer1/MatMul_grad/MatMul_1, cpu: 110.95us, accelerator: 0ns, total: 110.95us (34.58%)'
    """
    if not profile.steps:
        return
    steady = SteadySteps.of(profile)
    options = steady.options
    yield from op_types(_costliest_view(profile, "op", options))
    yield from _nodes(profile, options)
    if profile.traces_in(steady.steps.tolist()).are_known:
        yield from _lines(_costliest_view(profile, "code", options))


def _nodes(profile: ProfileData, options: Any) -> Iterator[str]:
    costs = measures(profile, Options.of(**options))
    micros = costs.columns["micros"]
    told = []
    for place, row in enumerate(np.argsort(-micros, kind="stable")[:MOST].tolist(), 1):
        if micros[row]:
            taken = times(costs.columns, row, costs.time_scale)
            share = 100.0 * int(micros[row]) / int(micros.sum())
            told.append(f"top {place} graph node: {profile.nodes.names[row]}, {taken} ({share:.2f}%)")
    if told:
        yield "\n".join(told)


def _lines(code: ViewData) -> Iterator[str]:
    """The report on the user's own lines; native tfprof starts at a frame that in a notebook belongs to the kernel."""
    lines, columns = own_lines(code)
    least = SMALLEST_SHARE * int(code.grand_total["micros"][0])
    told = [
        f"{line}, {times(columns, row, code.time_scale)}"
        for row, line in enumerate(lines[:MOST])
        if columns["micros"][row] >= least
    ]
    if told:
        yield "\n".join(told)


def _costliest_view(profile: ProfileData, view: str, options: Any) -> ViewData:
    every_row = {"max_depth": max(Options.of().max_depth, len(profile.nodes.ops))}
    return evaluate(profile, view, Options.of(order_by="micros", **every_row, **options))


LOW = 0.5
_LEAST_TOLD = 0.005
"""A smaller share is written as 0.00."""


def accelerator_utilization(profile: ProfileData) -> Iterator[str]:
    """A report for each device: the time of its kernels as a share of the time from first start to last end.

    For each node the last step in which it was seen counts.
    """
    totals, devices = profile.step_totals, profile.nodes.devices
    last = _last_of_each_node(totals.node)
    device = profile.nodes.device[totals.node[last]]
    for code in np.unique(device[device >= 0]).tolist():
        if "gpu" not in devices[code]:
            continue
        chosen = last[device == code]
        start = totals.start_micros[chosen]
        span = int(totals.end_micros[chosen].max() - start[start > 0].min(initial=2**63 - 1))
        if span > 0:
            utilization = int(totals.accelerator_micros[chosen].sum()) / span
            low = "" if utilization >= LOW else "low "
            yield f"device: {devices[code]} {low}utilization: {utilization:.2f}"


def _last_of_each_node(node: Indices) -> Integers:
    """The row of each node's last step; rows are sorted by node and then step."""
    result: Integers = np.flatnonzero(np.diff(node, append=np.int32(ABSENT)))
    return result


def accelerator_use(profile: ProfileData) -> Iterator[str]:
    """A report for each accelerator: the share of the steady steps in which any of its kernels computed.

    Ops and kernels that move data, or wait until they are moved, keep it busy, but compute nothing.
    """
    steady = SteadySteps.of(profile)
    for code in np.unique(steady.device[steady.is_on_stream]).tolist():
        rows = steady.device == code
        computed, busy = (steady.busy(each) / max(steady.wall.length, 1) for each in (rows & ~steady.moves, rows))
        device = profile.nodes.devices[code].partition("/stream")[0]
        moving = f", and {busy - computed:.2f} in which it moves data only" if busy - computed >= _LEAST_TOLD else ""
        yield f"device: {device} {'' if computed >= LOW else 'low '}utilization: {computed:.2f}{moving}"


def operations(profile: ProfileData) -> Iterator[str]:
    """A report for each kind of op that is used and has a faster equivalent."""
    yield from _operations(profile, is_fused="FusedBatchNorm" in profile.nodes.type_names)


def slower_operations(profile: ProfileData) -> Iterator[str]:
    """As `operations`, which knows no `FusedBatchNormV3`, by which TensorFlow 2 normalises all batches."""
    yield from _operations(profile, is_fused=any("FusedBatchNorm" in name for name in profile.nodes.type_names))


def _operations(profile: ProfileData, *, is_fused: bool) -> Iterator[str]:
    if any("BatchNorm" in name for name in profile.nodes.names) and not is_fused:
        yield "Maybe use faster FusedBatchNorm instead of BatchNorm"
    if _has_channels_last_on_accelerator(profile):
        yield "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def _has_channels_last_on_accelerator(profile: ProfileData) -> bool:
    nodes = profile.nodes
    on_accelerator = np.array(["gpu" in device for device in nodes.devices] + [False], np.bool_)[nodes.device]
    names = {nodes.names[node] for node in np.flatnonzero(on_accelerator).tolist()}
    return any(
        node.name in names and "data_format" in node.attr and node.attr["data_format"].s == b"NHWC"
        for node in (node_definitions(profile.graphs) if names else ())
    )
