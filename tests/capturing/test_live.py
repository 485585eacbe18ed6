"""A running capture is told of as it stands: its parts add up, as by hand, and nobody is held up for that."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from tests.capturing.models import THREE, Model
from tfprof_widget.api.capture import capture
from tfprof_widget.capturing import cell_log
from tfprof_widget.capturing.cell_log import CellLog
from tfprof_widget.capturing.live import COMPARED, LiveWatch
from tfprof_widget.capturing.recorder import RunUnderWay, SamplingRecorder
from tfprof_widget.capturing.recording import GraphRecording
from tfprof_widget.capturing.sampling import Every
from tfprof_widget.capturing.tallies import KindTally
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.profiles.live import LiveState


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Runs(SamplingRecorder):
    """A source of runs by hand, none of which is traced."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(Every(10**9), clock)
        self.traces: TraceStore[Any, Any] = TraceStore(lambda trace: None, clock=clock)
        self.set_clock = clock

    def read(self) -> list[GraphRecording]:
        return []

    def read_so_far(self, note: Any) -> list[GraphRecording]:
        return []

    def begin(self, kind: str = "train") -> Any:
        with self.lock:
            tally = self.sampler.kind(kind, lambda: KindTally(kind))
            number, traced = self.sampler.begin(tally, lambda kind: 0.0)
            run = RunUnderWay(tally, number, traced, self.set_clock(), None)
            self.begun(run)
        return run

    def end(self, run: Any = None) -> None:
        if run is not None:
            with self.lock:
                self.ended(run)

    def run(self, seconds: float, kind: str = "train") -> None:
        run = self.begin(kind)
        self.set_clock.now += seconds
        self.end(run)


