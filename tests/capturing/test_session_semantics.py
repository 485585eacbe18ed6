"""Runs under capture are the user's runs: his options, his metadata, his exceptions, and TensorFlow as it was after."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import session as session_module

from tests.capturing.models import FULL_TRACE, THREE, Model, captured, v1
from tests.capturing.test_sessions import made_from_options
from tests.made import profile_of_tables
from tfprof_widget.capturing import session_hooks
from tfprof_widget.capturing.sampling import EVERYTHING, Sampler, Steps
from tfprof_widget.capturing.session_hooks import hooked_sessions, remembered_callables
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.ingest.gathered import Gathered

BASE = session_module.BaseSession
HOOKED = [
    (BASE, "_call_tf_sessionrun"),
    (BASE, "_call_tf_sessionprun"),
    (BASE._Callable, "__init__"),
    (BASE._Callable, "__call__"),
    (session_module.tf_session, "TF_GetBuffer"),
]

Run = Callable[[Any, Any], Any]


def hooked_functions() -> list[Any]:
    return [vars(owner)[name] for owner, name in HOOKED]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture(autouse=True)
def originals() -> Iterator[list[Any]]:
    """Whatever a test does, the very same functions are back after it."""
    originals = hooked_functions()
    yield originals
    assert all(now is original for now, original in zip(hooked_functions(), originals, strict=True))


def metadata_fields(metadata: Any) -> set[str]:
    return {field.name for field, _ in metadata.ListFields()}


OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a timeout": {"timeout_in_ms": 50_000},
    "partition graphs": {"output_partition_graphs": True},
    "a trace": {"trace_level": FULL_TRACE},
    "a small trace": {"trace_level": v1.RunOptions.SOFTWARE_TRACE},
    "a trace and partition graphs": {"trace_level": FULL_TRACE, "output_partition_graphs": True},
    "allocations": {"report_tensor_allocations_upon_oom": True},
}


@pytest.mark.parametrize("policy", [EVERYTHING, Steps(1)], ids=["traced", "untraced"])
@pytest.mark.parametrize("way", ["run", "callable", "callable from options"])
@pytest.mark.parametrize("asked", OPTIONS)
def test_metadata_is_filled_as_asked(model: Model, asked: str, way: str, policy: Any) -> None:
    """As TensorFlow itself fills it, which differs by the way of running."""
    session, options = model.session(), OPTIONS[asked]

    def fields() -> set[str]:
        metadata = v1.RunMetadata(partition_graphs=[tf.compat.v1.GraphDef()])  # to be overwritten
        if way == "run":
            session.run(model.count, options=v1.RunOptions(**options), run_metadata=metadata)
        elif way == "callable":
            call = session.make_callable(model.count, accept_options=True)
            call(options=v1.RunOptions(**options), run_metadata=metadata)
        else:
            made_from_options(model, session, model.count.name, **options)(run_metadata=metadata)
        return metadata_fields(metadata)

    expected = fields()
    with captured(policy) as inside:
        given = fields()
    assert given == expected
    assert ("step_stats" in given) == (options.get("trace_level", 0) > 0 or asked == "allocations")
    assert inside.runs == {"Identity": (1, int(policy is EVERYTHING))}


@pytest.mark.parametrize("way", ["run", "callable from options"])
def test_metadata_without_options_stays_empty(model: Model, way: str) -> None:
    session, metadata = model.session(), v1.RunMetadata()
    with captured() as inside:
        if way == "run":
            session.run(model.count, run_metadata=metadata)
        else:
            made_from_options(model, session, model.count.name)(run_metadata=metadata)
    assert metadata_fields(metadata) == set()
    assert inside.runs == {"Identity": (1, 1)}


def test_users_trace_is_the_one_recorded(model: Model) -> None:
    session, metadata = model.session(), v1.RunMetadata()
    with captured() as inside:
        session.run(model.count, options=v1.RunOptions(trace_level=FULL_TRACE), run_metadata=metadata)
    (device,) = metadata.step_stats.dev_stats
    assert inside.executed(0) == {stats.node_name for stats in device.node_stats} - {"_SOURCE"}
    starts = profile_of_tables(inside.graph.tables).executions.start_micros.tolist()
    assert sorted(starts) == sorted(each.all_start_micros for each in device.node_stats if each.node_name != "_SOURCE")


def test_trace_level_of_the_user_is_kept(model: Model, tmp_path: Path) -> None:
    """TensorFlow refuses a FULL_TRACE while its profiler is active, with and without us."""
    session, options = model.session(), v1.RunOptions(trace_level=FULL_TRACE)
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with captured(), pytest.raises(tf.errors.AlreadyExistsError, match="Another profiling session"):
            session.run(model.count, options=options, run_metadata=v1.RunMetadata())
    finally:
        tf.profiler.experimental.stop(save=False)


def test_timeout_of_the_user_is_kept(model: Model) -> None:
    with model.graph.as_default():
        stuck = v1.FIFOQueue(1, tf.float32).dequeue(name="stuck")
    session = model.session()
    with captured() as inside, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(stuck, options=v1.RunOptions(timeout_in_ms=100))
    assert any("1 run was not counted, having ended in an exception" in each for each in inside.recorded.warnings)


def test_options_of_the_user_are_not_changed(model: Model) -> None:
    session, options = model.session(), v1.RunOptions(inter_op_thread_pool=0)
    with captured():
        session.run(model.count, options=options)
        with pytest.raises(tf.errors.InvalidArgumentError, match="inter_op_thread_pool"):
            session.run(model.count, options=v1.RunOptions(inter_op_thread_pool=7))
    assert options == v1.RunOptions(inter_op_thread_pool=0)


def failing_fetch(model: Model, session: Any) -> Any:
    return session.run("check:0", {model.x: -THREE})


def failing_callable(model: Model, session: Any) -> Any:
    return session.make_callable("check:0")()


def failing_callable_from_options(model: Model, session: Any) -> Any:
    return made_from_options(model, session, "check:0")()


def wrong_shape(model: Model, session: Any) -> Any:
    return session.run(model.loss, {model.x: np.ones([2, 2])})


def unknown_fetch(model: Model, session: Any) -> Any:
    return session.run("nowhere:0")


def wrong_options(model: Model, session: Any) -> Any:
    return session.run(model.loss, {model.x: THREE}, options="fast")


def wrong_metadata(model: Model, session: Any) -> Any:
    return made_from_options(model, session)(THREE, run_metadata="mine")


def wrong_feed(model: Model, session: Any) -> Any:
    return made_from_options(model, session)("text")


def closed_session(model: Model, session: Any) -> Any:
    session.close()
    return session.run(model.count)


def closed_callable(model: Model, session: Any) -> Any:
    call = session.make_callable(model.count)
    session.close()
    return call()


def closed_callable_from_options(model: Model, session: Any) -> Any:
    call = made_from_options(model, session)
    session.close()
    return call(THREE)


FAILURES = [
    failing_fetch,
    failing_callable,
    failing_callable_from_options,
    wrong_shape,
    unknown_fetch,
    wrong_options,
    wrong_metadata,
    wrong_feed,
    closed_session,
    closed_callable,
    closed_callable_from_options,
]


@pytest.mark.parametrize("policy", [EVERYTHING, Steps(1000)], ids=["traced", "untraced"])
@pytest.mark.parametrize("failure", FAILURES)
def test_exceptions_are_those_of_tensorflow(model: Model, failure: Run, policy: Any) -> None:
    with model.graph.as_default():
        tf.debugging.check_numerics(tf.constant(np.nan, name="nan"), "not a number", name="check")

    def chain(session: Any) -> list[tuple[type, str, int]]:
        """Type, message and depth of the exception and of those it was raised from."""
        try:
            failure(model, session)
            pytest.fail("no exception")
        except Exception as raised:
            error: BaseException | None = raised
        found = []
        while error is not None:
            depth = len(traceback.extract_tb(error.__traceback__))
            found.append((type(error), str(error), depth))
            error = error.__context__
        return found

    expected = chain(model.session())
    session = model.session()
    with captured(policy) as inside:
        given = chain(session)
        assert Model().session().run("Identity:0") == 0.0
    assert [each[:2] for each in given] == [each[:2] for each in expected]
    assert all(0 <= ours[2] - plain[2] <= 1 for ours, plain in zip(given, expected, strict=True))
    assert not any("by an error of tfprof_widget" in warning for warning in inside.recorded.warnings)


@pytest.mark.parametrize("policy", [EVERYTHING, Steps(1000)], ids=["traced", "untraced"])
def test_interrupt_in_a_run_comes_through(model: Model, policy: Any) -> None:
    """TensorFlow runs on until the end of the run; then Python raises."""

    def interrupt() -> np.float32:
        signal.raise_signal(signal.SIGINT)
        return np.float32(1)

    with model.graph.as_default():
        interrupted = tf.numpy_function(interrupt, [], tf.float32, name="interrupted")
    session = model.session()
    with captured(policy) as inside:
        with pytest.raises(KeyboardInterrupt):
            session.run(interrupted)
        assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert inside.runs["loss"] == (1, int(policy is EVERYTHING))


class Slow:
    """A node that waits until it is told to go on."""

    def __init__(self, model: Model) -> None:
        self.started, self.over = threading.Event(), threading.Event()
        with model.graph.as_default():
            self.fetch = tf.numpy_function(self._wait, [], tf.bool, name="slow")

    def _wait(self) -> bool:
        self.started.set()
        return self.over.wait(60)


def test_interrupt_from_a_thread_comes_through(model: Model) -> None:
    slow, session = Slow(model), model.session()

    def interrupt() -> None:
        slow.started.wait(60)
        signal.raise_signal(signal.SIGINT)
        slow.over.set()

    thread = threading.Thread(target=interrupt)
    with captured() as inside:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(slow.fetch)
        thread.join()
        session.run(model.count)
    assert inside.runs["Identity"] == (1, 1)


def test_run_that_outlasts_the_capture_goes_on(model: Model) -> None:
    slow, session = Slow(model), model.session()
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(session.run(slow.fetch)))
    with captured() as inside:
        thread.start()
        slow.started.wait(60)
    slow.over.set()
    thread.join()
    assert results == [True]
    assert inside.runs == {"slow": (0, 0)}
    assert "1 run was still going on at the end, and so not counted" in inside.recorded.warnings


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (SessionSource, "begin"),
        (SessionSource, "finished"),
        (SessionSource, "raised"),
        (SessionSource, "ended"),
        (Sampler, "choose"),
        (Sampler, "ran"),
        (session_hooks, "_asks_for_step_stats"),
        (session_hooks, "_without_step_stats"),
        (session_hooks._TracedRun, "release"),
        (session_hooks._TracedCallable, "metadata"),
        (session_hooks._TracedCallable, "release"),
        (session_hooks.CallableRuns, "twin"),
        (Gathered, "read"),
        (Gathered, "add_run"),
        (Gathered, "tables"),
    ],
)
def test_our_own_errors_leave_the_runs_alone(
    model: Model, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("broken on purpose")

    with model.graph.as_default():
        tf.debugging.check_numerics(tf.constant(np.nan, name="nan"), "not a number", name="check")
    session, metadata = model.session(), v1.RunMetadata()
    with remembered_callables():
        call = made_from_options(model, session)
    monkeypatch.setattr(owner, name, broken)
    with captured(room=0) as inside:
        for _ in range(3):
            options = v1.RunOptions(output_partition_graphs=True)
            assert session.run(model.loss, {model.x: THREE}, options, metadata) == 3.0
            assert metadata.partition_graphs
            assert call(THREE) == [3.0]
            assert made_from_options(model, session)(THREE) == [3.0]
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run("check:0")
    told = [warning for warning in inside.recorded.warnings if "broken on purpose" in warning]
    assert len(told) == 1


@pytest.mark.parametrize("name", ["_call_tf_sessionrun", "_call_tf_sessionprun", "_Callable"])
def test_missing_internal_is_told_of_and_the_rest_goes_on(
    model: Model, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, recorder, real = model.session(), SessionSource(EVERYTHING), vars(BASE)[name]
    monkeypatch.delattr(BASE, name)
    with hooked_sessions(recorder):
        monkeypatch.setattr(BASE, name, real, raising=False)  # without it no session could run
        assert session.run(model.count) == 0.0
    monkeypatch.undo()
    recorded = recorder.recorded()
    assert recorded.seen == (0 if name == "_call_tf_sessionrun" else 1)
    missing = ["__init__", "__call__"] if name == "_Callable" else [name]
    for each in missing:
        assert f"this TensorFlow has no {each}, so what runs through it is missing here" in recorded.warnings


def test_block_that_raises_is_still_recorded(model: Model) -> None:
    session = model.session()
    with pytest.raises(TypeError, match="has invalid type"), captured() as inside:
        session.run(session.run(model.count))
    assert inside.runs == {"Identity": (1, 1)}


def test_hooks_have_the_names_and_documentation_of_what_they_stand_for() -> None:
    before = [(function.__name__, function.__doc__) for function in hooked_functions()]
    with captured():
        assert [(function.__name__, function.__doc__) for function in hooked_functions()] == before
