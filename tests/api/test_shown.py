"""What of a capture is shown first: the kind of steps that does most of the work, with its share of the cell."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compat import v1

import tfprof_widget as tfprof
from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.sampling import Choice, KindTally
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import EAGER, SHORTER


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


def test_a_last_batch_that_is_small_is_no_step_like_the_others() -> None:
    tally = KindTally("train")
    for number, seconds in enumerate([5.0, 0.08, 0.08, 0.08, 0.015]):
        tally.add(Choice(number, traced=number in (1, 4)), seconds)
    tally.traced_steps.update({1: 0.08, 4: 0.015})
    assert tally.shorter_steps() == {4}
    capture = captured("a = MatMul() 80000us;15000us", ("train", f"train{SHORTER}"), (tally.runs(),))
    assert capture.measurement.op_seconds == pytest.approx(0.08)
    assert capture.measurement.run_seconds == 0.08


@pytest.mark.parametrize("seconds", [[5.0, 0.08, 0.027, 0.08], [5.0, 4e-3, 1e-4, 4e-3], [5.0, 0.08, 0.01]])
def test_steps_that_are_alike_or_too_quick_or_too_few_to_tell_are_none_shorter(seconds: list[float]) -> None:
    tally = KindTally("train")
    for number, each in enumerate(seconds):
        tally.add(Choice(number, traced=True), each)
        tally.traced_steps.update({number: each} if number else {})
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
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(6):
            square(tf.ones([4]))
            product(tf.ones([600, 600]))
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
