"""Reads the executions from the steps of a saved profile, which stores them by node and device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, NANOS_A_MICRO, check_sum
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.devices import accelerator_streams, canonical

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import ExecMemory, ExecProfile, ProfileNode


class Phase(IntEnum):
    """The order of reading: executions on a device without a name come before the node's own device is known."""

    NAMELESS = 1
    PLACED = 2
    ELSEWHERE = 3


@dataclass(frozen=True)
class StoredExecution:
    """One execution of a node on a device, with its allocations; `start` is 0 if the profile has no time for it."""

    node: str
    device: str
    start: int = 0
    duration: int = 0
    memory: ExecMemory | None = None
    allocations: tuple[Any, ...] = ()

    @property
    def counted(self) -> int:
        """Its duration as native tfprof counts and stores it."""
        return max(self.duration, 1)


@dataclass(frozen=True)
class StoredExecutions:
    """The executions of one step by phase, node after node."""

    phases: dict[Phase, list[StoredExecution]] = field(default_factory=lambda: {phase: [] for phase in Phase})

    def add(self, node: ProfileNode, step: ExecProfile) -> None:
        """Add what one node did in the step."""
        for phase, executions in _executions(node, step).items():
            self.phases[phase].extend(executions)

    def run(self, phase: Phase) -> RunTable:
        """The executions of a phase, as if they had been recorded in one run."""
        executions = self.phases[phase]
        devices = tuple(dict.fromkeys(execution.device for execution in executions))
        code_of = {device: code for code, device in enumerate(devices)}
        names = NodeNames()
        return RunTable.of(
            node_names=names,
            node=names.codes(execution.node for execution in executions),
            devices=devices,
            device=np.array([code_of[execution.device] for execution in executions], np.int64),
            values=_values(executions),
            outputs=_outputs(executions),
            allocations=_allocations(executions),
        )


def _executions(node: ProfileNode, step: ExecProfile) -> dict[Phase, list[StoredExecution]]:
    """The executions of a node in a step.

    A saved profile has only the memory of executions on a device without a name, and neither memory nor times of
    executions on other devices than the node's own. It has the first start and the last end of all executions.
    """
    own = step.cpu_execs if node.canonical_device in step.cpu_execs else step.accelerator_execs
    times = list(_times(own, node.canonical_device))
    first = max(len(step.memory_execs) - len(times), 0)
    placed = _placed(node, step, times, step.memory_execs[first:])
    is_end_told = any(each.start + each.counted == step.latest_end_micros for each in placed)
    nameless = _nameless(node.name, step.memory_execs[:first], step, is_end_told=is_end_told)
    timeless = sorted(set(step.devices) - {each.device for each in (*nameless, *placed)})
    timed = (canonical(timeless) | accelerator_streams(timeless)).tolist() if timeless else []
    elsewhere = [device for device, is_timed in zip(timeless, timed, strict=True) if not is_timed]
    seen = [StoredExecution(node.name, device) for device, is_timed in zip(timeless, timed, strict=True) if is_timed]
    found = {
        Phase.NAMELESS: nameless,
        Phase.PLACED: [*placed, *seen],
        Phase.ELSEWHERE: _elsewhere(node.name, elsewhere, step, [*nameless, *placed]),
    }
    return _with_allocations(found, tuple(step.allocations))


def _placed(
    node: ProfileNode, step: ExecProfile, own: list[tuple[int, int]], memories: Sequence[ExecMemory]
) -> list[StoredExecution]:
    """Executions on the node's own device, with times and memory from two lists, and on streams of accelerators."""
    placed = []
    for (start, duration), memory in zip_longest(own, memories):
        if memory is not None:
            duration = memory.memory_micros - start  # 0 where native tfprof counts 1
        placed.append(StoredExecution(node.name, node.canonical_device, start, duration, memory))
    for execs in (step.cpu_execs, step.accelerator_execs):
        for device in sorted(execs):
            if device != node.canonical_device:
                placed.extend(StoredExecution(node.name, device, *time) for time in _times(execs, device))
    return placed


def _times(execs: Any, device: str) -> Iterator[tuple[int, int]]:
    if device in execs:
        for time in execs[device].times:
            if len(time.int64_values) != 2:
                raise ProfileError(
                    f"profile: a time on {device} is not a pair of start and duration; "
                    "the file is damaged: save the profile again"
                )
            start, duration = time.int64_values
            yield start, duration


