"""What of a capture is shown first: the kind of steps that does most of the work, with its share of the cell."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compat import v1

import tfprof_widget as tfprof
from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.tallies import Choice, KindTally
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.cell import FIRST_RUN, RAISED, TRACED, CellRuns
from tfprof_widget.profiles.data import EAGER, EARLY, FIRST_PART, PARTIAL, SHORTER, WARM_UP


def kind(name: str, seen: int, seconds: float, *, traced: int = 1) -> KindOfRun:
    return KindOfRun(name, seen, traced, seconds, 0.0, 0.0, untraced=seen - traced, warm_ups=0)


def captured(sketch: str, names: tuple[str, ...], kinds: tuple[KindOfRun, ...], wall: float = 10.0) -> Capture:
    tables = profile_of(sketch).having(step_names=names)
    return Capture.of(Recording((GraphRecording(tables, kinds),), wall, 0.0, 0, ()), "cell")


def test_a_thread_that_waits_for_room_in_a_queue_does_no_work() -> None:
    """The enqueue of a queue runner blocks for as long as the cell trains: it took most of the clock, and no work."""
    capture = captured(
        "q = QueueEnqueueManyV2() 9000000us;-\nc = Cast() 1us;-\nm = MatMul() -;10000us",
        ("enqueue", "train"),
        (kind("enqueue", 100, 9.0), kind("train", 60, 0.7)),
    )
    assert capture.profile.main_kind == "train"
    assert "shown train, 7 % of the cell · " in capture.measurement.sentence()
    assert capture.view().options.run_name_regexes == ("train",)


def test_no_note_tells_to_trace_a_thread_that_waits() -> None:
    """An enqueue that ends in an exception, as it does with the cell, leaves no trace, and took no time of the cell."""
    tables = profile_of("m = MatMul() 10000us").having(step_names=("train",))
    kinds = (kind("enqueue", 1, 9.0, traced=0), kind("train", 60, 0.7))
    recorded = Recording((GraphRecording(tables, kinds),), 10.0, 0.0, 0, ())
    assert "enqueue took" in "".join(Capture.of(recorded).measurement.warnings)
    of_cell = replace(recorded, runs=(CellRuns.of("train", [0], [7 * 10**8]),))
    assert "enqueue took" not in "".join(Capture.of(of_cell).measurement.warnings)


def test_eager_work_competes_with_functions() -> None:
    """A second of 20 eager ops was recorded, and the cell had nine of them, beside six calls of 10 ms or 6,000."""
    eager = KindOfRun(EAGER, 1, 1, 8.0, 1.0, 0.0, untraced=0, warm_ups=0)
    sketch, names = f"e = Conv2D() {'+'.join(['50000us'] * 20)};-\np = MatMul() -;10000us", (EAGER, "predict")
    few = captured(sketch, names, (eager, kind("predict", 6, 0.1)))
    assert few.profile.main_kind == EAGER
    assert "shown eager ops, 99 % of the cell" in few.text()
    assert captured(sketch, names, (eager, kind("predict", 6000, 60.0)), wall=70.0).profile.main_kind == "predict"


@pytest.mark.parametrize(
    ("eager", "shown"),
    [(["9ns"] * 20, "fit"), (["600us"] * 20, EAGER), (["600us"] * 4, "fit"), (["400us"] * 20, "fit")],
)
def test_eager_ops_that_set_up_or_make_inputs_are_not_shown_first(eager: list[str], shown: str) -> None:
    """Five steps of an op of 1 ms: eager ops are shown if they take twice as much, at least 10 ms, and are more."""
    capture = captured(
        f"e = Fill() {'+'.join(eager)};-\nm = MatMul() -;1000us",
        (EAGER, "fit"),
        (KindOfRun(EAGER, 1, 1, 0.0, _seconds(eager), 0.0, untraced=0, warm_ups=0), kind("fit", 5, 0.005)),
    )
    assert capture.profile.main_kind == shown


def test_eager_ops_are_named_where_nothing_else_ran() -> None:
    """Else the head reads as if a run had been traced."""
    eager = KindOfRun(EAGER, 1, 1, 8.0, 1.0, 0.0, untraced=0, warm_ups=0)
    alone = captured(f"e = Conv2D() {'+'.join(['50000us'] * 20)}", (EAGER,), (eager,))
    assert "shown eager ops, 100 % of the cell" in alone.text()


def test_a_step_that_ended_in_an_exception_is_not_time_of_eager_ops() -> None:
    """Of 10 s, the only step took 9.5 s, and was interrupted."""
    eager = KindOfRun(EAGER, 1, 1, 0.0, 0.02, 0.0, untraced=0, warm_ups=0)
    tables = profile_of("e = Conv2D() 20000us").having(step_names=(EAGER,))
    raised = CellRuns.of("fit: train_step", [0], [9_500_000_000], {0: FIRST_RUN + RAISED})
    graph = GraphRecording(tables, (eager, kind("fit: train_step", 0, 0.0, traced=0)))
    interrupted = Capture.of(Recording((graph,), 10.0, 0.0, 0, (), runs=(raised,)), "cell")
    assert "shown eager ops, 5 % of the cell" in interrupted.text()


def _seconds(executions: list[str]) -> float:
    return sum(int(each[:-2]) * (1e-6 if each.endswith("us") else 1e-9) for each in executions)


def test_kinds_count_as_often_as_they_ran() -> None:
    """600 runs of 0.1 ms do more than 3 of 5 ms; one execution of each was recorded."""
    capture = captured(
        "t = MatMul() 100us;-\ne = Conv2D() -;5000us",
        ("train", "evaluate"),
        (kind("train", 600, 0.07), kind("evaluate", 3, 0.02)),
    )
    assert capture.profile.main_kind == "train"
    told = [str(each) for each in capture.advice().reports["ExpensiveOperationChecker"]]
    assert [each for each in told if each.startswith("top 1 operation type: MatMul, ") and "(100.00%)" in each]
    assert not [each for each in told if each.startswith("top") and "Conv2D" in each and "0ns (0.00%)" not in each]


@pytest.mark.parametrize(("seconds", "told"), [(2.1, True), (1.9, False)])
def test_a_kind_that_took_more_than_a_fifth_of_the_cell_unrecorded_is_named(seconds: float, told: bool) -> None:
    capture = captured("a = MatMul() 1000us", ("f",), (kind("f", 5, 0.005), kind("g", 1, seconds, traced=0)))
    notes = [each for each in capture.measurement.warnings if each.startswith("g took 21 % of the cell, and no run")]
    assert bool(notes) == told


@pytest.mark.parametrize(("untraced", "seconds", "told"), [(4, 2.1, True), (0, 2.1, False), (4, 1.9, False)])
def test_a_kind_of_which_only_the_first_run_was_recorded_is_named(untraced: int, seconds: float, told: bool) -> None:
    """It is not if there was no other run, or if it took less than a fifth of the cell."""
    runs = KindOfRun("g", 1 + untraced, 1, seconds if untraced else 0.0, 0.0, 0.0 if untraced else seconds, untraced)
    capture = captured("a = MatMul() 1000us", ("f",), (kind("f", 5, 0.005), runs))
    notes = [each for each in capture.measurement.warnings if each.startswith("g took 21 % of the cell, and of its 5")]
    assert bool(notes) == told


@pytest.mark.parametrize(
    ("micros", "count", "why"), [(15, 6000, "tracing slows small ops"), (30000, 3, "ops took longer")]
)
def test_tracing_is_told_to_slow_small_ops_and_no_large_ones(micros: int, count: int, why: str) -> None:
    """The traced run took 120 ms, others 80: 7 us an op more, or 13 ms."""
    capture = captured(
        f"a = MatMul() {'+'.join([f'{micros}us'] * count)}",
        ("f",),
        (KindOfRun("f", 9, 1, 8 * 0.08, 0.12, 0.0, untraced=8, warm_ups=0),),
    )
    (note,) = capture.measurement.warnings
    assert note.partition(": ")[2].startswith(why)


def tally_of(seconds: Sequence[float], *traced: int) -> KindTally:
    """The tally of runs of which some are traced, given by their numbers; the first is a warm-up."""
    tally = KindTally("train")
    for number, each in enumerate(seconds):
        tally.add(Choice(number, traced=number in traced), each)
        tally.log.add(float(number), each)
        tally.log.mark(FIRST_RUN * (not number) + TRACED * (number in traced))
    return tally


def test_early_steps_stand_for_a_kind_only_until_later_ones_do() -> None:
    tally = tally_of([5.0, 0.2, 0.08, 0.08, 0.08, 0.09], 1, 4)
    tally.traced_steps[1] = 0.2
    tally.early_steps.add(1)
    assert tally.marked_steps() == {}
    assert tally.runs().traced_run_seconds == pytest.approx(0.14)
    tally.traced_steps[4] = 0.08
    assert tally.marked_steps() == {1: EARLY}
    capture = captured("a = MatMul() 200000us;80000us", (f"train{EARLY}", "train"), (tally.runs(),))
    assert capture.measurement.op_seconds == pytest.approx(0.08)
    assert capture.measurement.traced_run_seconds == pytest.approx(0.08)


@pytest.mark.parametrize(("first", "traced", "expected"), [(0.3, 1.9, 2.0), (0.3, 0.32, 0.3), (1.5, 1.6, 1.75)])
def test_step_between_two_that_are_unlike_is_the_one_like_what_was_recorded(
    first: float, traced: float, expected: float
) -> None:
    """Two untraced steps, one of a batch of 12, the other of 64 that takes 2 s; their mean is no step's time."""
    tally = tally_of([5.0, traced, first, 2.0], 0, 1)
    tally.traced_steps[1] = traced
    assert tally.runs().run_seconds == pytest.approx(expected)


