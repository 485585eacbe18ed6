"""Times comparisons of two profiles, and what it takes to keep the run of one in the history of its cell."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import processor_seconds
from tests.bench.recordings import Recording, recording
from tests.bench.target import AtMost
from tfprof_widget.analysis.comparing.aligned import BY
from tfprof_widget.analysis.comparing.keeping import kept_run
from tfprof_widget.api.comparison import compare
from tfprof_widget.api.history import Rings
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.kept_run import KeptRun

NODES_A_SECOND = 10_000
ROUNDS = 5
LARGE = 50_000
RENAMED = 7


def findings(nodes: int) -> list[Finding]:
    """The findings on profiles of so many nodes, beside reading one; to be called in a process of its own."""
    recorded = recording(nodes)
    works: dict[str, Callable[[Profile, Profile], object]] = {
        "compare two profiles, all tables": lambda one, other: _compared(kept_run(one), kept_run(other)),
        "compare two profiles, all layers renamed": lambda one, other: _compared(kept_run(one), renamed(other)),
        "keep a run in the history": lambda one, _: Rings().keep(kept_run(one)),
    }
    reading: list[float] = []
    taken: dict[str, list[float]] = {work: [] for work in works}
    for _ in range(ROUNDS if nodes < LARGE else 1):
        for name, work in works.items():
            profiles = _read(recorded), _read(recorded)
            reading.append(processor_seconds(_read, recorded))
            taken[name].append(processor_seconds(work, *profiles))
    target = AtMost(max(nodes / NODES_A_SECOND, 1.0))
    return [
        of_medians(f"{name}, of one core, beside reading one", nodes, reading, each, target)
        for name, each in taken.items()
    ]


def renamed(profile: Profile) -> KeptRun:
    """The run of a profile whose towers have other counters, as layers have that were built again."""
    run = kept_run(profile)
    names = tuple(re.sub(r"tower_(\d+)", _later, name) for name in run.ops.names)
    return replace(run, ops=replace(run.ops, names=names))


def _later(found: re.Match[str]) -> str:
    return f"tower_{int(found[1]) + RENAMED}"


def _compared(before: KeptRun, after: KeptRun) -> None:
    comparison = compare(before, after)
    comparison.text()
    for by in BY:
        comparison.table(by)


def _read(recorded: Recording) -> Profile:
    return Profile.from_protos(recorded.graph, recorded.run_meta, recorded.op_log)
