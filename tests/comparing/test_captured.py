"""Runs of a real session: what a capture keeps of them, saved and loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tfprof_widget.api.capture import capture
from tfprof_widget.api.comparison import compare
from tfprof_widget.api.result import Capture

RUNS = 30


@pytest.fixture(scope="module")
def captured() -> list[Capture]:
    """Two runs of the same loop."""
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, [16, 16], "fed")
        with tf.name_scope("layer"):
            hidden = tf.nn.relu(tf.matmul(fed, fed))
        loss = tf.reduce_sum(hidden, name="loss")
    found = []
    with tf.Session(graph=graph) as session:
        for name in ("first", "second"):
            with capture(name=name, every=5) as prof:
                for _ in range(RUNS):
                    session.run(loss, {fed: np.ones((16, 16), np.float32)})
            found.append(prof)
    return found


def test_what_a_capture_keeps(captured: list[Capture]) -> None:
    kept = captured[0].kept_run
    assert kept.name == "first"
    assert len(kept.step_seconds) == RUNS - RUNS // 5
    assert len(kept.traced_seconds) == RUNS // 5 - 1  # without the first, which sets up
    assert kept.cell_seconds == captured[0].time_budget().cell_seconds
    ran = {name for name, nanos in zip(kept.ops.names, kept.nanos, strict=True) if np.isfinite(nanos)}
    assert {"layer/MatMul", "layer/Relu", "loss"} <= ran
    assert kept.ops.layers[kept.ops.layer[kept.ops.names.index("layer/MatMul")]] == "layer"
    assert kept.fingerprint["sampling"] == "every 5th run"
    assert kept.fingerprint["input shapes"] == "16x16"
    assert {"processor", "cores", "python", "tensorflow", "devices"} <= kept.fingerprint.keys()
    line = kept.ops.lines[kept.ops.line[kept.ops.names.index("layer/MatMul")]]
    assert line.source == "hidden = tf.nn.relu(tf.matmul(fed, fed))"


def test_saved_and_loaded_it_compares_as_before(captured: list[Capture], tmp_path: Path) -> None:
    for prof, path in zip(captured, ("a", "b"), strict=True):
        prof.save(tmp_path / path)
    there = compare(*captured)
    assert compare(tmp_path / "a", tmp_path / "b").to_json() == there.to_json()
    assert there.fingerprint_differences == {}
    assert there.step.runs == (1, 1)
    assert set(there.to_dataframe()["status"]) == {"matched"}


def test_a_profile_of_a_capture_has_the_times_of_its_steps(captured: list[Capture]) -> None:
    found = compare(captured[0].profile, captured[1].profile)
    assert found.step.before_seconds == compare(*captured).step.before_seconds
