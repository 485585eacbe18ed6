"""A call whose loop runs any number of ops is recorded for as long as that is affordable, and the rest is told."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import tensorflow as tf

from tests.capturing.models import Model
from tests.capturing.models import captured as captured_sessions
from tests.capturing.program_steps import FOR_EVER, capturing, function
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing import windows as capturing_windows
from tfprof_widget.capturing.recording import KindOfRun, busiest
from tfprof_widget.capturing.sampling import EVERYTHING, Adaptive, Sampler
from tfprof_widget.capturing.tallies import LOOK_SECONDS, Choice, KindTally, WindowCosts
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.capturing.windows import FunctionRun, Windows
from tfprof_widget.profiles.data import EAGER, FIRST_PART, PARTIAL, WARM_UP

NOTHING = Adaptive(0.0, allowance=0.0)
SOON = 0.01


MOST_ROUNDS = 300_000
"""A loop ends in any case, so that a test fails where it waits in vain."""


def looping(goes_on: Callable[[], bool]) -> Any:
    """A function that squares as long as it is to go on."""

    def loop(x: Any) -> Any:
        def cond(number: Any, x: Any) -> Any:
            return (number < MOST_ROUNDS) & tf.py_function(goes_on, [], tf.bool)

        return tf.while_loop(cond, lambda number, x: (number + 1, tf.square(x)), (0, x))[1]

    return function(loop)


class Recorded:
    """Counts the windows in which a loop was recorded for some rounds."""

    def __init__(self) -> None:
        self.rounds = self.rounds_before = self.windows = 0

    def until(self, windows: int) -> bool:
        """Whether the loop goes on until so many windows have held rounds of it."""
        self.rounds += 1
        return self.windows < windows

    def opened(self) -> None:
        self.rounds_before = self.rounds

    def closing(self) -> None:
        self.windows += self.rounds - self.rounds_before > 2


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded, close, start = Recorded(), TfProfiler.close, TfProfiler.open

    def opening(profiler: TfProfiler) -> None:
        start(profiler)
        recorded.opened()

    def closing(profiler: TfProfiler) -> bytes:
        recorded.closing()
        return close(profiler)

    monkeypatch.setattr(TfProfiler, "open", opening)
    monkeypatch.setattr(TfProfiler, "close", closing)
    return recorded


def test_window_is_closed_within_a_long_call(recorded: Recorded) -> None:
    loop = looping(lambda: recorded.until(1))
    with capturing(NOTHING, look_seconds=SOON) as captured:
        loop(tf.constant(1.0))
    runs = captured.runs["loop"]
    assert (runs.seen, runs.traced) == (1, 1)
    assert runs.warm_up_seconds > runs.first_parted_seconds > runs.first_part_seconds > SOON
    assert f"loop{FIRST_PART}" in captured.profile.step_names
    assert captured.counts(f"loop{FIRST_PART}")["Square"] > 0
    (note,) = (each for each in captured.warnings if each.startswith("of the first run of loop "))
    assert "were recorded" in note
    assert any(__file__.rpartition("/")[2] in name for name in captured.profile.view("code").names)
    told = str(Capture.of(captured.recorded).measurement.sentence())
    assert "tracing cost at least " in told
    assert re.search(r" · recorded [\d.]+ m?s · op time ", told)


def test_long_call_goes_on_in_another_window_where_that_is_affordable(recorded: Recorded) -> None:
    loop = looping(lambda: recorded.until(2))
    with capturing(Adaptive(0.1, allowance=FOR_EVER), look_seconds=SOON) as captured:
        loop(tf.constant(1.0))
    assert [name for name in captured.profile.step_names if name != EAGER] == [f"loop{FIRST_PART}"]
    assert captured.runs["loop"].first_part_seconds > 2 * SOON


def test_first_run_and_one_more_are_recorded_in_part(recorded: Recorded) -> None:
    calls: list[int] = []
    loop = looping(lambda: recorded.until(min(len(calls), 2)))
    with capturing(NOTHING, look_seconds=SOON) as captured:
        for number in range(5):
            calls.append(number)
            loop(tf.constant(1.0))
    runs = captured.runs["loop"]
    assert (runs.seen, runs.traced, runs.untraced) == (5, 2, 4)


def test_first_call_is_not_told_of_where_a_later_one_was_recorded_whole(recorded: Recorded) -> None:
    calls: list[int] = []
    loop = looping(lambda: len(calls) == 1 and recorded.until(1))
    with capturing(NOTHING, look_seconds=SOON) as captured:
        for number in range(3):
            calls.append(number)
            loop(tf.constant(1.0))
    assert set(captured.profile.step_names) - {EAGER} == {f"loop{FIRST_PART}", "loop"}
    assert not any("were recorded" in note for note in captured.warnings)


def test_parts_of_the_first_and_of_a_later_call_have_two_names(recorded: Recorded) -> None:
    calls: list[int] = []
    loop = looping(lambda: recorded.until(len(calls)))
    with capturing(NOTHING, look_seconds=SOON) as captured:
        for number in range(2):
            calls.append(number)
            loop(tf.constant(1.0))
    assert set(captured.profile.step_names) - {EAGER} == {f"loop{FIRST_PART}", f"loop{PARTIAL}"}
    (note,) = (each for each in captured.warnings if "were recorded" in each)
    assert note.startswith("of loop ")


def test_part_of_a_call_that_traced_its_function_anew_is_one_of_a_warm_up(recorded: Recorded) -> None:
    calls: list[int] = []
    loop = looping(lambda: recorded.until(len(calls)))
    with capturing(NOTHING, look_seconds=SOON) as captured:
        for number in range(2):
            calls.append(number)
            loop(tf.ones([number + 1]))
    assert set(captured.profile.step_names) - {EAGER} == {f"loop{FIRST_PART}"}


def test_first_call_may_cost_half_as_much_as_a_later_one() -> None:
    turns = iter([True, False, True, False])
    loop, cut = looping(lambda: next(turns)), list[float]()
    with (
        patch.object(Windows, "cut_after", lambda windows, run, seconds: cut.append(seconds)),
        capturing(Adaptive(), clock=lambda: 0.0),
    ):
        loop(tf.constant(1.0))
        loop(tf.constant(1.0))
    assert cut == [0.25, 0.5]


class MadeProfiler(TfProfiler):
    """A profiler that records so many bytes; on a busy machine it takes 5 s by a made clock to close it."""

    def __init__(self, now: list[float], size: int) -> None:
        super().__init__(None)
        self.now, self.size = now, size

    def open(self) -> None:
        self.is_open = True

    def close(self) -> bytes:
        self.is_open = False
        self.now[0] += 5.0
        return bytes(self.size)


@pytest.mark.parametrize(
    ("size", "next_ones"), [(150_000, [0.2, 0.4, 0.8]), (200, [0.2, 0.2, 0.2]), (3_000_000, [None])]
)
def test_next_window_is_at_most_twice_as_long_as_ops_were_recorded(
    size: int, next_ones: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python builds for 4 s, which tells nothing of what it costs to record the ops that run then; nor do empty ones.

    The thread works for a hundredth of the time. A window of 150 kB costs 0.06 s, of which 1 s is affordable; one of
    3 MB costs 0.3 s, of which 0.1 s is affordable.
    """
    now, under_way = [0.0], set[FunctionRun]()
    monkeypatch.setattr(capturing_windows, "perf_counter", lambda: now[0])
    monkeypatch.setattr(capturing_windows, "thread_time", lambda: now[0] / 100)
    windows = Windows(MadeProfiler(now, size), TraceStore(lambda _: None), threading.RLock(), print, under_way)
    windows.cut = lambda: None
    windows.open()
    step = windows.add_step(f"loop{WARM_UP}")
    run = FunctionRun(KindTally("loop"), 0, True, 0.0, step)
    under_way.add(run)
    now[0] = 4.0
    windows.cut_after(run, 0.25)
    assert windows.cuts[run] == pytest.approx(4.0 + LOOK_SECONDS)
    now[0] = 4.1
    for seconds in next_ones:
        (cut,) = windows.close_within_steps()
        windows.go_on([cut], 1.0 if seconds else 0.1)
        assert (cut is run, windows.is_open) == (True, seconds is not None)
        if seconds is not None:
            assert windows.cuts[run] == pytest.approx(now[0] + seconds)
            now[0] += seconds
    windows.end()
    recorded = 0.1 + sum(filter(None, next_ones[:-1]))
    if size == 200:
        assert windows.costs.affordable_time("loop", 1.0) == LOOK_SECONDS
        recorded = 0.0
    assert run.building_seconds == 4.0
    assert run.part_seconds == pytest.approx(recorded)


