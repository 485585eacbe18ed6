"""Every way of running a session is seen and traced, wherever the session was made, by its graph and name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.profiler.tfprof_output_pb2 import GraphNodeProto
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.keras import layers, models, optimizer_v1

from tests.capturing.models import FULL_TRACE, THREE, Model, captured, v1
from tests.made import profile_of_tables
from tests.oracle.native import NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.oracle.rows import rows
from tfprof_widget.capturing.cell_log import RunLog
from tfprof_widget.capturing.sampling import Every, Steps
from tfprof_widget.capturing.session_hooks import CallableRuns, SessionRuns, remembered_callables


def by_run(model: Model, session: Any) -> Any:
    return session.run(model.loss, {model.x: THREE})


def by_names(model: Model, session: Any) -> Any:
    return session.run({"loss": "loss:0"}, {"x:0": THREE})["loss"]


def by_eval(model: Model, session: Any) -> Any:
    return model.loss.eval({model.x: THREE}, session)


def by_fed_callable(model: Model, session: Any) -> Any:
    return session.make_callable(model.loss, feed_list=[model.x])(THREE)


def by_callable_options(model: Model, session: Any) -> Any:
    (loss,) = made_from_options(model, session)(THREE)
    return loss


def made_from_options(model: Model, session: Any, fetch: str = "loss:0", **run_options: Any) -> Any:
    """A callable as tf_keras makes them."""
    options = config_pb2.CallableOptions(feed=["x:0"] if fetch == "loss:0" else [], fetch=[fetch])
    options.run_options.MergeFrom(v1.RunOptions(**run_options))
    return session._make_callable_from_options(options)


WAYS = [by_run, by_names, by_eval, by_fed_callable, by_callable_options]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.mark.parametrize("way", WAYS)
def test_run_is_traced_and_gives_what_it_gave(model: Model, way: Callable[[Model, Any], Any]) -> None:
    with captured() as inside:
        results = [way(model, model.session()) for _ in range(2)]
    assert results == [3.0, 3.0]
    assert inside.runs == {"initialize": (2, 2), "loss": (2, 2)}
    assert profile_of_tables(inside.graph.tables).step_names == (
        "initialize (warm-up)",
        "loss (warm-up)",
        "initialize",
        "loss",
    )
    assert {"Square", "loss"} <= inside.executed(1)
    assert "counter/Assign" in inside.executed(0)
    assert inside.recorded.warnings == (
        "how much tracing slowed the runs is not known, since no kind had both traced and untraced runs",
    )


@pytest.mark.parametrize("way", WAYS)
def test_session_made_before_is_traced(model: Model, way: Callable[[Model, Any], Any]) -> None:
    session = model.session()
    with captured() as inside:
        way(model, session)
    way(model, session)
    assert inside.runs == {"loss": (1, 1)}


@pytest.mark.parametrize("fetches", ["count", "train", "both"])
@pytest.mark.parametrize("made", ["before", "inside"])
@pytest.mark.parametrize("accepts_options", [False, True])
def test_plain_callable_is_traced(model: Model, fetches: str, made: str, accepts_options: bool) -> None:
    session = model.session()
    asked: Any = {"count": model.count, "train": model.init, "both": [model.count, model.init]}[fetches]
    if made == "before":
        call = session.make_callable(asked, accept_options=accepts_options)
    with captured() as inside:
        if made == "inside":
            call = session.make_callable(asked, accept_options=accepts_options)
        results = [call() for _ in range(3)]
    assert results == [call()] * 3
    name = {"count": "Identity", "train": "initialize", "both": "Identity, initialize"}[fetches]
    assert inside.runs == {name: (3, 3)}


def test_interactive_session(model: Model) -> None:
    with captured() as inside:
        session = v1.InteractiveSession(graph=model.graph)
        try:
            model.init.run()
            assert model.loss.eval({model.x: THREE}) == 3.0
        finally:
            session.close()
    assert inside.runs == {"initialize": (1, 1), "loss": (1, 1)}


def test_monitored_training_session_with_hooks(model: Model) -> None:
    """The fetches of hooks come along, and hooks get no step stats that they did not ask for."""
    seen: list[float] = []

    class Watch(v1.train.SessionRunHook):  # type: ignore[misc]
        def before_run(self, run_context: Any) -> Any:
            return v1.train.SessionRunArgs(model.loss, options=v1.RunOptions(timeout_in_ms=60_000))

        def after_run(self, run_context: Any, run_values: Any) -> None:
            assert not run_values.run_metadata.step_stats.dev_stats
            seen.append(run_values.results)

    with captured(Every(2)) as inside, model.graph.as_default():
        hooks = [Watch(), v1.train.StopAtStepHook(num_steps=100)]
        with v1.train.MonitoredTrainingSession(hooks=hooks, save_summaries_steps=None) as session:
            for _ in range(5):
                session.run(model.train, {model.x: THREE})
    assert seen == [3.0] * 5
    trained = [runs for name, runs in inside.runs.items() if "train" in name.split(", ")]
    assert trained == [(5, 3)]


def test_partial_run_is_counted_and_said_to_be_untraceable(model: Model) -> None:
    with model.graph.as_default():
        doubled = tf.multiply(model.loss, 2.0, name="doubled")
    session = model.session()
    with captured() as inside:
        handle = session.partial_run_setup([model.loss, doubled], [model.x])
        assert session.partial_run(handle, model.loss, {model.x: THREE}) == 3.0
        assert session.partial_run(handle, doubled) == 6.0
    assert inside.runs == {"loss": (1, 0), "doubled": (1, 0)}
    assert inside.recorded.warnings == (
        "2 runs were not traced: TensorFlow gives partial_run neither options nor metadata; "
        "use Session.run for what is to be profiled",
    )


def test_callable_made_from_options_before_is_said_to_be_untraceable(model: Model) -> None:
    session = model.session()
    call = made_from_options(model, session)
    with captured() as inside:
        assert call(THREE) == [3.0]
        session.run(model.count)
    assert inside.runs == {"a callable": (1, 0), "Identity": (1, 1)}
    assert any(
        "1 run was not traced: callables, such as a tf_keras model's, cannot be traced" in each
        for each in inside.recorded.warnings
    )


def test_callable_made_from_options_before_is_traced_if_remembered(model: Model) -> None:
    session = model.session()
    with remembered_callables():
        call = made_from_options(model, session)
    with captured() as inside:
        assert call(THREE) == [3.0]
    assert inside.runs == {"loss": (1, 1)}


def test_twin_of_a_callable_shares_its_state(model: Model) -> None:
    session = model.session()
    target = config_pb2.CallableOptions(feed=["x:0"], target=["train"])
    with captured(Every(2)) as inside:
        call = session._make_callable_from_options(target)
        for _ in range(5):
            call(THREE)
    assert session.run(model.count) == 5.0
    assert inside.runs == {"train": (5, 3)}


@pytest.mark.parametrize("way", WAYS)
def test_what_hooks_take_beside_the_runs_is_part_of_the_cost(
    model: Model, way: Callable[[Model, Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where TensorFlow's own time stands still, each run is held up for 2 s before it and 3 s after it."""
    session, now = model.session(), [0.0]

    def slow(original: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def slowly(*arguments: Any, **keywords: Any) -> Any:
            now[0] += seconds
            return original(*arguments, **keywords)

        return slowly

    for watcher in (SessionRuns, CallableRuns):
        monkeypatch.setattr(watcher, "begin", slow(watcher.begin, 2.0))
    monkeypatch.setattr(RunLog, "add", slow(RunLog.add, 3.0))
    with captured(Steps(10), clock=lambda: now[0]) as inside:
        for _ in range(4):
            way(model, session)
    assert inside.recorded.overhead_seconds == 4 * 5.0
    assert inside.recorded.wall_seconds == 4 * 5.0


def test_threads_are_traced(model: Model) -> None:
    """More at once than TensorFlow's profiler allows of FULL_TRACE: half of such runs would raise."""
    session, wrong = model.session(), []

    def train() -> None:
        try:
            for _ in range(50):
                assert session.run([model.loss, model.train], {model.x: THREE})[0] == 3.0
        except Exception as error:
            wrong.append(error)

    with captured() as inside:
        threads = [threading.Thread(target=train) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert session.run(model.count) == 200.0
    assert inside.runs == {"loss, train": (200, 200)}
    assert len(profile_of_tables(inside.graph.tables).steps) == 200


def test_run_goes_on_while_a_profiler_is_active(model: Model, tmp_path: Any) -> None:
    session = model.session()
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with captured() as inside:
            assert by_run(model, session) == 3.0
    finally:
        tf.profiler.experimental.stop(save=False)
    assert inside.runs == {"loss": (1, 1)}


def test_each_graph_has_its_profile(model: Model) -> None:
    other = Model()
    with other.graph.as_default():
        tf.square(other.loss, name="squared")
    with captured() as inside:
        by_run(model, model.session())
        other.session().run("squared:0", {"x:0": THREE})
    first, second = inside.recorded.graphs
    assert [runs.name for runs in first.kinds] == ["initialize", "loss"]
    assert [runs.name for runs in second.kinds] == ["initialize", "squared"]
    assert "squared" in second.tables.nodes.names
    assert "squared" not in first.tables.nodes.names


def test_what_is_fed_and_fetched_is_of_the_types_that_the_runtime_has_for_it(model: Model) -> None:
    with captured() as inside:
        model.session().run([model.loss, model.count], {model.x: THREE})
    profile = profile_of_tables(inside.graph.tables)
    moving = {
        name: profile.nodes.ops[op]
        for name, op in zip(profile.nodes.names, profile.nodes.op, strict=True)
        if name.startswith(("_arg_", "_retval_"))
    }
    assert set(moving.values()) == {"_Arg", "_Retval"}
    assert {name.partition("_")[2].partition("_")[0] for name in moving} == {"arg", "retval"}


def test_steps_are_numbered_as_seen(model: Model) -> None:
    session = model.session()
    with captured(Steps(1, 3)) as inside:
        for _ in range(5):
            session.run(model.train, {model.x: THREE})
            by_run(model, session)
    assert inside.runs == {"train": (5, 2), "loss": (5, 2)}
    assert profile_of_tables(inside.graph.tables).steps == (2, 3, 4, 5)
    assert profile_of_tables(inside.graph.tables).step_names == ("train", "loss", "train", "loss")


def test_run_within_a_run_is_traced(model: Model) -> None:
    """A py_func that runs a session of its own: nothing of ours waits for the outer run."""
    inner = Model()
    inner_session = inner.session()
    with model.graph.as_default():
        nested = tf.numpy_function(lambda: by_run(inner, inner_session), [], tf.float32, name="nested")
    session = model.session()
    with captured() as inside:
        assert session.run(nested) == 3.0
    assert inside.runs == {"nested": (1, 1), "loss": (1, 1)}


def test_captures_within_captures(model: Model) -> None:
    session = model.session()
    with captured(Every(3)) as outer:
        by_run(model, session)
        with captured(Every(2)) as inner:
            for _ in range(6):
                assert by_run(model, session) == 3.0
                assert by_callable_options(model, session) == 3.0
        by_run(model, session)
    assert inner.runs == {"loss": (12, 6)}
    assert outer.runs == {"loss": (14, 5)}


def test_totals_equal_native_tfprof(native: NativeTfprof, model: Model) -> None:
    """The user's own run metadata, asked for with a trace, is what was recorded.

    Op view would differ: natively what is fed or fetched is of a type of its own.
    """
    session, metadata = model.session(), [v1.RunMetadata() for _ in range(3)]
    with captured() as inside:
        for run_metadata in metadata:
            options = v1.RunOptions(trace_level=FULL_TRACE)
            session.run([model.loss, model.train], {model.x: np.ones([9])}, options, run_metadata)
    graph = model.graph.as_graph_def(add_shapes=True).SerializeToString()
    steps = [Step(step, each.SerializeToString()) for step, each in enumerate(metadata)]
    for step in (-1, 0, 2):
        asked = {"step": step, "order_by": "micros", "select": ["micros", "bytes", "occurrence"]}
        answer = native.profile_steps(Request("scope", options_proto(DEFAULTS | asked)), graph, b"", steps)
        assert isinstance(answer, NativeAnswer)
        view = profile_of_tables(inside.graph.tables).view(
            "scope", timing="tfprof", max_depth=10_000, min_micros=0, **asked
        )
        ours = rows(view.proto().SerializeToString(), GraphNodeProto)
        assert [costs(row.fields) for row in ours] == [costs(row.fields) for row in rows(answer.proto, GraphNodeProto)]
        assert len(ours) > 3


def costs(fields: dict[str, Any]) -> dict[str, Any]:
    """What was measured; native was given no op log, so it knows of no parameters and FLOPs, nor of shapes of runs."""
    unknown = ("float_ops", "parameters", "graph_nodes", "input_shapes")
    return {name: value for name, value in fields.items() if not name.endswith(unknown)}


def test_keras_in_graph_mode(model: Model) -> None:
    """The Keras that TensorFlow carries runs as tf_keras does: twelve batches, in three epochs of four."""
    samples, targets = np.ones([32, 4], np.float32), np.ones([32, 1], np.float32)
    with model.graph.as_default(), v1.Session():
        dense = layers.Dense(1, input_shape=(4,), kernel_initializer="zeros")
        network = models.Sequential([dense])
        network.compile(optimizer_v1.SGD(0.1), "mse")
        with captured(Every(2)) as inside:
            history = network.fit(samples, targets, epochs=3, batch_size=8, verbose=0).history
    # Five alike weights and a bias of 0 learn to give 1: each batch leaves nothing of the error 1 - 5 * 0.2.
    assert history["loss"] == [pytest.approx(0.25), pytest.approx(0.0), pytest.approx(0.0)]
    trained = [runs for name, runs in inside.runs.items() if "training" in name]
    assert trained == [(12, 6)]
