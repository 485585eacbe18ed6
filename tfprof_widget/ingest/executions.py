"""Joins the executions of all runs into one table: finds each node's own device and drops what is not its."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.devices import canonical
from tfprof_widget.ingest.packing import PackedColumns, held_once
from tfprof_widget.ingest.run_columns import RunColumns
from tfprof_widget.integers import check_sum
from tfprof_widget.tables import ABSENT, Allocations, Executions, Flags, Indices, Integers, Outputs, Recorded, Runs

Columns = Sequence[tuple[int, RunColumns]]
Entry = TypeVar("Entry", int, str)


@dataclass(frozen=True, eq=False)
class Joined:
    """The runs as tables, with the dictionaries that their columns index."""

    steps: tuple[int, ...]
    devices: tuple[str, ...]
    node_device: Indices
    recorded: Recorded
    runs: Runs


@dataclass(frozen=True, eq=False)
class Placed:
    """Each node's own device, and which executions count, which were elsewhere, and which count memory."""

    own: Indices
    kept: Flags
    elsewhere: Flags
    counts_memory: Flags


def placed(node: NDArray[np.integer], device: NDArray[np.integer], devices: tuple[str, ...], count: int) -> Placed:
    """Find the devices of `count` nodes: the first canonical device that a node ran on is its own.

    What it ran on another canonical device counts for nothing. Memory counts on the node's own device only; natively
    also on a device without a name while the node has none.

    >>> devices = ("/device:cpu:0", "/device:cpu:1")
    >>> placed(np.array([0, 0, 1]), np.array([1, 0, 0]), devices, 2).kept.tolist()
    [True, False, True]
    """
    own, first = _own_devices(node, device, devices, count)
    known = node >= 0
    own_device = own[node] if count else np.full(len(node), ABSENT, np.int32)
    elsewhere = known & canonical(devices)[device] & (own_device != device)
    counts_memory = own_device == device
    if "" in devices and count:
        counts_memory |= (device == devices.index("")) & (np.arange(len(node)) < first[node])
    return Placed(own, known & ~elsewhere, elsewhere, known & counts_memory)


