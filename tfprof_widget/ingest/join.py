"""Joins runs into one table, finds each node's own device, and adds up by node and step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.parts.runs import VALUES, PackedColumns, RunTable, constant_as_one
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Flags, Indices, Integers, check_sum
from tfprof_widget.profiles.devices import accelerator_streams, canonical
from tfprof_widget.profiles.tables import Allocations, Executions, ExecutionTables, Outputs, RecordedRuns, StepTotals

Columns = Sequence[tuple[int, RunTable]]
Entry = TypeVar("Entry", int, str)


@dataclass(frozen=True, eq=False)
class JoinedRuns:
    """The runs as tables, with the lists of devices and the like into which their columns are indices."""

    steps: tuple[int, ...]
    devices: tuple[str, ...]
    node_device: Indices
    recorded: ExecutionTables
    runs: RecordedRuns


@dataclass(frozen=True, eq=False)
class OwnDevices:
    """Each node's own device, and which executions count, which ran on other devices, and which count memory."""

    own: Indices
    kept: Flags
    elsewhere: Flags
    counts_memory: Flags


def own_devices(
    node: NDArray[np.integer], device: NDArray[np.integer], devices: tuple[str, ...], count: int
) -> OwnDevices:
    """Find the own device of each of `count` nodes: the first canonical device that the node ran on.

    Executions on other canonical devices do not count. Memory counts on the node's own device; as in native tfprof it
    also counts on a device without a name as long as the node has no device.

    >>> devices = ("/device:cpu:0", "/device:cpu:1")
    >>> own_devices(np.array([0, 0, 1]), np.array([1, 0, 0]), devices, 2).kept.tolist()
    [True, False, True]
    """
    own, first = _own_devices(node, device, devices, count)
    known = node >= 0
    own_device = own[node] if count else np.full(len(node), ABSENT, np.int32)
    elsewhere = known & canonical(devices)[device] & (own_device != device)
    counts_memory = own_device == device
    if "" in devices and count:
        counts_memory |= (device == devices.index("")) & (np.arange(len(node)) < first[node])
    return OwnDevices(own, known & ~elsewhere, elsewhere, known & counts_memory)


