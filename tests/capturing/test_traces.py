"""Traces become columns while the program runs, at a bounded cost, and give the same profile and the costliest ops."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.capturing.program_steps import FOR_EVER, TRAIN, Captured, capturing, data, function, small_model
from tests.ingest.spaces import ORIGIN, Space
from tfprof_widget.capturing import trace_store as capturing_traces
from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.sampling import EVERYTHING, Adaptive
from tfprof_widget.capturing.session_source import SessionRun, SessionSource
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.capturing.trace_store import JOINED_SHARE, ReadTrace, TraceStore
from tfprof_widget.capturing.windows import RecordedWindow, Windows
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.profiles.data import EAGER, EARLY

STEPS = [
    Step(0, EAGER, ORIGIN, is_eager=True),
    Step(1, "train (warm-up)", ORIGIN + 10_000),
    Step(2, "train", ORIGIN + 20_000),
    Step(3, "train", ORIGIN + 30_000),
]


def space(executions: int = 1) -> bytes:
    """Each of the steps that are no warm-up has 8 times as many nanoseconds of MatMul as executions, and 4 of Relu."""
    made = Space()
    made.add("pool", "a/MatMul:MatMul", 10_000, 5_000)
    for start in (20_000, 30_000):
        for place in range(start, start + 20 * executions, 20):
            made.add("pool", "a/MatMul:MatMul", place, 6)
            made.add("pool", "b/MatMul:MatMul", place + 6, 2)
            made.add("pool", "a/Relu:Relu", place + 8, 4)
        made.add("data", "Iterator::Root::Prefetch", start, 9_000)
    data: bytes = made.message.SerializeToString()
    return data


Windowed = TraceStore[RecordedWindow, TraceTable]


def told(*, room: int) -> tuple[Windowed, FunctionSource]:
    source = FunctionSource(EVERYTHING, room=room)
    return source.traces, source


def add(traces: Windowed, xspace: bytes, steps: list[Step]) -> None:
    traces.add(RecordedWindow(xspace, steps), len(xspace))


def told_of(traces: Windowed) -> dict[str, float]:
    return dict(traces.costliest(9))


def test_raw_bytes_are_dropped_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing_traces, "READING_SHARE", 0.0)
    raw = space(200)
    traces, source = told(room=3 * len(raw))
    for _ in range(3):
        add(traces, raw, STEPS)
    traces.read_some()  # there is room, and to read costs too much
    assert traces.nbytes == 3 * len(raw)
    add(traces, raw, STEPS)
    assert traces.read_some() > 0.0
    kept = traces.nbytes
    columns = traces.all()
    assert kept == sum(each.nbytes for each in columns)
    assert [len(each.label) for each in columns] == [1 + 2 * (3 * 200 + 1)] * 4
    assert source.notes == ()


def test_little_is_read_before_if_it_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing_traces, "READING_SHARE", 1e9)
    traces, _ = told(room=1 << 30)
    add(traces, space(), STEPS)
    add(traces, space(), STEPS)
    traces.read_some()
    read, _ = told(room=0)
    add(read, space(), STEPS)
    read.read_some()
    assert traces.nbytes == len(space()) + read.nbytes  # one is read


def test_costliest_ops_are_those_of_steps_that_are_no_warm_up() -> None:
    traces, _ = told(room=0)
    assert traces.costliest(2) == []
    add(traces, space(), STEPS)
    traces.read_some()
    assert told_of(traces) == {"MatMul": pytest.approx(8e-9), "Relu": pytest.approx(4e-9)}
    assert list(dict(traces.costliest(1))) == ["MatMul"]
    add(traces, space(), STEPS[:2])  # all of it is a warm-up
    add(traces, space(3), STEPS)
    traces.read_some()
    assert told_of(traces) == {"MatMul": pytest.approx(16e-9), "Relu": pytest.approx(8e-9)}


def test_trace_that_cannot_be_read_is_told_of() -> None:
    traces, source = told(room=0)
    add(traces, b"no XSpace", STEPS)
    assert traces.all() == []
    (note,) = source.notes
    assert note.startswith("4 steps are missing: xspace: these 9 bytes are no XSpace")


def test_no_window_is_opened_when_traces_take_too_much_room() -> None:
    notes: list[str] = []
    traces: Windowed = TraceStore(lambda window: None, room=0, most=0)
    windows = Windows(TfProfiler(None), traces, threading.RLock(), notes.append, ())
    add(traces, space(), STEPS)
    windows.open()
    assert not windows.is_open
    assert notes == ["recording stopped at 0 MB of traces; trace fewer steps: --every 10"]


def test_profile_is_the_same_when_traces_are_read_at_once() -> None:
    model = small_model()
    x, y = data(4)
    model.fit(x, y, batch_size=16, verbose=0)

    def fitted(**settings: Any) -> Captured:
        with capturing(**settings) as captured:
            model.fit(x, y, batch_size=16, verbose=0)
            model.fit(x, y, batch_size=16, verbose=0)
        return captured

    def executed(captured: Captured) -> dict[str, int]:
        """All but the input pipeline, which runs ahead as far as it comes."""
        return {name: count for name, count in captured.nodes(TRAIN).items() if not name.startswith("tf.data/")}

    late, early = fitted(), fitted(room=0)
    assert executed(early) == executed(late)
    first, second = (
        dict(zip(each.profile.nodes.names, each.profile.nodes.float_ops.tolist(), strict=True))
        for each in (late, early)
    )
    assert sum(first.values()) == sum(second.values()) > 0


def test_costliest_ops_are_known_while_steps_run() -> None:
    multiply = function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    x = tf.ones([300, 300])
    with capturing(Adaptive(allowance=FOR_EVER), room=0) as captured:
        for _ in range(30):
            multiply(x)
        told = captured.recorder.costliest(9)
    (seconds,) = (each for op, each in told if "MatMul" in op)
    profile = captured.profile
    executions = profile.executions
    products = [node for node, op in enumerate(profile.nodes.op.tolist()) if "MatMul" in profile.nodes.ops[op]]
    of_products = np.isin(executions.node, products)
    steps = [
        executions.duration_nanos[of_products & (executions.step == place)].sum() / 1e9
        for place, name in enumerate(profile.step_names)
        if name in ("<lambda>", f"<lambda>{EARLY}")
    ]
    assert 0 < min(steps) <= seconds <= max(steps)  # it is the mean of those that were read by then


def test_reading_meanwhile_is_overhead(monkeypatch: pytest.MonkeyPatch) -> None:
    double = tf.function(lambda x: 2.0 * x)
    monkeypatch.setattr(TraceStore, "read_some", lambda traces: 100.0)
    with capturing(Adaptive()) as captured:
        for _ in range(50):
            double(tf.constant(1.0))
    assert captured.runs["<lambda>"].traced < 10  # then it has cost too much
    assert (captured.recorded.overhead_seconds or 0.0) > 100.0


def test_steps_under_way_at_the_end_are_not_counted() -> None:
    begun, ended = threading.Event(), threading.Event()

    @function
    def slow() -> Any:
        begun.set()
        ended.wait(60)
        return tf.constant(1.0)

    recorder = FunctionSource(EVERYTHING)
    with hooked_functions(recorder):
        thread = threading.Thread(target=slow)
        thread.start()
        begun.wait(60)
    recorded = recorder.recorded()
    ended.set()
    thread.join()
    assert recorded.seen - sum(runs.seen for runs in recorded.graphs[0].kinds if runs.name == EAGER) == 0
    assert "1 step was still going on at the end, and so not counted" in recorded.warnings


def test_steps_are_untraced_traced_or_warm_ups() -> None:
    square = function(lambda x: tf.square(x))
    with capturing(Adaptive()) as captured:
        for _ in range(100):
            square(tf.constant(1.0))
        for size in range(1, 6):
            square(tf.ones([size]))  # traced anew
    runs = captured.runs["<lambda>"]
    names = [name for name in captured.profile.step_names if name in ("<lambda>", f"<lambda>{EARLY}")]
    assert runs.untraced is not None
    assert (runs.seen, runs.warm_ups, runs.untraced) == (105, 6, 105 - 6 - len(names))


def test_first_steps_are_told_until_others_come() -> None:
    traces, _ = told(room=0)
    add(traces, space(), STEPS[:2])
    traces.read_some()
    # what ran after the second step is taken for its own: 5,000 and 2 times 8 ns
    assert told_of(traces) == {"MatMul": pytest.approx(5_016e-9), "Relu": pytest.approx(8e-9)}
    add(traces, space(), STEPS)
    traces.read_some()
    assert told_of(traces) == {"MatMul": pytest.approx(8e-9), "Relu": pytest.approx(4e-9)}


def test_small_traces_and_waiting_for_other_threads_say_nothing_of_large_traces() -> None:
    """Of 200 bytes it takes 0.7 ms to read, of 1,000,000 by the clock 100 ms, of which this thread works 20 ms."""
    now = {"clock": 0.0, "work": 0.0}

    def read(size: int) -> ReadTrace[None]:
        now["work"] += 0.0007 if size < 1000 else 0.02
        now["clock"] += 0.0007 if size < 1000 else 0.1
        return ReadTrace(None, size)

    traces = TraceStore(read, clock=lambda: now["clock"], working=lambda: now["work"])
    for size in (200, 1_000_000, 200):
        traces.add(size, size)
        traces.all()
    assert traces.reading_seconds(2_000_000) == pytest.approx(0.04 * (1 + JOINED_SHARE), rel=0.05)


@pytest.mark.parametrize(("of_large", "traced"), [(0.02, 4), (20.0, 1)])
def test_session_runs_are_traced_again_if_their_traces_are_cheap_to_read(of_large: float, traced: int) -> None:
    """Traces of 700 kB, and between them those of another kind, which are tiny."""
    now = [0.0]

    def read(run: tuple[SessionRun, bytes]) -> ReadTrace[Any]:
        now[0] += of_large if len(run[1]) > 1000 else 0.0007
        return ReadTrace(run, len(run[1]))

    source, graph, found = SessionSource(Adaptive(), clock=lambda: 0.0), object(), 0
    source.traces = TraceStore(read, room=0, working=lambda: now[0])
    for _ in range(6):
        for name, size in (("large", 700_000), ("tiny", 200)):
            run = source.begin(graph, [name])
            assert run is not None
            found += run.traced and name == "large"
            source.finished(run, bytes(size) if run.traced else None)
    assert found == traced
    assert len(source.notes) == (traced == 1)
