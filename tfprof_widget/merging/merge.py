"""Merges profiles: into the one that all of what they were made of would have made, in whatever order and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol

from tfprof_widget.ingest.step_totals import add_up
from tfprof_widget.memory import Memory
from tfprof_widget.merging.dictionaries import united
from tfprof_widget.merging.nodes import merged_nodes
from tfprof_widget.merging.recordings import Codes, merged_recordings
from tfprof_widget.merging.steps import merged_steps
from tfprof_widget.merging.traces import merged_traces
from tfprof_widget.merging.transfers import merged_transfers
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Kernel


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

    Runs of a step come in the order in which they started.

    >>> from tfprof_widget.demo import demo_profile
    >>> both = merge({"before": demo_profile(), "after": demo_profile()})
    >>> both.steps, both.step_workers
    ((0, 0), ('after', 'before'))
    >>> both.view("op").text() == demo_profile().view("op").text()
    True
    """
    if isinstance(profiles, Mapping):
        return _merged(_of_workers([(worker, _checked(profile)) for worker, profile in profiles.items()]))
    if isinstance(profiles, Profile) or not isinstance(profiles, Iterable):
        raise ValueError(
            f"merge: got {profiles!r}; give a mapping of names to profiles, or a list of parts of one profile"
        )
    return _merged([_checked(profile) for profile in profiles])


def _of_workers(profiles: Sequence[tuple[str, Profile]]) -> list[Profile]:
    named = [of_worker(profile, worker) for worker, profile in profiles]
    workers = [worker for profile in named for worker in sorted(set(profile.step_workers))]
    twice = [worker for worker, count in Counter(workers).items() if count > 1]
    if twice:
        raise ValueError(f"merge: two of the workers are called {twice[0]!r}; give each a name of its own")
    return named


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
    if not isinstance(worker, str) or not worker or not worker.isprintable():
        raise ValueError(f"merge: a worker is called {worker!r}; give it a name in text, such as its host or its job's")
    workers = tuple(f"{worker}/{each}" if each else worker for each in profile.workers_of_steps)
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
        kernels=_kernels(profiles),
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


def _kernels(profiles: Sequence[Profile]) -> dict[str, Kernel]:
    """What ran for each node; where profiles differ, what is first in the order of words."""
    kernels: dict[str, Kernel] = {}
    for profile in profiles:
        for name, kernel in profile.kernels.items():
            known = kernels.setdefault(name, kernel)
            if known is not kernel and known != kernel:
                kernels[name] = min(known, kernel, key=repr)
    return kernels


def _compiled(profiles: Sequence[Profile]) -> dict[str, frozenset[str]]:
    compiled: dict[str, frozenset[str]] = {}
    for profile in profiles:
        for name, nodes in profile.compiled.items():
            compiled[name] = compiled.get(name, frozenset()) | nodes
    return compiled
