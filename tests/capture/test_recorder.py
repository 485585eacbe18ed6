"""Runs are counted, timed, named and made into profiles, at a bounded memory."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import tensorflow as tf

from tests.capture.models import THREE, Model, v1
from tfprof_widget.capturing.recorded import Runs
from tfprof_widget.capturing.recorder import Recorder, run_name
from tfprof_widget.capturing.sampling import EVERYTHING, Every, Steps


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


def run_for(recorder: Recorder, clock: Clock, seconds: float, graph: Any, node: str, traced: bytes) -> None:
    run = recorder.begin(graph, [node])
    assert run is not None
    clock.now += seconds
    recorder.finished(run, traced if run.traced else None)


def test_seconds_are_kept_by_kind(model: Model, traced: bytes) -> None:
    clock = Clock()
    recorder = Recorder(Every(2), clock=clock)
    for seconds in (8.0, 1.0, 3.0, 2.0):
        run_for(recorder, clock, seconds, model.graph, "loss", metadata(model))
        clock.now += 100.0  # between the runs
    assert recorder.counts() == (4, 2)
    recorded = recorder.recorded()
    assert recorded.graphs[0].runs == (Runs("loss", 4, 2, 3.0, 3.0, 8.0),)
    assert recorded.wall_seconds == 14.0
    assert recorded.overhead_seconds == 2 * (3.0 - 1.5)
    assert recorded.graphs[0].profile.steps == (0, 2)
    assert recorded.graphs[0].profile.step_names == ("loss (warm-up)", "loss")
    assert recorded.warnings == ()


def test_wall_time_of_runs_at_once_is_counted_once(model: Model) -> None:
    clock = Clock()
    recorder = Recorder(Steps(5), clock=clock)
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
    (runs,) = recorded.graphs[0].runs
    assert (runs.warm_up_seconds, runs.untraced_seconds) == (3.0, 5.0)


def test_kinds_that_would_share_a_name_are_told_apart(model: Model) -> None:
    clock = Clock()
    recorder = Recorder(Steps(5), clock=clock)
    nodes = [[f"tower_{number}/a/long/name/that/goes/on/and/on/loss" for number in range(count)] for count in (5, 5, 6)]
    nodes[1][4] = "tower_9"
    for each in (*nodes, nodes[1]):
        run = recorder.begin(model.graph, reversed(each))
        assert run is not None
        recorder.finished(run)
    assert [(runs.name, runs.seen) for runs in recorder.recorded().graphs[0].runs] == [
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


def test_metadata_is_read_once_it_takes_too_much_room(model: Model, traced: bytes) -> None:
    clock = Clock()
    recorder = Recorder(EVERYTHING, clock=clock, room=3 * len(traced) + 200)
    waiting = []
    for _ in range(8):
        run_for(recorder, clock, 1.0, model.graph, "loss", metadata(model))
        waiting.append(sum(len(runs.waiting) for runs in recorder._graphs.values()))
    assert waiting == [1, 2, 3, 0, 1, 2, 3, 0]
    assert recorder.recorded().graphs[0].profile.steps == tuple(range(8))


def test_other_threads_run_on_while_metadata_is_read(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfprof_widget.ingest.parts import Parts

    recorder, reading, over = Recorder(EVERYTHING, room=0), threading.Event(), threading.Event()
    add_graph = Parts.add_graph

    def slowly(parts: Parts, graph: Any) -> None:
        reading.set()
        assert over.wait(10)
        add_graph(parts, graph)

    monkeypatch.setattr(Parts, "add_graph", slowly)
    thread = threading.Thread(target=run_for, args=(recorder, Clock(), 0.0, model.graph, "loss", metadata(model)))
    thread.start()
    assert reading.wait(10)
    run = recorder.begin(model.graph, ["loss"])
    assert run is not None
    recorder.raised(run)
    over.set()
    thread.join()
    assert recorder.recorded().traced == 1


def test_graph_that_grows_is_read_again() -> None:
    model = Model()
    recorder = Recorder(EVERYTHING, room=0)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", metadata(model))
    with model.graph.as_default():
        tf.square(model.loss, name="later")
    run_for(recorder, Clock(), 0.0, model.graph, "loss", metadata(model))
    assert "later" in recorder.recorded().graphs[0].profile.nodes.names


def test_graph_that_cannot_be_read_does_not_cost_the_others(model: Model, traced: bytes) -> None:
    recorder = Recorder(EVERYTHING)
    run_for(recorder, Clock(), 0.0, object(), "loss", traced)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    recorded = recorder.recorded()
    assert len(recorded.graphs) == 1
    assert any("the runs of a graph are missing" in warning for warning in recorded.warnings)


def test_run_without_step_stats_is_told_of(model: Model, traced: bytes) -> None:
    recorder = Recorder(EVERYTHING)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", b"")
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    recorded = recorder.recorded()
    assert recorded.graphs[0].profile.steps == (1,)
    assert any(
        "a run of loss (warm-up) is missing: run_meta: it has no step stats" in each for each in recorded.warnings
    )


def test_nodes_of_functions_are_no_cause_for_a_warning(model: Model) -> None:
    """Most nodes of this run are not in the graph, but the graph is the right one for sure."""
    run_metadata = v1.RunMetadata.FromString(metadata(model))
    device = run_metadata.step_stats.dev_stats[0]
    for number in range(50):
        device.node_stats.add(node_name=f"inlined/{number}", all_start_micros=number)
    recorder = Recorder(EVERYTHING)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_for(recorder, Clock(), 0.0, model.graph, "loss", run_metadata.SerializeToString())
        recorded = recorder.recorded()
    assert "inlined/49" in recorded.graphs[0].profile.nodes.names


def test_nothing_is_recorded_after_the_end(model: Model, traced: bytes) -> None:
    recorder = Recorder(EVERYTHING)
    run = recorder.begin(model.graph, ["loss"])
    assert run is not None
    recorder.recorded()
    recorder.finished(run, traced)
    assert recorder.begin(model.graph, ["loss"]) is None
    assert recorder.recorded().seen == 0


def test_first_error_of_ours_is_told_and_stops_the_recording(model: Model, traced: bytes) -> None:
    recorder = Recorder(EVERYTHING)
    run_for(recorder, Clock(), 0.0, model.graph, "loss", traced)
    recorder.broke(ZeroDivisionError("first"))
    recorder.broke(ZeroDivisionError("second"))
    assert recorder.begin(model.graph, ["loss"]) is None
    recorded = recorder.recorded()
    assert recorded.traced == 1
    assert [each for each in recorded.warnings if "first" in each and "ZeroDivisionError" in each]
    assert not [each for each in recorded.warnings if "second" in each]
