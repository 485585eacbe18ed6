"""Merges profiles: into the one that all of what they were made of would have made, in whatever order and groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol

from tfprof_widget.ingest.step_totals import add_up
from tfprof_widget.memory import Memory
from tfprof_widget.merging.dictionaries import united
from tfprof_widget.merging.nodes import merged_nodes
from tfprof_widget.merging.recordings import NEVER, Codes, merged_recordings
from tfprof_widget.merging.steps import merged_steps
from tfprof_widget.merging.traces import merged_traces
from tfprof_widget.merging.transfers import merged_transfers
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Indices, Integers, Kernel


class Captured(Protocol):
    """What has a profile, as a capture does."""

    @property
    def profile(self) -> Profile:
        """The profile."""


def merge(profiles: Mapping[str, Profile | Captured] | Iterable[Profile | Captured]) -> Profile:
    """One profile of several: of workers by name, or else of the parts of one profile.

    A mapping from names gives each profile's steps to the worker of that name; the options `worker_regexes` and
    `across_workers` tell them apart and put them together again. Two recordings of one program, such as one before a
    change and one after it, are compared that way too. Without names the profiles are parts: their steps stay what
    they are, and runs of one step are added up. In which order profiles come, and whether some were merged before,
    makes no difference, and no run may be in two of them. A capture counts as its profile.

    >>> from tfprof_widget.demo import demo_profile
    >>> both = merge({"before": demo_profile(), "after": demo_profile()})
    >>> both.steps, both.step_workers
    ((0, 0), ('after', 'before'))
    >>> both.view("op").text() == demo_profile().view("op").text()
    True
    """
    if isinstance(profiles, Mapping):
        return _merged([of_worker(_checked(profile), str(worker)) for worker, profile in profiles.items()])
    if isinstance(profiles, Profile) or not isinstance(profiles, Iterable):
        raise ValueError(
            f"merge: got {profiles!r}; give a mapping of names to profiles, or a list of parts of one profile"
        )
    return _merged([_checked(profile) for profile in profiles])


def _checked(given: Any) -> Profile:
    """The profile, or that of a capture."""
    profile = getattr(given, "profile", given)
    if not isinstance(profile, Profile):
        raise ValueError(f"merge: got {given!r} for a profile; tfprof_widget.load reads files")
    return profile


def of_worker(profile: Profile, worker: str) -> Profile:
    """The profile with its steps given to a worker; those that workers ran already are workers of that one.

    >>> from tfprof_widget.demo import demo_profile
    >>> of_worker(of_worker(demo_profile(), "engine 0"), "host").step_workers
    ('host/engine 0',)
    """
    if not worker:
        raise ValueError("the name of a worker is empty; give each profile a name, such as its host or its job's")
    within = profile.step_workers or ("",) * len(profile.steps)
    workers = tuple(f"{worker}/{each}" if each else worker for each in within)
    return replace(profile, step_workers=workers, memory=Memory())  # what is remembered is of the profile as it was


def _merged(profiles: Sequence[Profile]) -> Profile:
    if not profiles:
        return Profile.from_protos()
    names, rows = united([profile.nodes.names for profile in profiles])
    devices, device_codes = united([profile.nodes.devices for profile in profiles])
    shapes, shape_codes = united([profile.nodes.shapes for profile in profiles])
    steps = merged_steps(profiles)
    codes = [Codes(*each) for each in zip(rows, steps.codes, device_codes, shape_codes, strict=True)]
    found = merged_recordings(profiles, codes, steps, devices, len(names))
    executions = found.recorded.executions
    return Profile(
        nodes=merged_nodes(profiles, names, rows, shapes, shape_codes, devices, found),
        steps=steps.numbers,
        step_names=steps.names,
        executions=executions,
        outputs=found.recorded.outputs,
        allocations=found.recorded.allocations,
        step_totals=add_up(executions, devices),
        traces=merged_traces(profiles, rows, len(names)),
        graphs=_graphs(profiles),
        misses_accelerator_stream=any(profile.misses_accelerator_stream for profile in profiles),
        checkpoint=min(
            (profile.checkpoint for profile in profiles if profile.checkpoint is not None),
            key=lambda checkpoint: checkpoint.path,
            default=None,
        ),
        kernels=_kernels(profiles, rows, found.met),
        compiled=_compiled(profiles),
        transfers=merged_transfers(profiles, names, steps.codes),
        step_workers=steps.workers,
        runs=found.runs,
    )


def _graphs(profiles: Sequence[Profile]) -> tuple[Any, ...]:
    """Each distinct graph once."""
    given = {id(graph): graph for profile in profiles for graph in profile.graphs}
    if len(given) < 2:
        return tuple(given.values())
    by_digest = {
        blake2b(graph.SerializeToString(deterministic=True), digest_size=16).digest(): graph for graph in given.values()
    }
    return tuple(by_digest[digest] for digest in sorted(by_digest))


def _kernels(profiles: Sequence[Profile], rows: Sequence[Indices], met: Sequence[Integers]) -> dict[str, Kernel]:
    """What ran for each node, as the profile says that met it first."""
    found: dict[str, tuple[int, str, Kernel]] = {}
    for profile, row, each in zip(profiles, rows, met, strict=True):
        if profile.kernels:
            when = dict(zip(profile.nodes.names, each[row].tolist(), strict=True))
            for name, kernel in profile.kernels.items():
                told = (when.get(name, NEVER), repr(kernel), kernel)
                found[name] = min(found.get(name, told), told, key=lambda each: each[:2])
    return {name: kernel for name, (_, _, kernel) in found.items()}


def _compiled(profiles: Sequence[Profile]) -> dict[str, frozenset[str]]:
    compiled: dict[str, frozenset[str]] = {}
    for profile in profiles:
        for name, nodes in profile.compiled.items():
            compiled[name] = compiled.get(name, frozenset()) | nodes
    return compiled