class Cell:
    """A cell on a clock that is set by hand, and who watches it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.log = CellLog(self.clock)
        self.runs = Runs(self.clock)
        self.watch = LiveWatch("train.py", self.log, [self.runs])

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds


@pytest.fixture
def cell() -> Cell:
    return Cell()


def parts(state: LiveState) -> dict[str, float]:
    return {part: round(seconds, 6) for part, seconds in state.parts.items()}


def test_parts_add_up_at_each_look(cell: Cell) -> None:
    """Two seconds of Python, a first run of 4 s, one second of Python, two steps of 0.5 s each."""
    cell.wait(2.0)
    assert parts(cell.watch.state()) == {"python": 2.0}
    cell.runs.run(4.0)
    cell.wait(1.0)
    assert parts(cell.watch.state()) == {"python": 3.0, "first": 4.0}
    for _ in range(2):
        cell.runs.run(0.5)
    state = cell.watch.state()
    assert parts(state) == {"python": 3.0, "first": 4.0, "steps": 1.0}
    assert state.seconds == sum(state.parts.values()) == 8.0
    assert (state.phase, state.kind, state.runs, state.steps) == ("running", "train", 3, 3)
    assert state.strip == (0.5, 0.5)


def test_phases_follow_what_runs(cell: Cell) -> None:
    assert cell.watch.state().phase == "starting"
    first = cell.runs.begin()
    cell.wait(3.0)
    state = cell.watch.state()
    assert (state.phase, state.under_way, state.runs) == ("first runs", 3.0, 0)
    assert parts(state) == {"first": 3.0}
    cell.runs.end(first)
    assert cell.watch.state().under_way == 0.0
    cell.runs.run(1.0)
    assert cell.watch.state().phase == "running"
    cell.log.closing = cell.clock()
    cell.wait(5.0)
    state = cell.watch.state()
    assert (state.phase, state.seconds, sum(state.parts.values())) == ("reading", 9.0, 4.0)


def test_what_a_run_was_made_of_is_known_when_it_ends(cell: Cell) -> None:
    """Of 5 s in a first run, the function was built in the first three, between two looks."""
    run = cell.runs.begin()
    cell.wait(4.0)
    assert parts(cell.watch.state()) == {"first": 4.0}
    run.is_retraced, run.built = True, 3.0
    cell.wait(1.0)
    cell.runs.end(run)
    assert parts(cell.watch.state()) == {"tracing": 3.0, "first": 2.0}


def test_python_that_waited_for_a_batch_is_the_wait_when_that_is_over(cell: Cell) -> None:
    cell.runs.run(1.0)
    began = cell.clock.now
    cell.wait(4.0)
    assert parts(cell.watch.state()) == {"first": 1.0, "python": 4.0}
    cell.wait(2.0)
    cell.log.waiting.add(began, cell.clock.now)
    cell.wait(1.0)
    assert parts(cell.watch.state()) == {"first": 1.0, "python": 1.0, "input": 6.0}


def test_without_a_wait_for_input_none_is_told(cell: Cell) -> None:
    for _ in range(5):
        cell.runs.run(1.0)
        cell.wait(1.0)
        cell.watch.state()
    assert "input" not in cell.watch.state().parts


def test_steps_at_first_and_lately(cell: Cell) -> None:
    """Steps take 0.1 s, and in the end 0.2 s; the first run, which takes 9 s, is none of them."""
    cell.runs.run(9.0)
    for _ in range(COMPARED):
        cell.runs.run(0.1)
    assert cell.watch.state().first_seconds == pytest.approx(0.1)
    for _ in range(COMPARED):
        cell.runs.run(0.2)
    state = cell.watch.state()
    assert state.first_seconds == pytest.approx(0.1)
    assert state.step_seconds == pytest.approx(0.2)
    assert len(state.strip) == 2 * COMPARED


def test_the_kind_that_takes_most_is_told_of(cell: Cell) -> None:
    for _ in range(3):
        cell.runs.run(1.0, "train")
        cell.runs.run(0.1, "validate")
    state = cell.watch.state()
    assert (state.kind, state.steps, state.runs) == ("train", 3, 6)


def test_a_kind_of_which_not_all_runs_are_kept_goes_on(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_log, "MOST_RUNS", 3)
    for _ in range(10):
        cell.runs.run(1.0)
        cell.watch.state()
    cell.runs.run(7.0)
    state = cell.watch.state()
    assert (state.steps, state.strip[-1]) == (11, 7.0)
    assert parts(state) == {"first": 1.0, "steps": 16.0}


def test_a_busy_recorder_is_not_waited_for(cell: Cell) -> None:
    cell.runs.run(1.0)
    cell.watch.state()
    cell.runs.run(1.0)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with cell.runs.lock:
            held.set()
            release.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    held.wait(60)
    state = cell.watch.state()
    release.set()
    holding.join()
    assert (state.runs, parts(state)) == (2, {"first": 1.0})
    assert parts(cell.watch.state()) == {"first": 1.0, "steps": 1.0}


def test_a_real_session_is_told_of_from_another_thread() -> None:
    """Five runs, the first of which is the warm-up; the parts are those of the budget, but for the end."""
    model, states = Model(), list[LiveState | None]()
    session = model.session()
    with capture(trace_all=True, name="cell") as prof:
        for _ in range(5):
            session.run(model.loss, {model.x: THREE})
        looking = threading.Thread(target=lambda: states.append(prof.live()))
        looking.start()
        looking.join()
    assert prof.live() is None
    (state,) = states
    assert state is not None
    assert (state.what, state.phase, state.runs, state.traced, len(state.strip)) == ("cell", "running", 5, 5, 4)
    assert json.loads(json.dumps(state.to_json()))["kind"] == "loss"
    budget = prof.time_budget().cell
    assert state.parts["steps"] == pytest.approx(budget["steps"], rel=0.01)
    assert state.parts["first"] == pytest.approx(budget["first"], rel=0.01)
    assert sum(state.parts.values()) == pytest.approx(state.seconds, abs=0.05)


def test_a_look_costs_little_however_many_runs_there_were(cell: Cell) -> None:
    """By the thread's own work: a look at 100 new runs after 100,000 others."""
    for _ in range(100_000):
        cell.runs.run(0.001)
    cell.watch.state()
    for _ in range(100):
        cell.runs.run(0.001)
    began = time.thread_time()
    cell.watch.state()
    assert time.thread_time() - began < 0.02
