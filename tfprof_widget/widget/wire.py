"""Encodes tables as bytes for the browser."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.account.memory import VARIABLES, held_variables
from tfprof_widget.analysis.account.python import MOST_SLICES, PARTS_SEEN, busy_time, seen_calls, seen_slices
from tfprof_widget.analysis.account.roofline import moved_bytes, roof_of, step_nanos, told_roof
from tfprof_widget.analysis.account.step import rows_of_steps
from tfprof_widget.charts.moments import allocation_nanos, nanos_in_step, step_starts
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.ingest.parts.stacks import with_source_lines
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.output.cells import joined
from tfprof_widget.profiles.cell import CELL_PARTS, CellRuns, CellTimes
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import named_threads
from tfprof_widget.profiles.tables import (
    STEP_SUMS,
    CodeStacks,
    Lists,
    Nodes,
    OtherStacks,
    StepTotals,
    Transfers,
)
from tfprof_widget.widget.replay_columns import critical_columns, replay_columns

ALIGNMENT = 8
Column = tuple[str, NDArray[Any] | Sequence[str]]


def encoded(profile: ProfileData, whole: ProfileData | None = None) -> bytes:
    """The columns of a profile, as the front end reads them; with roofline, path and replay if the `whole` is given.

    >>> from tfprof_widget.demo import demo_profile
    >>> content = encoded(demo_profile())
    >>> index = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    >>> index["steps"]
    ['numbers', 0, 8]
    """
    index: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    position = 0
    more: Iterator[Column] = iter(())
    if whole is not None:
        more = chain(_roofline(profile, whole), critical_columns(profile, whole), replay_columns(profile, whole))
    for name, values in chain(_columns(profile), more):
        kind, content = _packed(values)
        index[name] = (kind, position, len(content))
        parts.append(_padded(content))
        position += len(parts[-1])
    head = _padded(json.dumps(index).encode(), b" ")
    return b"".join([len(head).to_bytes(ALIGNMENT, "little"), head, *parts])


def _packed(values: NDArray[Any] | Sequence[str]) -> tuple[str, bytes]:
    if not isinstance(values, np.ndarray):
        return "texts", json.dumps(values, separators=(",", ":")).encode()
    return ("indices" if values.dtype == np.int32 else "numbers"), values.tobytes()


def _padded(content: bytes, filling: bytes = b"\0") -> bytes:
    return content + filling * (-len(content) % ALIGNMENT)


def _columns(profile: ProfileData) -> Iterator[Column]:
    transfers = profile.transfers
    starts = step_starts(profile)
    yield "steps", _numbers(profile.steps)
    yield "step_names", profile.step_names
    yield "step_workers", profile.step_workers
    yield from _nodes(profile.nodes)
    yield from _step_totals(profile.step_totals)
    yield from _executions(profile, starts)
    yield from _allocations(profile, starts)
    yield from _transfers(transfers, starts)
    yield from _traces(with_source_lines(profile.traces))
    if len(profile.other_stacks):
        yield from _other_stacks(profile.other_stacks)
    layers = node_layers(profile)
    yield "layers.names", layers.names
    yield "layers.types", layers.types
    yield "layers.parent", _indices(layers.parent)
    yield "layers.layer", _indices(layers.layer)
    yield "layers.role", _indices(layers.role)
    yield from _variables(profile)
    if profile.cells:
        yield from _cells(profile, starts)


def _roofline(profile: ProfileData, whole: ProfileData) -> Iterator[Column]:
    """What nodes move, and the most that their machine can do, or why that is not known."""
    if not profile.steps:
        return
    moved, known = moved_bytes(profile), roof_of(whole)
    roof = known.roof
    yield "nodes.moved_bytes", _numbers(moved.of_one_run)
    yield "nodes.work_known", _indices(moved.is_known.astype(np.int32))
    yield (
        "roof.rates",
        np.array([roof.float_ops, roof.bytes, roof.usual_float_ops, roof.usual_bytes] if roof else [], np.float64),
    )
    yield "roof.words", [told_roof(roof) if roof else "", known.reason]
    yield "roof.step_nanos", _numbers(step_nanos(whole))


def _nodes(nodes: Nodes) -> Iterator[Column]:
    yield "nodes.names", nodes.names
    yield "nodes.ops", nodes.ops
    yield "nodes.op", _indices(nodes.op)
    yield "nodes.type_names", nodes.type_names
    yield from _lists("nodes.types", nodes.types)
    yield "nodes.devices", nodes.devices
    yield "nodes.device", _indices(nodes.device)
    yield "nodes.shapes", [joined(shape) for shape in nodes.shapes]
    yield "nodes.shape", _indices(nodes.shape)
    yield from _lists("nodes.output_shapes", nodes.output_shapes)
    yield from _lists("nodes.inputs", nodes.inputs)
    yield "nodes.input_ports", _indices(nodes.input_ports)
    yield "nodes.parameters", _numbers(nodes.parameters)
    yield "nodes.float_ops", _numbers(nodes.float_ops)
    yield "nodes.native_float_ops", _numbers(nodes.float_ops_in(exact=False))


def _step_totals(totals: StepTotals) -> Iterator[Column]:
    yield "step_totals.node", _indices(totals.node)
    yield "step_totals.step", _indices(totals.step)
    for name in STEP_SUMS:
        yield f"step_totals.{name}", _numbers(getattr(totals, name))
    if totals.float_ops is not None:
        yield "step_totals.float_ops", _numbers(totals.float_ops)


def _executions(profile: ProfileData, starts: Integers) -> Iterator[Column]:
    executions, (thread, threads) = profile.executions, named_threads(profile)
    yield "executions.node", _indices(executions.node)
    yield "executions.step", _indices(executions.step)
    yield "executions.device", _indices(executions.device)
    yield "executions.thread", _indices(thread)
    yield "executions.threads", threads
    yield "executions.start_nanos", _numbers(nanos_in_step(executions, starts))
    yield "executions.duration_nanos", _numbers(executions.duration_nanos)


def _allocations(profile: ProfileData, starts: Integers) -> Iterator[Column]:
    yield "allocations.execution", _indices(profile.allocations.execution)
    yield "allocations.nanos", _numbers(allocation_nanos(profile, starts))
    yield "allocations.bytes", _numbers(profile.allocations.bytes)


def _transfers(transfers: Transfers, starts: Integers) -> Iterator[Column]:
    yield "transfers.devices", transfers.devices
    yield "transfers.tensors", transfers.tensors
    yield "transfers.kinds", transfers.kinds
    for name in ("step", "kind", "source", "target", "tensor", "node"):
        yield f"transfers.{name}", _indices(getattr(transfers, name))
    yield "transfers.start_nanos", _numbers(nanos_in_step(transfers, starts))
    yield "transfers.duration_nanos", _numbers(transfers.duration_nanos)
    yield "transfers.bytes", _numbers(transfers.bytes)


def _traces(traces: CodeStacks) -> Iterator[Column]:
    yield "traces.strings", traces.strings
    yield "traces.file", _indices(traces.file)
    yield "traces.line", _indices(traces.line)
    yield "traces.function", _indices(traces.function)
    yield "traces.source", _indices(traces.source)
    yield from _lists("traces.stacks", traces.stacks)
    yield "traces.stack", _indices(traces.stack)
    yield "traces.forward", traces.forward_column()


def _other_stacks(others: OtherStacks) -> Iterator[Column]:
    for name in ("group", "of", "node", "stack", "forward"):
        yield f"other_stacks.{name}", _indices(getattr(others, name))


def _variables(profile: ProfileData) -> Iterator[Column]:
    """What is held before a step begins."""
    found = held_variables(profile)
    nodes = {name: node for node, name in enumerate(profile.nodes.names)} if found else {}
    devices = {name: device for device, name in enumerate(profile.nodes.devices)}
    yield "variables.kinds", VARIABLES
    yield "variables.kind", _indices(np.array([VARIABLES.index(each.kind) for each in found]))
    yield "variables.node", _indices(np.array([nodes.get(each.node, ABSENT) for each in found]))
    yield "variables.device", _indices(np.array([devices.get(each.device, ABSENT) for each in found]))
    yield "variables.bytes", _numbers([each.bytes for each in found])


def _cells(profile: ProfileData, starts: Integers) -> Iterator[Column]:
    """What went on in the captured cells, one after the other, in nanoseconds since each was entered."""
    cells, steps = profile.cells, len(profile.steps)
    place = {id(cell): at for at, cell in enumerate(cells)}
    began, cell_of = np.full(steps, ABSENT, np.int64), np.full(steps, ABSENT, np.int32)
    step_of: dict[int, Indices] = {
        id(runs): np.full(len(runs), ABSENT, np.int32) for cell in cells for runs in cell.runs
    }
    for step, (cell, runs, row) in rows_of_steps(profile).items():
        # The clock of ops may be another one, so that they would lie beside their run.
        bounds = int(runs.start[row]), int(runs.start[row] + runs.nanos[row])
        began[step] = min(max(int(starts[step]) - cell.entered, bounds[0]), bounds[1])
        cell_of[step], step_of[id(runs)][row] = place[id(cell)], step
    if len(cells) == 1:  # ops that ran outside of runs have the clock only
        since = starts - cells[0].entered
        outside = (cell_of == ABSENT) & (since >= 0) & (since <= cells[0].nanos)
        began[outside], cell_of[outside] = since[outside], 0
    yield "cells.parts", CELL_PARTS
    yield "cells.workers", [cell.worker for cell in cells]
    yield "cells.nanos", _numbers([cell.nanos for cell in cells])
    yield "cells.step_cell", cell_of
    yield "cells.step_start", _numbers(began)  # nanoseconds, to which executions in their step can be added
    kinds = list(dict.fromkeys(runs.kind for cell in cells for runs in cell.runs))
    most = MOST_RUNS // max(sum(len(cell.runs) for cell in cells), 1)
    yield "runs.kinds", kinds
    columns = [
        _run_columns(runs, step_of[id(runs)], most, cell=place[id(cell)], kind=kinds.index(runs.kind))
        for cell in cells
        for runs in cell.runs
    ]
    yield from _joined("runs", columns, ("cell", "kind", "count", "mark", "step"), ("start", "end", "nanos"))
    yield from _phases(cells)
    yield from _python(cells)


MOST_RUNS = 1_200
"""So many rows has the table of runs at most: of more runs, several in a row are one."""


def _run_columns(runs: CellRuns, step: Indices, most: int, **same: int) -> dict[str, NDArray[Any]]:
    first = _groups(runs, most)
    columns = {name: np.full(len(first), value) for name, value in same.items()}
    if not len(first):
        return columns | dict.fromkeys(("count", "mark", "step", "start", "end", "nanos"), np.zeros(0, np.int64))
    return columns | {
        "count": np.diff(first, append=len(runs)),
        "mark": np.bitwise_or.reduceat(runs.mark, first),
        "step": np.maximum.reduceat(step, first),
        "start": runs.start[first],
        "end": np.maximum.reduceat(runs.start + runs.nanos, first),
        "nanos": np.add.reduceat(runs.nanos, first),
    }


def _groups(runs: CellRuns, most: int) -> Integers:
    """The first row of each of at most so many groups of runs one after the other.

    Groups end at the longest gaps, and what has a mark stands alone, unless very many have one.

    >>> from tfprof_widget.profiles.cell import FIRST_RUN
    >>> runs = CellRuns.of("train", [0, 3, 6, 9, 12, 90, 93, 96, 99], [1] * 9, {0: FIRST_RUN})
    >>> _groups(runs, 8).tolist()
    [0, 1, 5]
    """
    row, quarter = np.arange(len(runs)), most // 4
    if len(runs) <= most:
        return row
    is_first: Flags = row % -(-len(runs) // max(quarter, 1)) == 0
    gap = runs.start[1:] - (runs.start + runs.nanos)[:-1]
    is_first[1 + np.argsort(-gap, kind="stable")[:quarter]] = True
    is_marked = runs.mark > 0
    if 2 * int(is_marked.sum()) <= quarter:
        is_first |= is_marked | np.append(True, is_marked[:-1])
    return np.flatnonzero(is_first)


def _phases(cells: Sequence[CellTimes]) -> Iterator[Column]:
    names = list(dict.fromkeys(phase.name for cell in cells for phase in cell.phases))
    yield "phases.names", names
    columns = []
    for place, cell in enumerate(cells):
        number = np.array([names.index(phase.name) for phase in cell.phases], np.int32)
        stretches = cell.stretches
        longest = np.sort(np.argsort(-stretches.nanos, kind="stable")[: MOST_STRETCHES // len(cells)])
        name, start, nanos = (each[longest] for each in (number[stretches.phase], stretches.start, stretches.nanos))
        columns.append({"cell": np.full(len(name), place), "name": name, "start": start, "nanos": nanos})
    yield from _joined("phases", columns, ("cell", "name"), ("start", "nanos"))


MOST_STRETCHES = 600
"""So many rows has the table of phases at most: the longest."""


def _python(cells: Sequence[CellTimes]) -> Iterator[Column]:
    calls = seen_calls([cell.looks for cell in cells])
    texts: dict[str, int] = {}

    def place(text: str) -> int:
        return texts.setdefault(text, len(texts))

    frames = calls.frames
    file, function = [place(line.file) for line in frames], [place(line.function) for line in frames]
    source = [ABSENT if is_of_library(line.file) else place(line.source) for line in frames]
    yield "frames.strings", list(texts)
    yield "frames.file", _indices(np.array(file))
    yield "frames.line", _indices(np.array([line.line for line in frames]))
    yield "frames.function", _indices(np.array(function))
    yield "frames.source", _indices(np.array(source))
    yield "calls.above", _indices(calls.above)
    yield "calls.frame", _indices(calls.frame)
    for column, part in enumerate(PARTS_SEEN):
        yield f"calls.{part}", _numbers(calls.nanos[:, column])
    yield "calls.looks", _indices(calls.looks)
    columns: list[dict[str, NDArray[Any]]] = []
    for at, (cell, call) in enumerate(zip(cells, calls.of_stack, strict=True)):
        slices = seen_slices(cell.looks, busy_time(cell), MOST_SLICES // len(cells))
        same, times = np.full(len(slices.start), at), {"start": slices.start, "nanos": slices.nanos}
        columns.append({"cell": same, "call": call[slices.stack], "part": slices.part, **times})
    yield from _joined("looks", columns, ("cell", "call", "part"), ("start", "nanos"))


def _joined(
    table: str, columns: Sequence[Mapping[str, NDArray[Any]]], indices: Sequence[str], numbers: Sequence[str]
) -> Iterator[Column]:
    """The columns of one table, of which each cell or kind of runs gives some rows."""
    for name in (*indices, *numbers):
        values = np.concatenate([each[name] for each in columns]) if columns else np.zeros(0, np.int64)
        # Digits of nanoseconds, which nobody sees in a cell, would be most of what is saved.
        rounded = np.rint(values / NANOS_A_MICRO) * NANOS_A_MICRO
        yield f"{table}.{name}", _indices(values) if name in indices else _numbers(rounded)


def _lists(name: str, lists: Lists) -> Iterator[Column]:
    yield f"{name}.start", _indices(lists.start)
    yield f"{name}.values", _indices(lists.values)


def _indices(values: NDArray[np.integer]) -> Indices:
    return np.ascontiguousarray(values, np.int32)


def _numbers(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Integers as the floats that JavaScript computes with; the front end refuses sums that are no longer exact."""
    return np.ascontiguousarray(values, np.float64)
