"""Where TensorFlow's profiler may crash in collectives nothing is recorded, and steps are timed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import collective_ops
from tensorflow.python.profiler.internal import _pywrap_profiler

import tfprof_widget as tfprof
from tfprof_widget.capturing import collectives, windows
from tfprof_widget.capturing.collectives import collective_hooks, has_collectives, is_mended
from tfprof_widget.capturing.hooks import Patch

DANGER = "this process takes part in collectives"


def reduced(value: Any) -> Any:
    return collective_ops.all_reduce_v2(value, group_size=1, group_key=1, instance_key=1)


def graph_of(function: Any) -> Any:
    return tf.function(function).get_concrete_function(tf.ones([2])).graph


def test_collectives_are_found_in_what_a_function_calls() -> None:
    inner = tf.function(reduced)
    assert has_collectives(graph_of(reduced))
    assert has_collectives(graph_of(lambda x: inner(x) + 1.0))
    assert has_collectives(graph_of(lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, reduced, [x])))
    assert not has_collectives(
        graph_of(lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: y + 1, [x]))
    )


def test_a_mended_profiler_is_known_by_what_came_with_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the one of 2.21 lacks; of another of its functions it is known that it has it."""
    assert not is_mended(_pywrap_profiler)
    assert not is_mended(ModuleType("built in"))
    monkeypatch.setattr(collectives, "FLUSH", "_ZN3tsl8profiler15TraceMeRecorder4StopEv")
    assert is_mended(_pywrap_profiler)


@pytest.fixture
def in_danger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "why_never", lambda: DANGER)


def steps(**asked: Any) -> Any:
    square = tf.function(tf.square)
    with tfprof.capture(**asked) as prof:
        for _ in range(10):
            square(tf.constant(1.0))
    return prof


@pytest.mark.usefixtures("in_danger")
@pytest.mark.parametrize("asked", [{}, {"trace_all": True}, {"steps": (2, 5)}])
def test_nothing_is_recorded_in_danger_and_steps_are_timed(asked: dict[str, Any]) -> None:
    prof = steps(**asked)
    (runs,) = prof.measurement.runs
    assert (runs.name, runs.seen, runs.traced) == ("square", 10, 0)
    assert prof.measurement.run_seconds > 0
    why, timed = prof.text().splitlines()
    assert why == f"No ops were recorded: {DANGER}"
    assert timed.startswith("timed: square: the first ")
    assert ", then 9 of " in timed


@pytest.mark.usefixtures("in_danger")
def test_who_dares_has_all_recorded() -> None:
    (runs,) = steps(trace_all=True, collectives=True).measurement.runs
    assert runs.traced == 10


@pytest.mark.usefixtures("in_danger")
def test_a_mended_profiler_records_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "FLUSH", "_ZN3tsl8profiler15TraceMeRecorder4StopEv")
    (runs,) = steps(trace_all=True).measurement.runs
    assert runs.traced == 10


def test_a_recording_stops_before_devices_meet_eagerly_for_the_first_time() -> None:
    """And before workers are joined; what is made in a group that met before goes on."""
    stopped: list[int] = []

    class Recorder:
        def release_profiler(self) -> None:
            stopped.append(len(stopped))

    hooks = collective_hooks(Recorder())
    patches = [Patch(*hook) for hook in hooks[collectives.COLLECTIVES](collective_ops)]
    try:
        assert {"all_reduce", "all_reduce_v2", "all_gather_v2", "broadcast_send"} <= {patch.name for patch in patches}
        with tf.Graph().as_default():
            counts = []
            for key in (1, 1, 2, 1):
                collective_ops.all_reduce_v2(tf.ones([2]), 1, key, instance_key=1)
                counts.append(len(stopped))
    finally:
        for patch in patches:
            patch.undo()
    assert counts == [1, 1, 2, 2]
    (joining,) = hooks[collectives.CONTEXT](context)
    assert joining[1] == "enable_collective_ops"
