"""Windows hold as many steps as are affordable by what the last ones cost, and the cost that is told has all of it."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import tensorflow as tf

from tests.capturing.models import Model, captured
from tests.capturing.program_steps import capturing, function
from tfprof_widget.capturing import windows
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.sampling import Adaptive, Every
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.capturing.tallies import WindowCosts
from tfprof_widget.capturing.trace_store import TraceStore

ONES = [1.0, 1.0]


@pytest.mark.parametrize(
    ("steps", "cost", "affordable", "expected"),
    [
        (2, 0.204, 0.105, 1),  # 0.1 s a step
        (2, 0.204, 0.405, 4),
        (2, 0.204, 9.0, 8),
        (8, 0.804, 0.205, 2),
        (2, 0.204, 0.05, 1),  # which the sampler does not open
        (2, 0.204, -1.0, 1),
        (2, 0.001, 0.5, 8),  # next to nothing
    ],
)
def test_steps_of_the_next_window(steps: int, cost: float, affordable: float, expected: int) -> None:
    costs = WindowCosts()
    costs.add("train", steps, cost)
    assert costs.affordable_steps("train", affordable) == expected
    assert costs.affordable_steps("another", 1.0) == 2


def test_cost_of_one_step_is_that_of_its_kind() -> None:
    costs = WindowCosts()
    costs.add("train", 2, 0.204)
    costs.add("predict", 4, 0.044)
    assert [costs.of_one(kind) for kind in ("train", "predict", "another")] == pytest.approx([0.104, 0.014, 0.004])


@pytest.mark.parametrize("calls", [3, 200])
def test_two_steps_are_recorded_where_no_more_is_asked_for(calls: int) -> None:
    """The first one sets up."""
    square = function(lambda x: tf.square(x))
    with capturing(Adaptive(0.0, allowance=0.0)) as captured:
        for _ in range(calls):
            square(tf.constant(1.0))
    runs = captured.runs["<lambda>"]
    assert (runs.seen, runs.traced, runs.untraced) == (calls, 2, calls - 2)


def test_second_step_is_recorded_where_the_first_left_the_window_no_room() -> None:
    """A first step may take seconds to build, and a fit may have three steps."""
    square = function(lambda x: tf.square(x))
    with capturing(Adaptive(0.0, allowance=0.0)) as captured:
        square(tf.constant(1.0))
        with patch.object(windows, "MOST_SECONDS", 0.0):
            square(tf.constant(1.0))
            square(tf.constant(1.0))
    assert captured.profile.step_names.count("<lambda>") == 1


def test_windows_of_dear_steps_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second may be spent, and a window takes 0.21 s to read: after two of them there is no room for a step."""
    sizes: list[int] = []
    original = windows.Windows.open

    def opening(opened: windows.Windows, steps: int = 2) -> None:
        sizes.extend([] if opened.is_open else [steps])
        original(opened, steps)

    monkeypatch.setattr(windows.Windows, "open", opening)
    for clock in ("perf_counter", "thread_time"):  # how long opening and closing take depends on other processes
        monkeypatch.setattr(windows, clock, lambda: 0.0)
    monkeypatch.setattr(TraceStore, "reading_seconds", lambda traces, size: 0.21)
    monkeypatch.setattr(TraceStore, "waiting_seconds", property(lambda traces: 0.21 * len(traces._waiting)))
    monkeypatch.setattr(TraceStore, "read_some", lambda traces: 0.0)
    square = function(lambda x: tf.square(x))
    square(tf.constant(1.0))
    with capturing(Adaptive(0.1, allowance=0.5), clock=lambda: 0.0) as captured:
        for _ in range(100):
            square(tf.constant(1.0))
    assert sizes == [2, 2]
    assert captured.runs["<lambda>"].traced == 4


def test_reading_at_the_end_is_overhead_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    original = FunctionSource.read

    def slow(recorder: FunctionSource) -> object:
        now[0] += 100.0
        return original(recorder)

    monkeypatch.setattr(FunctionSource, "read", slow)
    double = function(lambda x: 2.0 * x)
    with capturing(Adaptive(0.5, allowance=0.0), clock=lambda: now[0]) as captured:
        for _ in range(50):
            double(tf.constant(1.0))
    assert 100.0 < (captured.recorded.overhead_seconds or 0.0) < 110.0
    assert captured.recorded.wall_seconds == 100.0
    (told,) = (each for each in captured.warnings if each.startswith("tracing cost 1"))
    assert "more than the 50.0 % asked for" in told


def test_reading_at_the_end_is_overhead_of_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    original = SessionSource.read

    def slow(recorder: SessionSource) -> object:
        now[0] += 100.0
        return original(recorder)

    monkeypatch.setattr(SessionSource, "read", slow)
    model = Model()
    session = model.session()
    with captured(Every(2), clock=lambda: now[0]) as inside:
        for _ in range(5):
            session.run(model.loss, {model.x: ONES})
    assert (inside.recorded.overhead_seconds, inside.recorded.wall_seconds) == (100.0, 100.0)