def test_a_last_batch_that_is_small_is_no_step_like_the_others() -> None:
    tally = tally_of([5.0, 0.08, 0.08, 0.08, 0.015], 1, 4)
    tally.traced_steps.update({1: 0.08, 4: 0.015})
    assert tally.shorter_steps() == {4}
    capture = captured("a = MatMul() 80000us;15000us", ("train", f"train{SHORTER}"), (tally.runs(),))
    assert capture.measurement.op_seconds == pytest.approx(0.08)
    assert capture.measurement.run_seconds == 0.08


BUSY_MACHINE = [5.0, 0.25, 0.012, 0.3, 0.011, 0.2, 0.28]


@pytest.mark.parametrize(
    "seconds", [[5.0, 0.08, 0.027, 0.08], [5.0, 4e-3, 1e-4, 4e-3], [5.0, 0.08, 0.01], BUSY_MACHINE]
)
def test_steps_that_are_alike_or_too_quick_or_too_few_to_tell_are_none_shorter(seconds: list[float]) -> None:
    tally = tally_of(seconds, *range(len(seconds)))
    tally.traced_steps.update({number: each for number, each in enumerate(seconds) if number})
    assert tally.shorter_steps() == set()


def test_the_training_of_a_queue_fed_program_is_shown() -> None:
    """TensorFlow's own queue runner, whose thread blocks in its enqueue while Python does something else."""
    graph = tf.Graph()
    with graph.as_default():
        number = v1.train.range_input_producer(20, shuffle=False, capacity=4).dequeue()
        w = v1.get_variable("w", [300, 300], use_resource=True)
        loss = tf.reduce_sum(tf.matmul(w, w) * tf.cast(number, tf.float32))
        train = v1.train.GradientDescentOptimizer(1e-9).minimize(loss)
        init = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session, tfprof.capture() as prof:
        session.run(init)
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        for _ in range(60):
            session.run(train)
            time.sleep(0.001)
        coordinator.request_stop()
        session.close()
        coordinator.join(threads, stop_grace_period_secs=60)
    assert prof.profile.main_kind == train.name


