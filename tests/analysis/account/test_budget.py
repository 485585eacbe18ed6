"""The parts of a step and of the cell, on steps worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.advisor.findings import on_cpu, ran
from tests.analysis.cluster.clusters import PS0, WORKER0, Ran, run_of
from tfprof_widget.analysis.account.budget import time_budget
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef
from tfprof_widget.profiles.cell import CELL_PARTS, FIRST_RUN, STEP_PARTS, TRACED, CellRuns, CellTimes

MICRO, SECOND = 1_000, 10**9
OPS = {
    "next": "IteratorGetNext",
    "dense/MatMul": "MatMul",
    "gradients/dense/MatMul_grad/MatMul": "MatMul",
    "train/update_dense": "ApplyGradientDescent",
    "send": "_Send",
}
EXECUTED = (
    ("next", 1000, 100),
    ("dense/MatMul", 1100, 400),
    ("gradients/dense/MatMul_grad/MatMul", 1400, 300),  # for 100 of them beside the forward pass
    ("train/update_dense", 1750, 50),  # after 50 of nothing
    ("send", 2000, 50),  # after 200 of nothing
)
STEP = on_cpu(*EXECUTED)
PARTS = {
    "forward": 400,
    "backward": 200,
    "update": 50,
    "input": 100,
    "transfers": 50,
    "runtime": 50,
    "idle": 200,
}
"""In microseconds."""


def stepped(**runs: Any) -> Profile:
    """The step above, in a cell with such runs of it if any are told."""
    profile = replace(ran(OPS, STEP, step_names=["train"]), main_kind="train")
    if not runs:
        return profile
    cell = CellTimes.of({"steps": SECOND, "python": SECOND}, entered=MICRO * 1000, runs=(CellRuns.of("train", **runs),))
    return replace(profile, cells=(cell,))


def micros(parts: Any) -> dict[str, float]:
    return {part: round(1e6 * seconds, 3) for part, seconds in parts.items()}


def test_each_instant_of_a_step_is_in_the_first_part_that_goes_on() -> None:
    budget = time_budget(stepped())
    assert micros(budget.step) == PARTS
    assert budget.step_seconds == pytest.approx(1050e-6, abs=1e-12)
    assert budget.cell_seconds == sum(budget.cell.values()) == 0.0


def test_parts_are_scaled_to_a_step_that_was_not_recorded() -> None:
    budget = time_budget(stepped(start=[0], nanos=[9], usual_nanos=525 * MICRO))
    assert micros(budget.step) == pytest.approx({part: each / 2 for part, each in PARTS.items()}, abs=0.002)
    assert sum(budget.step.values()) == pytest.approx(budget.step_seconds, abs=1e-12)
    assert not budget.notes


def test_what_steps_take_longer_without_recording_is_waiting() -> None:
    budget = time_budget(stepped(start=[0], nanos=[9], usual_nanos=2000 * MICRO))
    assert micros(budget.step) == {**PARTS, "input": 100 + 950}


@pytest.mark.parametrize("mark", [" (in part)", " (warm-up, in part)"])
def test_what_was_not_recorded_of_a_step_is_not_waiting(mark: str) -> None:
    """Steps of 2,100 µs, of one of which 1,050 were recorded: the rest ran ops too."""
    profile = replace(stepped(start=[0], nanos=[9], usual_nanos=2100 * MICRO), step_names=(f"train{mark}",))
    budget = time_budget(profile)
    assert micros(budget.step) == pytest.approx({part: 2 * each for part, each in PARTS.items()}, abs=0.002)
    assert f"what is told of a step is of train{mark}" in budget.notes[-1]


@pytest.mark.parametrize("early", [[], [("dense/MatMul", -1_500_000, 1)]])
def test_what_was_not_recorded_of_the_only_step_is_like_the_rest_once_it_is_built(early: list[Any]) -> None:
    """A call of 6 s builds for 2 s, in which a variable may be made; then two windows of 1,050 µs are recorded."""
    later = [(name, 2_000_000 + start, took) for name, start, took in EXECUTED]
    ops = [(name, 2_000_000 + start, took) for name, start, took in (*early, *EXECUTED, *later)]
    profile = replace(ran(OPS, on_cpu(*ops)), step_names=("train (warm-up, in part)",), main_kind="train")
    runs = CellRuns.of("train", [0], [6 * SECOND], {0: FIRST_RUN}, {0: 0}, {0: 2 * SECOND})
    cell = CellTimes.of({"first": 6 * SECOND}, entered=MICRO * 1000, runs=(runs,))
    step = time_budget(replace(profile, cells=(cell,))).step
    recorded = {part: 4 * each / 1050 for part, each in PARTS.items()}
    assert step == pytest.approx({**recorded, "idle": recorded["idle"] + 2}, rel=0.01)


def test_where_all_steps_were_recorded_a_note_says_what_was_taken_off() -> None:
    """A microsecond for each of the five ops, of a run that began with the first op and ended 50 µs after the last."""
    runs = {"start": [0], "nanos": [1100 * MICRO], "mark": {0: TRACED}, "step": {0: 0}}
    budget = time_budget(stepped(**runs))
    assert budget.step_seconds == pytest.approx(1095e-6, abs=1e-12)
    (note,) = budget.notes
    assert note == (
        "all steps were recorded: of their median, 1.10 ms, 5 µs were taken off, as recording takes some 1 µs for each "
        "of 5 ops"
    )


def test_a_run_that_was_recorded_lasts_longer_than_its_ops() -> None:
    """It begins 100 µs before its first op and ends 150 µs after its last; traced runs take as long as others."""
    runs = {"start": [-100 * MICRO, 5000 * MICRO], "nanos": [1300 * MICRO] * 2, "mark": {0: TRACED}, "step": {0: 0}}
    budget = time_budget(stepped(**runs, usual_nanos=1300 * MICRO))
    assert micros(budget.step) == {**PARTS, "idle": 200 + 100 + 150}


def test_only_the_first_run_was_recorded() -> None:
    profile = stepped(start=[0], nanos=[9], mark={0: FIRST_RUN | TRACED}, step={0: 0})
    profile = replace(profile, step_names=("train (warm-up)",))
    assert "what is told of a step is of train (warm-up)" in time_budget(profile).notes[-1]


def test_nothing_was_recorded() -> None:
    """Steps of 1 ms, the first of which took longer."""
    profile = replace(Profile.from_protos(b""), main_kind="train")
    runs = CellRuns.of("train", [0, 9, 11], [9_000_000, 1_000_000, 1_000_000], {0: FIRST_RUN})
    budget = time_budget(replace(profile, cells=(CellTimes.of({"first": 9, "steps": 2}, runs=(runs,)),)))
    assert budget.step_seconds == 0.001
    assert {part for part, seconds in budget.step.items() if seconds} == {"idle"}


def test_each_task_has_a_budget_and_the_longest_stands_for_all() -> None:
    profile = replace(ran(OPS, STEP, STEP, step_names=["train", "train"]), main_kind="train")
    cells = (CellTimes.of({"steps": 3 * SECOND}, worker="a"), CellTimes.of({"steps": 5 * SECOND}, worker="b"))
    budget = time_budget(replace(profile, step_workers=("a", "b"), cells=cells))
    assert {task: each.cell_seconds for task, each in budget.tasks.items()} == {"a": 3.0, "b": 5.0}
    assert budget.cell_seconds == 5.0
    frame = budget.to_dataframe()
    assert frame.columns.tolist() == ["task", "of", "part", "seconds", "share"]
    assert len(frame) == 2 * (len(CELL_PARTS) + len(STEP_PARTS))
    of_cells = frame[frame["of"] == "cell"]
    assert of_cells.groupby("task")["seconds"].sum().to_dict() == {"a": 3.0, "b": 5.0}
    assert "\nb:\n  cell" in budget.text()


def test_each_task_of_a_session_has_its_part_of_a_step() -> None:
    """A step of 1 ms: a worker computes for 900 µs of it, by a clock that is 1 s late; a server updates for 200 µs."""
    late = 1_000_000
    run = run_of(Ran(WORKER0, "dense/MatMul", late + 1000, 900), Ran(PS0, "train/update_dense", 1800, 200))
    graph = GraphDef()
    graph.node.add(name="dense/MatMul", op="MatMul")
    graph.node.add(name="train/update_dense", op="ApplyGradientDescent")
    profile = replace(Profile.from_protos(graph, run), step_names=("train",), main_kind="train")
    runs = CellRuns.of("train", [0], [1000 * MICRO], usual_nanos=1000 * MICRO, step={0: 0})
    cell = CellTimes.of({"steps": SECOND}, entered=MICRO * 1000, runs=(runs,))
    tasks = time_budget(replace(profile, cells=(cell,))).tasks
    parts = {task: {part: each for part, each in micros(budget.step).items() if each} for task, budget in tasks.items()}
    assert parts == {WORKER0: {"forward": 900, "idle": 100}, PS0: {"update": 200, "idle": 800}}
    assert {budget.cell_seconds for budget in tasks.values()} == {1.0}


def test_the_text_has_what_takes_time_the_most_first() -> None:
    text = time_budget(stepped(start=[0], nanos=[9], usual_nanos=1050 * MICRO)).text()
    assert text.splitlines()[:3] == [
        "cell                    2 s",
        "  steps                      1 s   50.0 %",
        "  Python between steps       1 s   50.0 %",
    ]
    assert [line.strip().split("  ")[0] for line in text.splitlines()[4:7]] == ["forward", "backward", "nothing runs"]