def made_windows(now: list[float], size: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Windows, FunctionRun]:
    """Windows of so many bytes, of which one is open in a step that began to run at 4.0."""
    monkeypatch.setattr(capturing_windows, "perf_counter", lambda: now[0])
    monkeypatch.setattr(capturing_windows, "thread_time", lambda: 0.0)
    under_way = set[FunctionRun]()
    windows = Windows(MadeProfiler(now, size), TraceStore(lambda _: None), threading.RLock(), print, under_way)
    windows.cut = lambda: None
    windows.open()
    run = FunctionRun(KindTally("loop"), 0, True, 0.0, windows.add_step(f"loop{WARM_UP}"))
    under_way.add(run)
    now[0] = 4.0
    windows.cut_after(run, 0.25)
    now[0] = 4.1
    return windows, run


def test_short_windows_are_spread_over_a_call_that_is_dear_to_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """To close a window takes 5 s by the clock; each costs 0.225 s, so that the first one costs 2.25 s a second.

    Of 0.4 s a quarter is to be spent on the next window, and so it records 44 ms of the call. The second one costs as
    much for 50 ms, of which a quarter is less than the least.
    """
    now: list[float] = [0.0]
    windows, run = made_windows(now, 3_000_000, monkeypatch)
    for began, seconds in ((9.1, 0.1 * 0.1 / 0.225), (16.7, 0.025)):
        now[0] = began - 5.0
        windows.go_on(windows.close_within_steps(), 0.4)
        assert (windows.is_open, windows.paused.runs) == (False, (run,))
        assert windows.paused.seconds == pytest.approx((began - 4.0) / 2)
        now[0] += windows.paused.seconds
        paused = windows.paused
        windows.go_on(windows.end_pause(), 0.4, is_after_pause=True)
        assert (windows.is_open, paused.is_over.is_set(), windows.paused.runs) == (True, True, ())
        assert windows.cuts[run] - now[0] == pytest.approx(seconds)
    windows.end()