def join_runs(runs: Columns, row_of: Mapping[str, int], placed: Mapping[str, str] = MappingProxyType({})) -> JoinedRuns:
    """Join runs into a table of the executions on their nodes' own devices, and one of those on other devices.

    `placed` has the devices of nodes of which only kernels were recorded.

    Columns are unpacked one by one, so that this takes little more memory than its result.
    """
    steps = tuple(sorted({step for step, _ in runs}))
    devices = tuple(sorted({device for _, run in runs for device in run.devices} | set(placed.values())))
    place_of, code_of = _places(steps), _places(devices)
    counts = [len(run) for _, run in runs]
    run_step = np.array([place_of[step] for step, _ in runs], np.int32)
    node = _over_runs(np.int32, counts, _nodes(runs, row_of))
    device = _over_runs(np.int32, counts, (_codes(run.devices, code_of)[run.device] for _, run in runs))
    found = own_devices(node, device, devices, len(row_of))
    for name, known in placed.items():
        row = row_of.get(name, ABSENT)
        if row != ABSENT and found.own[row] == ABSENT:
            found.own[row] = code_of[known]

    def recorded(chosen: Flags) -> ExecutionTables:
        def column(kind: Any, pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
            values = _over_runs(kind, counts, pieces)
            return constant_as_one(values if chosen.all() else values[chosen])

        def value(name: str) -> NDArray[Any]:
            return column(np.int64, (run.values[name] for _, run in runs))

        values = {name: value(name) for name in VALUES}
        executions = Executions(
            node=node[chosen],
            step=np.repeat(run_step, counts)[chosen],
            device=constant_as_one(device[chosen]),
            counts_memory=constant_as_one(found.counts_memory[chosen] & (values["start_micros"] > 0)),
            **values,
        )
        return ExecutionTables(executions, *_details(runs, chosen))

    return JoinedRuns(
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
    step: Indices, digests: tuple[bytes, ...], ends: Integers, found: OwnDevices, elsewhere: ExecutionTables | None
) -> RecordedRuns:
    """The table of runs; `ends` are the rows at which the executions of each run end."""

    def counted(chosen: Flags) -> Integers:
        bounds = pairwise([0, *ends.tolist()])
        return np.array([np.count_nonzero(chosen[first:end]) for first, end in bounds], np.int64)

    is_any = elsewhere is not None
    kept_before = np.cumsum(found.kept)[found.elsewhere].astype(np.int64) if is_any else np.zeros(0, np.int64)
    return RecordedRuns(step, counted(found.kept), counted(found.elsewhere), digests, kept_before, elsewhere)


def _over_runs(kind: Any, counts: Sequence[int], pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """A column over all runs, joined from the piece of each run."""
    column = np.empty(sum(counts), kind)
    first = 0
    for count, piece in zip(counts, pieces, strict=True):
        column[first : first + count] = piece
        first += count
    return column


def _nodes(runs: Columns, row_of: Mapping[str, int]) -> Iterator[Indices]:
    """The node of each execution as its row, run by run; most runs have the same names."""
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
    """The first canonical device of each node, and the execution that ran on it first (past the last one if none)."""
    backwards = np.flatnonzero(canonical(devices)[device] & (node >= 0))[::-1]
    first = np.full(count, len(node), np.int64)
    first[node[backwards]] = backwards  # if a node has several, the assignment that comes last stays
    own = np.full(count, ABSENT, np.int32)
    is_met = first < len(node)
    own[is_met] = device[first[is_met]]
    return own, first


def _details(runs: Columns, chosen: Flags) -> tuple[Outputs, Allocations]:
    """The outputs and allocations of the chosen executions, which are numbered anew."""
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
    """A function that gives a column of outputs or allocations; `execution` is a row among the chosen executions."""
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
        return constant_as_one(values if of_chosen is None else values[of_chosen])

    return column


def counted_micros(executions: Executions) -> Integers:
    """How long each execution took as native tfprof counts: whole microseconds, at least one."""
    return np.where(executions.duration_micros == 0, 1, executions.duration_micros)


def nodes_of_kernels_only(executions: Executions, devices: tuple[str, ...], node_device: Indices) -> Flags:
    """Whether each node has a device by `node_device`, but no execution there beside its kernels."""
    has_run = np.zeros(len(node_device), np.bool_)
    has_run[executions.node[(canonical(devices) & ~accelerator_streams(devices))[executions.device]]] = True
    found: Flags = (node_device != ABSENT) & ~has_run
    return found


def count_as_runs(executions: Executions, devices: tuple[str, ...], is_kernels_only: Flags) -> Flags:
    """Whether each execution is a run of its node: one on its own device or, of kernels only, each kernel."""
    on_stream = accelerator_streams(devices)
    own = (canonical(devices) & ~on_stream)[executions.device]
    return (own | (on_stream[executions.device] & is_kernels_only[executions.node])) & (executions.start_micros > 0)


def add_up(executions: Executions, devices: tuple[str, ...], node_device: Indices) -> StepTotals:
    """The sums over the executions of each node in each step, by node and then step.

    An execution on an accelerator's stream adds accelerator time; one on the node's own device adds
    CPU time and a run; on other devices it adds nothing. Without a start it adds nothing either. Of a node that has a
    device by `node_device`, but no execution there, each kernel is a run.

    This is done step by step, because all steps at once would take several times the memory of the result.
    """
    steps_seen = np.zeros(int(executions.node.max(initial=ABSENT)) + 1, np.int64)
    for _, of_step in _by_step(executions):
        ran = np.zeros(len(steps_seen), np.bool_)
        ran[of_step.node] = True
        steps_seen += ran
    place = np.cumsum(steps_seen) - steps_seen  # the row of each node in the next step in which it is seen
    columns = {name: np.zeros(int(steps_seen.sum()), np.int64) for name in _COLUMNS}
    is_kernels_only = nodes_of_kernels_only(executions, devices, node_device)
    for step, of_step in _by_step(executions):
        nodes, sums = _of_step(of_step, devices, is_kernels_only)
        places = place[nodes]
        for name, values in {"node": nodes, "step": np.full(len(nodes), step), **sums}.items():
            if values.any():  # memory that is never written to is not used
                columns[name][places] = values
        place[nodes] += 1
    for name in columns.keys() - _NO_SUMS:
        check_sum("run_meta", columns[name])
    return _held(columns)


_COLUMNS = tuple(column.name for column in fields(StepTotals) if column.name != "float_ops")
_NO_SUMS = {"node", "step", "start_micros", "end_micros"}


def _held(columns: dict[str, Integers]) -> StepTotals:
    node, step = columns.pop("node").astype(np.int32), columns.pop("step").astype(np.int32)
    return StepTotals(node, step, **{name: constant_as_one(values) for name, values in columns.items()})


def _by_step(executions: Executions) -> Iterator[tuple[int, Executions]]:
    """The executions of each step, in ascending order of the steps."""
    bounds = np.flatnonzero(np.diff(executions.step, prepend=ABSENT, append=ABSENT)).tolist()
    pieces: dict[int, list[slice]] = {}
    for first, end in pairwise(bounds):
        pieces.setdefault(int(executions.step[first]), []).append(slice(first, end))
    for step, of_step in sorted(pieces.items()):
        yield step, _taken(executions, of_step)


def _taken(executions: Executions, pieces: list[slice]) -> Executions:
    columns = {column.name: getattr(executions, column.name) for column in fields(Executions)}
    if len(pieces) == 1:
        return Executions(**{name: values[pieces[0]] for name, values in columns.items()})
    return Executions(**{name: np.concatenate([values[piece] for piece in pieces]) for name, values in columns.items()})


def _of_step(
    executions: Executions, devices: tuple[str, ...], is_kernels_only: Flags
) -> tuple[Indices, Mapping[str, Integers]]:
    """The nodes of some executions, ascending, and the sums over the executions of each."""
    order = np.argsort(executions.node, kind="stable")
    node = executions.node[order]
    first = np.flatnonzero(np.diff(node, prepend=ABSENT))
    started = executions.start_micros > 0
    on_stream = accelerator_streams(devices)
    is_stream = on_stream[executions.device] & started
    is_run = (canonical(devices) & ~on_stream)[executions.device] & started
    memory = executions.counts_memory
    micros = counted_micros(executions)

    def total(values: Integers, counted: Flags) -> Integers:
        counting = np.where(counted, values, 0)
        check_sum("run_meta", counting)
        sums: Integers = np.add.reduceat(counting[order], first)
        return sums

    start = np.where(started, executions.start_micros, LARGEST_INTEGER)
    earliest = np.minimum.reduceat(start[order], first)
    end = np.where(started, executions.start_micros + micros, 0)
    return node[first], {
        "start_micros": np.where(earliest == LARGEST_INTEGER, 0, earliest),
        "end_micros": np.maximum(np.maximum.reduceat(end[order], first), 0),
        "accelerator_nanos": total(executions.duration_nanos, is_stream),
        "cpu_nanos": total(executions.duration_nanos, is_run),
        "accelerator_micros": total(micros, is_stream),
        "cpu_micros": total(micros, is_run),
        "run_count": total(np.ones(len(order), np.int64), count_as_runs(executions, devices, is_kernels_only)),
        "requested_bytes": total(executions.requested_bytes, memory),
        "peak_bytes": total(executions.peak_bytes, memory),
        "residual_bytes": total(executions.residual_bytes, memory),
        "output_bytes": total(executions.output_bytes, memory),
    }
