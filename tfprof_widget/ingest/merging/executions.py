"""Joins the executions, steps and transfers of several profiles, whatever their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain, count, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.join import OwnDevices, own_devices, runs_of
from tfprof_widget.ingest.parts.transfers import nodes_of
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.devices import accelerator_streams, canonical
from tfprof_widget.profiles.tables import Allocations, Executions, ExecutionTables, Outputs, RecordedRuns, Transfers

Entry = TypeVar("Entry", bound=Any)


def union_of(dictionaries: Sequence[Sequence[Entry]]) -> tuple[tuple[Entry, ...], list[Indices]]:
    """All entries of some sorted lists in one sorted list, and the new index of each entry of each list.

    >>> entries, codes = union_of([("b", "a"), ("c", "a")])
    >>> entries, [each.tolist() for each in codes]
    (('a', 'b', 'c'), [[1, 0], [2, 0]])
    """
    first, *others = dictionaries
    if all(each is first for each in others) and all(one < other for one, other in pairwise(first)):
        return tuple(first), [np.arange(len(first), dtype=np.int32)] * len(dictionaries)
    entries = sorted({entry for dictionary in dictionaries for entry in dictionary})
    code = {entry: place for place, entry in enumerate(entries)}
    return tuple(entries), [_codes(dictionary, code) for dictionary in dictionaries]


def recode(codes: NDArray[np.integer], new: Indices) -> Indices:
    """The new indices of old ones; ABSENT stays ABSENT.

    >>> recode(np.array([1, -1]), np.array([5, 7], np.int32)).tolist()
    [7, -1]
    """
    found: Indices = np.append(new, np.int32(ABSENT))[codes]
    return found


def _codes(dictionary: Sequence[Entry], code: dict[Entry, int]) -> Indices:
    return np.fromiter(map(code.__getitem__, dictionary), np.int32, len(dictionary))


@dataclass(frozen=True, eq=False)
class MergedSteps:
    """The merged steps with names and workers; `codes` has the new index of each step of each profile.

    `worker` has the number of each step's worker, in the order of their names.
    """

    numbers: tuple[int, ...]
    names: tuple[str, ...]
    workers: tuple[str, ...]
    worker: Indices
    codes: list[Indices]


def merged_steps(profiles: Sequence[ProfileTables]) -> MergedSteps:
    """All steps; steps of one number and worker become one step.

    >>> from tfprof_widget.demo import demo_profile
    >>> merged_steps([demo_profile(), demo_profile()]).numbers
    (0,)
    """
    keys = [list(zip(profile.steps, profile.workers_of_steps, strict=True)) for profile in profiles]
    steps = sorted({key for each in keys for key in each})
    place = {key: index for index, key in enumerate(steps)}
    names: list[str] = [""] * len(steps)
    for profile, each in zip(profiles, keys, strict=True):
        for key, name in zip(each, profile.step_names, strict=True):
            known = names[place[key]]
            names[place[key]] = min(filter(None, (name, known)), default="")
    workers = tuple(worker for _, worker in steps)
    code = {worker: index for index, worker in enumerate(sorted(set(workers)))}
    return MergedSteps(
        numbers=tuple(number for number, _ in steps),
        names=tuple(names),
        workers=workers if any(workers) else (),
        worker=np.array([code[worker] for worker in workers], np.int32),
        codes=[np.array([place[key] for key in each], np.int32) for each in keys],
    )


NEVER = np.iinfo(np.int64).max

Table = TypeVar("Table", Executions, Outputs, Allocations)


@dataclass(frozen=True, eq=False)
class Codes:
    """The new indices for those of one profile; threads without a name come behind the `threads` that have one."""

    threads: int
    node: Indices
    step: Indices
    device: Indices
    shape: Indices
    input_shapes: Indices
    thread: Indices


@dataclass(frozen=True, eq=False)
class MergedRecordings:
    """The executions that count and those that do not, and each node's device, with a row for each worker."""

    recorded: ExecutionTables
    runs: RecordedRuns
    own_device: Indices


@dataclass(frozen=True)
class _Run:
    """The rows of a run: the profile, the first row and their number; runs are sorted by the fields before these."""

    step: int
    started: int
    digest: bytes
    profile: int
    first: int
    count: int


