"""Joins the executions of all runs into one table: finds each node's own device and drops what is not its."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.devices import canonical
from tfprof_widget.ingest.run_metadata import RunColumns
from tfprof_widget.integers import check_sum
from tfprof_widget.tables import ABSENT, Allocations, Executions, Flags, Indices, Integers, Outputs

Runs = Sequence[tuple[int, RunColumns]]
Entry = TypeVar("Entry", int, str)


@dataclass(frozen=True, eq=False)
class Joined:
    """The runs as tables, with the dictionaries that their columns index."""

    steps: tuple[int, ...]
    devices: tuple[str, ...]
    node_device: Indices
    executions: Executions
    outputs: Outputs
    allocations: Allocations


def join_runs(runs: Runs, row_of: Mapping[str, int]) -> Joined:
    """One table of the executions of all nodes that have a row.

    The first canonical device that a node ran on is its own; what it ran on another canonical device
    is dropped. Memory counts on the node's own device only.
    """
    steps = tuple(sorted({step for step, _ in runs}))
    devices = tuple(sorted({device for _, run in runs for device in run.devices}))
    place_of, code_of = _places(steps), _places(devices)
    node = _over_runs(runs, lambda step, run: [row_of.get(name, ABSENT) for name in run.names])
    step = _over_runs(runs, lambda step, run: np.full(len(run.names), place_of[step]))
    device = _over_runs(runs, lambda step, run: np.array([code_of[each] for each in run.devices], np.int64)[run.device])
    values = {name: _over_runs(runs, lambda step, run, name=name: run.values[name]) for name in _VALUES}
    node_device, first = _own_devices(node, device, devices, len(row_of))
    kept = np.flatnonzero(_belongs(node, device, devices, node_device))
    counts_memory = _counts_memory(node, device, devices, node_device, first) & (values["start_micros"] > 0)
    place = np.full(len(node), ABSENT, np.int64)
    place[kept] = np.arange(len(kept))
    return Joined(
        steps=steps,
        devices=devices,
        node_device=node_device,
        executions=Executions(
            node=node[kept].astype(np.int32),
            step=step[kept].astype(np.int32),
            device=device[kept].astype(np.int32),
            counts_memory=counts_memory[kept],
            **{name: column[kept] for name, column in values.items()},
        ),
        outputs=_outputs(runs, place),
        allocations=_allocations(runs, place),
    )


_VALUES = (
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


def _over_runs(runs: Runs, column: Any) -> Integers:
    return np.concatenate([np.zeros(0, np.int64), *(np.asarray(column(step, run), np.int64) for step, run in runs)])


def _places(dictionary: tuple[Entry, ...]) -> dict[Entry, int]:
    return {entry: place for place, entry in enumerate(dictionary)}


def _own_devices(node: Integers, device: Integers, devices: tuple[str, ...], count: int) -> tuple[Indices, Integers]:
    """The first canonical device of each node, and at which execution it was met (past the last if never)."""
    placed = np.flatnonzero(canonical(devices)[device] & (node >= 0))
    nodes, met = np.unique(node[placed], return_index=True)
    own = np.full(count, ABSENT, np.int32)
    own[nodes] = device[placed[met]]
    first = np.full(count, len(node), np.int64)
    first[nodes] = placed[met]
    return own, first


def _belongs(node: Integers, device: Integers, devices: tuple[str, ...], own: Indices) -> Flags:
    known = node >= 0
    elsewhere = canonical(devices)[device] & (own[node] != device) if len(own) else ~known
    result: Flags = known & ~elsewhere
    return result


def _counts_memory(node: Integers, device: Integers, devices: tuple[str, ...], own: Indices, first: Integers) -> Flags:
    """On the node's own device; natively also on a device without a name while the node has none."""
    if not len(own):
        return np.zeros(len(node), np.bool_)
    nameless = np.array([name == "" for name in devices], np.bool_)[device]
    result: Flags = (own[node] == device) | (nameless & (np.arange(len(node)) < first[node]))
    return result


def _outputs(runs: Runs, place: Integers) -> Outputs:
    column = _details(runs, place, lambda run: run.outputs)
    return Outputs(
        execution=column("execution", np.int32),
        slot=column("slot", np.int32),
        bytes=column("bytes", np.int64),
        address=column("address", np.uint64),
        shape=column("shape", np.int32),
    )


def _allocations(runs: Runs, place: Integers) -> Allocations:
    column = _details(runs, place, lambda run: run.allocations)
    sizes = column("bytes", np.int64)
    check_sum("run_meta: bytes of allocations", sizes)
    return Allocations(
        execution=column("execution", np.int32),
        micros=column("micros", np.int64),
        bytes=sizes,
        on_accelerator=column("on_accelerator", np.bool_),
    )


def _details(runs: Runs, place: Integers, table: Any) -> Any:
    """The columns of what belongs to executions, renumbered to the executions that were kept."""
    counts = [len(run.names) for _, run in runs]
    before = np.cumsum([0, *counts])[:-1]
    moved = [place[table(run)["execution"] + start] for (_, run), start in zip(runs, before, strict=True)]

    def column(name: str, kind: Any) -> NDArray[Any]:
        parts = [
            execution[execution >= 0] if name == "execution" else table(run)[name][execution >= 0]
            for (_, run), execution in zip(runs, moved, strict=True)
        ]
        return np.concatenate([np.zeros(0, kind), *(part.astype(kind) for part in parts)])

    return column
