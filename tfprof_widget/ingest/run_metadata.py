"""Reads a RunMetadata's step stats into columns: when each execution ran, and what it allocated and put out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.shapes import Shapes
from tfprof_widget.integers import LARGEST_INTEGER, check_sum
from tfprof_widget.tables import ABSENT, Integers

NANOS_A_MICRO = 1000


@dataclass(frozen=True, eq=False)
class RunColumns:
    """The executions of one run in the order recorded, and their outputs and allocations.

    `outputs` and `allocations` are columns by name; `execution` in them is the row of the execution.
    """

    names: list[str]
    devices: tuple[str, ...]
    device: Integers
    values: dict[str, Integers]
    outputs: dict[str, NDArray[Any]]
    allocations: dict[str, NDArray[Any]]

    def same_as(self, other: RunColumns) -> bool:
        """Whether both hold the very same executions."""
        starts = self.values["start_nanos"], other.values["start_nanos"]
        return bool(self.names) and self.names == other.names and np.array_equal(*starts)


def may_be_node(name: str) -> bool:
    """Whether an execution of this name makes a node where the graph has none; copies between devices do not."""
    return name not in ("RecvTensor", "_SOURCE") and "MEMCPY" not in name


def read_run(run_meta: Any, shapes: Shapes) -> RunColumns:
    """The columns of a RunMetadata.

    >>> from tfprof_widget.messages import RunMetadata
    >>> run = RunMetadata()
    >>> device = run.step_stats.dev_stats.add(device="/device:CPU:0")
    >>> _ = device.node_stats.add(node_name="a:MatMul", all_start_micros=5, op_end_rel_micros=2)
    >>> columns = read_run(run, Shapes())
    >>> columns.names, columns.devices, columns.values["duration_nanos"].tolist()
    (['a'], ('/device:cpu:0',), [2000])
    """
    if not run_meta.HasField("step_stats"):
        raise ProfileError(
            "run_meta: it has no step stats; run the step with "
            "RunOptions(trace_level=RunOptions.FULL_TRACE) and pass the RunMetadata of that run"
        )
    devices = list(run_meta.step_stats.dev_stats)
    stats = [stat for device in devices for stat in device.node_stats]
    of_device = np.repeat(np.arange(len(devices)), [len(device.node_stats) for device in devices])
    values = _times(stats) | _memory(stats)
    outputs = _outputs(stats, shapes)
    values["output_bytes"] = _added_up(outputs["execution"], outputs["bytes"], len(stats))
    return RunColumns(
        names=[stat.node_name.partition(":")[0] for stat in stats],
        devices=tuple(_ascii_lower(device.device) for device in devices),
        device=of_device.astype(np.int64),
        values=values,
        outputs=outputs,
        allocations=_allocations(stats),
    )


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.encode().lower().decode()


def _column(values: list[int]) -> Integers:
    return np.array(values, np.int64)


def _times(stats: list[Any]) -> dict[str, Integers]:
    start_micros = _column([stat.all_start_micros for stat in stats])
    duration_micros = _column([stat.op_end_rel_micros for stat in stats])
    start_nanos = _column([stat.all_start_nanos for stat in stats])
    duration_nanos = _column([stat.op_end_rel_nanos for stat in stats])
    # Old recordings have microseconds only.
    return {
        "start_micros": start_micros,
        "duration_micros": duration_micros,
        "start_nanos": np.where(start_nanos > 0, start_nanos, _nanos(start_micros)),
        "duration_nanos": np.where(duration_nanos > 0, duration_nanos, _nanos(duration_micros)),
        "thread": _column([stat.thread_id for stat in stats]),
    }


def _nanos(micros: Integers) -> Integers:
    if max(abs(int(micros.min(initial=0))), int(micros.max(initial=0))) > LARGEST_INTEGER // NANOS_A_MICRO:
        raise ProfileError(
            "run_meta: it has times of more than 2**63 - 1 nanoseconds, which is damage; record the step again"
        )
    return micros * NANOS_A_MICRO


def _memory(stats: list[Any]) -> dict[str, Integers]:
    """Bytes by execution: what allocators report of it, and the temporary and persistent memory beside."""
    kept = [stat.memory_stats if stat.HasField("memory_stats") else None for stat in stats]
    temporary = _column([each.temp_memory_size if each is not None else 0 for each in kept])
    persistent = _column([each.persistent_memory_size if each is not None else 0 for each in kept])
    counts = [len(stat.memory) for stat in stats]
    execution = np.repeat(np.arange(len(stats)), counts)
    used = [memory for stat, count in zip(stats, counts, strict=True) if count for memory in stat.memory]
    on_accelerator = np.array(["GPU" in memory.allocator_name for memory in used], np.bool_)
    in_use = np.zeros(len(stats), np.int64)
    np.maximum.at(
        in_use,
        execution[on_accelerator],
        _column([memory.allocator_bytes_in_use for memory in used])[on_accelerator],
    )

    def summed(values: list[int], *beside: Integers) -> Integers:
        column = _column(values)
        check_sum("run_meta: bytes", column, *beside)
        return sum(beside, _added_up(execution, column, len(stats)))

    return {
        "requested_bytes": summed([memory.total_bytes for memory in used], temporary, persistent),
        "peak_bytes": summed([memory.peak_bytes for memory in used], temporary, persistent),
        "residual_bytes": summed([memory.live_bytes for memory in used], persistent),
        "temporary_bytes": temporary,
        "persistent_bytes": persistent,
        "bytes_in_use": in_use,
    }


def _added_up(execution: NDArray[Any], values: Integers, count: int) -> Integers:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, execution, values)
    return sums


def _outputs(stats: list[Any], shapes: Shapes) -> dict[str, NDArray[Any]]:
    execution = np.repeat(np.arange(len(stats)), [len(stat.output) for stat in stats])
    outputs = [output for stat in stats for output in stat.output]
    tensors = [output.tensor_description if output.HasField("tensor_description") else None for output in outputs]
    allocated = np.array(
        [tensor is not None and tensor.HasField("allocation_description") for tensor in tensors], np.bool_
    )
    shape = [
        shapes.of_message(tensor.shape) if tensor is not None and tensor.HasField("shape") else ABSENT
        for tensor in tensors
    ]
    described = [
        tensor.allocation_description
        for tensor, known in zip(tensors, allocated.tolist(), strict=True)
        if known and tensor is not None
    ]
    requested = _column([each.requested_bytes for each in described])
    sizes = np.maximum(requested, _column([each.allocated_bytes for each in described]))
    check_sum("run_meta: bytes of outputs", sizes)
    return {
        "execution": execution[allocated],
        "slot": np.array([output.slot for output in outputs], np.int64)[allocated],
        "bytes": sizes,
        "address": np.array([each.ptr for each in described], np.uint64),
        "shape": np.array(shape, np.int64)[allocated],
    }


def _allocations(stats: list[Any]) -> dict[str, NDArray[Any]]:
    rows = [
        (execution, record.alloc_micros, record.alloc_bytes, "GPU" in memory.allocator_name)
        for execution, stat in enumerate(stats)
        for memory in stat.memory
        for record in memory.allocation_records
    ]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return {
        "execution": table[:, 0],
        "micros": table[:, 1],
        "bytes": table[:, 2],
        "on_accelerator": table[:, 3].astype(np.bool_),
    }