def test_after_a_pause_no_window_is_longer_than_it_and_another_pause_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what a step does last, when more is affordable, would count more than what it does first."""
    now: list[float] = [0.0]
    windows, run = made_windows(now, 3_000_000, monkeypatch)
    windows.go_on(windows.close_within_steps(), 0.01)
    now[0] = 4.3
    windows.go_on(windows.end_pause(), 1000.0, is_after_pause=True)
    assert windows.cuts[run] - now[0] == pytest.approx(0.1)
    windows.go_on(windows.close_within_steps(), 1000.0)
    assert (windows.is_open, windows.paused.runs) == (False, (run,))
    windows.end()


def test_pause_goes_on_where_no_window_is_affordable_and_ends_with_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[float] = [0.0]
    windows, run = made_windows(now, 3_000_000, monkeypatch)
    windows.go_on(windows.close_within_steps(), 0.01)
    windows.go_on(windows.end_pause(), 0.01, is_after_pause=True)
    assert (windows.is_open, windows.paused.runs) == (False, (run,))
    paused = windows.paused
    windows.add_part(run)
    assert (paused.is_over.is_set(), windows.paused.runs) == (True, ())
    assert run.part_seconds == pytest.approx(0.1)
    windows.end()


def test_step_in_a_pause_is_none_of_another_window(monkeypatch: pytest.MonkeyPatch) -> None:
    now: list[float] = [0.0]
    windows, run = made_windows(now, 3_000_000, monkeypatch)
    windows.go_on(windows.close_within_steps(), 0.01)
    windows.open()
    assert windows.close_within_steps() == []
    assert run.part_seconds == pytest.approx(0.1)
    windows.end()


def test_call_is_recorded_again_after_a_pause(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each window is too dear for another at once; the loop ends when three windows have held rounds of it."""
    monkeypatch.setattr(capturing_windows, "SPREAD", 10**9)
    loop = looping(lambda: recorded.until(3))
    with capturing(Adaptive(0.1, allowance=FOR_EVER), look_seconds=SOON) as captured:
        loop(tf.constant(1.0))
    assert recorded.windows == 3
    assert captured.counts(f"loop{FIRST_PART}")["Square"] > 0
    assert "tfprof_widget" not in {thread.name for thread in threading.enumerate() if not thread.daemon}


