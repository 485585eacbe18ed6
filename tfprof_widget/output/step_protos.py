"""What the nodes did in each step, as the ExecProfile messages of a ProfileProto."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfprof_widget.ingest.devices import accelerator_streams, canonical
from tfprof_widget.ingest.step_totals import counted_micros
from tfprof_widget.messages import ExecMemory, ExecProfile, ProfileNode
from tfprof_widget.profiles import Profile


def step_numbers(profile: Profile) -> tuple[int, ...]:
    """The numbers of the steps in the message, which are their own unless several workers ran a step of one number.

    >>> from tfprof_widget.demo import demo_profile
    >>> step_numbers(demo_profile())
    (0,)
    """
    return tuple(range(len(profile.steps))) if profile.step_workers else profile.steps


def fill_steps(rows: list[ProfileNode], profile: Profile) -> None:
    """Fill `execs` of the messages of all nodes, in the order of the nodes."""
    totals, numbers = profile.step_totals, step_numbers(profile)
    columns = (totals.node, totals.step, totals.run_count, totals.start_micros, totals.end_micros)
    steps: list[ExecProfile] = []
    for node, step, runs, start, end in zip(*(column.tolist() for column in columns), strict=True):
        message = rows[node].execs[numbers[step]]
        message.run_count, message.all_start_micros, message.latest_end_micros = runs, start, end
        steps.append(message)
    step_of_each = _step_of_each(profile)
    _fill_devices(steps, step_of_each, profile)
    of_execution = [steps[index] for index in step_of_each]
    _fill_times(of_execution, profile)
    memory = _fill_memory(of_execution, profile)
    _fill_outputs(memory, profile)
    _fill_allocations(of_execution, memory, profile)


def _step_of_each(profile: Profile) -> list[int]:
    """The row of the step totals that each execution counts in."""
    totals, executions, count = profile.step_totals, profile.executions, len(profile.steps)
    keys = totals.node.astype(np.int64) * count + totals.step
    found: list[int] = np.searchsorted(keys, executions.node.astype(np.int64) * count + executions.step).tolist()
    return found


def _fill_devices(steps: list[ExecProfile], step_of_each: list[int], profile: Profile) -> None:
    seen = set(zip(step_of_each, profile.executions.device.tolist(), strict=True))
    for step, device in sorted(seen):
        steps[step].devices.append(profile.nodes.devices[device])


def _fill_times(of_execution: list[ExecProfile], profile: Profile) -> None:
    executions, devices = profile.executions, profile.nodes.devices
    on_stream, on_device = accelerator_streams(devices).tolist(), canonical(devices).tolist()
    columns = (executions.device, executions.start_micros, counted_micros(executions))
    values = zip(of_execution, *(column.tolist() for column in columns), strict=True)
    for message, device, start, duration in values:
        if start > 0 and (on_stream[device] or on_device[device]):
            execs: Any = message.accelerator_execs if on_stream[device] else message.cpu_execs
            execs[devices[device]].times.add(int64_values=(start, duration))


def _fill_memory(of_execution: list[ExecProfile], profile: Profile) -> Mapping[int, ExecMemory]:
    """The messages by execution, for those whose memory counts."""
    executions = profile.executions
    columns = {
        "memory_micros": executions.start_micros + executions.duration_micros,
        "requested_bytes": executions.requested_bytes,
        "peak_bytes": executions.peak_bytes,
        "residual_bytes": executions.residual_bytes,
        "output_bytes": executions.output_bytes,
        "allocator_bytes_in_use": executions.bytes_in_use,
    }
    on_host = np.array(["cpu" in device for device in profile.nodes.devices], np.bool_)[executions.device]
    for kind, values in (("temp", executions.temporary_bytes), ("persistent", executions.persistent_bytes)):
        columns[f"host_{kind}_bytes"] = np.where(on_host, values, 0)
        columns[f"accelerator_{kind}_bytes"] = np.where(on_host, 0, values)
    counted = np.flatnonzero(executions.counts_memory)
    memory = {execution: of_execution[execution].memory_execs.add() for execution in counted.tolist()}
    for field, values in columns.items():
        for message, value in zip(memory.values(), values[counted].tolist(), strict=True):
            if value:
                setattr(message, field, value)
    return memory


def _fill_outputs(memory: Mapping[int, ExecMemory], profile: Profile) -> None:
    outputs = profile.outputs
    columns = (outputs.execution, outputs.slot, outputs.bytes, outputs.address)
    for execution, slot, size, address in zip(*(column.tolist() for column in columns), strict=True):
        if execution in memory:
            output = memory[execution].output_memory[slot]
            output.bytes, output.ptr = size, address


def _fill_allocations(of_execution: list[ExecProfile], memory: Mapping[int, ExecMemory], profile: Profile) -> None:
    """Native keeps what was allocated on accelerators only."""
    allocations = profile.allocations
    columns = (allocations.execution, allocations.micros, allocations.bytes, allocations.on_accelerator)
    for execution, micros, size, kept in zip(*(column.tolist() for column in columns), strict=True):
        if kept and execution in memory:
            of_execution[execution].allocations.add(alloc_micros=micros, alloc_bytes=size)