def test_head_and_view_name_one_figure() -> None:
    """It is the sum of what was recorded of the steps shown, by their number."""
    square, product = tf.function(tf.square), tf.function(lambda x: tf.matmul(x, x))
    few, many = tf.ones([4]), tf.ones([600, 600])  # made here, they are no eager ops of the cell
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(6):
            square(few)
            product(many)
    profile = prof.profile
    steps = [place for place, name in enumerate(profile.step_names) if name == "<lambda>"]
    shown = np.isin(profile.executions.step, steps)
    seconds = profile.executions.duration_nanos[shown].sum() / 1e9 / len(steps)
    assert prof.measurement.shown == "<lambda>"
    assert prof.measurement.op_seconds == pytest.approx(seconds)
    view = prof.view("op")
    assert view.grand_total["micros"][0] / view.time_scale / 1e6 == pytest.approx(seconds)


def test_eager_ops_have_no_lines_and_the_text_says_what_to_do() -> None:
    x = tf.ones([100, 100])
    with tfprof.capture() as prof:
        for _ in range(20):
            x = tf.matmul(x, x) * 1e-3
    with pytest.raises(ProfileError, match=r"put them into a tf\.function to see their lines"):
        prof.view("code")
    assert prof.text("code").splitlines()[-1].startswith("code view: no lines are known of ops that ran one by one")
    prof.options = {"view": "code"}
    assert "put them into a tf.function" in prof._repr_mimebundle_()["text/html"]


