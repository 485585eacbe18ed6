"""Runs are counted, timed, named and made into profiles, at a bounded memory."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import tensorflow as tf

from tests.capturing.models import THREE, Model, v1
from tests.made import profile_of_tables
from tfprof_widget.capturing import trace_store
from tfprof_widget.capturing.recording import KindOfRun
from tfprof_widget.capturing.sampling import EVERYTHING, Every, Steps
from tfprof_widget.capturing.session_source import SessionSource, run_name
from tfprof_widget.capturing.trace_store import TraceStore
from tfprof_widget.ingest.run_metadata import ReadRun


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def metadata(model: Model) -> bytes:
    run_metadata = v1.RunMetadata()
    model.session().run(model.loss, {model.x: THREE}, v1.RunOptions(trace_level=1), run_metadata)
    return bytes(run_metadata.SerializeToString())


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def traced(model: Model) -> bytes:
    return metadata(model)


def run_for(recorder: SessionSource, clock: Clock, seconds: float, graph: Any, node: str, traced: bytes) -> None:
    run = recorder.begin(graph, [node])
    assert run is not None
    clock.now += seconds
    recorder.finished(run, traced if run.traced else None)


def test_seconds_are_kept_by_kind(model: Model, traced: bytes) -> None:
    clock = Clock()
    recorder = SessionSource(Every(2), clock=clock)
    for seconds in (8.0, 1.0, 3.0, 2.0):
        run_for(recorder, clock, seconds, model.graph, "loss", metadata(model))
        clock.now += 100.0  # between the runs
    assert recorder.counts() == (4, 2)
    recorded = recorder.recorded()
    assert recorded.graphs[0].kinds == (
        KindOfRun("loss", 4, 2, 3.0, 3.0, 8.0, untraced=2, warm_ups=1, median_seconds=1.5),
    )
    assert recorded.wall_seconds == 14.0 + 4 * 100.0
    assert recorded.overhead_seconds == 2 * (3.0 - 1.5)
    assert profile_of_tables(recorded.graphs[0].tables).steps == (0, 2)
    assert profile_of_tables(recorded.graphs[0].tables).step_names == ("loss (warm-up)", "loss")
    assert recorded.warnings == ()


def test_warm_up_that_was_not_traced_is_none_of_the_untraced_runs(model: Model, traced: bytes) -> None:
    """The warm-up takes 8 s, one run 2 s, two traced ones 5 s each."""
    clock = Clock()
    recorder = SessionSource(Steps(2), clock=clock)
    for seconds in (8.0, 2.0, 5.0, 5.0):
        run_for(recorder, clock, seconds, model.graph, "loss", metadata(model))
    (runs,) = recorder.recorded().graphs[0].kinds
    assert runs == KindOfRun("loss", 4, 2, 2.0, 10.0, 8.0, untraced=1, warm_ups=1, median_seconds=2.0)
    assert runs.run_seconds == 2.0


def test_cost_of_watching_counts(model: Model) -> None:
    """Each run is held up for 2 s before it and 3 s after it; tracing itself costs nothing here."""
    clock = Clock()
    recorder = SessionSource(Every(2), clock=clock)
    for _ in range(4):
        since = clock.now
        clock.now += 2.0
        run = recorder.begin(model.graph, ["loss"])
        assert run is not None
        clock.now += 10.0
        recorder.finished(run, metadata(model) if run.traced else None)
        clock.now += 3.0
        recorder.watched(run, since)
        clock.now += 100.0  # between the runs
    recorded = recorder.recorded()
    assert recorded.overhead_seconds == 4 * 5.0
    assert recorded.wall_seconds == 4 * 115.0
    assert recorded.graphs[0].kinds[0].run_seconds == 10.0


def test_watching_is_no_wall_time_of_its_own_while_another_run_goes_on(model: Model) -> None:
    clock = Clock()
    recorder = SessionSource(Steps(5), clock=clock)
    first, second = recorder.begin(model.graph, ["loss"]), recorder.begin(model.graph, ["loss"])
    assert first is not None
    assert second is not None
    recorder.finished(first)
    clock.now = 1.0
    recorder.watched(first, 0.0)
    clock.now = 4.0
    recorder.finished(second)
    recorder.watched(second, 0.0)
    recorded = recorder.recorded()
    assert (recorded.wall_seconds, recorded.overhead_seconds) == (4.0, 1.0)


@pytest.mark.parametrize(("is_beside", "unit", "cost"), [(True, 1.0, 1.5), (False, 1.0, 13.5), (True, 1e-9, 13.5e-9)])
def test_waiting_beside_the_cell_costs_it_nothing(model: Model, is_beside: bool, unit: float, cost: float) -> None:
    """A run of `loss` takes 1 unit, traced 2.5; beside it one of `initialize` takes 3 units, traced 15.

    Ops take microseconds: if the unit is a second, the runs mostly wait, and if it is a nanosecond, they work.
    """
    clock = Clock()
    recorder = SessionSource(Steps(2), clock=clock)

    def run(node: str, seconds: tuple[float, ...]) -> None:
        for each in seconds:
            run_for(recorder, clock, each * unit, model.graph, node, metadata(model))

    with recorder.opening_thread.opened():
        run("loss", (8.0, 1.0, 2.5))
        beside = threading.Thread(target=run, args=("initialize", (30.0, 3.0, 15.0)))
        if is_beside:
            beside.start()
            beside.join()
        else:
            beside.run()
    assert recorder.recorded().overhead_seconds == pytest.approx(cost)


def test_cost_is_not_known_without_untraced_runs(model: Model) -> None:
    recorder = SessionSource(EVERYTHING)
    for _ in range(2):
        run_for(recorder, Clock(), 1.0, model.graph, "loss", metadata(model))
    recorded = recorder.recorded()
    assert recorded.overhead_seconds is None
    assert any("how much tracing slowed the runs is not known" in warning for warning in recorded.warnings)


def test_costliest_ops_are_told_while_runs_go_on(model: Model) -> None:
    """Fewer nodes run than a profile has; what it says of the traced run was told before."""
    clock = Clock()
    recorder = SessionSource(Every(2), clock=clock)
    assert recorder.costliest(3) == []
    for _ in range(3):
        run_for(recorder, clock, 1.0, model.graph, "loss", metadata(model))
    told = dict(recorder.costliest(100))
    view = profile_of_tables(recorder.recorded().graphs[0].tables).view("op", step=2, min_micros=0, max_depth=100)
    micros = view.own["micros"] / view.time_scale
    ran = {name: micros[row] for row, name in enumerate(view.names) if micros[row]}
    assert {op: seconds * 1e6 for op, seconds in told.items() if seconds} == pytest.approx(ran)
    assert {"Square", "Sum"} <= ran.keys()


def test_reading_meanwhile_is_part_of_the_cost(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three runs are traced, and reading each takes 7 s."""
    clock = Clock()
    recorder = SessionSource(Every(2), clock=clock)

    def read(*_: Any) -> float:
        clock.now += 7.0
        return 7.0

    monkeypatch.setattr(TraceStore, "read_some", read)
    for _ in range(3):
        since = clock.now
        run = recorder.begin(model.graph, ["loss"])
        assert run is not None
        clock.now += 1.0
        recorder.finished(run, metadata(model) if run.traced else None)
        recorder.watched(run, since)
    assert recorder.recorded().overhead_seconds == 14.0


