"""Writes a profile as a ProfileProto."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from os import PathLike, fspath
from typing import Any

import numpy as np

from tfprof_widget.analysis.account.memory import held_memory
from tfprof_widget.analysis.account.pipeline import pipeline_stages
from tfprof_widget.analysis.account.step import recorded_steps
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.ingest.join import counted_micros
from tfprof_widget.ingest.parts.nodes import node_definitions
from tfprof_widget.ingest.saved_account import stored_account, stored_kept_run
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.messages import (
    CodeDef,
    ExecMemory,
    ExecProfile,
    ProfileNode,
    ProfileProto,
    StoredAccelerator,
    StoredAllocator,
    StoredFloatOps,
    StoredKernelRuns,
    StoredStacks,
    StoredTransfer,
)
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import accelerator_streams, canonical
from tfprof_widget.profiles.kept_run import KeptRun
from tfprof_widget.profiles.tables import CodeStacks, Lists, Nodes


def step_numbers(profile: ProfileData) -> tuple[int, ...]:
    """The numbers of the steps in the message: the steps' own numbers, or 0, 1, ... if several workers ran them.

    >>> from tfprof_widget.demo import demo_profile
    >>> step_numbers(demo_profile())
    (0,)
    """
    return tuple(range(len(profile.steps))) if profile.step_workers else profile.steps


def fill_steps(rows: list[ProfileNode], profile: ProfileData) -> None:
    """Fill in `execs` of each node's message; `rows` are the messages in the order of the nodes."""
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


def _step_of_each(profile: ProfileData) -> list[int]:
    """For each execution, the row of the step totals that counts it."""
    totals, executions, count = profile.step_totals, profile.executions, len(profile.steps)
    keys = totals.node.astype(np.int64) * count + totals.step
    found: list[int] = np.searchsorted(keys, executions.node.astype(np.int64) * count + executions.step).tolist()
    return found


def _fill_devices(steps: list[ExecProfile], step_of_each: list[int], profile: ProfileData) -> None:
    seen = set(zip(step_of_each, profile.executions.device.tolist(), strict=True))
    for step, device in sorted(seen):
        steps[step].devices.append(profile.nodes.devices[device])


def _fill_times(of_execution: list[ExecProfile], profile: ProfileData) -> None:
    executions, devices = profile.executions, profile.nodes.devices
    on_stream, on_device = accelerator_streams(devices).tolist(), canonical(devices).tolist()
    columns = (executions.device, executions.start_micros, counted_micros(executions))
    values = zip(of_execution, *(column.tolist() for column in columns), strict=True)
    for message, device, start, duration in values:
        if start > 0 and (on_stream[device] or on_device[device]):
            execs: Any = message.accelerator_execs if on_stream[device] else message.cpu_execs
            execs[devices[device]].times.add(int64_values=(start, duration))


def _fill_memory(of_execution: list[ExecProfile], profile: ProfileData) -> Mapping[int, ExecMemory]:
    """Add a memory message for each execution whose memory counts; returns the messages by execution."""
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


def _fill_outputs(memory: Mapping[int, ExecMemory], profile: ProfileData) -> None:
    outputs = profile.outputs
    columns = (outputs.execution, outputs.slot, outputs.bytes, outputs.address)
    for execution, slot, size, address in zip(*(column.tolist() for column in columns), strict=True):
        if execution in memory:
            output = memory[execution].output_memory[slot]
            output.bytes, output.ptr = size, address


def _fill_allocations(of_execution: list[ExecProfile], memory: Mapping[int, ExecMemory], profile: ProfileData) -> None:
    """Add the allocations on accelerators: native tfprof saves no others."""
    allocations = profile.allocations
    columns = (allocations.execution, allocations.micros, allocations.bytes, allocations.on_accelerator)
    for execution, micros, size, kept in zip(*(column.tolist() for column in columns), strict=True):
        if kept and execution in memory:
            of_execution[execution].allocations.add(alloc_micros=micros, alloc_bytes=size)


_GPU = re.compile(r"gpu:\d+", re.ASCII)


