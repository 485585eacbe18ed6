"""Reads a RunMetadata in one pass: executions, memory, kernels and transfers."""

from __future__ import annotations

import re
from array import array
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tfprof_widget.ingest.parts.names import FOLDED_TRANSPOSE, HOST
from tfprof_widget.ingest.parts.nodes import NodeTable, Shapes
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.transfers import Transfer, copying_lines, read_transfer
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, NANOS_A_MICRO, Integers, check_sum
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import SealedRun, TensorShapeProto
from tfprof_widget.profiles.devices import Allocator, accelerator_of_allocator, task_of_device
from tfprof_widget.profiles.tables import ExecutedKernel


@dataclass(frozen=True)
class RunDetails:
    """What runs tell of nodes besides times: the kernels that ran, ops of nodes that no graph has, output shapes.

    The kernel of a node is the first one that a label tells. `replacing` has only the runtime's own kernels, which
    replace what the graph says of a node. The op of a node is the one of the last label in the first run with the node.
    `shapes` has the different shapes that a node put out, if shapes are kept.

    >>> run, details = SealedRun(), RunDetails()
    >>> stats = run.step_stats.dev_stats.add().node_stats
    >>> _ = stats.add(node_name="relu", timeline_label="relu = _FusedMatMul(x, w:1, ^y)")
    >>> _ = stats.add(node_name="w", timeline_label="w = VariableV2()")
    >>> run = read_run(run, details)
    >>> details.kernels({"relu", "w"}), details.ops["w"]
    ({'relu': ExecutedKernel(op='_FusedMatMul', inputs=('x', 'w:1'))}, 'VariableV2')
    """

    any: dict[str, str] = field(default_factory=dict)
    replacing: dict[str, str] = field(default_factory=dict)
    ops: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, list[tuple[bytes, ...]]] = field(default_factory=dict)
    keeps_shapes: bool = False

    def take_label(self, name: str, label: str, graph: Container[str], ran: dict[str, str]) -> None:
        """Take the label of an execution; `ran` gets its op if this run is the first one with the node."""
        is_unknown = name not in graph
        if is_unknown and name not in self.ops:
            ran[name] = op_of_label(label) or ran.get(name, "")
        is_new = is_unknown and name not in self.any
        is_replacing = _RUNTIMES_OWN in label and name not in self.replacing
        if (is_new or is_replacing) and _kernel(label) is not None:
            if is_new:
                self.any[name] = label
            if is_replacing:
                self.replacing[name] = label

    def take_kernel_of(self, optimized: str, node: str) -> None:
        """Take the kernel of a node that Grappler made for the kernel of the node that it made it from."""
        if optimized in self.any and FOLDED_TRANSPOSE not in optimized:
            self.replacing.setdefault(node, self.any[optimized])

    def take_shapes(self, name: str, outputs: Sequence[Any]) -> None:
        """Take the shapes of an execution's outputs."""
        if self.keeps_shapes and outputs:
            seen = self.shapes.setdefault(name, [])
            put_out = tuple([output.tensor_description.shape for output in outputs])
            if len(seen) < _MOST_SHAPES and put_out not in seen:
                seen.append(put_out)

    def add(self, later: RunDetails) -> None:
        """Take what is new in the details of later runs."""
        pairs = (self.any, later.any), (self.replacing, later.replacing), (self.ops, later.ops)
        for ours, theirs in pairs:
            for name, told in theirs.items():
                ours.setdefault(name, told)

    def kernels(self, graph: Container[str]) -> dict[str, ExecutedKernel]:
        """The kernels of nodes that the graph lacks, and the runtime's own kernels of nodes that it has."""
        chosen = {name: label for name, label in self.any.items() if name not in graph}
        chosen |= {name: label for name, label in self.replacing.items() if name in graph}
        return {name: kernel for name, label in chosen.items() if (kernel := _kernel(label)) is not None}

    def rewired(self, nodes: NodeTable) -> dict[str, ExecutedKernel]:
        """The kernels of nodes that ran with other inputs than their graph gives them, because Grappler changed it.

        They are known of nodes that ran before their graph was added.
        """
        found = {}
        for name, inputs in zip(nodes.names, nodes.inputs, strict=True):
            label = self.any.get(name)
            if label is not None and not label.endswith(f"({', '.join(inputs)})") and (kernel := _kernel(label)):
                found[name] = kernel
        return found


_MOST_SHAPES = 8
_RUNTIMES_OWN = " = _"
_LABEL = re.compile(r" = (\w+)\(")


def op_of_label(label: str) -> str:
    """The op in the label of an execution, `name = Op(inputs)`; empty if there is none.

    >>> op_of_label("loop/body/MatMul = _MklMatMul(a, b)"), op_of_label("no label")
    ('_MklMatMul', '')
    """
    match = _LABEL.search(label)
    return match[1] if match is not None else ""


