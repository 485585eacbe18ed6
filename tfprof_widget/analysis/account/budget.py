"""Adds up where the time of a captured cell and of a step went, for each task that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tfprof_widget.analysis.account.step import recorded_on, recorded_steps
from tfprof_widget.analysis.cluster.tasks import Tasks, may_be_cluster
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.lib.text import written_percent, written_seconds
from tfprof_widget.profiles.cell import CELL_PARTS, STEP_PARTS, CellRuns, CellTimes, RecordedSteps
from tfprof_widget.profiles.data import FIRST, FIRST_PART, PARTIAL, ProfileData

if TYPE_CHECKING:
    import pandas

OP_NANOS = 1_000
"""To record an op takes about so long. It is taken off only where no step ran without being recorded."""

MOST_OFF = 0.5
"""So large a part of a recorded step is taken off at most."""

_NAMES = {
    "tracing": "building functions",
    "first": "first runs",
    "steps": "steps",
    "python": "Python between steps",
    "input": "waiting for input",
    "tfprof": "tfprof itself",
    "other": "not accounted for",
    "runtime": "runtime",
    "idle": "nothing runs",
}


@dataclass(frozen=True)
class TimeBudget:
    """Where the time of a captured cell went, and that of one of its steps, in seconds; each has parts that add up.

    `cell_seconds` is the wall time from entering the captured block to the end of leaving it. The parts of the `cell`
    are: `tracing`, in which Python built functions; `first`, the rest of first runs and of those that built a function
    anew; `steps`, all other runs; `python`, the time in which no step ran; `input`, in which Python waited for a batch
    outside of any step; `tfprof`, what tfprof itself took; and `other`, of which nothing is known. `kinds` has the time
    of each kind of run.

    `step_seconds` is what a step of the busiest kind takes by the clock, in the median of those that were not recorded.
    The parts of the `step` are of recorded steps, scaled to that: `forward`, `backward`, `update`, `input`, for which
    the step waits itself, `transfers` between devices, `runtime`, which are gaps below 0.1 ms, and `idle`, longer ones.
    Where several go on at once, the instant belongs to the first of forward, backward, update, transfers and input.

    `notes` say what is missing or estimated. `tasks` has a budget for each process or task, if there are several;
    where tasks ran ops of the same steps, these budgets differ in what the task did in a `step`.
    Where no cell was captured, as in a profile from files, `cell_seconds` is 0.

    >>> from tfprof_widget.demo import demo_profile
    >>> budget = time_budget(demo_profile())
    >>> budget.cell_seconds, budget.step_seconds, round(sum(budget.step.values()), 9)
    (0.0, 0.000365125, 0.000365125)
    """

    cell_seconds: float
    cell: Mapping[str, float]
    step_seconds: float
    step: Mapping[str, float]
    kinds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tasks: Mapping[str, TimeBudget] = field(default_factory=dict)

    def text(self) -> str:
        """The parts of the cell and of a step, a line each, those that take nothing left out.

        >>> print(TimeBudget(2.0, {"steps": 1.5, "python": 0.5}, 0.0, {}).text())
        cell                    2 s
          steps                   1.50 s   75.0 %
          Python between steps    500 ms   25.0 %
        """
        lines = [*_lines("cell", self.cell_seconds, self.cell), *_lines("step", self.step_seconds, self.step)]
        for task, budget in self.tasks.items():
            lines += ["", f"{task}:", *(f"  {line}" for line in budget.text().splitlines())]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.text()

    def to_dataframe(self) -> pandas.DataFrame:
        """A row for each part of the cell and of a step: `task`, `of`, `part`, `seconds`, `share`.

        >>> from tfprof_widget.demo import demo_profile
        >>> time_budget(demo_profile()).to_dataframe()["of"].value_counts().to_dict()
        {'cell': 7, 'step': 7}
        """
        import pandas

        return pandas.DataFrame(self._rows(""), columns=["task", "of", "part", "seconds", "share"])

    def _rows(self, task: str) -> Iterator[tuple[str, str, str, float, float]]:
        if self.tasks:
            for name, budget in self.tasks.items():
                yield from budget._rows(name)
            return
        for of, seconds, parts in (("cell", self.cell_seconds, self.cell), ("step", self.step_seconds, self.step)):
            for part, taken in parts.items():
                yield task, of, part, taken, taken / seconds if seconds else 0.0


def _lines(of: str, seconds: float, parts: Mapping[str, float]) -> Iterator[str]:
    if not seconds:
        return
    shown = [(_NAMES.get(part, part), taken) for part, taken in parts.items() if taken > 0]
    width = max((len(name) for name, _ in shown), default=0) + 2
    yield f"{of:<{width}}  {written_seconds(seconds)}"
    for name, taken in sorted(shown, key=lambda each: -each[1]):
        yield f"  {name:<{width}}{written_seconds(taken):>8}  {written_percent(taken / seconds):>7}"


def time_budget(profile: ProfileData) -> TimeBudget:
    """Where the time of the captured cell and of its steps went.

    >>> from tfprof_widget.demo import demo_profile
    >>> time_budget(demo_profile()).cell["steps"]
    0.0
    """
    return profile.cache.kept("time budget", lambda: _of_all_tasks(profile))


def _of_all_tasks(profile: ProfileData) -> TimeBudget:
    workers = sorted({*profile.step_workers, *(cell.worker for cell in profile.cells if cell.worker)})
    cells = {cell.worker: cell for cell in profile.cells}
    if len(workers) < 2:
        whole = _budget(profile, profile.cell, workers[0] if workers else "")
        return replace(whole, tasks=dict(_of_tasks_of_one_cell(profile, whole)))
    tasks = {worker: _budget(profile, cells.get(worker) or cells.get(""), worker) for worker in workers}
    longest = max(tasks.values(), key=lambda budget: (budget.cell_seconds, budget.step_seconds))
    return replace(longest, tasks=tasks)


def _of_tasks_of_one_cell(profile: ProfileData, whole: TimeBudget) -> Iterator[tuple[str, TimeBudget]]:
    """The budget of each task that ran ops of the same steps, as in the session of a cluster: its part of a step."""
    if not may_be_cluster(profile):
        return
    tasks = Tasks.of(profile)
    ran = np.unique(tasks.of_execution[profile.executions.start_nanos > 0]).tolist()
    for task in ran if len(ran) > 1 else ():
        recorded = recorded_on(profile, tasks.of_execution == task).among(SteadySteps.of(profile).steps.tolist())
        step = _scaled(recorded, round(1e9 * whole.step_seconds))
        yield tasks.names[task], replace(whole, step={part: each / 1e9 for part, each in step.items()})


def _budget(profile: ProfileData, cell: CellTimes | None, worker: str) -> TimeBudget:
    steady = SteadySteps.of(profile).steps.tolist()
    workers = profile.workers_of_steps
    own = [step for step in steady if worker in ("", workers[step])]
    runs = cell.runs_of(profile.main_kind) if cell is not None else None
    recorded = recorded_steps(profile).among(own)
    executions = np.isin(profile.executions.step, own).sum() / max(len(own), 1)
    nanos, notes = _usual_nanos(runs, recorded, float(executions))
    name = profile.step_names[own[0]] if own else ""
    if runs is not None and name.endswith((*FIRST, PARTIAL)):
        notes.append(f"what is told of a step is of {name}: no other was recorded as a whole")
    step = _scaled(recorded, nanos, in_part=name.endswith((PARTIAL, FIRST_PART)))
    parts = dict(zip(CELL_PARTS, cell.parts if cell is not None else (0,) * len(CELL_PARTS), strict=True))
    return TimeBudget(
        cell_seconds=cell.seconds if cell is not None else 0.0,
        cell={part: each / 1e9 for part, each in parts.items()},
        step_seconds=sum(step.values()) / 1e9,
        step={part: each / 1e9 for part, each in step.items()},
        kinds={kind: each / 1e9 for kind, each in (cell.kinds if cell is not None else {}).items()},
        notes=tuple(notes),
    )


def _usual_nanos(runs: CellRuns | None, recorded: RecordedSteps, executions: float) -> tuple[int, list[str]]:
    """What a step takes by the clock without tracing, and notes on how that is known."""
    if runs is not None and runs.usual_nanos:
        return runs.usual_nanos, []
    if not len(recorded):
        steady = runs.nanos[~runs.is_first] if runs is not None else np.zeros(0, np.int64)
        return (round(float(np.median(steady))) if len(steady) else 0), []
    nanos = round(float(np.median(recorded.nanos)))
    if runs is None:
        return nanos, []
    off = round(min(OP_NANOS * executions, MOST_OFF * nanos))
    return nanos - off, [
        f"all steps were recorded: of their median, {written_seconds(nanos / 1e9)}, {written_seconds(off / 1e9)} were "
        f"taken off, as recording takes some {OP_NANOS / 1000:g} µs for each of {executions:,.0f} ops"
    ]


def _scaled(recorded: RecordedSteps, nanos: int, *, in_part: bool = False) -> dict[str, int]:
    """The parts of the mean recorded step, scaled to a step of this length, to which they add up.

    Where recorded steps took less than others, ops take no longer in those: they wait longer, for input if at all.
    Of steps that were recorded `in_part`, what was not recorded is taken to be like the rest.
    """
    sums = recorded.parts.sum(axis=0) if len(recorded) else np.zeros(len(STEP_PARTS), np.int64)
    whole, count = int(sums.sum()), max(len(recorded), 1)
    found = dict(zip(STEP_PARTS, sums.tolist(), strict=True))
    if not whole:
        return dict.fromkeys(STEP_PARTS, 0) | {"idle": nanos}
    if nanos * count >= whole and not in_part:
        mean = {part: each // count for part, each in found.items()}
        waits = "input" if found["input"] else "idle"
        mean[waits] += nanos - sum(mean.values())
        return mean
    scaled = {part: each * nanos // whole for part, each in found.items()}
    most = max(scaled, key=lambda part: scaled[part])
    scaled[most] += nanos - sum(scaled.values())
    return scaled