def profile_proto(profile: ProfileData) -> ProfileProto:
    """The message that native tfprof writes for the same graph, steps and op log, byte for byte.

    Inputs that the graph lacks are left out, since native tfprof crashes on them. Native tfprof knows no workers: the
    steps of several workers are numbered from 0 on, and the fields `step_workers` and `worker_steps` name the worker
    of each step and its number there.

    >>> from tfprof_widget.demo import demo_profile
    >>> message = profile_proto(demo_profile())
    >>> message.has_trace, list(message.steps)
    (True, [0])
    """
    traces = profile.traces
    message = ProfileProto(
        has_trace=profile.has_traces,
        miss_accelerator_stream=profile.misses_accelerator_stream,
        steps=step_numbers(profile),
        step_workers=profile.step_workers,
        worker_steps=profile.steps if profile.step_workers else (),
        id_to_string=dict(zip(traces.string_numbers.tolist(), traces.strings, strict=True)),
    )
    with pause_gc():  # a quarter of the time, and more where a notebook holds many objects
        rows = [message.nodes[number] for number in profile.nodes.identity.tolist()]
        _describe(rows, profile.nodes)
        _fill_inputs(rows, profile.nodes)
        _fill_shapes(rows, profile.nodes)
        _fill_traces(rows, traces)
        _fill_attributes(rows, profile)
        fill_steps(rows, profile)
    return message


def _describe(rows: list[ProfileNode], nodes: Nodes) -> None:
    columns = (nodes.identity, nodes.op, nodes.device, nodes.float_ops_in(exact=False))
    values = zip(nodes.names, _each(nodes.types), *(column.tolist() for column in columns), strict=True)
    for row, (name, types, number, op, device, float_ops) in zip(rows, values, strict=True):
        row.name, row.op, row.id, row.float_ops = name, nodes.ops[op], number, float_ops
        row.op_types.extend([nodes.type_names[code] for code in types])
        if device != ABSENT:
            row.canonical_device = nodes.devices[device]
            row.host_device = _GPU.sub("cpu:0", nodes.devices[device])


def _fill_inputs(rows: list[ProfileNode], nodes: Nodes) -> None:
    numbers = nodes.identity.tolist()
    for row, sources in zip(rows, _each(nodes.inputs), strict=True):
        for index, source in enumerate(sources):
            if source != ABSENT:
                row.inputs[index] = numbers[source]
                row.src_output_index[numbers[source]] = 0  # native tfprof knows the first output of a source only


def _fill_shapes(rows: list[ProfileNode], nodes: Nodes) -> None:
    for row, shape, outputs in zip(rows, nodes.shape.tolist(), _each(nodes.output_shapes), strict=True):
        if shape != ABSENT:
            row.shape.extend(nodes.shapes[shape])
        for index, output in enumerate(outputs):
            row.output_shapes[index].int64_values.extend(nodes.shapes[output])


def _fill_traces(rows: list[ProfileNode], traces: CodeStacks) -> None:
    """Make each distinct stack once, and copy it to the nodes that were created in it."""
    frames = list(_frames(traces))
    stacks = [CodeDef(traces=[frames[frame] for frame in stack]) for stack in _each(traces.stacks)]
    for row, stack in zip(rows, traces.stack.tolist(), strict=True):
        if stack != ABSENT:
            row.trace.CopyFrom(stacks[stack])


def _frames(traces: CodeStacks) -> Iterator[CodeDef.Trace]:
    numbers = [*traces.string_numbers.tolist(), 0]  # the last one for ABSENT
    columns = (traces.file, traces.line, traces.function, traces.source, traces.function_line)
    for file, line, function, source, start in zip(*(column.tolist() for column in columns), strict=True):
        yield CodeDef.Trace(
            file_id=numbers[file],
            lineno=line,
            function_id=numbers[function],
            line_id=numbers[source],
            func_start_line=start,
        )


def _fill_attributes(rows: list[ProfileNode], profile: ProfileData) -> None:
    """Copy the attributes of nodes from the graphs: no table holds them."""
    row_of = dict(zip(profile.nodes.names, rows, strict=True))
    for node in node_definitions(profile.graphs):
        row_of[node.name].attrs.MergeFrom(node.attr)


