"""Windows of the profiler are opened and closed as a policy wants, and make way for others."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import patch

import pytest
import tensorflow as tf

from tests.capturing.program_steps import FOR_EVER, capturing
from tfprof_widget.capturing import windows
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.sampling import Adaptive, Steps
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.profiles.data import EAGER, WARM_UP


def test_profiler_that_is_active_already_is_told_of(tmp_path: Path) -> None:
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with capturing() as captured:
            tf.function(lambda x: x + 1.0)(tf.constant(1.0))
    finally:
        tf.profiler.experimental.stop()
    (warning,) = captured.warnings
    assert "another session of TensorFlow's profiler was active" in warning
    assert "tf.profiler.experimental.start" in warning


def test_profiler_that_is_started_in_the_block_gets_its_session(tmp_path: Path) -> None:
    double = tf.function(lambda x: 2.0 * x)
    with capturing() as captured:
        double(tf.constant(1.0))
        tf.profiler.experimental.start(str(tmp_path))
        double(tf.constant(1.0))
        tf.profiler.experimental.stop()
        double(tf.constant(1.0))
    assert list(tmp_path.rglob("*.xplane.pb"))
    (runs,) = (runs for runs in captured.recorded.graphs[0].kinds if runs.name != EAGER)
    assert (runs.seen, runs.traced) == (3, 2)
    (warning,) = captured.warnings
    assert __file__ in warning


def test_adaptive_windows_leave_steps_out() -> None:
    double = tf.function(lambda x: 2.0 * x)
    x = tf.constant(1.0)
    with capturing(Adaptive(allowance=FOR_EVER)) as captured:
        for _ in range(1000):
            double(x)
    (runs,) = (runs for runs in captured.recorded.graphs[0].kinds if runs.name != EAGER)
    assert runs.seen == 1000
    assert 8 < runs.traced < 100
    assert runs.untraced_seconds > 0
    assert (captured.recorded.overhead_seconds or 0) > 0
    assert runs.untraced == 1000 - runs.traced


def test_range_of_steps_is_recorded_and_no_other() -> None:
    double = tf.function(lambda x: tf.square(x))
    x = tf.constant(1.0)
    with capturing(Steps(3, 5)) as captured:
        for _ in range(9):
            double(x)
    (runs,) = captured.recorded.graphs[0].kinds
    assert (runs.seen, runs.traced) == (9, 2)
    assert captured.nodes(runs.name) == {"Square": 2}


def test_window_closes_when_nothing_runs() -> None:
    x = tf.constant(2.0)
    tf.square(x)
    with (
        patch.object(FunctionSource, "_affordable_eager_seconds", return_value=0.0),
        capturing(eager_seconds=2) as captured,
    ):
        tf.square(x)
        assert captured.recorder.windows._closed.wait(60)
        with captured.recorder.lock:  # which is held until TensorFlow's profiler has stopped
            tf.sin(x)
    assert captured.nodes(EAGER) == {"eager/Square": 1}
    assert captured.recorded.warnings == ("ops outside of steps were recorded for 2 s at a time",)
    for watch in (thread for thread in threading.enumerate() if thread.name == "tfprof_widget"):
        watch.join(60)
    assert "tfprof_widget" not in {thread.name for thread in threading.enumerate()}


def test_eager_ops_are_recorded_again_when_twice_the_time_has_passed() -> None:
    """What a cell of eager ops does in its first second may only make its model."""
    x = tf.constant(2.0)
    tf.square(x)
    with capturing(eager_seconds=0.2) as captured:
        tf.square(x)
        watches = [thread for thread in threading.enumerate() if thread.name == "tfprof_widget"]
        for watch in watches:
            watch.join(60)  # it ends when another window is open
        tf.sin(x)
    assert captured.nodes(EAGER) == {"eager/Square": 1, "eager/Sin": 1}


def test_eager_ops_are_recorded_again_whatever_the_first_ones_cost() -> None:
    """A thirtieth of the 15 s since then is half a second."""
    with capturing(Adaptive()) as captured:
        recorder = captured.recorder
        recorder.add_overhead(60.0)
        with patch.object(recorder.windows.costs, "affordable_time", lambda kind, seconds: seconds):
            assert recorder.windows.affordable_eager(15.0) == pytest.approx(0.5)


def test_eager_ops_are_not_recorded_again_once_a_step_has_run() -> None:
    """Then steps are what is recorded, and windows of their own follow each other."""
    x = tf.constant(2.0)
    with capturing() as captured:
        recorder = captured.recorder
        assert recorder.windows.affordable_eager(9.0)
        tf.function(tf.square)(x)
        assert not recorder.windows.affordable_eager(9.0)


def test_first_call_is_recorded_after_eager_ops_that_took_longer_than_a_window_of_steps() -> None:
    x = tf.constant(2.0)
    with capturing(Adaptive()) as captured, patch.object(windows, "MOST_SECONDS", 0.0):
        tf.sin(x)
        tf.function(lambda x: tf.square(x))(x)
    assert captured.seen_and_traced == {"<lambda>": (1, 1)}
    assert captured.nodes(f"<lambda>{WARM_UP}")["Square"] == 1


def test_steps_of_several_threads() -> None:
    square = tf.function(tf.square)
    x = tf.constant(3.0)
    square(x)

    def work() -> None:
        for _ in range(20):
            square(x)

    with capturing() as captured:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (runs,) = (runs for runs in captured.recorded.graphs[0].kinds if runs.name != EAGER)
    assert runs.seen == 60


def test_eager_ops_are_over_when_a_session_runs() -> None:
    """On an accelerator its runs are traced by the one profiler."""
    with tf.Graph().as_default():
        product = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
        session = tf.compat.v1.Session()
        call = session.make_callable(product)
    x = tf.constant(2.0)
    with capturing() as captured:
        tf.square(x)
        session.run(product)
        tf.sin(x)
    assert captured.nodes(EAGER) == {"eager/Square": 1}
    with capturing() as captured:
        tf.square(x)
        call()
        tf.sin(x)
    assert captured.nodes(EAGER) == {"eager/Square": 1}


def test_window_of_steps_stays_open_when_sessions_run_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[TfProfiler] = []
    open_one = TfProfiler.open

    def counting(profiler: TfProfiler) -> None:
        opened.append(profiler)
        open_one(profiler)

    monkeypatch.setattr(TfProfiler, "open", counting)
    square = tf.function(lambda x: tf.square(x))
    with tf.Graph().as_default():
        session = tf.compat.v1.Session()
        one = tf.constant(1.0)
    with capturing() as captured:
        for _ in range(3):
            square(tf.constant(1.0))
            session.run(one)
    runs = captured.runs["<lambda>"]
    assert (runs.seen, runs.traced, len(opened)) == (3, 3, 1)