@pytest.mark.parametrize("policy", [EVERYTHING, NOTHING], ids=["all", "adaptive"])
def test_only_loops_are_cut_and_only_where_the_cost_is_bounded(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []
    monkeypatch.setattr(Windows, "cut_after", lambda windows, run, seconds: cut.append(run.kind.name))
    turns = iter([True, False])

    def plain(x: Any) -> Any:
        return tf.square(x)

    with capturing(policy) as captured:
        function(plain)(tf.constant(1.0))
        looping(lambda: next(turns))(tf.constant(1.0))
    assert captured.seen_and_traced.keys() == {"plain", "loop"}
    assert cut == (["loop"] if policy is NOTHING else [])


def test_loops_of_called_functions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []
    monkeypatch.setattr(Windows, "cut_after", lambda windows, run, seconds: cut.append(run.kind.name))
    turns = iter([True, False])
    inner = looping(lambda: next(turns))
    with capturing(NOTHING):
        function(lambda x: inner(x) + 1.0)(tf.constant(1.0))
    assert cut == ["<lambda>"]


def test_part_counts_as_untraced_wall_time() -> None:
    kind, sampler = KindTally("loop"), Sampler(Adaptive(0.1, allowance=0.5))
    kind.parts.add(2.0, recorded=0.5)
    sampler.ran(kind, Choice(1, traced=False), 2.0)
    runs = kind.runs()
    assert (runs.seen, runs.traced, runs.untraced, runs.run_seconds) == (1, 1, 1, 2.0)
    assert (runs.part_seconds, runs.parted_seconds) == (0.5, 2.0)


def test_cost_of_a_part_tells_how_long_the_next_may_be() -> None:
    costs = WindowCosts()
    costs.add("loop", 1, 0.5, opened=0.1)
    assert costs.affordable_time("loop", 1.0) == pytest.approx(0.2)
    assert costs.affordable_time("loop", -1.0) < 0
    costs.add("loop", 1, 0.1, opened=0.001)  # the last ops of a call
    assert costs.affordable_time("loop", 1.0) == pytest.approx(0.2)


def test_run_under_way_may_cost_its_share() -> None:
    assert Sampler(Adaptive(0.1, allowance=0.5)).affordable_seconds(20.0) == 2.0
    assert Sampler(Adaptive(0.1, allowance=0.5)).affordable_seconds(1.0) == 0.5


def test_kind_recorded_in_part_is_ranked_by_all_its_work(recorded: Recorded) -> None:
    loop = looping(lambda: recorded.until(1))
    with capturing(NOTHING, look_seconds=SOON) as captured:
        loop(tf.constant(1.0))
    (graph,) = captured.recorded.graphs
    found, (_, work) = busiest(graph.tables, [runs for runs in graph.kinds if runs.name != EAGER])
    assert found is not None
    whole = KindOfRun("loop", 1, 1, 0.0, 0.0, found.warm_up_seconds)
    _, (_, part) = busiest(graph.tables, [whole])
    assert work == pytest.approx(part * found.first_parted_seconds / found.first_part_seconds)


def test_warm_up_that_was_recorded_whole_stays_one() -> None:
    with capturing(NOTHING) as captured:
        looping(lambda: False)(tf.constant(1.0))
    assert f"loop{WARM_UP}" in captured.profile.step_names


@pytest.mark.parametrize(("seconds", "traced"), [(100.0, 1), (0.001, 2)])
def test_session_runs_with_dear_traces_are_traced_once(
    seconds: float, traced: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TraceStore, "reading_seconds", lambda traces, size: seconds if size else 0.0)
    model = Model()
    session = model.session()
    with captured_sessions(Adaptive()) as inside:
        for _ in range(3):
            session.run(model.loss, {model.x: [1.0, 1.0]})
    (runs,) = inside.recorded.graphs[0].kinds
    assert (runs.seen, runs.traced) == (3, traced)
    notes = [note for note in inside.recorded.warnings if "takes seconds to read" in note]
    assert len(notes) == (traced == 1)
