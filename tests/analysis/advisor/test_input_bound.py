"""Steps that wait for their input, on profiles worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.input_wait import input_bound
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.cell import TRACED, CellRuns, CellTimes, CodeLine
from tfprof_widget.profiles.program import PipelineStage, StageSettings

OPS = {"next": "IteratorGetNext", "dense": "MatMul"}


def test_a_step_that_waits_for_a_fifth_of_its_time() -> None:
    """The next batch is there after 200 us, and 800 us of work follow."""
    profile = ran(OPS, on_cpu(("next", 1000, 200), ("dense", 1200, 800)))
    finding = only(input_bound(profile))
    assert finding.cause == "A step waits 200 µs of its 1 ms (20 %) for the next batch."
    assert shown(profile, finding) == ["next"]


def test_a_step_that_waits_for_less() -> None:
    assert not list(input_bound(ran(OPS, on_cpu(("next", 1000, 199), ("dense", 1199, 801)))))


def test_what_is_little_of_the_cell_is_not_said() -> None:
    """Steps wait for a fifth of their time, and take 15 % of the cell, or 14 %."""
    profile = ran(OPS, on_cpu(("next", 1000, 200), ("dense", 1200, 800)))
    for steps, findings in ((15, 1), (14, 0)):
        cell = CellTimes.of({"steps": steps, "first": 100 - steps})
        assert len(list(input_bound(replace(profile, cells=(cell,))))) == findings


def test_the_wait_is_that_of_the_account_beside_it() -> None:
    """Of 1 ms, traced, 600 us are waited: of 500 us without tracing 300. That is what the bars of the overview say."""
    profile = ran(OPS, on_cpu(("next", 1000, 600), ("dense", 1600, 400)), step_names=["fit"])
    runs = CellRuns.of("fit", [0, 1_000_000], [500_000, 1_000_000], {1: TRACED}, {1: 0}, usual_nanos=500_000)
    captured = replace(profile, cells=(CellTimes.of({"steps": 2_000_000}, runs=(runs,)),), main_kind="fit")
    finding = only(input_bound(captured))
    assert finding.cause == "A step waits 300 µs of its 500 µs (60 %) for the next batch."
    budget = captured.time_budget()
    assert finding.of_step == pytest.approx(budget.step["input"] / budget.step_seconds) == pytest.approx(0.6)


def test_fetching_while_something_else_runs_is_no_wait() -> None:
    assert not list(input_bound(ran(OPS, on_cpu(("next", 1000, 900), ("dense", 1000, 1000)))))


def test_queues_are_input_too() -> None:
    profile = ran({"deq": "QueueDequeueManyV2", "dense": "MatMul"}, on_cpu(("deq", 1000, 500), ("dense", 1500, 500)))
    assert "500 µs of its 1 ms (50 %)" in only(input_bound(profile)).cause


def test_iterators_that_run_inside_of_the_fetching_op_are_part_of_the_wait() -> None:
    """As TensorFlow 2 records it: the op itself takes a moment, and what it waits for is an event within."""
    ops = {**OPS, "tf.data/Root/Prefetch": "Prefetch"}
    profile = ran(ops, on_cpu(("next", 1000, 10), ("tf.data/Root/Prefetch", 1010, 290), ("dense", 1300, 700)))
    assert "300 µs of its 1 ms (30 %)" in only(input_bound(profile)).cause


def test_what_tf_data_does_before_and_after_a_step_is_none_of_it() -> None:
    ops = {**OPS, "tf.data/Root/Prefetch": "Prefetch"}
    data = "tf.data/Root/Prefetch"
    assert not list(
        input_bound(ran(ops, on_cpu((data, 100, 900), ("next", 1000, 10), ("dense", 1010, 990), (data, 2000, 5000))))
    )


def test_steps_are_looked_at_together() -> None:
    """Of 2 ms in two steps 300 us are waited: 15 %."""
    waits = on_cpu(("next", 1000, 300), ("dense", 1300, 700))
    works = on_cpu(("dense", 5000, 1000))
    assert not list(input_bound(ran(OPS, waits, works)))
    assert len(list(input_bound(ran(OPS, waits, on_cpu(("dense", 5000, 500)))))) == 1


def test_a_warm_up_does_not_count() -> None:
    """The first step waits long until the pipeline is filled."""
    first = on_cpu(("next", 1000, 9000), ("dense", 10_000, 1000))
    profile = ran(OPS, first, on_cpu(("dense", 20_000, 1000)), step_names=["fit (warm-up)", "fit"])
    assert not list(input_bound(profile))
    profile = ran(OPS, on_cpu(("dense", 1000, 9000)), on_cpu(("next", 20_000, 1000)), step_names=["a (warm-up)", "a"])
    assert only(input_bound(profile)).evidence.options == {"run_name_regexes": ["a"]}


MAP = PipelineStage(
    "Map(slow)",
    "tf.data/Root/Prefetch/Map",
    CodeLine("/home/me/train.py", 7, "slow"),
    seconds=0.0006,
    elements=1.0,
    settings=StageSettings("tf.data/Root/Prefetch/Map"),
    used=1.0,
    share=0.6,
    is_bottleneck=True,
)


def fed(stage: PipelineStage, waited: int, steps: float = 10.0) -> Profile:
    """Steps of 1 ms, of which some of the microseconds are waited, in a cell of 10 s."""
    ops = {**OPS, stage.node: "Map"}
    profile = ran(ops, on_cpu(("next", 1000, waited), ("dense", 1000 + waited, 1000 - waited)), step_names=["train"])
    cell = CellTimes.of({"steps": round(steps * 1e9), "python": round((10 - steps) * 1e9)})
    return replace(profile, main_kind="train", cells=(cell,), pipeline_stages=(stage,))


def test_the_stage_that_holds_steps_up() -> None:
    finding = only(input_bound(fed(MAP, 30)))
    assert finding.cause == (
        "Steps wait 300 ms of the cell's 10 s (3 %) for their next batch. The slowest stage of the input is Map(slow), "
        "train.py:7: it takes 600 µs a batch."
    )
    assert finding.fix.startswith("Give this stage num_parallel_calls=tf.data.AUTOTUNE")
    assert not list(input_bound(fed(MAP, 29)))
    assert not list(input_bound(fed(MAP, 50, steps=5.9)))


@pytest.mark.parametrize(
    ("stage", "fix"),
    [
        (replace(MAP, stage="Generator(made)"), "Do less Python for each batch"),
        (replace(MAP, stage="ParallelMap(slow, py_function)", used=4.0), "Do less Python for each batch"),
        (replace(MAP, stage="ParallelMap(slow)", used=4.0), "Let the function of this stage do less"),
        (replace(MAP, stage="Shuffle"), "Let tf.data make batches ahead"),
    ],
)
def test_what_is_done_about_a_stage(stage: PipelineStage, fix: str) -> None:
    assert only(input_bound(fed(stage, 500))).fix.startswith(fix)


def test_several_calls_at_once_take_less_by_the_clock() -> None:
    assert (
        "600 µs a batch on all its threads, 150 µs by the clock."
        in only(input_bound(fed(replace(MAP, used=4.0), 500))).cause
    )


def test_a_long_wait_is_told_though_its_batches_were_made_between_recorded_steps() -> None:
    """Of the stages little was recorded then; to wake threads takes less than the 40 of 100 ms that a step waits."""
    ops = {**OPS, MAP.node: "Map"}
    profile = ran(ops, on_cpu(("next", 1000, 40_000), ("dense", 41_000, 60_000)), step_names=["train"])
    stage = replace(MAP, share=0.1, is_bottleneck=False)
    cell = CellTimes.of({"steps": 10 * 10**9})
    told = replace(profile, main_kind="train", cells=(cell,), pipeline_stages=(stage,))
    assert only(input_bound(told)).cause == (
        "A step waits 40 ms of its 100 ms (40 %) for the next batch. "
        "The slowest stage of the input is Map(slow), train.py:7 (few batches were recorded)."
    )


def test_stages_that_work_for_a_moment_hold_nothing_up() -> None:
    """A short step waits for threads to be woken."""
    assert not list(input_bound(fed(replace(MAP, share=0.24, is_bottleneck=False), 500)))
    few = only(input_bound(fed(replace(MAP, share=0.25, is_bottleneck=False), 500))).cause
    assert "500 µs of its 1 ms" in few
    assert few.endswith("The slowest stage of the input is Map(slow), train.py:7 (few batches were recorded).")
