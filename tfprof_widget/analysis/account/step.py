"""Divides the wall time of recorded steps into parts, by what ran at each instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.layers import node_layers
from tfprof_widget.lib.arrays import ABSENT, Flags, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.cell import STEP_PARTS, CellRuns, CellTimes, RecordedSteps
from tfprof_widget.profiles.data import EAGER, FIRST_PART, PARTIAL, ProfileData, kind_of_steps
from tfprof_widget.profiles.program import ROLES

GAP_NANOS = 100_000
"""What is shorter than this between two ops is the runtime's: threads are woken, and kernels are launched."""

UNRECORDED_NANOS = 20_000_000
"""Of a step that was recorded in part, what is longer than this between two ops was not recorded."""

ROLES_BY_RANK = ("forward", "backward", "update", "transfers", "input")


def recorded_steps(profile: ProfileData) -> RecordedSteps:
    """The recorded steps of a profile, which are divided once; eager ops are no steps.

    >>> from tfprof_widget.demo import demo_profile
    >>> steps = recorded_steps(demo_profile())
    >>> dict(zip(STEP_PARTS, steps.parts[0].tolist(), strict=True))
    {'forward': 109836, 'backward': 143354, 'update': 64197, 'input': 0, 'transfers': 0, 'runtime': 47738, 'idle': 0}
    """
    return profile.recorded_steps or profile.cache.kept("recorded steps", lambda: _recorded(profile))


def recorded_on(profile: ProfileData, rows: Flags) -> RecordedSteps:
    """The recorded steps, divided by what only these executions did, such as those of one task of a cluster.

    A step takes as long as it does for all. Tasks may have clocks of their own, so that what is before the first of the
    executions and after the last one is told by its length.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo = demo_profile()
    >>> steps = recorded_on(demo, np.zeros(len(demo.executions.step), np.bool_))
    >>> steps.parts[0].tolist()
    [0, 0, 0, 0, 0, 0, 365125]
    """
    whole, own = recorded_steps(profile), _by_step(profile, rows)
    parts = []
    for step, nanos in zip(whole.step.tolist(), whole.nanos.tolist(), strict=True):
        role, start, end = own[step]
        first, last = _ends(start, end)
        wall = _Wall(first, last, max(nanos, last - first), _wall(profile, step, start, end).gap)
        parts.append(_parts(wall, role, start, end))
    found = np.array(parts, np.int64).reshape(-1, len(STEP_PARTS))
    return RecordedSteps(whole.step, found.sum(axis=1), found)


_Rows = tuple[NDArray[np.int8], Integers, Integers]


def _by_step(profile: ProfileData, rows: Flags) -> list[_Rows]:
    """The roles, starts and ends of some executions in each step; those without a start are left out."""
    executions = profile.executions
    chosen = np.flatnonzero(rows & (executions.start_nanos > 0))
    chosen = chosen[np.argsort(executions.step[chosen], kind="stable")]
    role, start = node_layers(profile).role[executions.node[chosen]], executions.start_nanos[chosen]
    end = start + executions.duration_nanos[chosen]
    bounds = np.searchsorted(executions.step[chosen], np.arange(1, len(profile.steps)))
    return list(zip(*(np.split(column, bounds) for column in (role, start, end)), strict=True))


def _recorded(profile: ProfileData) -> RecordedSteps:
    found: list[tuple[int, int, list[int]]] = []
    everything = np.ones(len(profile.executions.step), np.bool_)
    for step, (role, start, end) in enumerate(_by_step(profile, everything) if profile.steps else ()):
        wall = _wall(profile, step, start, end)
        name = profile.step_names[step]
        if name != EAGER and wall.nanos:
            divided = _parts(wall, role, start, end)
            if name.endswith((PARTIAL, FIRST_PART)):
                divided = _of_whole(divided, wall, start, end)
            found.append((step, wall.nanos, divided))
    steps, nanos, parts = zip(*found, strict=True) if found else ((), (), ())
    return RecordedSteps(
        np.array(steps, np.int32), np.array(nanos, np.int64), np.array(parts, np.int64).reshape(-1, len(STEP_PARTS))
    )


@dataclass(frozen=True)
class _Wall:
    """When a step began and ended by the clock of its ops, how long it took, and which gaps of it are the runtime's.

    Where the clock of its ops is another one than that by which it is known how long it took, it is as long as its ops.
    It began with `building` its function, if that had to be built.
    """

    start: int
    end: int
    nanos: int
    gap: int
    building: int = 0