def _each(lists: Lists) -> Iterator[list[int]]:
    values: list[int] = lists.values.tolist()
    return (values[start:end] for start, end in pairwise(lists.start.tolist()))


def save(profile: ProfileData, path: str | PathLike[str], run: KeptRun | None = None) -> None:
    """Write the profile to a file, whole or not at all; the same profile always gives the same bytes.

    `run` is what a comparison needs of the run that the profile is of; without it that of a loaded profile stays.

    >>> from tfprof_widget.demo import demo_profile
    >>> save(demo_profile(), "/no/such/directory/profile_0")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot write '/no/such/directory/profile_0': ...
    """
    message = profile_proto(profile)
    message.transfers.extend(_transfers(profile))
    message.allocators.extend(StoredAllocator(**vars(each)) for each in profile.allocator_peaks)
    message.accelerators.extend(StoredAccelerator(**vars(each)) for each in profile.accelerators)
    message.kernel_runs.extend(StoredKernelRuns(**each._asdict()) for each in profile.kernel_runs)
    message.other_stacks.extend(_other_stacks(profile))
    message.float_ops.extend(_float_ops(profile))
    if profile.cells:
        found = recorded_steps(profile), node_layers(profile), held_memory(profile), pipeline_stages(profile)
        message.account.CopyFrom(stored_account(profile, *found))
    kept = run or profile.kept_run
    if kept is not None:
        message.kept_run.CopyFrom(stored_kept_run(kept))
    content: bytes = message.SerializeToString(deterministic=True)
    write_whole(path, gzip.compress(content, mtime=0) if fspath(path).endswith(".gz") else content)


def _float_ops(profile: ProfileData) -> Iterator[StoredFloatOps]:
    """What nodes took in each step in which it is not their count times their runs, in a field of our own."""
    totals, nodes, numbers = profile.step_totals, profile.nodes, step_numbers(profile)
    if totals.float_ops is not None:
        told = nodes.float_ops_in(exact=False)[totals.node] * totals.run_count
        differs = totals.float_ops != told
        for step, number in enumerate(numbers):
            rows = np.flatnonzero(differs & (totals.step == step))
            columns = nodes.identity[totals.node[rows]].tolist(), totals.float_ops[rows].tolist()
            if len(rows):
                yield StoredFloatOps(step=number, nodes=columns[0], float_ops=columns[1])


def _other_stacks(profile: ProfileData) -> Iterator[StoredStacks]:
    """The other stacks of each group of steps, in a field of our own too."""
    others, numbers = profile.other_stacks, step_numbers(profile)
    frames = list(_frames(profile.traces))
    for group in range(int(others.of.max(initial=ABSENT)) + 1):
        rows = np.flatnonzero(others.of == group)
        used, trace = np.unique(others.stack[rows], return_inverse=True)
        known = used[used != ABSENT]
        yield StoredStacks(
            steps=[numbers[step] for step in np.flatnonzero(others.group == group).tolist()],
            nodes=profile.nodes.identity[others.node[rows]].tolist(),
            trace=(trace - (len(used) - len(known))).tolist(),
            traces=[
                CodeDef(traces=[frames[frame] for frame in profile.traces.stacks[stack]]) for stack in known.tolist()
            ],
        )


def _transfers(profile: ProfileData) -> Iterator[StoredTransfer]:
    """The messages of the transfers, in a field of our own that native tfprof ignores."""
    table, numbers = profile.transfers, step_numbers(profile)
    codes = (table.step, table.kind, table.source, table.target, table.tensor)
    amounts = (table.start_nanos, table.duration_nanos, table.bytes)
    for step, kind, source, target, tensor, start, duration, size in zip(
        *(column.tolist() for column in (*codes, *amounts)), strict=True
    ):
        yield StoredTransfer(
            step=numbers[step],
            kind=table.kinds[kind],
            source=table.devices[source],
            target=table.devices[target],
            tensor=table.tensors[tensor],
            start_nanos=start,
            duration_nanos=duration,
            bytes=size,
        )
