"""A FULL_TRACE is asked for only where it gives more, and never twice at a time, for then TensorFlow's runs fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.profiler import profiler_v2

from tests.capturing.models import THREE, Model, captured, v1
from tfprof_widget.capturing import session_hooks
from tfprof_widget.capturing.sampling import EVERYTHING
from tfprof_widget.capturing.schedule import Schedule, StepRecorder
from tfprof_widget.capturing.session_hooks import (
    FULL_TRACE,
    SOFTWARE_TRACE,
    UNKNOWN_CLUSTER,
    UNKNOWN_PROFILING,
    TraceLevels,
    is_profiling,
)
from tfprof_widget.capturing.session_source import SessionSource


class Session:
    """A session on the devices of these types."""

    sess_str = b""

    def __init__(self, *types: str, graph: Any = None) -> None:
        self.types = types
        self.graph = graph
        self.asked = 0

    def list_devices(self) -> list[Any]:
        self.asked += 1
        if not self.types:
            raise tf.errors.CancelledError(None, None, "Session has been closed.")
        return [SimpleNamespace(device_type=each) for each in self.types]


def test_levels_are_tensorflows() -> None:
    assert (SOFTWARE_TRACE, FULL_TRACE) == (v1.RunOptions.SOFTWARE_TRACE, v1.RunOptions.FULL_TRACE)


@pytest.mark.parametrize(
    ("types", "level"),
    [
        (["CPU"], SOFTWARE_TRACE),
        (["CPU", "GPU"], FULL_TRACE),
        (["CPU", "XLA_CPU"], SOFTWARE_TRACE),
        (["TPU"], FULL_TRACE),
    ],
)
def test_level_is_as_the_devices_are(types: list[str], level: int) -> None:
    session, levels = Session(*types), TraceLevels()
    for run in (object(), object()):
        assert levels.borrow(session, run) == level
        levels.give_back(run)
    assert session.asked == 1


def test_closed_session_is_asked_again() -> None:
    session, levels = Session(), TraceLevels()
    assert levels.borrow(session, object()) == SOFTWARE_TRACE
    session.types = ("GPU",)
    assert levels.borrow(session, object()) == FULL_TRACE


def test_one_run_at_a_time_has_the_full_trace() -> None:
    session, levels, first, second = Session("GPU"), TraceLevels(), object(), object()
    assert levels.borrow(session, first) == FULL_TRACE
    assert levels.borrow(session, second) == SOFTWARE_TRACE
    levels.give_back(second)
    assert levels.borrow(session, second) == SOFTWARE_TRACE
    levels.give_back(first)
    assert levels.borrow(session, second) == FULL_TRACE


@pytest.mark.parametrize(
    "make",
    [
        lambda: SessionSource(EVERYTHING),
        lambda: StepRecorder(Schedule(range(9), []), lambda *_: None, lambda _: None),
    ],
)
@pytest.mark.parametrize(("collectives", "levels_wanted"), [(True, [1, 3]), (False, [3, 3])])
def test_devices_that_may_meet_for_the_first_time_get_no_full_trace(
    make: Callable[[], Any], collectives: bool, levels_wanted: list[int]
) -> None:
    """TensorFlow 2.21's profiler, which a FULL_TRACE uses, may crash where a group of devices meets first."""
    graph = tf.Graph()
    with graph.as_default():
        group = {"group_size": 1, "group_key": 1, "instance_key": 1, "subdiv_offsets": [0]}
        one = tf.constant([1.0])
        tf.raw_ops.CollectiveReduce(input=one, merge_op="Add", final_op="Id", **group) if collectives else one + one
    session, levels, recorder, given = Session("GPU", graph=graph), TraceLevels(), make(), []
    for _ in levels_wanted:
        begun = recorder.begin(graph, ["sum"])
        given.append(levels.borrow(session, begun))
        levels.give_back(begun)
        recorder.finished(begun, b"")
    assert given == levels_wanted


def test_active_profiler_excludes_the_full_trace(tmp_path: Path) -> None:
    levels = TraceLevels()
    tf.profiler.experimental.start(str(tmp_path))
    try:
        assert is_profiling()
        assert levels.borrow(Session("GPU"), object()) == SOFTWARE_TRACE
    finally:
        tf.profiler.experimental.stop(save=False)
    assert levels.borrow(Session("GPU"), object()) == FULL_TRACE


def test_unknown_profiler_excludes_the_full_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    levels = TraceLevels(notes.append)
    monkeypatch.delattr(profiler_v2, "_profiler")
    assert is_profiling() is None
    assert levels.borrow(Session("GPU"), object()) == SOFTWARE_TRACE
    assert notes == [UNKNOWN_PROFILING]
    notes.clear()
    assert levels.borrow(Session("CPU"), object()) == SOFTWARE_TRACE
    assert notes == []


def test_a_run_beside_a_profiler_that_is_not_known_of_succeeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if this machine had an accelerator: TensorFlow refuses a FULL_TRACE beside its profiler."""
    monkeypatch.setattr(session_hooks, "HOSTS", frozenset())
    model = Model()
    session = model.session()
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with pytest.raises(tf.errors.AlreadyExistsError):
            session.run(model.loss, {model.x: THREE}, options=v1.RunOptions(trace_level=FULL_TRACE))
        with monkeypatch.context() as breaking, captured() as inside:
            breaking.delattr(profiler_v2, "_profiler")
            assert session.run(model.loss, {model.x: THREE}) == 3.0
    finally:
        tf.profiler.experimental.stop(save=False)
    assert inside.runs == {"loss": (1, 1)}
    assert UNKNOWN_PROFILING in inside.recorded.warnings


def test_sessions_that_do_not_tell_of_a_cluster_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in v1.Session.__mro__:
        if "sess_str" in vars(each):
            monkeypatch.delattr(each, "sess_str")
    model = Model()
    with captured() as inside, v1.Session(graph=model.graph) as session:
        assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert inside.runs == {"loss": (1, 1)}
    assert UNKNOWN_CLUSTER in inside.recorded.warnings


@pytest.mark.parametrize("fails", [False, True])
def test_full_trace_is_given_back_after_each_run(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this machine had an accelerator: run after run has the FULL_TRACE, which the runtime's log tells."""
    monkeypatch.setattr(session_hooks, "HOSTS", frozenset())
    levels: list[int] = []
    borrow = TraceLevels.borrow

    def noted(*arguments: Any) -> int:
        levels.append(borrow(*arguments))
        return levels[-1]

    monkeypatch.setattr(TraceLevels, "borrow", noted)
    model = Model()
    session = model.session()
    with captured() as inside:
        call = session.make_callable(model.loss)
        for _ in range(3):
            if fails:
                with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
                    call()
            else:
                assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert levels == [FULL_TRACE] * 3
    assert inside.runs == {"loss": (0, 0) if fails else (3, 3)}
