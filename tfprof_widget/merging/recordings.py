"""The executions of several profiles as one table, in an order that does not depend on that of the profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain, count, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.devices import canonical
from tfprof_widget.ingest.executions import Placed, placed, runs_of
from tfprof_widget.merging.dictionaries import recoded
from tfprof_widget.merging.steps import MergedSteps
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import (
    ABSENT,
    Allocations,
    Executions,
    Flags,
    Indices,
    Integers,
    Outputs,
    Recorded,
    Runs,
)

NEVER = np.iinfo(np.int64).max

Table = TypeVar("Table", Executions, Outputs, Allocations)


@dataclass(frozen=True, eq=False)
class Codes:
    """What the codes of one profile become."""

    node: Indices
    step: Indices
    device: Indices
    shape: Indices


@dataclass(frozen=True, eq=False)
class MergedRecordings:
    """What counts and what does not, and the device of each node for each worker, a row a worker."""

    recorded: Recorded
    runs: Runs
    own_device: Indices


@dataclass(frozen=True)
class _Run:
    """Where a run lies: which profile's, from which row on, and how many rows; runs are sorted by what comes before."""

    step: int
    started: int
    digest: bytes
    profile: int
    first: int
    count: int


def merged_recordings(
    profiles: Sequence[Profile], codes: Sequence[Codes], steps: MergedSteps, devices: tuple[str, ...], nodes: int
) -> MergedRecordings:
    """All executions, run by run.

    Which of them are on the node's own device is found anew for each worker whose runs come from several profiles.
    """
    parts = [_recoded(_whole(profile), code) for profile, code in zip(profiles, codes, strict=True)]
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
    found = placed(worker * nodes + executions.node, executions.device.astype(np.int64), devices, workers * nodes)
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


def _whole(profile: Profile) -> Recorded:
    """All that was recorded, in the order in which it was, with what was elsewhere."""
    kept = Recorded(profile.executions, profile.outputs, profile.allocations)
    elsewhere = profile.runs.elsewhere
    if elsewhere is None:
        return kept
    count = len(elsewhere.executions)
    places = profile.runs.kept_before + np.arange(count)
    order = np.full(len(kept.executions) + count, ABSENT, np.int64)
    order[places] = len(kept.executions) + np.arange(count)
    order[order == ABSENT] = np.arange(len(kept.executions))
    return _taken(_joined([kept, elsewhere]), order)


def _was_kept(profile: Profile) -> Flags:
    """Which of all that was recorded counts in the profile."""
    before = profile.runs.kept_before
    kept = np.ones(len(profile.executions) + len(before), np.bool_)
    kept[before + np.arange(len(before))] = False
    return kept


def _alone(runs: Sequence[_Run], steps: MergedSteps) -> Flags:
    """Whether the runs of each worker all come from one profile."""
    profiles_of: dict[int, set[int]] = {}
    for run in runs:
        profiles_of.setdefault(int(steps.worker[run.step]), set()).add(run.profile)
    return np.array([len(profiles_of.get(worker, ())) < 2 for worker in range(int(steps.worker.max(initial=0)) + 1)])


def _as_it_was(
    found: Placed, whole: Recorded, was_kept: Flags, alone: Flags, node: Integers, devices: tuple[str, ...]
) -> Placed:
    """What one profile knows of a worker stands: a saved one is in another order than its runs were."""
    executions, own = whole.executions, found.own.copy()
    rows = np.flatnonzero(alone & was_kept & canonical(devices)[executions.device])[::-1]
    own[node[rows]] = executions.device[rows]
    return Placed(
        own,
        np.where(alone, was_kept, found.kept),
        np.where(alone, ~was_kept, found.elsewhere),
        np.where(alone, executions.counts_memory, found.counts_memory),
    )


def _recoded(recorded: Recorded, codes: Codes) -> Recorded:
    executions, outputs = recorded.executions, recorded.outputs
    return Recorded(
        _with(
            executions,
            node=codes.node[executions.node],
            step=codes.step[executions.step],
            device=codes.device[executions.device],
        ),
        _with(outputs, shape=recoded(outputs.shape, codes.shape)),
        recorded.allocations,
    )


def _runs(number: int, profile: Profile, codes: Codes, executions: Executions) -> Iterator[_Run]:
    runs = profile.runs
    counts = (runs.count + runs.count_elsewhere).tolist()
    if sum(counts) != len(executions):
        raise ValueError("merge: a profile does not tell of which runs its executions are; load or capture it again")
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
            raise ValueError(
                f"step {steps.numbers[one.step]}{worker}: the same run is in two of the profiles and would count "
                "twice; merge each profile once, and give profiles of several workers as a mapping by their names"
            )


def _order(parts: Sequence[Recorded], runs: Sequence[_Run]) -> Integers:
    """The rows of all parts, one after another, in the order of the runs."""
    before = np.cumsum([0, *(len(part.executions) for part in parts)])
    rows = [np.arange(run.first, run.first + run.count) + before[run.profile] for run in runs]
    return np.concatenate([np.zeros(0, np.int64), *rows])


def _joined(parts: Sequence[Recorded]) -> Recorded:
    before = np.cumsum([0, *(len(part.executions) for part in parts)])[:-1]
    moved = [
        (
            _with(part.outputs, execution=part.outputs.execution + int(start)),
            _with(part.allocations, execution=part.allocations.execution + int(start)),
        )
        for part, start in zip(parts, before, strict=True)
    ]
    return Recorded(
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


def _taken(recorded: Recorded, order: Integers) -> Recorded:
    """The executions of these rows, in this order, and what belongs to them."""
    place = np.full(len(recorded.executions), ABSENT, np.int64)
    place[order] = np.arange(len(order))
    return Recorded(_rows(recorded.executions, order), _of(recorded.outputs, place), _of(recorded.allocations, place))


def _of(table: Any, place: Integers) -> Any:
    """The rows of what belongs to executions that have a place, in the order of their places."""
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


def _chosen(whole: Recorded, chosen: Flags, counting: Flags) -> Recorded:
    counted = Recorded(_with(whole.executions, counts_memory=counting), whole.outputs, whole.allocations)
    return counted if chosen.all() else _taken(counted, np.flatnonzero(chosen))