def test_waiting_stages_of_input_and_first_runs_are_not_taken_for_work() -> None:
    """Ten steps of 2 ms by the clock; of the other kind only the first run was recorded, which took 90 ms of ops.

    After it each of its 8 runs took 1 ms by the clock, so that all of them together did 8 ms of work at most.
    """
    first = KindOfRun("predict", 9, 1, 0.008, 0.0, 0.1, untraced=8)
    capture = captured(
        "p = MatMul() 90000us;-\nt = MatMul() -;1500us\ntf.data/Root/Batch = Batch() -;900000us",
        ("predict (warm-up)", "train"),
        (first, kind("train", 10, 0.02)),
    )
    assert capture.profile.main_kind == "train"


@pytest.mark.parametrize(("seconds", "shown"), [(0.133, "act"), (30.0, f"train{WARM_UP}")])
def test_first_run_does_not_outrank_steady_work(seconds: float, shown: str) -> None:
    """Only the first run of `train` was recorded, whose ops took 58 ms; 36 others took 133 ms, or much of the cell.

    Of `act` steady runs were recorded: of the 0.94 s of its 799 runs ops took 43 ms.
    """
    capture = captured(
        "t = MatMul() 58400us;-\na = MatMul() -;54us",
        (f"train{WARM_UP}", "act"),
        (KindOfRun("train", 37, 1, seconds, 0.0, 0.8, untraced=36), kind("act", 799, 0.94)),
    )
    assert capture.profile.main_kind == shown


@pytest.mark.parametrize(("micros", "shown"), [(80_000, f"generate{FIRST_PART}"), (80, EAGER)])
def test_long_call_that_was_cut_competes_with_eager_ops(micros: int, shown: str) -> None:
    """One call of 9 s, of which 0.1 s was recorded, beside 20 eager ops of 10 ms each."""
    call = KindOfRun("generate", 1, 1, 0.0, 0.0, 9.0, untraced=0, first_part_seconds=0.1, first_parted_seconds=9.0)
    eager = KindOfRun(EAGER, 1, 1, 0.0, 0.2, 0.0, untraced=0, warm_ups=0)
    capture = captured(
        f"g = MatMul() {micros}us;-\ne = Conv2D() -;{'+'.join(['10000us'] * 20)}",
        (f"generate{FIRST_PART}", EAGER),
        (call, eager),
    )
    assert capture.profile.main_kind == shown
    assert ("recorded 100 ms" in capture.measurement.sentence()) == (shown != EAGER)


