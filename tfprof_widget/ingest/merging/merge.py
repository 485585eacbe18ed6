"""Merges several profiles into one, and gives a profile's steps to a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.join import add_up
from tfprof_widget.ingest.merging.executions import Codes, merged_recordings, merged_steps, merged_transfers, union_of
from tfprof_widget.ingest.merging.nodes import merged_nodes, merged_traces
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.accelerators import added_up, fullest
from tfprof_widget.profiles.data import ProfileData, ProfileTables
from tfprof_widget.profiles.tables import ExecutedKernel


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
    """The stage that gives steps to a worker; steps that have a worker get this name in front of its name.

    >>> from tfprof_widget.demo import demo_profile
    >>> given_to_worker("host")(given_to_worker("engine 0")(demo_profile())).step_workers
    ('host/engine 0',)
    """
    if not isinstance(worker, str) or not worker or not worker.isprintable():
        raise value_error(
            f"merge: a worker is called {worker!r}; give it a name in text, such as its host or its job's"
        )

    def give(tables: ProfileTables) -> ProfileTables:
        workers = tuple(f"{worker}/{each}" if each else worker for each in tables.workers_of_steps)
        return tables.having(step_workers=workers)

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
    steps = merged_steps(profiles)
    codes = [Codes(*each) for each in zip(rows, steps.codes, device_codes, shape_codes, strict=True)]
    found = merged_recordings(profiles, codes, steps, devices, len(names))
    executions = found.recorded.executions
    nodes = merged_nodes(profiles, names, rows, shapes, shape_codes, devices, found)
    traces, other_stacks = merged_traces(profiles, rows, len(names), steps.codes)
    return ProfileTables(
        nodes=nodes,
        steps=steps.numbers,
        step_names=steps.names,
        executions=executions,
        outputs=found.recorded.outputs,
        allocations=found.recorded.allocations,
        step_totals=add_up(executions, devices, nodes.device),
        traces=traces,
        other_stacks=other_stacks,
        graphs=_graphs(profiles),
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
    )


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