def test_wall_time_of_runs_at_once_is_counted_once(model: Model) -> None:
    clock = Clock()
    recorder = SessionSource(Steps(5), clock=clock)
    first = recorder.begin(model.graph, ["loss"])
    clock.now = 2.0
    second = recorder.begin(model.graph, ["loss"])
    assert first is not None
    assert second is not None
    clock.now = 3.0
    recorder.finished(first)
    clock.now = 7.0
    recorder.finished(second)
    recorded = recorder.recorded()
    assert recorded.wall_seconds == 7.0
    (runs,) = recorded.graphs[0].kinds
    assert (runs.warm_up_seconds, runs.untraced_seconds) == (3.0, 5.0)


def test_kinds_that_would_share_a_name_are_told_apart(model: Model) -> None:
    clock = Clock()
    recorder = SessionSource(Steps(5), clock=clock)
    nodes = [[f"tower_{number}/a/long/name/that/goes/on/and/on/loss" for number in range(count)] for count in (5, 5, 6)]
    nodes[1][4] = "tower_9"
    for each in (*nodes, nodes[1]):
        run = recorder.begin(model.graph, reversed(each))
        assert run is not None
        recorder.finished(run)
    assert [(runs.name, runs.seen) for runs in recorder.recorded().graphs[0].kinds] == [
        ("tower_0/a/long/name/that/goes/on/and/on/loss … and 4 more", 1),
        ("tower_0/a/long/name/that/goes/on/and/on/loss … and 4 more (2)", 2),
        ("tower_0/a/long/name/that/goes/on/and/on/loss … and 5 more", 1),
    ]


