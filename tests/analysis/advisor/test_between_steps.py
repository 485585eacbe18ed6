"""What Python does while no step runs: waits for input, or starts ops one by one; and gaps that tracing makes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tests.made import cell_of
from tfprof_widget.analysis.advisor.input_wait import input_bound
from tfprof_widget.analysis.advisor.runner import OWN
from tfprof_widget.analysis.advisor.waiting import device_idle, eager_ops
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.cell import Doing, PythonTime

OPS = {"dense": "MatMul", "eager/MatMul": "MatMul", "eager/next": "IteratorGetNext", "next": "IteratorGetNext"}
FILE = "/home/me/train.py"


def took(seconds: float, doing: Doing, line: int = 7, function: str = "") -> PythonTime:
    return PythonTime(doing, seconds, FILE, line, function)


def captured(*between: PythonTime, outside: tuple[PythonTime, ...] = (), step_seconds: float = 0.0) -> Profile:
    """Of a cell of 10 s: a step of 1 ms, and 4 ms between steps in which an eager op runs for 1 ms."""
    step = on_cpu(("dense", 3000, 1000))
    eager = on_cpu(("eager/MatMul", 1000, 500), ("eager/next", 2000, 800), ("eager/MatMul", 5500, 500))
    profile = ran(OPS, step, eager, step_names=["train", "eager ops"])
    cell = cell_of(10.0, outside or between, between, step_seconds=step_seconds)
    return replace(profile, main_kind="train", cells=(cell,))


def test_python_that_waits_for_input() -> None:
    finding = only(input_bound(captured(took(4.0, "input"))))
    assert finding.cause == (
        "Python waits 4 s of the cell's 10 s (40 %) for the next batch, mostly at train.py:7. No step runs meanwhile."
    )
    assert not list(input_bound(captured(took(1.99, "input"))))


def test_an_eager_loop_that_waits_for_input_has_no_steps_to_be_between() -> None:
    assert (
        "waits 4 s of the cell's 10 s"
        in only(input_bound(captured(outside=(took(4.0, "input"), took(5.0, "ops"))))).cause
    )


def test_a_loop_whose_ops_run_one_by_one() -> None:
    """Of 4 ms between steps, the product takes 1 ms: of 8 s 2; what the fetching op takes is no work of ops."""
    profile = captured(outside=(took(6.0, "ops"), took(2.0, "python")))
    finding = only(eager_ops(profile))
    assert finding.cause == (
        "Ops run one by one for 6 s of the cell's 10 s (60 %), mostly in the loop at train.py:7. The ops themselves "
        "take about 2 s of that; Python, which starts each op, takes the rest."
    )
    assert finding.fix == (
        "Move the body of this loop into a function, decorated with @tf.function: TensorFlow then runs its ops as one "
        "graph. That saves at most the 4 s that Python takes."
    )
    assert shown(profile, finding) == ["MatMul", "IteratorGetNext"]


def test_a_function_whose_ops_run_one_by_one() -> None:
    finding = only(eager_ops(captured(outside=(took(6.0, "ops", function="train_step"),))))
    assert "mostly in the function train_step at train.py:7" in finding.cause
    assert finding.fix.startswith("Decorate this function with @tf.function")


def test_a_librarys_loop_whose_ops_run_one_by_one() -> None:
    finding = only(eager_ops(captured(outside=(replace(took(6.0, "ops", function="main"), by_library=True),))))
    assert "mostly in a loop of the library called at train.py:7." in finding.cause
    assert finding.fix.startswith("Call the library's function through tf.function")
    assert "jit_compile=True" in finding.fix


@pytest.mark.parametrize(
    "outside",
    [
        took(1.99, "ops"),  # a few eager ops beside graphs
        PythonTime("ops", 9.0),  # no loop repeats them
        took(9.0, "python"),
        took(9.0, "callback"),
    ],
)
def test_ops_that_no_loop_repeats_or_that_take_little(outside: PythonTime) -> None:
    assert not list(eager_ops(captured(outside=(outside,))))


def test_ops_that_work_most_of_the_time_gain_nothing_by_a_graph() -> None:
    """All but 10 us of 10 ms are ops."""
    runs = [on_cpu(("dense", 500, 100)), on_cpu(("eager/MatMul", 1000, 5000), ("eager/MatMul", 6010, 4990))]
    profile = ran(OPS, *runs, step_names=["train", "eager ops"])
    assert not list(eager_ops(replace(profile, cells=(cell_of(10.0, (took(9.9, "ops"),)),))))


def test_what_eager_ops_do_first_stands_for_the_time_until_then_only() -> None:
    """For 1 s of a cell of 10 s, when variables are made, ops take 10 % of what was recorded; later they take 90 %."""
    first = on_cpu(("eager/MatMul", 900_000, 5_000), ("eager/MatMul", 995_000, 5_000))
    later = on_cpu(("eager/MatMul", 4_900_000, 45_000), ("eager/MatMul", 4_955_000, 45_000))
    profile = ran(OPS, first, later, step_names=["eager ops", "eager ops"])
    finding = only(eager_ops(replace(profile, cells=(cell_of(10.0, (took(10.0, "ops"),)),))))
    assert "The ops themselves take about 8.20 s of that;" in finding.cause


def test_without_recorded_eager_ops_no_gain_is_known() -> None:
    profile = ran(OPS, on_cpu(("dense", 1000, 1000)), step_names=["train"])
    assert not list(eager_ops(replace(profile, cells=(cell_of(10.0, (took(9.9, "ops"),)),))))


def eager_step(eager: int, graph: int, micros: int = 20) -> Profile:
    """A step of so many eager ops and others, one every 100 us."""
    names = ["eager/MatMul"] * eager + ["dense"] * graph
    run = on_cpu(*((name, 1000 + 100 * place, micros) for place, name in enumerate(names)))
    return ran(OPS, run, step_names=["fit: train_step"])


def test_a_step_that_runs_eagerly() -> None:
    """19 times 80 us between 20 ops of 20 us; the untraced step of 1 ms leaves 0.6 ms for Python."""
    profile = eager_step(16, 4)
    finding = only(eager_ops(profile))
    assert finding.cause == (
        "A step runs its 16 ops one by one: Python takes 1.52 ms of a step's 1.92 ms (79 %) to start them."
    )
    assert finding.fix.startswith("Compile the model without run_eagerly=True")
    untraced = replace(
        profile, main_kind="fit: train_step", cells=(cell_of(0.002, step_seconds=0.001, kind="fit: train_step"),)
    )
    assert "takes 600 µs of a step's 1 ms (60 %)" in only(eager_ops(untraced)).cause


@pytest.mark.parametrize("profile", [eager_step(15, 5), eager_step(9, 0), eager_step(16, 4, micros=95)])
def test_a_few_eager_ops_are_part_of_a_graphs_step(profile: Profile) -> None:
    """Three quarters of the ops, nine ops, and ops that leave 5 % to Python."""
    assert not list(eager_ops(profile))


def test_eager_ops_and_a_lone_warm_up_are_no_steps() -> None:
    """The recorded ConvLSTM program: 81 % of its one step, in which functions were built, nothing ran."""
    idle = on_cpu(("next", 1000, 10), ("dense", 90_000, 1000))
    for name in ("eager ops", "fit (warm-up)"):
        profile = ran(OPS, idle, step_names=[name])
        assert [checker for checker, check in OWN.items() if list(check(profile))] == []
    assert list(device_idle(ran(OPS, idle, step_names=["fit"])))


THREE_OF_FIVE = "Nothing runs on the host for 3 ms of a step's 5 ms (60 %)"
EIGHT_OF_TEN = "Nothing runs on the host for 8 ms of a step's 10 ms (80 %)"


def test_gaps_that_tracing_made_are_not_told() -> None:
    """Ops take 2 ms of a traced step of 10 ms; without tracing the step takes 2.2 ms, of which 0.2 can be idle."""
    traced = ran(OPS, on_cpu(("dense", 1000, 1000), ("dense", 10_000, 1000)), step_names=["train"])
    assert EIGHT_OF_TEN in only(device_idle(traced)).cause
    for untraced, told in ((0.0022, ""), (0.005, THREE_OF_FIVE), (0.010, EIGHT_OF_TEN)):
        profile = replace(traced, main_kind="train", cells=(cell_of(0.02, step_seconds=untraced),))
        assert [finding.cause[: len(told)] for finding in device_idle(profile) if told] == ([told] if told else [])
        assert bool(list(device_idle(profile))) == bool(told)


def test_gaps_that_are_short_without_tracing_are_not_told() -> None:
    """A gap of 4.8 ms in a traced step of 5 is one of 0.96 ms in an untraced step of 1: threads take that to wake."""
    traced = ran(OPS, on_cpu(("dense", 1000, 100), ("dense", 5900, 100)), step_names=["train"])
    assert list(device_idle(traced))
    assert not list(device_idle(replace(traced, main_kind="train", cells=(cell_of(0.002, step_seconds=0.001),))))


def test_gaps_that_are_longer_than_a_whole_step_are_not_of_most_steps() -> None:
    """Nine steps of 300 us, and one in which the traced run was held up for 20 ms between two ops."""
    short = on_cpu(("next", 1000, 50), ("dense", 1100, 200))
    held_up = on_cpu(("next", 1000, 50), ("dense", 21_100, 200))
    traced = ran(OPS, *[short] * 9, held_up, step_names=["train"] * 10)
    assert list(device_idle(traced))
    assert not list(device_idle(replace(traced, main_kind="train", cells=(cell_of(0.0006, step_seconds=0.0003),))))


def test_a_gap_beside_eager_ops_is_that_of_the_calls() -> None:
    """Keras' own loop: a step of 3 ms ends in `optional`, and the next begins with an eager op."""
    ops = {"dense": "MatMul", "optional": "OptionalFromValue", "eager/OptionalHasValue": "OptionalHasValue"}
    run = on_cpu(("dense", 1000, 1000), ("optional", 2000, 10), ("eager/OptionalHasValue", 4000, 10))
    assert "compile(steps_per_execution=...)" in only(device_idle(ran(ops, run, step_names=["fit: train_step"]))).fix
    inside = on_cpu(("dense", 1000, 1000), ("optional", 4000, 10))
    assert "and locks" in only(device_idle(ran(ops, inside, step_names=["fit: train_step"]))).fix


@pytest.mark.parametrize("stage", ["Generator", "PyFunc", "GeneratorDataset", "EagerPyFunc"])
def test_input_that_python_makes_has_another_fix(stage: str) -> None:
    ops = {"next": "IteratorGetNext", "dense": "MatMul", "tf.data/Root": "Prefetch", "tf.data/made": stage}
    run = on_cpu(("next", 1000, 500), ("dense", 1500, 500), ("tf.data/Root", 1000, 10), ("tf.data/made", 1100, 10))
    finding = only(input_bound(ran(ops, run)))
    assert "workers=4" in finding.fix
    assert ".map()" not in finding.fix


def test_input_that_tf_data_makes_keeps_its_fix() -> None:
    ops = {"next": "IteratorGetNext", "dense": "MatMul", "tf.data/Root": "Prefetch", "tf.data/made": "MapDataset"}
    run = on_cpu(("next", 1000, 500), ("dense", 1500, 500), ("tf.data/Root", 1000, 10), ("tf.data/made", 1100, 10))
    finding = only(input_bound(ran(ops, run)))
    assert "num_parallel_calls" in finding.fix
    assert "workers" not in finding.fix