def join_runs(runs: Columns, row_of: Mapping[str, int]) -> Joined:
    """One table of the executions of all nodes that have a row, on their own devices, and one of those elsewhere.

    Columns are made whole one by one, so that all of them together take little more memory than what comes of them.
    """
    steps = tuple(sorted({step for step, _ in runs}))
    devices = tuple(sorted({device for _, run in runs for device in run.devices}))
    place_of, code_of = _places(steps), _places(devices)
    counts = [len(run) for _, run in runs]
    run_step = np.array([place_of[step] for step, _ in runs], np.int32)
    node = _over_runs(np.int32, counts, _nodes(runs, row_of))
    device = _over_runs(np.int32, counts, (_codes(run.devices, code_of)[run.device] for _, run in runs))
    found = placed(node, device, devices, len(row_of))

    def recorded(chosen: Flags) -> Recorded:
        def column(kind: Any, pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
            values = _over_runs(kind, counts, pieces)
            return held_once(values if chosen.all() else values[chosen])

        def value(name: str) -> NDArray[Any]:
            return column(np.int64, (run.values[name] for _, run in runs))

        values = {name: value(name) for name in VALUES}
        executions = Executions(
            node=node[chosen],
            step=np.repeat(run_step, counts)[chosen],
            device=held_once(device[chosen]),
            counts_memory=held_once(found.counts_memory[chosen] & (values["start_micros"] > 0)),
            **values,
        )
        return Recorded(executions, *_details(runs, chosen))

    return Joined(
        steps=steps,
        devices=devices,
        node_device=found.own,
        recorded=recorded(found.kept),
        runs=runs_of(
            run_step,
            tuple(run.digest for _, run in runs),
            np.cumsum(counts, dtype=np.int64),
            found,
            recorded(found.elsewhere) if found.elsewhere.any() else None,
        ),
    )


def runs_of(
    step: Indices, digests: tuple[bytes, ...], ends: Integers, found: Placed, elsewhere: Recorded | None
) -> Runs:
    """The table of runs; `ends` are the executions' rows after the last of each run."""

    def counted(chosen: Flags) -> Integers:
        bounds = pairwise([0, *ends.tolist()])
        return np.array([np.count_nonzero(chosen[first:end]) for first, end in bounds], np.int64)

    is_any = elsewhere is not None
    kept_before = np.cumsum(found.kept)[found.elsewhere].astype(np.int64) if is_any else np.zeros(0, np.int64)
    return Runs(step, counted(found.kept), counted(found.elsewhere), digests, kept_before, elsewhere)


VALUES = (
    "start_micros",
    "duration_micros",
    "start_nanos",
    "duration_nanos",
    "thread",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "temporary_bytes",
    "persistent_bytes",
    "bytes_in_use",
)


def _over_runs(kind: Any, counts: Sequence[int], pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """A column of all runs, of the piece that each run has of it."""
    column = np.empty(sum(counts), kind)
    first = 0
    for count, piece in zip(counts, pieces, strict=True):
        column[first : first + count] = piece
        first += count
    return column


def _nodes(runs: Columns, row_of: Mapping[str, int]) -> Iterator[Indices]:
    """The row of the node of each execution, run by run; most runs are over the same names."""
    rows: dict[int, Indices] = {}
    for _, run in runs:
        known = id(run.node_names)
        if known not in rows:
            rows[known] = np.array([row_of.get(name, ABSENT) for name in run.node_names], np.int32)
        yield rows[known][run.node]


def _codes(devices: Sequence[str], code_of: Mapping[str, int]) -> Indices:
    return np.array([code_of[device] for device in devices], np.int32)


def _places(dictionary: tuple[Entry, ...]) -> dict[Entry, int]:
    return {entry: place for place, entry in enumerate(dictionary)}


def _own_devices(
    node: NDArray[np.integer], device: NDArray[np.integer], devices: tuple[str, ...], count: int
) -> tuple[Indices, Integers]:
    """The first canonical device of each node, and at which execution it was met (past the last if never)."""
    backwards = np.flatnonzero(canonical(devices)[device] & (node >= 0))[::-1]
    first = np.full(count, len(node), np.int64)
    first[node[backwards]] = backwards  # of several of one node the last that is assigned stays
    own = np.full(count, ABSENT, np.int32)
    is_met = first < len(node)
    own[is_met] = device[first[is_met]]
    return own, first


def _details(runs: Columns, chosen: Flags) -> tuple[Outputs, Allocations]:
    """The outputs and allocations of the executions that are chosen, and numbered anew."""
    outputs = _detail(runs, chosen, [run.outputs for _, run in runs])
    allocations = _detail(runs, chosen, [run.allocations for _, run in runs])
    sizes = allocations("bytes", np.int64)
    check_sum("run_meta: bytes of allocations", sizes)
    return (
        Outputs(
            execution=outputs("execution", np.int32),
            slot=outputs("slot", np.int32),
            bytes=outputs("bytes", np.int64),
            address=outputs("address", np.uint64),
            shape=outputs("shape", np.int32),
        ),
        Allocations(
            execution=allocations("execution", np.int32),
            micros=allocations("micros", np.int64),
            bytes=sizes,
            on_accelerator=allocations("on_accelerator", np.bool_),
        ),
    )


def _detail(runs: Columns, chosen: Flags, tables: Sequence[PackedColumns]) -> Callable[[str, Any], NDArray[Any]]:
    """Gives the columns of what belongs to executions: `execution` is the execution's row among the chosen."""
    counts = [len(table["execution"]) for table in tables]
    starts = np.cumsum([0, *(len(run) for _, run in runs)])[:-1].tolist()
    execution = _over_runs(
        np.int32, counts, (table["execution"] + start for table, start in zip(tables, starts, strict=True))
    )
    of_chosen = None if chosen.all() else chosen[execution]
    if of_chosen is not None:
        execution = (np.cumsum(chosen, dtype=np.int32) - 1)[execution]

    def column(name: str, kind: Any) -> NDArray[Any]:
        values = execution if name == "execution" else _over_runs(kind, counts, (table[name] for table in tables))
        return held_once(values if of_chosen is None else values[of_chosen])

    return column
