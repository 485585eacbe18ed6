"""A clock that steps back, as one that is set does: counts and times stay what they are, and none is negative."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tfprof_widget.api.profile import Profile
from tfprof_widget.capturing import tf_profiler, windows
from tfprof_widget.lib.messages import GraphDef, RunMetadata

HOUR = 3_600_000_000_000


class StepsBack:
    """A clock that is set back by an hour each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        return time.time_ns() - self.asked * HOUR


def test_steps_are_recorded_while_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StepsBack()
    monkeypatch.setattr(windows, "time_ns", clock)
    monkeypatch.setattr(tf_profiler, "time_ns", clock)
    square = tf.function(tf.square)
    with tfprof.capture(trace_all=True) as prof:
        tf.exp(1.0)
        assert [float(square(tf.constant(3.0))) for _ in range(5)] == [9.0] * 5
        tf.exp(1.0)
    assert clock.asked >= 7
    assert (prof.measurement.runs_seen, prof.measurement.runs_traced) == (5, 5)
    assert all(runs.run_seconds >= 0 for runs in prof.measurement.runs)
    executions = prof.profile.executions
    assert executions.duration_nanos.min() >= 0
    assert "Square" in prof.view("op", run_name_regexes=[".*"]).names
    assert prof.text()
    assert prof.widget() is not None


def test_eager_ops_take_no_negative_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "time_ns", StepsBack())
    with tfprof.capture(trace_all=True) as prof:
        tf.exp(1.0)
    assert [runs.run_seconds for runs in prof.measurement.runs] == [0.0]


def test_runs_of_sessions_are_recorded_while_the_clock_is_set_back(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow writes its clock into the metadata of a run: that of each run is an hour before the last."""
    session = model.session()
    runs: list[int] = []

    def set_back(metadata: bytes) -> bytes:
        message = RunMetadata.FromString(metadata)
        for device in message.step_stats.dev_stats:
            for each in device.node_stats:
                each.all_start_nanos -= len(runs) * HOUR
                each.all_start_micros -= len(runs) * HOUR // 1000
        runs.append(len(runs))
        return message.SerializeToString()

    from tfprof_widget.capturing.session_hooks import _TracedRun

    metadata_of = _TracedRun.metadata
    monkeypatch.setattr(_TracedRun, "metadata", lambda run: set_back(metadata_of(run)))
    with tfprof.capture(trace_all=True) as prof:
        assert [session.run(model.loss, {model.x: THREE}) for _ in range(4)] == [3.0] * 4
    assert prof.profile.steps == (0, 1, 2, 3)
    starts = [prof.profile.executions.start_nanos[prof.profile.executions.step == step].min() for step in range(4)]
    assert [round((before - after) / HOUR) for before, after in pairwise(starts)] == [1, 1, 1]
    assert prof.profile.executions.duration_nanos.min() >= 0
    assert prof.text()
    assert prof.widget() is not None


def test_an_execution_that_ends_before_it_begins_takes_no_time() -> None:
    graph = GraphDef()
    graph.node.add(name="a", op="Op")
    run = RunMetadata()
    stats = run.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0").node_stats
    stats.add(node_name="a", all_start_micros=10, op_end_rel_micros=-5, all_end_rel_micros=-5)
    profile: Any = Profile.from_protos(graph, run)
    assert np.all(profile.executions.duration_nanos >= 0)
    assert int(profile.view("op").grand_total["micros"][0]) >= 0
