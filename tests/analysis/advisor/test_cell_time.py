"""What takes the time of a cell beside its steps, on cells worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.advisor.findings import on_cpu, only, ran
from tfprof_widget.analysis.advisor.cell_time import python_between, retracing
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.profiles.cell import (
    CELL_PARTS,
    FIRST_RUN,
    SAVING,
    VALIDATION,
    CellRuns,
    CellTimes,
    CodeLine,
    Doing,
    FitPhase,
    PhaseStretches,
    PythonLooks,
    PythonTime,
)
from tfprof_widget.profiles.tables import Lists

FILE = "/home/me/train.py"
KERAS = CodeLine("/lib/site-packages/keras/src/callbacks/model_checkpoint.py", 99, "on_epoch_end")
SLOW = CodeLine(FILE, 20, "on_train_batch_end")
SECOND = 10**9


def captured(*between: PythonTime, **others: object) -> Profile:
    """Of a cell of 10 s with steps named `train`."""
    cell = CellTimes.of({"steps": 10 * SECOND}, outside=between, between=between, **others)
    return replace(ran({"dense": "MatMul"}, on_cpu(("dense", 1000, 10)), step_names=["train"]), cells=(cell,))


def took(seconds: float, doing: Doing, line: int = 7) -> PythonTime:
    return PythonTime(doing, seconds, FILE, line)


def phase(name: str, seconds: float, times: int = 5, line: CodeLine | None = None) -> FitPhase:
    return FitPhase(name, round(seconds * SECOND), times, line)


def looked(part: str, *stacks: tuple[CodeLine, ...]) -> PythonLooks:
    """A look of 1 s at each of some stacks."""
    lines = tuple(dict.fromkeys(line for stack in stacks for line in stack))
    number: Integers = np.arange(len(stacks), dtype=np.int64)
    return PythonLooks(
        lines,
        Lists.of([[lines.index(line) for line in stack] for stack in stacks]),
        number,
        np.full(len(stacks), SECOND, np.int64),
        number.astype(np.int32),
        np.full(len(stacks), CELL_PARTS.index(part), np.int8),
        np.zeros(len(stacks), np.int32),
    )


@pytest.mark.parametrize(
    ("doing", "what", "fix"),
    [
        ("python", "Python runs between one step and the next, mostly at train.py:7.", "Do less there: make"),
        ("calls", "Python runs the library's own loop or calls, mostly at train.py:7.", "Give each call more"),
        ("freed", "when the loop at train.py:7 ends, TensorFlow frees the iterator of its dataset", "Loop once over"),
    ],
)
def test_python_between_steps(doing: Doing, what: str, fix: str) -> None:
    finding = only(python_between(captured(took(7.6, doing))))
    assert finding.cause.startswith(f"No step runs for 7.60 s of the cell's 10 s (76 %): {what}")
    assert finding.fix.startswith(fix)


def test_each_thing_that_takes_time_is_told() -> None:
    found = list(python_between(captured(took(1.0, "python", 3), took(4.0, "calls", 9), took(3.0, "freed"))))
    assert [str(each).partition(" of the cell's 10 s")[0] for each in found] == [
        "No step runs for 1 s",
        "No step runs for 4 s",
        "No step runs for 3 s",
    ]


@pytest.mark.parametrize(
    "between",
    [
        [],
        [took(0.29, "python")],
        [took(3.3, "calls")],  # Keras' own loop takes time of any cell with short steps
        [took(9.0, "input")],
        [took(9.0, "ops")],
        [took(9.0, "callback")],  # the phases tell of each callback
    ],
)
def test_little_python_or_something_else(between: list[PythonTime]) -> None:
    assert not list(python_between(captured(*between)))


@pytest.mark.parametrize(
    ("seconds", "look_millis", "is_told"),
    [
        (0.40, [1], True),  # 400 looks, and a standard error of 20 of them: 0.36 s at least
        (0.40, [20], False),  # 20 looks, and 4.5: 0.22 s
        (0.60, [20], True),  # 30 looks, and 5.5: 0.38 s
        (0.60, [1, 1, 1, 1000], True),  # by chance more is seen of what is short, not of what is long
    ],
)
def test_what_chance_may_have_added_is_not_said(seconds: float, look_millis: list[int], *, is_told: bool) -> None:
    """From 3 % of the 10 s of the cell on."""
    looks = looked("python", *[(SLOW,)] * len(look_millis))
    looks = replace(looks, nanos=np.array(look_millis, np.int64) * 10**6)
    assert bool(list(python_between(captured(took(seconds, "python"), looks=looks)))) == is_told


def test_a_callback_with_the_line_that_takes_its_time() -> None:
    begin = CodeLine(FILE, 30, "<module>")
    defined = CodeLine(FILE, 18, "on_train_batch_end")
    looks = looked("python", (begin,), (begin, SLOW), (begin, SLOW))
    profile = captured(phases=(phase("Watcher.on_train_batch_end", 2.0, line=defined),), looks=looks)
    finding = only(python_between(profile))
    assert finding.cause == (
        "The callback Watcher takes 2 s of the cell's 10 s (20 %) in on_train_batch_end, mostly at train.py:20. No "
        "step runs meanwhile."
    )
    assert finding.fix.startswith("Let the callback do less")


def test_a_callback_that_nobody_looked_at_and_one_of_keras() -> None:
    defined = CodeLine(FILE, 18, "on_epoch_end")
    assert "mostly at train.py:18" in only(python_between(captured(phases=(phase("A.b", 0.3, line=defined),)))).cause
    assert "mostly" not in only(python_between(captured(phases=(phase("ModelCheckpoint.b", 5, line=KERAS),)))).cause
    assert not list(python_between(captured(phases=(phase("A.b", 0.29, line=defined),))))


def test_the_costliest_callbacks_first() -> None:
    phases = tuple(phase(f"{name}.on_epoch_end", seconds) for name, seconds in zip("ABCD", (1, 3, 2, 4), strict=True))
    found = list(python_between(captured(phases=phases)))
    assert [str(each).split()[2] for each in found] == ["D", "B", "C"]


def test_saving_and_validation() -> None:
    phases = (phase(SAVING, 0.5, times=3), phase(VALIDATION, 2.0, times=1), phase("next batch", 9), phase("step", 9))
    saving, validation = python_between(captured(took(0.7, "python"), phases=phases))
    assert str(saving).startswith("Saving takes 500 ms of the cell's 10 s (5 %); it runs 3 times.")
    assert "save_freq" in str(saving)
    assert str(validation).startswith("Validation takes 2 s of the cell's 10 s (20 %); it runs once.")
    assert "validation_freq" in str(validation)


def test_the_first_run_of_a_validation_is_needed_however_seldom_it_runs() -> None:
    """Of 4 s of validation, building and running the function for the first time took 1.5 s; then of 3 s, 1.5 s."""
    phases = (phase("step", 6), phase(VALIDATION, 4.0, times=2))
    stretches = PhaseStretches.of([0, 1, 1], [0, 6 * SECOND, 9 * SECOND], [6 * SECOND, 3 * SECOND, SECOND])
    first = replace(runs([1.5, 0.5], {}), start=np.array([6 * SECOND, 9 * SECOND]), kind="evaluate: test_step")
    cell = captured(phases=phases, stretches=stretches, runs=(runs([3.0], {}), first))
    said = "Validation takes 2.50 s of the cell's 10 s (25 %), without 1.50 s of first runs; it runs 2 times."
    assert only(python_between(cell)).cause == said
    shorter = replace(cell.cells[0], phases=(phases[0], phase(VALIDATION, 3.0)))
    assert not list(python_between(replace(cell, cells=(shorter,))))


def test_any_fit_validates() -> None:
    assert not list(python_between(captured(phases=(phase(SAVING, 0.29), phase(VALIDATION, 1.9)))))


def runs(took: list[float], built: dict[int, float]) -> CellRuns:
    """Runs of `train` that took so many seconds; some of them built the function for so long."""
    nanos = [round(each * SECOND) for each in took]
    building = {place: round(each * SECOND) for place, each in built.items()}
    first = dict.fromkeys({0, *built}, FIRST_RUN)
    return CellRuns.of("train", [*range(len(nanos))], nanos, first, building=building)


def test_a_function_that_is_built_again() -> None:
    """The first of three times is needed: 0.4 s and 0.6 s remain."""
    begin, calls = CodeLine(FILE, 30, "<module>"), CodeLine(FILE, 7, "main")
    library = CodeLine("/lib/site-packages/tensorflow/python/eager/polymorphic_function/x.py", 1, "call")
    looks = looked("tracing", (begin, calls, library, SLOW), (begin, calls, library))
    profile = captured(runs=(runs([2, 0.4, 0.1, 0.6], {0: 1.9, 1: 0.3, 3: 0.5}),), looks=looks)
    finding = only(retracing(profile))
    assert finding.cause == (
        "train was built 3 times in 4 calls: rebuilding it took 1 s of the cell's 10 s (10 %), mostly at train.py:7."
    )
    assert finding.fix.startswith("Give tensors instead of Python numbers")


def test_a_function_that_is_built_again_in_a_moment_or_twice() -> None:
    assert not list(retracing(captured(runs=(runs([2, 0.1, 0.1, 0.19], {0: 1.9, 1: 0.1, 3: 0.1}),))))
    assert not list(retracing(captured(runs=(runs([2, 1, 1], {0: 1.9, 1: 0.9}),))))


def test_a_first_step_that_is_half_of_the_cell() -> None:
    profile = replace(captured(runs=(runs([5, 1, 1, 2], {0: 4}),)), main_kind="train")
    finding = only(retracing(profile))
    assert finding.cause == (
        "The first step of train takes 5 s of the cell's 10 s (50 %); building its function takes 4 s of that. A later "
        "step takes 1 s."
    )
    assert finding.is_needed
    assert not list(retracing(replace(profile, main_kind="other")))
    assert not list(retracing(replace(captured(runs=(runs([4.9, 1], {}),)), main_kind="train")))


def test_a_single_step_is_compared_with_none() -> None:
    profile = replace(captured(runs=(runs([6], {}),)), main_kind="train")
    assert only(retracing(profile)).cause == "The first step of train takes 6 s of the cell's 10 s (60 %)."


def test_without_a_cell_nothing_is_known() -> None:
    profile = ran({"dense": "MatMul"}, on_cpu(("dense", 1000, 10)))
    assert not [*python_between(profile), *retracing(profile)]