def merged_recordings(
    profiles: Sequence[ProfileTables], codes: Sequence[Codes], steps: MergedSteps, devices: tuple[str, ...], nodes: int
) -> MergedRecordings:
    """The executions of all profiles, run by run.

    If the runs of a worker come from several profiles, the own device of each node is found anew for it.
    """
    parts = [
        _recoded(_whole(profile), code, profile.nodes.devices) for profile, code in zip(profiles, codes, strict=True)
    ]
    runs = sorted(
        chain.from_iterable(map(_runs, count(), profiles, codes, (part.executions for part in parts))),
        key=lambda run: (run.step, run.started, run.digest),
    )
    _check_no_run_twice(runs, steps)
    order = _order(parts, runs)
    whole = _taken(_joined(parts), order)
    executions = whole.executions
    workers = int(steps.worker.max(initial=0)) + 1
    worker = steps.worker[executions.step].astype(np.int64) if len(steps.worker) else np.zeros(0, np.int64)
    found = own_devices(worker * nodes + executions.node, executions.device.astype(np.int64), devices, workers * nodes)
    was_kept = np.concatenate([_was_kept(profile) for profile in profiles])[order]
    found = _as_it_was(found, whole, was_kept, _alone(runs, steps)[worker], worker * nodes + executions.node, devices)
    counting = found.counts_memory & (executions.start_micros > 0)
    ends = np.cumsum([run.count for run in runs]).astype(np.int64)
    return MergedRecordings(
        recorded=_chosen(whole, found.kept, counting),
        runs=runs_of(
            np.array([run.step for run in runs], np.int32),
            tuple(run.digest for run in runs),
            ends,
            found,
            _chosen(whole, found.elsewhere, counting) if found.elsewhere.any() else None,
        ),
        own_device=found.own.reshape(workers, nodes),
    )


def _whole(profile: ProfileTables) -> ExecutionTables:
    """All recorded executions in their order, those on other devices included."""
    kept = ExecutionTables(profile.executions, profile.outputs, profile.allocations)
    elsewhere = profile.runs.elsewhere
    if elsewhere is None:
        return kept
    count = len(elsewhere.executions)
    places = profile.runs.kept_before + np.arange(count)
    order = np.full(len(kept.executions) + count, ABSENT, np.int64)
    order[places] = len(kept.executions) + np.arange(count)
    order[order == ABSENT] = np.arange(len(kept.executions))
    return _taken(_joined([kept, elsewhere]), order)


def _was_kept(profile: ProfileTables) -> Flags:
    """Whether each recorded execution counts in the profile."""
    before = profile.runs.kept_before
    kept = np.ones(len(profile.executions) + len(before), np.bool_)
    kept[before + np.arange(len(before))] = False
    return kept


def _alone(runs: Sequence[_Run], steps: MergedSteps) -> Flags:
    """For each worker, whether all its runs come from one profile."""
    profiles_of: dict[int, set[int]] = {}
    for run in runs:
        profiles_of.setdefault(int(steps.worker[run.step]), set()).add(run.profile)
    return np.array([len(profiles_of.get(worker, ())) < 2 for worker in range(int(steps.worker.max(initial=0)) + 1)])


def _as_it_was(
    found: OwnDevices, whole: ExecutionTables, was_kept: Flags, alone: Flags, node: Integers, devices: tuple[str, ...]
) -> OwnDevices:
    """Keep own devices as the only profile of a worker has them: a saved profile lost the order of its runs."""
    executions, own = whole.executions, found.own.copy()
    rows = np.flatnonzero(alone & was_kept & canonical(devices)[executions.device])[::-1]
    own[node[rows]] = executions.device[rows]
    return OwnDevices(
        own,
        np.where(alone, was_kept, found.kept),
        np.where(alone, ~was_kept, found.elsewhere),
        np.where(alone, executions.counts_memory, found.counts_memory),
    )


def _recoded(recorded: ExecutionTables, codes: Codes, devices: tuple[str, ...]) -> ExecutionTables:
    executions, outputs = recorded.executions, recorded.outputs
    thread, is_named = executions.thread, executions.thread < len(codes.thread)
    named = np.where(is_named, np.append(codes.thread, 0)[np.where(is_named, thread, -1)], thread + codes.threads)
    return ExecutionTables(
        _with(
            executions,
            node=codes.node[executions.node],
            step=codes.step[executions.step],
            device=codes.device[executions.device],
            input_shapes=codes.input_shapes[executions.input_shapes].astype(np.int64),
            thread=np.where(accelerator_streams(devices)[executions.device], thread, named).astype(np.int64),
        ),
        _with(outputs, shape=recode(outputs.shape, codes.shape)),
        recorded.allocations,
    )


def _runs(number: int, profile: ProfileTables, codes: Codes, executions: Executions) -> Iterator[_Run]:
    runs = profile.runs
    counts = (runs.count + runs.count_elsewhere).tolist()
    if sum(counts) != len(executions):
        raise value_error("merge: a profile does not say to which runs its executions belong; load or capture it again")
    started = np.where(executions.start_nanos > 0, executions.start_nanos, NEVER)
    first = 0
    for step, size, digest in zip(codes.step[runs.step].tolist(), counts, runs.digests, strict=True):
        start = int(started[first : first + size].min(initial=NEVER))
        yield _Run(step, start, digest, number, first, size)
        first += size


