"""Merges several profiles into one, and gives a profile's steps to a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.join import add_up
from tfprof_widget.ingest.merging.executions import Codes, merged_recordings, merged_steps, merged_transfers, union_of
from tfprof_widget.ingest.merging.nodes import merged_nodes, merged_traces
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Indices
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.cell import CellTimes
from tfprof_widget.profiles.data import ProfileData, ProfileTables
from tfprof_widget.profiles.devices import added_up, fullest
from tfprof_widget.profiles.tables import ExecutedKernel, Nodes, OtherGraphs, StepTotals


class Captured(Protocol):
    """An object with a profile, such as a capture."""

    @property
    def profile(self) -> ProfileData:
        """The profile."""


def merge(profiles: Mapping[str, ProfileData | Captured] | Iterable[ProfileData | Captured]) -> ProfileData:
    """One profile of several, as `tfprof_widget.merge` describes it."""
    if isinstance(profiles, Mapping):
        return assemble(merged(_of_workers([(worker, _checked(profile)) for worker, profile in profiles.items()])))
    if isinstance(profiles, ProfileData) or not isinstance(profiles, Iterable):
        raise value_error(
            f"merge: got {profiles!r}; give a mapping of names to profiles, or a list of parts of one profile"
        )
    return assemble(merged([_checked(profile) for profile in profiles]))


def _of_workers(profiles: Sequence[tuple[str, ProfileData]]) -> list[ProfileTables]:
    named = [given_to_worker(worker)(profile) for worker, profile in profiles]
    workers = [worker for profile in named for worker in sorted(set(profile.step_workers))]
    twice = [worker for worker, count in Counter(workers).items() if count > 1]
    if twice:
        raise value_error(f"merge: two of the workers are called {twice[0]!r}; give each a name of its own")
    return named


def _checked(given: Any) -> ProfileData:
    """The profile that was given, or that of a capture that was given."""
    profile = getattr(given, "profile", given)
    if not isinstance(profile, ProfileData):
        raise value_error(f"merge: got {given!r} for a profile; tfprof_widget.load reads files")
    return profile


def given_to_worker(worker: str) -> Callable[[ProfileTables], ProfileTables]:
    """The stage that gives steps and allocators to a worker; those that have one get this name in front of its name.

    >>> from tfprof_widget.demo import demo_profile
    >>> given_to_worker("host")(given_to_worker("engine 0")(demo_profile())).step_workers
    ('host/engine 0',)
    """
    if not isinstance(worker, str) or not worker or not worker.isprintable():
        raise value_error(
            f"merge: a worker is called {worker!r}; give it a name in text, such as its host or its job's"
        )

    def give(tables: ProfileTables) -> ProfileTables:
        def named(of: str) -> str:
            return f"{worker}/{of}" if of else worker

        workers = tuple(map(named, tables.workers_of_steps))
        cells = tuple(replace(cell, worker=named(cell.worker)) for cell in tables.cells)
        allocators = tuple(replace(each, name=f"{worker}/{each.name}") for each in tables.allocator_peaks)
        return tables.having(step_workers=workers, cells=cells, allocator_peaks=allocators)

    return give


def merged(profiles: Sequence[ProfileTables]) -> ProfileTables:
    """The tables of several profiles as one.

    >>> from tfprof_widget.demo import demo_profile
    >>> merged([demo_profile()]).nodes.names == demo_profile().nodes.names
    True
    """
    if not profiles:
        return Gathered().tables()
    names, rows = union_of([profile.nodes.names for profile in profiles])
    devices, device_codes = union_of([profile.nodes.devices for profile in profiles])
    shapes, shape_codes = union_of([profile.nodes.shapes for profile in profiles])
    input_shapes, input_codes = union_of([profile.input_shapes for profile in profiles])
    threads, thread_codes = union_of([profile.thread_names for profile in profiles])
    steps = merged_steps(profiles)
    places = (rows, steps.codes, device_codes, shape_codes, input_codes, thread_codes)
    codes = [Codes(len(threads), *each) for each in zip(*places, strict=True)]
    found = merged_recordings(profiles, codes, steps, devices, len(names))
    executions = found.recorded.executions
    nodes = merged_nodes(profiles, names, rows, shapes, shape_codes, devices, found)
    traces, other_stacks = merged_traces(profiles, rows, len(names), steps.codes)
    graphs = _graphs(profiles)
    return ProfileTables(
        nodes=nodes,
        steps=steps.numbers,
        step_names=steps.names,
        executions=executions,
        outputs=found.recorded.outputs,
        allocations=found.recorded.allocations,
        step_totals=_with_float_ops(add_up(executions, devices, nodes.device), nodes, profiles, codes),
        traces=traces,
        other_stacks=other_stacks,
        other_graphs=_other_graphs(profiles, steps.codes, is_one=len(graphs) < 2),
        input_shapes=input_shapes,
        thread_names=threads,
        graphs=graphs,
        misses_accelerator_stream=any(profile.misses_accelerator_stream for profile in profiles),
        checkpoint=min(
            (profile.checkpoint for profile in profiles if profile.checkpoint is not None),
            key=lambda checkpoint: checkpoint.path,
            default=None,
        ),
        kernels=_kernels(profiles),
        compiled=_compiled(profiles),
        transfers=merged_transfers(profiles, names, steps.codes),
        step_workers=steps.workers,
        runs=found.runs,
        allocator_peaks=fullest(each for profile in profiles for each in profile.allocator_peaks),
        accelerators=tuple(sorted({each for profile in profiles for each in profile.accelerators})),
        kernel_runs=added_up(each for profile in profiles for each in profile.kernel_runs),
        main_kind=_common_kind(profiles),
        cells=_cells(profiles),
        pipelines=tuple(dict.fromkeys(each for profile in profiles for each in profile.pipelines)),
        data_stages=tuple({each.node: each for profile in profiles for each in profile.data_stages}.values()),
        memory_in_part=any(profile.memory_in_part for profile in profiles),
        model_layers=tuple({each.path: each for profile in profiles for each in profile.model_layers}.values()),
    )


def _with_float_ops(
    totals: StepTotals, nodes: Nodes, profiles: Sequence[ProfileTables], codes: Sequence[Codes]
) -> StepTotals:
    """The totals with the float operations that each profile has of its own steps.

    If other executions count as runs now, because they ran on what is the node's own device, they took as many each.
    """
    count = int(totals.step.max(initial=0)) + 1
    keys = totals.node.astype(np.int64) * count + totals.step
    float_ops, runs = np.zeros((2, len(keys)), np.int64)
    for profile, code in zip(profiles, codes, strict=True):
        own = profile.step_totals
        key = code.node[own.node].astype(np.int64) * count + code.step[own.step]
        is_there = np.isin(key, keys)
        place = np.searchsorted(keys, key[is_there])
        np.add.at(float_ops, place, own.float_ops_of(profile.nodes)[is_there])
        np.add.at(runs, place, own.run_count[is_there])
    for row in np.flatnonzero(runs != totals.run_count).tolist():
        took = float_ops[row] if runs[row] else nodes.float_ops[totals.node[row]]
        float_ops[row] = min(int(took) * int(totals.run_count[row]) // max(int(runs[row]), 1), LARGEST_INTEGER)
    return totals.with_float_ops(float_ops, nodes)


def _other_graphs(profiles: Sequence[ProfileTables], steps: Sequence[Indices], *, is_one: bool) -> OtherGraphs:
    """The definitions that nodes have in the steps of each profile; those of its own graphs if there are several."""
    group = np.full(1 + max(int(each.max(initial=ABSENT)) for each in steps), ABSENT, np.int32)
    graphs: list[tuple[Any, ...]] = []
    for profile, step in zip(profiles, steps, strict=True):
        own = () if is_one else profile.graphs
        found = profile.other_graphs.of_steps(len(step))
        group[step] = np.where((found == ABSENT) & (not own), ABSENT, found + 1 + len(graphs))
        graphs += [own, *((*each, *own) for each in profile.other_graphs.graphs)]
    return OtherGraphs(group, tuple(graphs)) if (group != ABSENT).any() else OtherGraphs.none()


def _common_kind(profiles: Sequence[ProfileTables]) -> str:
    """The kind that does most of the work in all profiles; empty if they differ in that."""
    kinds = {profile.main_kind for profile in profiles}
    return kinds.pop() if len(kinds) == 1 else ""


def _cells(profiles: Sequence[ProfileTables]) -> tuple[CellTimes, ...]:
    """The times of the cell of each worker; of several parts that have some, those of the longest."""
    found: dict[str, CellTimes] = {}
    for cell in sorted((each for profile in profiles for each in profile.cells), key=lambda cell: cell.nanos):
        found[cell.worker] = cell
    return tuple(found[worker] for worker in sorted(found))


def _graphs(profiles: Sequence[ProfileTables]) -> tuple[Any, ...]:
    """Each distinct graph once."""
    given = {id(graph): graph for profile in profiles for graph in profile.graphs}
    if len(given) < 2:
        return tuple(given.values())
    by_digest = {
        blake2b(graph.SerializeToString(deterministic=True), digest_size=16).digest(): graph for graph in given.values()
    }
    return tuple(by_digest[digest] for digest in sorted(by_digest))


def _kernels(profiles: Sequence[ProfileTables]) -> dict[str, ExecutedKernel]:
    """The kernel of each node; if profiles differ, the one whose text comes first in alphabetical order."""
    kernels: dict[str, ExecutedKernel] = {}
    for profile in profiles:
        for name, kernel in profile.kernels.items():
            known = kernels.setdefault(name, kernel)
            if known is not kernel and known != kernel:
                kernels[name] = min(known, kernel, key=repr)
    return kernels


def _compiled(profiles: Sequence[ProfileTables]) -> dict[str, frozenset[str]]:
    compiled: dict[str, frozenset[str]] = {}
    for profile in profiles:
        for name, nodes in profile.compiled.items():
            compiled[name] = compiled.get(name, frozenset()) | nodes
    return compiled