def _kernel(label: str) -> ExecutedKernel | None:
    match = _LABEL.search(label)
    if match is None or ")" not in label[match.end() :]:
        return None
    written = label[match.end() : label.rindex(")")]
    return ExecutedKernel(match[1], tuple([each for each in written.split(", ") if each and not each.startswith("^")]))


def _numbers() -> array[int]:
    return array("q")


@dataclass(frozen=True)
class _ExecutionRows:
    """Rows of executions, allocators, allocations and outputs, as they are read, in flat arrays.

    They are read in one pass, because keeping a message for each row costs more than reading it.
    """

    names: NodeNames = field(default_factory=NodeNames)
    node: array[int] = field(default_factory=_numbers)
    device: array[int] = field(default_factory=_numbers)
    times: array[int] = field(default_factory=_numbers)
    allocators: array[int] = field(default_factory=_numbers)
    allocations: array[int] = field(default_factory=_numbers)
    outputs: array[int] = field(default_factory=_numbers)
    addresses: array[int] = field(default_factory=lambda: array("Q"))
    shapes: dict[bytes | None, int] = field(default_factory=dict)
    in_use: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, stat: Any, name: str, device: int) -> None:
        """Add one NodeExecStats of the node with this name."""
        row = len(self.node)
        self.node.append(self.names.code(name))
        self.device.append(device)
        self.times.extend(_TIMES(stat))
        for allocator in stat.memory:
            on_accelerator = "GPU" in allocator.allocator_name
            self.allocators.extend((row, *_ALLOCATOR(allocator), on_accelerator))
            if allocator.allocator_bytes_in_use > 0:
                started = stat.all_start_nanos or stat.all_start_micros * NANOS_A_MICRO
                of = self.in_use.setdefault((allocator.allocator_name, device), [])
                of.append((min(max(started, 0), LARGEST_INTEGER), allocator.allocator_bytes_in_use))
            for record in allocator.allocation_records:
                self.allocations.extend((row, record.alloc_micros, record.alloc_bytes, on_accelerator))
        for output in stat.output:
            tensor = output.tensor_description
            if tensor.HasField("allocation_description"):
                requested, allocated, address = _ALLOCATION(tensor.allocation_description)
                shape = tensor.shape or (b"" if tensor.HasField("shape") else None)
                known = self.shapes.setdefault(shape, len(self.shapes))
                self.outputs.extend((row, output.slot, requested, allocated, known))
                self.addresses.append(address)


_TIMES = attrgetter(
    "all_start_micros",
    "op_end_rel_micros",
    "all_start_nanos",
    "op_end_rel_nanos",
    "thread_id",
    "memory_stats.temp_memory_size",
    "memory_stats.persistent_memory_size",
)
_ALLOCATOR = attrgetter("total_bytes", "peak_bytes", "live_bytes", "allocator_bytes_in_use")
_ALLOCATION = attrgetter("requested_bytes", "allocated_bytes", "ptr")


@dataclass(frozen=True, eq=False)
class ReadRun:
    """A run that was read: its table, the shapes of its outputs, its transfers, and its allocators."""

    table: RunTable
    shapes: tuple[tuple[int, ...], ...]
    transfers: tuple[Transfer, ...]
    allocators: tuple[Allocator, ...] = ()

    def over(self, names: NodeNames) -> ReadRun:
        """The same run with indices into another list of names, to which missing names are added."""
        return replace(self, table=self.table.over(names))

    def table_over(self, names: NodeNames, shapes: Shapes) -> RunTable:
        """The table with indices into other lists of names and shapes, to which missing ones are added."""
        codes = np.array([shapes.index(shape) for shape in self.shapes], np.int64)
        return self.table.over(names).with_shapes(codes)


def read_run(run: SealedRun, details: RunDetails, graph: Container[str] = ()) -> ReadRun:
    """Read a RunMetadata in one pass, and add to `details` what is needed beside the nodes of `graph`.

    >>> run = SealedRun()
    >>> device = run.step_stats.dev_stats.add(device="/device:CPU:0")
    >>> _ = device.node_stats.add(node_name="a:MatMul", all_start_micros=5, op_end_rel_micros=2)
    >>> table = read_run(run, RunDetails()).table
    >>> table.node_names, table.devices, table.values["duration_nanos"].tolist()
    (['a'], ('/device:cpu:0',), [2000])
    """
    if not run.HasField("step_stats"):
        raise ProfileError(
            "run_meta: it has no step stats; run the step with "
            "RunOptions(trace_level=RunOptions.FULL_TRACE) and pass the RunMetadata of that run; "
            "functions and eager code have none: use `with tfprof_widget.capture()`"
        )
    devices = [device.device for device in run.step_stats.dev_stats]
    rows, shapes, copying = _ExecutionRows(), Shapes(), copying_lines(devices)
    transfers: list[Transfer] = []
    ran: dict[str, str] = {}
    for number, device in enumerate(run.step_stats.dev_stats):
        for stat in device.node_stats:
            name = stat.node_name.partition(":")[0]
            rows.add(stat, name, number)
            details.take_label(name, stat.timeline_label, graph, ran)
            details.take_shapes(stat.node_name, stat.output)
            if (transfer := read_transfer(stat, devices[number], devices[number] in copying)) is not None:
                transfers.append(transfer)
    details.ops.update(ran)
    allocators = tuple(_allocators(rows, devices))
    return ReadRun(_run_table(rows, devices, shapes), tuple(shapes.known), tuple(transfers), allocators)


