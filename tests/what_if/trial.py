"""Runs a model and its edits in turns, and compares each predicted step with the step that was measured."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.what_if.models import MODELS, STEPS, Cell, Edit, Model
from tfprof_widget.analysis.account.step import recorded_steps
from tfprof_widget.analysis.replay.changes import INPUT_KEY
from tfprof_widget.analysis.replay.prediction import SLOWDOWNS, Replay
from tfprof_widget.analysis.replay.recorded_work import work_of
from tfprof_widget.analysis.replay.scheduler import scheduled
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileError

ROUNDS = 3
TURNS = 2
"""So many fits on either side take turns, and the quicker one counts."""
QUICKEST = 4
"""The quickest of so many steps is compared, as on a busy machine others wait for the processor."""


_ACTIVATION = re.compile(r"(?<=/)(Tanh|Relu)")
"""Keras names an activation, and the kernel that it is fused into, after its op, which an edit may change."""


@dataclass(frozen=True)
class Trial:
    """An edit of a model: the step before it, replayed, predicted with its interval, and measured after it, in seconds.

    `refused` says why nothing was predicted.
    """

    model: str
    edit: str
    steps: int
    executions: int
    workers: int
    before: float
    replayed: float
    predicted: float = 0.0
    low: float = 0.0
    high: float = 0.0
    after: float = 0.0
    refused: str = ""

    @property
    def replay_off(self) -> float:
        """How far off the unchanged replay was."""
        return self.replayed / self.before - 1

    @property
    def off(self) -> float:
        """How far off the prediction was."""
        return self.predicted / self.after - 1

    @property
    def is_covered(self) -> bool:
        """Whether the measured step is in the interval."""
        return self.low <= self.after <= self.high


def _quickest(profile: Profile) -> Replay:
    """The replay of the quickest steps of a profile: in those other processes did least."""
    recorded = recorded_steps(profile).among(SteadySteps.of(profile).steps.tolist())
    order = np.argsort(recorded.nanos, kind="stable")[: max(len(recorded) // QUICKEST, 3)]
    return Replay.over(profile, work_of(profile, sorted(recorded.step[order].tolist())))


def recorded(cells: tuple[Cell, Cell]) -> tuple[Profile, ...]:
    """The profiles of two cells, whose runs take turns: those of sessions step by step."""
    from tfprof_widget.api.capture import capture

    if not cells[0].mark:
        found: tuple[list[Profile], ...] = ([], [])
        for _ in range(TURNS):
            for cell, profiles in zip(cells, found, strict=True):
                with capture(trace_all=True) as prof:
                    cell.run()
                profiles.append(prof.profile)
        return tuple(min(profiles, key=lambda each: float(np.median(_quickest(each).measured))) for profiles in found)
    with capture(trace_all=True) as prof:
        for _ in range(STEPS):
            for cell in cells:
                cell.run()
    return tuple(next(each for each in prof.profiles if cell.mark in each.nodes.names) for cell in cells)


def _took(replay: Replay) -> dict[str, float]:
    """How long each node took in a step, in the median."""
    names = replay.profile.nodes.names
    sums: dict[str, list[float]] = {}
    for work in replay.works:
        of_step = np.bincount(work.node, np.maximum(work.busy, work.release), len(names))
        for node in np.unique(work.node).tolist():
            sums.setdefault(names[node], []).append(float(of_step[node]))
    return {name: float(np.median(taken)) for name, taken in sums.items()}


def fed_in(before: Replay, after: Replay, edit: Edit) -> dict[str, float]:
    """The measured durations of what was edited, as factors of those before."""
    if edit.key:
        if edit.key != INPUT_KEY:
            assert before.between is not None
            assert after.between is not None
            return {edit.key: after.between.python / before.between.python}
        about = Edit("", {}, "IteratorGetNext.*")
        factors = fed_in(before, after, about)
        return {INPUT_KEY: float(np.median(list(factors.values())))}
    took, after_took = _took(before), _took(after)
    takes = {_ACTIVATION.sub("", name): nanos for name, nanos in after_took.items()}
    return {
        re.escape(name): takes.get(_ACTIVATION.sub("", name), 0.0) / max(nanos, 1.0)
        for name, nanos in took.items()
        if edit.is_about(name)
    }


def tried(name: str, edit: Edit, profiles: tuple[Profile, Profile]) -> Trial:
    """The trial of an edit, by the profiles before and after it."""
    before, after = map(_quickest, profiles)
    found = Trial(
        name,
        edit.name,
        len(before.works),
        int(np.median([len(work) for work in before.works])),
        int(np.median([max(work.workers) for work in before.works])),
        float(np.median(before.measured)) / 1e9,
        float(np.median(before.replayed)) / 1e9,
        after=float(np.median(after.measured)) / 1e9,
    )
    try:
        before.check()
    except ProfileError as error:
        return replace(found, refused=str(error))
    if edit.threads:
        one = [replace(work, workers=tuple(1 for _ in work.workers)) for work in before.works]
        taken = np.array([[scheduled(work, slowdown=each).nanos for work in one] for each in SLOWDOWNS]) / 1e9
        low, high = np.percentile(taken, (10, 90))
        return replace(found, predicted=float(np.median(taken)), low=float(low), high=float(high))
    asked = before.what_if(fed_in(before, after, edit))
    took = after.measured
    if asked.with_between:
        assert after.between is not None
        took = took + sum(after.between)
    return replace(
        found,
        before=asked.measured,
        replayed=asked.replayed,
        predicted=asked.seconds,
        low=float(asked.low),
        high=float(asked.high),
        after=float(np.median(took)) / 1e9,
    )


def trials_of(name: str, edits: tuple[str, ...] = ()) -> list[Trial]:
    """All trials of a model, some rounds of each edit."""
    model: Model = MODELS[name]
    found = []
    base = model.make(**model.given)
    base.run()
    for edit in model.edits:
        if edits and edit.name not in edits:
            continue
        edited = model.make(**{**model.given, **edit.given})
        edited.run()
        for _ in range(ROUNDS):
            profiles: Any = recorded((base, edited))
            trial = tried(name, edit, profiles)
            found.append(trial)
            sys.stdout.write(f"{trial}\n")
            sys.stdout.flush()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--edits", nargs="*", default=[])
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    found = trials_of(arguments.model, tuple(arguments.edits))
    arguments.out.write_text(json.dumps([asdict(trial) for trial in found], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