def _check_no_run_twice(runs: Sequence[_Run], steps: MergedSteps) -> None:
    for one, other in pairwise(runs):
        if one.count and (one.step, one.digest) == (other.step, other.digest):
            worker = f" of worker {steps.workers[one.step]!r}" if steps.workers else ""
            raise value_error(
                f"step {steps.numbers[one.step]}{worker}: the same run is in two of the profiles and would count "
                "twice; merge each profile once, and give profiles of several workers as a mapping by their names"
            )


def _order(parts: Sequence[ExecutionTables], runs: Sequence[_Run]) -> Integers:
    """The rows of all parts, one after another, in the order of the runs."""
    before = np.cumsum([0, *(len(part.executions) for part in parts)])
    rows = [np.arange(run.first, run.first + run.count) + before[run.profile] for run in runs]
    return np.concatenate([np.zeros(0, np.int64), *rows])


def _joined(parts: Sequence[ExecutionTables]) -> ExecutionTables:
    before = np.cumsum([0, *(len(part.executions) for part in parts)])[:-1]
    moved = [
        (
            _with(part.outputs, execution=part.outputs.execution + int(start)),
            _with(part.allocations, execution=part.allocations.execution + int(start)),
        )
        for part, start in zip(parts, before, strict=True)
    ]
    return ExecutionTables(
        _concatenated([part.executions for part in parts]),
        _concatenated([outputs for outputs, _ in moved]),
        _concatenated([allocations for _, allocations in moved]),
    )


def _concatenated(tables: Sequence[Table]) -> Table:
    kind: Any = type(tables[0])
    if len(tables) == 1:
        return tables[0]
    table: Table = kind(
        **{each.name: np.concatenate([getattr(table, each.name) for table in tables]) for each in fields(kind)}
    )
    return table


def _taken(recorded: ExecutionTables, order: Integers) -> ExecutionTables:
    """The executions of these rows in this order, with their outputs and allocations."""
    place = np.full(len(recorded.executions), ABSENT, np.int64)
    place[order] = np.arange(len(order))
    return ExecutionTables(
        _rows(recorded.executions, order), _of(recorded.outputs, place), _of(recorded.allocations, place)
    )


def _of(table: Any, place: Integers) -> Any:
    """The rows of outputs or allocations whose executions have a place, in the order of these places."""
    execution = place[table.execution]
    order = np.argsort(execution, kind="stable")
    order = order[execution[order] >= 0]
    return _with(_rows(table, order), execution=execution[order].astype(np.int32))


def _rows(table: Table, order: NDArray[Any]) -> Table:
    kind: Any = type(table)
    rows: Table = kind(**{each.name: getattr(table, each.name)[order] for each in fields(kind)})
    return rows


def _with(table: Table, **columns: NDArray[Any]) -> Table:
    kind: Any = type(table)
    changed: Table = kind(**{each.name: columns.get(each.name, getattr(table, each.name)) for each in fields(kind)})
    return changed


def _chosen(whole: ExecutionTables, chosen: Flags, counting: Flags) -> ExecutionTables:
    counted = ExecutionTables(_with(whole.executions, counts_memory=counting), whole.outputs, whole.allocations)
    return counted if chosen.all() else _taken(counted, np.flatnonzero(chosen))


def merged_transfers(profiles: Sequence[ProfileTables], names: tuple[str, ...], steps: Sequence[Indices]) -> Transfers:
    """All transfers by step, device and time. `names` are all nodes, `steps` the new indices of the profiles' steps."""
    tables = [profile.transfers for profile in profiles]
    devices, device_codes = union_of([table.devices for table in tables])
    tensors, tensor_codes = union_of([table.tensors for table in tables])
    kinds, kind_codes = union_of([table.kinds for table in tables])
    columns: dict[str, list[NDArray[np.integer]]] = {
        "step": [code[table.step] for table, code in zip(tables, steps, strict=True)],
        "kind": [code[table.kind] for table, code in zip(tables, kind_codes, strict=True)],
        "source": [recode(table.source, code) for table, code in zip(tables, device_codes, strict=True)],
        "target": [recode(table.target, code) for table, code in zip(tables, device_codes, strict=True)],
        "tensor": [recode(table.tensor, code) for table, code in zip(tables, tensor_codes, strict=True)],
        "start_nanos": [table.start_nanos for table in tables],
        "duration_nanos": [table.duration_nanos for table in tables],
        "bytes": [table.bytes for table in tables],
    }
    joined: dict[str, NDArray[Any]] = {name: np.concatenate(parts) for name, parts in columns.items()}
    joined["node"] = recode(joined["tensor"], nodes_of(tensors, names))
    keys = ("bytes", "kind", "duration_nanos", "tensor", "source", "start_nanos", "target", "step")
    order = np.lexsort([joined[name] for name in keys])
    return Transfers(devices, tensors, kinds, **{name: column[order] for name, column in joined.items()})
