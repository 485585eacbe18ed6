"""Reads a RunMetadata in one pass: executions, memory, kernels and transfers."""

from __future__ import annotations

import re
from array import array
from collections.abc import Container, Set
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tfprof_widget.ingest.parts.nodes import Shapes
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.transfers import Transfer, read_transfers
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, NANOS_A_MICRO, Integers, check_sum
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import SealedRun, TensorShapeProto
from tfprof_widget.profiles.tables import ExecutedKernel


def _numbers() -> array[int]:
    return array("q")


@dataclass(frozen=True)
class _ExecutionRows:
    """What is read of executions, allocators, allocations and outputs: row after row in flat arrays.

    Read in one pass, since to keep a message for each row at hand costs more than to read it.
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

    def add(self, stat: Any, device: int) -> None:
        """Add one NodeExecStats."""
        row = len(self.node)
        self.node.append(self.names.code(stat.node_name.partition(":")[0]))
        self.device.append(device)
        self.times.extend(_TIMES(stat))
        for allocator in stat.memory:
            on_accelerator = "GPU" in allocator.allocator_name
            self.allocators.extend((row, *_ALLOCATOR(allocator), on_accelerator))
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
_LABEL = re.compile(r" = (\w+)\(")
_ALLOCATION = attrgetter("requested_bytes", "allocated_bytes", "ptr")


def read_run(run: SealedRun, shapes: Shapes) -> RunTable:
    """The columns of a RunMetadata.

    >>> run = SealedRun()
    >>> device = run.step_stats.dev_stats.add(device="/device:CPU:0")
    >>> _ = device.node_stats.add(node_name="a:MatMul", all_start_micros=5, op_end_rel_micros=2)
    >>> columns = read_run(run, Shapes())
    >>> columns.node_names, columns.devices, columns.values["duration_nanos"].tolist()
    (['a'], ('/device:cpu:0',), [2000])
    """
    if not run.HasField("step_stats"):
        raise ProfileError(
            "run_meta: it has no step stats; run the step with "
            "RunOptions(trace_level=RunOptions.FULL_TRACE) and pass the RunMetadata of that run"
        )
    rows = _ExecutionRows()
    for number, device in enumerate(run.step_stats.dev_stats):
        for stat in device.node_stats:
            rows.add(stat, number)
    times = _table(rows.times, 7)
    outputs = _outputs(rows, shapes)
    output_bytes = _added_up(outputs["execution"], outputs["bytes"], len(rows.node))
    return RunTable.of(
        node_names=rows.names,
        node=np.array(rows.node, np.int32),
        devices=[_ascii_lower(device.device) for device in run.step_stats.dev_stats],
        device=np.array(rows.device, np.int64),
        values=_times(times) | _memory(times, _table(rows.allocators, 6)) | {"output_bytes": output_bytes},
        outputs=outputs,
        allocations=_allocations(_table(rows.allocations, 4)),
    )


def executed_ops(run: SealedRun, names: Set[str]) -> dict[str, str]:
    """The ops that these nodes ran as, where the run tells: its labels are `name = Op(inputs)`.

    >>> run = SealedRun()
    >>> stats = run.step_stats.dev_stats.add().node_stats
    >>> _ = stats.add(node_name="loop/body/MatMul", timeline_label="loop/body/MatMul = _MklMatMul(a, b)")
    >>> _ = stats.add(node_name="loop/cond", timeline_label="no label")
    >>> executed_ops(run, {"loop/body/MatMul", "loop/cond"})
    {'loop/body/MatMul': '_MklMatMul'}
    """
    found = {}
    for device in run.step_stats.dev_stats:
        for stat in device.node_stats:
            name = stat.node_name.partition(":")[0]
            op = op_of_label(stat.timeline_label) if name in names else ""
            if op:
                found[name] = op
    return found


def op_of_label(label: str) -> str:
    """The op that an execution tells in its label `name = Op(inputs)`, empty if it tells none.

    >>> op_of_label("loop/body/MatMul = _MklMatMul(a, b)"), op_of_label("no label")
    ('_MklMatMul', '')
    """
    match = _LABEL.search(label)
    return match[1] if match is not None else ""


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
        # A clock that is set back meanwhile has an execution end before it began.
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
    """Bytes by execution: what allocators report of it, and the temporary and persistent memory beside."""
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
    _nanos(micros)  # which a timeline takes them to
    return {"execution": execution, "micros": micros, "bytes": sizes, "on_accelerator": on_accelerator > 0}


@dataclass(frozen=True, eq=False)
class ReadRun:
    """The columns of a run, with the shapes that its outputs index, and its transfers."""

    columns: RunTable
    shapes: tuple[tuple[int, ...], ...]
    transfers: tuple[Transfer, ...]

    @classmethod
    def of(cls, run: SealedRun) -> ReadRun:
        """What is read of a RunMetadata.

        >>> run = SealedRun()
        >>> _ = run.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add(node_name="a")
        >>> ReadRun.of(run).columns.names
        ['a']
        """
        shapes = Shapes()
        columns = read_run(run, shapes)
        return cls(columns, tuple(shapes.known), tuple(read_transfers(run)))

    def over(self, names: NodeNames) -> ReadRun:
        """The same with another dictionary of names, which is made to have all that run here."""
        return replace(self, columns=self.columns.over(names))

    def columns_over(self, names: NodeNames, shapes: Shapes) -> RunTable:
        """The columns with other dictionaries, which are made to have all that is here."""
        codes = np.array([shapes.index(shape) for shape in self.shapes], np.int64)
        return self.columns.over(names).with_shapes(codes)


_KERNEL_LABEL = re.compile(r" = (\w+)\(")

_RUNTIMES_OWN = " = _"


@dataclass(frozen=True)
class KernelLabels:
    """The labels that tell the kernels of nodes, whatever the graph is: the first of each node that tells one.

    In `replacing` they are of the runtime's own kernels, for these only replace what the graph says of its nodes.

    >>> run = SealedRun()
    >>> stats = run.step_stats.dev_stats.add().node_stats
    >>> _ = stats.add(node_name="relu", timeline_label="relu = _FusedMatMul(x, w:1, ^y)")
    >>> _ = stats.add(node_name="w", timeline_label="w = VariableV2()")
    >>> labels = KernelLabels()
    >>> labels.read(run)
    >>> labels.kernels({"relu", "w"}) == {"relu": ExecutedKernel("_FusedMatMul", inputs=("x", "w:1"))}
    True
    """

    any: dict[str, str] = field(default_factory=dict)
    replacing: dict[str, str] = field(default_factory=dict)

    def read(self, run: SealedRun, graph: Container[str] = ()) -> None:
        """Take the labels of a run; what is not needed for the nodes of `graph` is left out."""
        for device in run.step_stats.dev_stats:
            for stat in device.node_stats:
                label = stat.timeline_label
                name = stat.node_name.partition(":")[0]
                is_new = name not in self.any and name not in graph
                is_replacing = _RUNTIMES_OWN in label and name not in self.replacing
                if (is_new or is_replacing) and _kernel(label) is not None:
                    if is_new:
                        self.any[name] = label
                    if is_replacing:
                        self.replacing[name] = label

    def add(self, later: KernelLabels) -> None:
        """Take the labels that are new in those of later runs."""
        for ours, theirs in ((self.any, later.any), (self.replacing, later.replacing)):
            for name, label in theirs.items():
                ours.setdefault(name, label)

    def kernels(self, graph: Container[str]) -> dict[str, ExecutedKernel]:
        """The kernels of nodes that the graph lacks, and those of its nodes that are the runtime's own types."""
        chosen = {name: label for name, label in self.any.items() if name not in graph}
        chosen |= {name: label for name, label in self.replacing.items() if name in graph}
        return {name: kernel for name, label in chosen.items() if (kernel := _kernel(label)) is not None}


def _kernel(label: str) -> ExecutedKernel | None:
    match = _KERNEL_LABEL.search(label)
    if match is None or ")" not in label[match.end() :]:
        return None
    written = label[match.end() : label.rindex(")")]
    return ExecutedKernel(match[1], tuple([each for each in written.split(", ") if each and not each.startswith("^")]))