@pytest.mark.parametrize(("micros", "shown"), [(800_000, f"generate{WARM_UP}"), (150_000, EAGER)])
def test_eager_ops_are_not_shown_beside_one_call_that_worked_longer(micros: int, shown: str) -> None:
    """One call, which was recorded whole, and 40 eager ops of 10 ms each."""
    capture = captured(
        f"g = MatMul() {micros}us;-\ne = Conv2D() -;{'+'.join(['10000us'] * 40)}",
        (f"generate{WARM_UP}", EAGER),
        (KindOfRun("generate", 1, 1, 0.0, 0.0, 9.0, untraced=0), KindOfRun(EAGER, 1, 1, 0.0, 0.4, 0.0, 0, 0)),
    )
    assert capture.profile.main_kind == shown


@pytest.mark.parametrize(("part", "shown"), [(0.1, f"generate{FIRST_PART}"), (0.0, "evaluate")])
def test_long_call_that_was_cut_competes_with_steady_runs(part: float, shown: str) -> None:
    """Of one call of 9 s 0.1 s was recorded, with 80 ms of ops; an initializer has so many in all."""
    call = KindOfRun("generate", 1, 1, 0.0, 0.0, 9.0, untraced=0, first_part_seconds=part, first_parted_seconds=9.0)
    first = f"generate{FIRST_PART if part else WARM_UP}"
    sketch = "g = MatMul() 80000us;-\ne = Conv2D() -;10000us"
    capture = captured(sketch, (first, "evaluate"), (call, kind("evaluate", 20, 0.3)))
    assert capture.profile.main_kind == shown


def test_part_of_a_later_call_is_shown_and_not_that_of_the_first() -> None:
    """The first call initializes for 0.9 s; of a later one, which takes 2 s, 0.5 s were recorded."""
    runs = KindOfRun(
        "train",
        seen=3,
        traced=2,
        untraced_seconds=4.0,
        traced_seconds=0.0,
        warm_up_seconds=8.0,
        untraced=2,
        parted=1,
        part_seconds=0.5,
        parted_seconds=2.0,
        first_part_seconds=1.0,
        first_parted_seconds=3.0,
    )
    capture = captured(
        "q = Qr() 900000us;-\nm = MatMul() -;400000us", (f"train{FIRST_PART}", f"train{PARTIAL}"), (runs,)
    )
    assert capture.profile.main_kind == f"train{PARTIAL}"
    assert "step 2 s · recorded 500 ms · op time 400 ms" in capture.measurement.sentence()
    first = capture.measurement.of_steps(f"train{FIRST_PART}")
    assert [str(fact) for fact in first.facts_of_steps()] == ["step 8 s", "recorded 1 s"]


def test_the_step_is_the_first_if_only_that_was_recorded() -> None:
    """Else a rate would be made of the first run's float operations and the time of another."""
    runs = KindOfRun("train", 4, 1, 0.3, 0.0, 9.0, untraced=3)
    capture = captured("m = MatMul() 8000000us", ("train (warm-up)",), (runs,))
    assert capture.measurement.run_seconds == 9.0
    assert "step 9 s · op time 8 s" in capture.measurement.sentence()


def test_runs_that_took_little_by_the_clock_did_little_work() -> None:
    """Two runs of large batches were recorded, of which each took 20 ms; the 320 others took 1 ms each."""
    capture = captured(
        "e = MatMul() 17000us;-\nt = MatMul() -;60000us",
        ("evaluate", "train"),
        (KindOfRun("evaluate", 322, 2, 0.32, 0.04, 0.0, untraced=320, warm_ups=0), kind("train", 29, 1.7)),
    )
    assert capture.profile.main_kind == "train"