def _allocators(rows: _ExecutionRows, devices: Sequence[str]) -> Iterator[Allocator]:
    """How much memory each allocator had in use; the names of allocators tell whether it is an accelerator's."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for (name, number), points in rows.in_use.items():
        task = task_of_device(_ascii_lower(devices[number])) or task_of_device(HOST)
        found.setdefault((name, f"{task}/device:{accelerator_of_allocator(name) or 'cpu:0'}"), []).extend(points)
    for (name, device), points in found.items():
        yield Allocator.of(name, device, 0, *np.array(points, np.int64).T)


def _run_table(rows: _ExecutionRows, devices: Sequence[str], shapes: Shapes) -> RunTable:
    times = _table(rows.times, 7)
    outputs = _outputs(rows, shapes)
    output_bytes = _added_up(outputs["execution"], outputs["bytes"], len(rows.node))
    return RunTable.of(
        node_names=rows.names,
        node=np.array(rows.node, np.int32),
        devices=[_ascii_lower(device) for device in devices],
        device=np.array(rows.device, np.int64),
        values=_times(times) | _memory(times, _table(rows.allocators, 6)) | {"output_bytes": output_bytes},
        outputs=outputs,
        allocations=_allocations(_table(rows.allocations, 4)),
    )


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.encode().lower().decode()


def _table(values: array[int], columns: int) -> NDArray[np.int64]:
    return np.array(values, np.int64).reshape(-1, columns).T


def _times(times: NDArray[np.int64]) -> dict[str, Integers]:
    start_micros, duration_micros, start_nanos, duration_nanos, thread, *_ = times
    # Old recordings have microseconds only.
    return {
        "start_micros": start_micros,
        "duration_micros": duration_micros,
        "start_nanos": np.where(start_nanos > 0, start_nanos, _nanos(start_micros)),
        # If the clock is set back during an execution, it ends before it began.
        "duration_nanos": np.maximum(np.where(duration_nanos > 0, duration_nanos, _nanos(duration_micros)), 0),
        "thread": thread,
    }


def _nanos(micros: Integers) -> Integers:
    if len(micros) and max(-int(micros.min()), int(micros.max())) > LARGEST_INTEGER // NANOS_A_MICRO:
        raise ProfileError(
            "run_meta: a time is more than 2**63 - 1 nanoseconds, or 292 years; the run metadata is damaged"
        )
    return micros * NANOS_A_MICRO


def _memory(times: NDArray[np.int64], allocators: NDArray[np.int64]) -> dict[str, Integers]:
    """The bytes of each execution: what allocators report, and temporary and persistent memory."""
    *_, temporary, persistent = times
    execution, total, peak, live, in_use, on_accelerator = allocators
    most_in_use = np.zeros(len(temporary), np.int64)
    np.maximum.at(most_in_use, execution[on_accelerator > 0], in_use[on_accelerator > 0])

    def with_these(column: Integers, *beside: Integers) -> Integers:
        check_sum("run_meta: bytes", column, *beside)
        summed: Integers = _added_up(execution, column, len(temporary)) + np.sum(beside, axis=0)
        return summed

    return {
        "requested_bytes": with_these(total, temporary, persistent),
        "peak_bytes": with_these(peak, temporary, persistent),
        "residual_bytes": with_these(live, persistent),
        "temporary_bytes": temporary,
        "persistent_bytes": persistent,
        "bytes_in_use": most_in_use,
    }


def _added_up(execution: NDArray[Any], values: Integers, count: int) -> Integers:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, execution, values)
    return sums


def _outputs(rows: _ExecutionRows, shapes: Shapes) -> dict[str, NDArray[Any]]:
    execution, slot, requested, allocated, shape = _table(rows.outputs, 5)
    sizes = np.maximum(requested, allocated)
    check_sum("run_meta: bytes of outputs", sizes)
    known = np.array([_shape(shape, shapes) for shape in rows.shapes], np.int64)
    return {
        "execution": execution,
        "slot": slot,
        "bytes": sizes,
        "address": np.array(rows.addresses, np.uint64),
        "shape": known[shape],
    }


def _shape(sealed: bytes | None, shapes: Shapes) -> int:
    if sealed is None:
        return ABSENT
    try:
        return shapes.of_message(TensorShapeProto.FromString(sealed))
    except DecodeError as error:
        raise ProfileError(
            f"run_meta: the shape of an output cannot be read ({error}); check that the file is whole"
        ) from None


def _allocations(allocations: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    execution, micros, sizes, on_accelerator = allocations
    _nanos(micros)  # a timeline places them there
    return {"execution": execution, "micros": micros, "bytes": sizes, "on_accelerator": on_accelerator > 0}
