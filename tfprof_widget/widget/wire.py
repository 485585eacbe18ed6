"""Encodes tables as bytes for the browser."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.charts.moments import allocation_nanos, nanos_in_step, step_starts
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.ingest.parts.stacks import with_source_lines
from tfprof_widget.lib.arrays import Indices, Integers
from tfprof_widget.output.cells import joined
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.tables import (
    STEP_SUMS,
    CodeStacks,
    Executions,
    Lists,
    Nodes,
    OtherStacks,
    StepTotals,
    Transfers,
)

ALIGNMENT = 8
Column = tuple[str, NDArray[Any] | Sequence[str]]


def encoded(profile: ProfileData) -> bytes:
    """The columns of a profile, as the front end reads them.

    >>> from tfprof_widget.demo import demo_profile
    >>> content = encoded(demo_profile())
    >>> index = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    >>> index["steps"]
    ['numbers', 0, 8]
    """
    index: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    position = 0
    for name, values in _columns(profile):
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
    executions, transfers = profile.executions, profile.transfers
    starts = step_starts(profile)
    yield "steps", _numbers(profile.steps)
    yield "step_names", profile.step_names
    yield "step_workers", profile.step_workers
    yield from _nodes(profile.nodes)
    yield from _step_totals(profile.step_totals)
    yield from _executions(executions, starts)
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


def _executions(executions: Executions, starts: Integers) -> Iterator[Column]:
    yield "executions.node", _indices(executions.node)
    yield "executions.step", _indices(executions.step)
    yield "executions.device", _indices(executions.device)
    yield "executions.thread", _indices(np.unique(executions.thread, return_inverse=True)[1])
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


def _lists(name: str, lists: Lists) -> Iterator[Column]:
    yield f"{name}.start", _indices(lists.start)
    yield f"{name}.values", _indices(lists.values)


def _indices(values: NDArray[np.integer]) -> Indices:
    return np.ascontiguousarray(values, np.int32)


def _numbers(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Integers as the floats that JavaScript computes with; the front end refuses sums that are no longer exact."""
    return np.ascontiguousarray(values, np.float64)