def _nameless(
    node: str, memories: Sequence[ExecMemory], step: ExecProfile, *, is_end_told: bool
) -> list[StoredExecution]:
    """Executions on a device without a name: their memory was recorded when they ended, within the step."""
    last = max((memory.memory_micros for memory in memories), default=0)
    executions = []
    for memory in memories:
        is_last = not is_end_told and memory.memory_micros == last and last + 1 == step.latest_end_micros
        start = memory.memory_micros if is_last else step.all_start_micros
        executions.append(StoredExecution(node, "", start, memory.memory_micros - start, memory))
        last = ABSENT if is_last else last
    return executions


def _elsewhere(node: str, devices: list[str], step: ExecProfile, told: list[StoredExecution]) -> list[StoredExecution]:
    """An execution on each device without stored times; the last one covers the step if no other execution does."""
    started = [each for each in told if each.start > 0]
    first = min((each.start for each in started), default=0)
    last = max((each.start + each.counted for each in started), default=0)
    executions = [StoredExecution(node, device) for device in devices]
    if devices and (first, last) != (step.all_start_micros, step.latest_end_micros):
        duration = step.latest_end_micros - step.all_start_micros
        executions[-1] = StoredExecution(node, devices[-1], step.all_start_micros, duration)
    return executions


def _with_allocations(
    found: dict[Phase, list[StoredExecution]], allocations: tuple[Any, ...]
) -> dict[Phase, list[StoredExecution]]:
    """Give all allocations to the first execution with memory: which one made an allocation is not stored."""
    for executions in found.values():
        for place, execution in enumerate(executions):
            if allocations and execution.memory is not None:
                executions[place] = replace(execution, allocations=allocations)
                return found
    return found


def _values(executions: list[StoredExecution]) -> dict[str, Any]:
    longest = max((max(abs(each.start), abs(each.duration)) for each in executions), default=0)
    if longest > LARGEST_INTEGER // NANOS_A_MICRO:
        raise ProfileError(
            "profile: a time is more than 2**63 - 1 nanoseconds, or 292 years; "
            "the file is damaged: save the profile again"
        )
    start = np.array([execution.start for execution in executions], np.int64)
    counted = np.array([execution.counted for execution in executions], np.int64)
    memory = {
        "requested_bytes": "requested_bytes",
        "peak_bytes": "peak_bytes",
        "residual_bytes": "residual_bytes",
        "output_bytes": "output_bytes",
        "bytes_in_use": "allocator_bytes_in_use",
    }
    return {
        "start_micros": start,
        "duration_micros": np.array([execution.duration for execution in executions], np.int64),
        "start_nanos": start * NANOS_A_MICRO,
        "duration_nanos": np.where(start > 0, counted, 0) * NANOS_A_MICRO,
        "thread": np.zeros(len(executions), np.int64),
        **{name: _bytes(executions, stored) for name, stored in memory.items()},
        "temporary_bytes": _bytes(executions, "host_temp_bytes", "accelerator_temp_bytes"),
        "persistent_bytes": _bytes(executions, "host_persistent_bytes", "accelerator_persistent_bytes"),
    }


def _bytes(executions: list[StoredExecution], *fields: str) -> Any:
    columns = [
        np.array([0 if each.memory is None else getattr(each.memory, name) for each in executions], np.int64)
        for name in fields
    ]
    check_sum("profile: bytes", *columns)
    return sum(columns)


def _outputs(executions: list[StoredExecution]) -> dict[str, Any]:
    rows = [
        (place, slot, output.bytes, output.ptr)
        for place, execution in enumerate(executions)
        if execution.memory is not None
        for slot, output in sorted(execution.memory.output_memory.items())
    ]
    return {
        "execution": np.array([row[0] for row in rows], np.int64),
        "slot": np.array([row[1] for row in rows], np.int64),
        "bytes": np.array([row[2] for row in rows], np.int64),
        "address": np.array([row[3] for row in rows], np.uint64),
        "shape": np.full(len(rows), ABSENT, np.int64),
    }


def _allocations(executions: list[StoredExecution]) -> dict[str, Any]:
    rows = [
        (place, allocation.alloc_micros, allocation.alloc_bytes)
        for place, execution in enumerate(executions)
        for allocation in execution.allocations
    ]
    execution, micros, sizes = np.array(rows, np.int64).reshape(-1, 3).T
    return {
        "execution": execution,
        "micros": micros,
        "bytes": sizes,
        "on_accelerator": np.ones(len(rows), np.bool_),
    }
