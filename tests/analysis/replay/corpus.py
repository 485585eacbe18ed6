"""The corpus that ties the browser's replay to Python's: recorded steps as the browser gets them, and what Python says.

Steps are those written out by hand in the tests beside this, real ones of the conformance corpus, and real ones of a
session whose branches ran on two threads (`tests/conformance/replay/branches.json`). The file is written by
`js/generate_columns.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tests.analysis.replay.test_worked import CHAIN, DIAMOND, FORK, two_tasks
from tests.analysis.replay.worked import graph_of, profile_of
from tests.made import changed
from tfprof_widget.analysis.replay.changes import time_factors
from tfprof_widget.analysis.replay.prediction import Replay
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.ingest.parts.names import EAGER_SCOPE
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.cell import CellRuns, CellTimes

OTHER = "a:0-10 b(a):10-20 c(a):10-43 d(b,c):43-49"
ALONE, BESIDE = "a:0-10 b(a):10-110 c(a):110-210", "a:0-10 b(a):10-210 c(a):10-210"
WORKED: Mapping[str, Callable[[], Profile]] = {
    "chain": lambda: profile_of(CHAIN),
    "diamond": lambda: profile_of(DIAMOND),
    "fork": lambda: profile_of(FORK),
    "one thread": lambda: profile_of("a:0-10 b(a):10-40 c(a):40-50 d(b,c):50-60"),
    "three steps": lambda: profile_of(DIAMOND, OTHER, DIAMOND),
    "slowed down": lambda: profile_of(*[ALONE, BESIDE] * 2),
    "loop": lambda: profile_of("test(body):0-5 body(test):5-15 test:15-20 body:20-30 test:30-35 body:35-45"),
    "cheap": lambda: profile_of("a:0-10 long(a):10-40 b(a):10-12 c(a):12-14 d(b):14-16 e(c):16-18"),
    "threads taken": lambda: profile_of("a:0-10 p(a):10-20 q(a):10-20 r(a):20-30 s(a):20-30"),
    "hidden wait": lambda: profile_of("a:0-50 loop(a):50-130 other(a):50-90 late(a):130-170"),
    "overlap for a moment": lambda: profile_of("a:0-50 b(a):10-40 c(a,b):50-60 d(c):59-2000"),
    "two tasks": two_tasks,
    "batch": lambda: _batch("IteratorGetNext:0-100 own:0-30 used:100-120"),
    "batch, beside": lambda: _batch("IteratorGetNext:0-5 own:6-20 side:20-60 more:20-40 used:100-120"),
    "in a cell": lambda: _in_a_cell(),  # made when asked for
    "eager beside": lambda: profile_of(f"a:0-10 {EAGER_SCOPE}/Exp:5-8 b(a):10-40 c(b):42-50"),
    "demo": demo_profile,
    **{f"random {seed}": lambda seed=seed: random_steps(seed) for seed in range(3)},  # type: ignore[misc]
}
FACTORS = (0.5, 0.0, 1.35, 2.0)


def _batch(step: str) -> Profile:
    graph = graph_of("IteratorGetNext:0-1 own:0-1 more:0-1 used(IteratorGetNext,own):0-1 side(own):0-1")
    graph.node[0].op = "IteratorGetNext"
    return profile_of(step, graph=graph)


def _in_a_cell() -> Profile:
    """A step that took 100 microseconds before its first execution and 50 after its last one, and quicker ones."""
    runs = CellRuns.of("", [900_000, 2_000_000, 3_000_000, 4_000_000], [200_000, 90_000, 100_000, 190_000], step={0: 0})
    return changed(profile_of(DIAMOND), cells=(CellTimes.of({"steps": 580_000}, entered=999_000_000, runs=(runs,)),))


def random_steps(seed: int) -> Profile:
    """Two steps of a random graph, each scheduled on three workers with other durations."""
    random = np.random.default_rng(seed)
    inputs = [sorted(set(random.integers(max(node - 8, 0), node, 2).tolist())) if node else [] for node in range(60)]
    return profile_of(*(" ".join(_scheduled(inputs, random)) for _ in range(2)))


def _scheduled(inputs: list[list[int]], random: np.random.Generator) -> Iterator[str]:
    ends: dict[int, int] = {}
    free = [0, 0, 0]
    for node, taken in enumerate(inputs):
        worker = int(np.argmin(free))
        start = max(free[worker], max((ends[each] for each in taken), default=0))
        ends[node] = free[worker] = start + int(random.integers(2, 60))
        yield f"n{node:02}({','.join(f'n{each:02}' for each in taken)}):{start}-{ends[node]}"


def answers(profile: Profile) -> dict[str, Any]:
    """What Python says of a profile: the replay, and what some selections of the browser lead to."""
    try:
        whole = profile.what_if({})
    except ProfileError as error:
        return {"reason": str(error)}
    replayed = {"measured": whole.measured, "replayed": whole.replayed, "steps": whole.steps}
    return replayed | {"cases": [_answer(profile, *each) for each in _cases(profile)]}


def _cases(profile: Profile) -> Iterator[tuple[str, str, float]]:
    """What is selected, the key of `what_if` that stands for it, and the factor of its time."""
    nodes, layers = profile.nodes, node_layers(profile)
    replay = Replay.of(profile)
    busy = np.zeros(len(nodes))
    for work in replay.works:
        np.add.at(busy, work.node, np.maximum(work.busy, work.release))
    costliest = [nodes.names[row] for row in np.argsort(-busy, kind="stable")[:3].tolist() if busy[row]]
    for name in costliest:
        for factor in FACTORS:
            yield name, f"{re.escape(name)}(/.*)?", factor
    for row in np.argsort(-busy, kind="stable")[:2].tolist():
        op, layer = nodes.ops[nodes.op[row]], int(layers.layer[row])
        scope = nodes.names[row].partition("/")[0]
        if op not in nodes.names:
            yield op, f"type:{op}", 0.7
        if layer >= 0:
            yield layers.names[layer], f"layer:{layers.names[layer]}", 0.25
        if scope != nodes.names[row]:
            yield scope, f"{re.escape(scope)}(/.*)?", 1.8
    inner = next((each for each in nodes.names if each == "layer1/MatMul"), None)
    if inner:
        yield inner, re.escape(inner), 0.5  # of the demo, in which a fused kernel stands for it


def _answer(profile: Profile, name: str, key: str, factor: float) -> dict[str, Any]:
    found = profile.what_if({key: factor})
    changed = time_factors(profile, {key: 2.0}, has_between=False).node
    return {
        "name": name,
        "key": key,
        "factor": factor,
        "nodes": np.flatnonzero(changed != 1).tolist(),
        "seconds": found.seconds,
        "low": found.low,
        "high": found.high,
    }