@pytest.mark.parametrize(
    ("nodes", "name"),
    [
        (["train"], "train"),
        ([], "nothing"),
        (["a" * 60], "a" * 60),
        (["a" * 61], "a" * 59 + "…"),
        (["a" * 29, "b" * 29], "a" * 29 + ", " + "b" * 29),
        (["a" * 29, "b" * 30], "a" * 29 + " … and 1 more"),
        (["a", "b" * 80, "c"], "a … and 2 more"),
    ],
)
def test_names_are_short(nodes: list[str], name: str) -> None:
    assert run_name(nodes) == name


def test_metadata_is_read_once_it_takes_too_much_room(
    model: Model, traced: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_store, "READING_SHARE", 0.0)
    clock = Clock()
    recorder = SessionSource(EVERYTHING, clock=clock, room=3 * len(traced) + 200)
    waiting = []
    for _ in range(8):
        run_for(recorder, clock, 1.0, model.graph, "loss", metadata(model))
        waiting.append(len(recorder.traces._waiting))
    assert waiting == [1, 2, 3, 0, 1, 2, 3, 0]
    assert profile_of_tables(recorder.recorded().graphs[0].tables).steps == tuple(range(8))


def test_other_threads_run_on_while_metadata_is_read(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widget.ingest.gathered import Gathered

    recorder, reading, over = SessionSource(EVERYTHING, room=0), threading.Event(), threading.Event()
    read = Gathered.read

    def slowly(gathered: Gathered, run_meta: Any) -> ReadRun:
        reading.set()
        assert over.wait(60)
        return read(gathered, run_meta)

    monkeypatch.setattr(Gathered, "read", slowly)
    thread = threading.Thread(target=run_for, args=(recorder, Clock(), 0.0, model.graph, "loss", metadata(model)))
    thread.start()
    assert reading.wait(60)
    run = recorder.begin(model.graph, ["loss"])
    assert run is not None
    recorder.raised(run)
    over.set()
    thread.join()
    assert recorder.recorded().traced == 1


def test_graph_that_grows_is_read_again() -> None:
    model = Model()
    recorder = SessionSource(EVERYTHING, room=0)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", metadata(model))
    with model.graph.as_default():
        tf.square(model.loss, name="later")
    run_for(recorder, Clock(), 0.0, model.graph, "loss", metadata(model))
    assert "later" in profile_of_tables(recorder.recorded().graphs[0].tables).nodes.names


def test_graph_that_cannot_be_read_does_not_cost_the_others(model: Model, traced: bytes) -> None:
    recorder = SessionSource(EVERYTHING)
    run_for(recorder, Clock(), 0.0, object(), "loss", traced)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    recorded = recorder.recorded()
    assert len(recorded.graphs) == 1
    assert any("the runs of a graph are missing" in warning for warning in recorded.warnings)


def test_run_without_step_stats_is_told_of(model: Model, traced: bytes) -> None:
    recorder = SessionSource(EVERYTHING)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", b"")
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    recorded = recorder.recorded()
    assert profile_of_tables(recorded.graphs[0].tables).steps == (1,)
    assert any(
        "a run of loss (warm-up) is missing: run_meta: it has no step stats" in each for each in recorded.warnings
    )


def test_nodes_of_functions_are_no_cause_for_a_warning(model: Model) -> None:
    """Most nodes of this run are not in the graph, but the graph is the right one for sure."""
    run_metadata = v1.RunMetadata.FromString(metadata(model))
    device = run_metadata.step_stats.dev_stats[0]
    for number in range(50):
        device.node_stats.add(node_name=f"inlined/{number}", all_start_micros=number)
    recorder = SessionSource(EVERYTHING)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_for(recorder, Clock(), 0.0, model.graph, "loss", run_metadata.SerializeToString())
        recorded = recorder.recorded()
    assert "inlined/49" in profile_of_tables(recorded.graphs[0].tables).nodes.names


def test_run_of_nothing_but_a_function_is_not_missing(model: Model) -> None:
    run_metadata = v1.RunMetadata()
    device = run_metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    device.node_stats.add(node_name="inlined/product", all_start_micros=1)
    recorder = SessionSource(EVERYTHING)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", run_metadata.SerializeToString())
    recorded = recorder.recorded()
    assert profile_of_tables(recorded.graphs[0].tables).steps == (0,)
    assert not any("missing" in warning for warning in recorded.warnings)


def test_warnings_of_the_user_stay_as_they_are(model: Model, traced: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done to the filters in one thread is done to those of all others."""
    monkeypatch.setattr(warnings, "catch_warnings", None)
    recorder = SessionSource(EVERYTHING, room=0)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    assert recorder.counts() == (1, 1)


def test_nothing_is_recorded_after_the_end(model: Model, traced: bytes) -> None:
    recorder = SessionSource(EVERYTHING)
    run = recorder.begin(model.graph, ["loss"])
    assert run is not None
    recorder.recorded()
    recorder.finished(run, traced)
    assert recorder.begin(model.graph, ["loss"]) is None
    assert recorder.recorded().seen == 0


def test_first_error_of_ours_is_told_and_stops_the_recording(model: Model, traced: bytes) -> None:
    recorder = SessionSource(EVERYTHING)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    recorder.stop_after_error(ZeroDivisionError("first"))
    recorder.stop_after_error(ZeroDivisionError("second"))
    assert recorder.begin(model.graph, ["loss"]) is None
    recorded = recorder.recorded()
    assert recorded.traced == 1
    assert [each for each in recorded.warnings if "first" in each and "ZeroDivisionError" in each]
    assert not [each for each in recorded.warnings if "second" in each]


def test_a_run_that_took_less_than_a_third_as_long_as_most_has_a_name_of_its_own(model: Model) -> None:
    clock = Clock()
    recorder = SessionSource(EVERYTHING, clock=clock)
    for seconds in (9.0, 1.0, 1.0, 0.6, 0.2):
        run_for(recorder, clock, seconds, model.graph, "loss", metadata(model))
    names = recorder.recorded().graphs[0].tables.step_names
    assert names == ("loss (warm-up)", "loss", "loss", "loss", "loss (shorter)")


@pytest.mark.parametrize(("part", "traced"), [(0.0, 0), (0.5, 1)])
def test_run_of_which_windows_held_nothing_was_not_recorded(model: Model, part: float, traced: int) -> None:
    clock = Clock()
    recorder = SessionSource(EVERYTHING, clock=clock)
    run = recorder.begin(model.graph, ["loss"])
    assert run is not None
    clock.now += 2.0
    run.part_seconds = part
    recorder.finished(run)
    kind = run.kind.runs()
    assert (kind.seen, kind.traced, kind.first_part_seconds) == (1, traced, part)
