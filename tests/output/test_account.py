"""The tables of a captured cell: lines of Python, phases of Keras' loops, and all its steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tfprof_widget as tfprof
from tests.analysis.advisor.findings import on_cpu, ran
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.cell import (
    BETWEEN,
    CELL_PARTS,
    FIRST_RUN,
    RAISED,
    STEP,
    STEP_PARTS,
    TRACED,
    CellRuns,
    CellTimes,
    CodeLine,
    FitPhase,
    PhaseStretches,
    PythonLooks,
)
from tfprof_widget.profiles.tables import Lists

SECOND = 10**9
MINE = CodeLine("/home/me/train.py", 7, "main", "time.sleep(1)")
CALLS = CodeLine("/home/me/train.py", 9, "main", "model.fit(x, y)")
LIBRARY = CodeLine("/venv/lib/python3.11/site-packages/keras/src/trainer.py", 300, "fit")


def looked() -> PythonLooks:
    """Four looks of 1 s: two at a line of the user's, one at what Keras does for another, one while a batch is got."""
    lines = (MINE, CALLS, LIBRARY)
    parts = ("python", "python", "python", "input")
    return PythonLooks(
        lines,
        Lists.of([[0], [1, 2]]),
        np.arange(4, dtype=np.int64) * SECOND,
        np.full(4, SECOND, np.int64),
        np.array([0, 1, 0, 1], np.int32),
        np.array([CELL_PARTS.index(part) for part in parts], np.int8),
        np.full(4, ABSENT, np.int32),
    )


def captured(*phases: FitPhase) -> Profile:
    """A cell of 10 s: a first step of 3 s, one of 2 ms of which ops were recorded, one of 1 s that raised."""
    profile = ran({"dense/MatMul": "MatMul"}, on_cpu(("dense/MatMul", 1000, 1500)), step_names=["train"])
    marks = {0: FIRST_RUN, 1: TRACED, 2: RAISED}
    runs = CellRuns.of("train", [0, 4 * SECOND, 5 * SECOND], [3 * SECOND, 2_000_000, SECOND], marks, {1: 0})
    parts = {"first": 3 * SECOND, "steps": SECOND + 2_000_000, "python": 5 * SECOND, "input": SECOND - 2_000_000}
    cell = CellTimes.of(parts, runs=(runs,), phases=phases, looks=looked())
    return replace(profile, main_kind="train", cells=(cell,), step_workers=("elsewhere",))


def test_what_libraries_do_counts_for_the_users_line() -> None:
    frame = captured().python_lines()
    assert frame.columns.tolist() == ["file", "line", "function", "source", "seconds", "share", "samples"]
    assert frame.values.tolist() == [
        [MINE.file, 7, "main", "time.sleep(1)", 2.0, 0.2, 2],
        [CALLS.file, 9, "main", "model.fit(x, y)", 1.0, 0.1, 1],
    ]


def test_phases_with_the_line_of_a_callback() -> None:
    watcher = FitPhase("Watcher.on_epoch_end", 4 * SECOND, 2, MINE)
    frame = captured(FitPhase(STEP, 3 * SECOND, 40), watcher, FitPhase(BETWEEN, SECOND, 1)).phases()
    assert frame.columns.tolist() == ["phase", "seconds", "share", "times", "line"]
    assert frame.values.tolist() == [
        ["step", 3.0, 0.3, 40, ""],
        ["Watcher.on_epoch_end", 4.0, 0.4, 2, "train.py:7"],
        ["between", 1.0, 0.1, 1, ""],
    ]


def test_every_run_is_a_step_and_recorded_ones_have_parts() -> None:
    """The ops of the second run took 1.5 ms of its 2 ms: the rest is one gap, as its clock is another one's."""
    frame = captured().step_times()
    assert frame.columns.tolist() == ["step", "start", "seconds", "traced", "first", *STEP_PARTS]
    assert frame[["step", "start", "seconds", "traced", "first"]].values.tolist() == [
        [0, 0.0, 3.0, False, True],
        [1, 4.0, 0.002, True, False],
        [2, 5.0, 1.0, False, False],
    ]
    assert frame.loc[[0, 2], list(STEP_PARTS)].isna().all(axis=None)
    parts = frame.loc[1, list(STEP_PARTS)]
    assert parts["forward"] == pytest.approx(0.0015)
    assert parts["idle"] == pytest.approx(0.0005)
    assert parts.sum() == pytest.approx(0.002)


def test_stacks_and_phases_of_a_saved_profile_are_those_of_the_cell(tmp_path: Path) -> None:
    profile = captured(FitPhase(STEP, 3 * SECOND, 2), FitPhase(BETWEEN, SECOND, 1))
    stretches = PhaseStretches.of([0, 1, 0], [0, 1, 2], [1, 1, 2])
    profile = replace(profile, cells=tuple(replace(cell, stretches=stretches) for cell in profile.cells))
    profile.save(tmp_path / "saved")
    (cell,), (told,) = tfprof.load(tmp_path / "saved").cells, profile.cells
    assert [cell.looks.stack_lines(each) for each in cell.looks.stack.tolist()] == [
        told.looks.stack_lines(each) for each in told.looks.stack.tolist()
    ]
    for name in ("at", "nanos", "part"):
        assert getattr(cell.looks, name).tolist() == getattr(told.looks, name).tolist()
    for name in ("phase", "start", "nanos"):
        assert getattr(cell.stretches, name).tolist() == getattr(stretches, name).tolist()


@pytest.mark.parametrize("method", ["python_lines", "phases", "step_times"])
def test_without_a_cell_it_is_said_what_has_one(method: str) -> None:
    with pytest.raises(tfprof.ProfileError, match="no cell was captured"):
        getattr(demo_profile(), method)()
