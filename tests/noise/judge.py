"""Compares recorded runs in many ways whose answer is known, and counts how often it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.analysis.comparing.statistics import run_shifts
from tfprof_widget.profiles.kept_run import KeptRun

CALLED = ("slower", "faster")
SPLITS = 200
STEP_SPLITS = 2000
"""A step is compared quickly, so that its shares can be known to half a percent."""
SPLIT_RUNS = 60


@dataclass(frozen=True)
class Shares:
    """How often each answer was given, as shares of all comparisons of its kind."""

    step_called: Mapping[int, float]
    ops_called: Mapping[int, float]
    step_called_apart: float
    ops_called_apart: float
    apart: int
    op_found: Mapping[float, float]
    step_found: float
    coverage: float
    steps: int
    ops: int
    step_spread: float
    op_spread: float


def judged(found: Mapping[str, Sequence[KeptRun]], seed: int = 0) -> Shares:
    """Everything that is told of one kind of cell."""
    random = np.random.default_rng(seed)
    same = found["same"]
    first = same[:SPLIT_RUNS]
    step_called = {
        size: [_step_is_called(*each) for each in _splits(random, first, size, STEP_SPLITS)] for size in (4, 8)
    }
    ops_called = {size: [_op_is_called(*each) for each in _splits(random, first, size)] for size in (4, 8)}
    apart = [(same[at : at + 4], same[at + 4 : at + 8]) for at in range(0, len(same) - 7, 8)]
    planted = {factor: _op_found(random, first, factor) for factor in (1.2, 1.5)}
    return Shares(
        step_called={size: _share(each) for size, each in step_called.items()},
        ops_called={size: _share(each) for size, each in ops_called.items()},
        step_called_apart=_share(_step_is_called(*each) for each in apart),
        ops_called_apart=_share(_op_is_called(*each) for each in apart),
        apart=len(apart),
        op_found=planted,
        step_found=_step_found(random, first),
        coverage=_coverage(random, found["turns"], found["slower"]),
        steps=int(np.median([len(run.step_seconds) for run in same])),
        ops=int(np.isfinite(same[0].nanos).sum()),
        step_spread=float(np.std([np.log(np.median(run.step_seconds)) for run in first])),
        op_spread=_op_spread(first),
    )


def _splits(
    random: np.random.Generator, runs: Sequence[KeptRun], size: int, splits: int = SPLITS
) -> Iterator[tuple[list[KeptRun], list[KeptRun]]]:
    """Runs taken at random, as many for either side."""
    for _ in range(splits):
        chosen = random.choice(len(runs), 2 * size, replace=False).tolist()
        yield [runs[place] for place in chosen[:size]], [runs[place] for place in chosen[size:]]


def _step_is_called(before: Sequence[KeptRun], after: Sequence[KeptRun]) -> bool:
    return ComparedRuns(before, after).step.verdict in CALLED


def _op_is_called(before: Sequence[KeptRun], after: Sequence[KeptRun]) -> bool:
    return bool((ComparedRuns(before, after).table("op").q < 0.05).any())


def _op_found(random: np.random.Generator, runs: Sequence[KeptRun], factor: float) -> float:
    """How often an op taken at random is found that is made slower by a factor, five runs against five."""
    ran = np.flatnonzero(np.isfinite([run.nanos for run in runs]).all(axis=0))
    found = []
    for before, after in _splits(random, runs, 5, SPLITS // 2):
        op = int(random.choice(ran))
        slower = np.where(np.arange(len(runs[0].nanos)) == op, factor, 1.0)
        table = ComparedRuns(before, [replace(run, nanos=run.nanos * slower) for run in after]).table("op")
        row = table.names.index(runs[0].ops.names[op])
        found.append(table.verdicts[row] == "slower")
    return _share(found)


def _step_found(random: np.random.Generator, runs: Sequence[KeptRun]) -> float:
    """How often a step is found that is made 10 % slower, five runs against five."""
    found = []
    for before, after in _splits(random, runs, 5):
        slower = [replace(run, step_seconds=1.1 * run.step_seconds) for run in after]
        found.append(ComparedRuns(before, slower).step.verdict == "slower")
    return _share(found)


def _coverage(random: np.random.Generator, turns: Sequence[KeptRun], slower: Sequence[KeptRun]) -> float:
    """How often the interval holds the ratio of all runs, of four runs of a cell and four of its slower variant."""
    logs = [np.mean([np.log(np.median(run.step_seconds)) for run in runs]) for runs in (turns, slower)]
    truth = float(np.exp(logs[1] - logs[0]))
    found = []
    for _ in range(SPLITS):
        sides = [[runs[place] for place in random.choice(len(runs), 4, replace=False)] for runs in (turns, slower)]
        step = ComparedRuns(*sides).step
        found.append(step.low <= truth <= step.high)
    return _share(found)


def _op_spread(runs: Sequence[KeptRun]) -> float:
    """How much the time of the median op differs from run to run, beside what all ops differ together."""
    logs = np.log([run.nanos for run in runs]).T
    logs = logs[np.isfinite(logs).all(axis=1)]
    return float(np.median(np.std(logs - run_shifts(logs), axis=1)))


def _share(answers: object) -> float:
    return float(np.mean(list(answers)))  # type: ignore[call-overload]