def _wall(profile: ProfileData, step: int, start: Integers, end: Integers) -> _Wall:
    first, last = _ends(start, end)
    run = _run_of(profile, step)
    if run is None:
        return _Wall(first, last, last - first, GAP_NANOS)
    began, nanos, building, slower, is_same_clock = run
    if is_same_clock:
        first, last = began, began + nanos
    return _Wall(first, last, max(nanos, last - first), round(GAP_NANOS * slower), building)


def _ends(start: Integers, end: Integers) -> tuple[int, int]:
    """When the first execution began and the last one ended."""
    return (int(start.min()), int(end.max())) if len(start) else (0, 0)


_Run = tuple[int, int, int, float, bool]


def _run_of(profile: ProfileData, step: int) -> _Run | None:
    """When the run of a step began, what it and building took, by how much tracing slowed it, if by its ops' clock."""
    runs_of = profile.cache.kept("runs of steps", lambda: _runs_of_steps(profile))
    return runs_of.get(step)


def _runs_of_steps(profile: ProfileData) -> dict[int, _Run]:
    found = {}
    for step, (cell, runs, row) in rows_of_steps(profile).items():
        steady = runs.nanos[runs.is_traced & ~runs.is_first]
        traced = float(np.median(steady)) if len(steady) else 0.0
        slower = max(traced / runs.usual_nanos, 1.0) if runs.usual_nanos and traced > 0 else 1.0
        is_same_clock = profile.workers_of_steps[step] == cell.worker
        began, nanos, building = (int(column[row]) for column in (runs.start, runs.nanos, runs.building))
        found[step] = cell.entered + began, nanos, building, slower, is_same_clock
    return found


def rows_of_steps(profile: ProfileData) -> dict[int, tuple[CellTimes, CellRuns, int]]:
    """The run of each step of which that is known, by the step's place: the cell, the runs of its kind, and the row."""
    found = {}
    for cell in profile.cells:
        for runs in cell.runs:
            rows = np.flatnonzero(runs.step != ABSENT).tolist()
            of_number = {int(runs.step[row]): row for row in rows}
            for step, name in enumerate(profile.step_names):
                row = of_number.get(profile.steps[step])
                is_of_another = cell.worker and profile.workers_of_steps[step] != cell.worker
                if row is not None and kind_of_steps(name) == runs.kind and not is_of_another:
                    found[step] = cell, runs, row
    return found


def _parts(wall: _Wall, role: NDArray[np.int8], start: Integers, end: Integers) -> list[int]:
    """The time of each of STEP_PARTS in a step."""
    free = Intervals.of(np.array([wall.start]), np.array([wall.end]))
    found = dict.fromkeys(STEP_PARTS, 0)
    for part in ROLES_BY_RANK:
        rows = role == ROLES.index(part)
        if rows.any():
            ran = Intervals.of(np.clip(start[rows], wall.start, wall.end), np.clip(end[rows], wall.start, wall.end))
            left = free.without(ran)
            found[part] = free.length - left.length
            free = left
    around = wall.nanos - (wall.end - wall.start)
    found["idle"] = free.at_least(wall.gap).length + around * (around >= wall.gap)
    found["runtime"] = free.length + around - found["idle"]
    return list(found.values())


def _of_whole(parts: list[int], wall: _Wall, start: Integers, end: Integers) -> list[int]:
    """The parts of a step that was recorded in part, once it is under way taken to be those of the rest too.

    Before that, Python builds the function and TensorFlow optimizes it. Then windows are closed between ops, as in
    pauses: what is long between two ops says nothing of the step.
    """
    gaps = Intervals.of(np.array([wall.start]), np.array([wall.end])).without(Intervals.of(start, end))
    long = gaps.at_least(UNRECORDED_NANOS)
    before = int((long.end - long.start)[long.start <= wall.start + wall.building].sum())
    found = dict(zip(STEP_PARTS, parts, strict=True))
    found["idle"] = max(found["idle"] - long.length, 0)
    recorded = sum(found.values())
    if not recorded:
        return parts
    scaled = {part: each * (wall.nanos - before) // recorded for part, each in found.items()}
    scaled["idle"] += wall.nanos - sum(scaled.values())
    return list(scaled.values())
