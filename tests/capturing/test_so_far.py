"""What a running capture has so far, asked from another thread; that changes nothing of what it has at the end."""

from __future__ import annotations

from threading import Thread
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tfprof_widget.api.capture import Capturing
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.sampling import EVERYTHING, Steps


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


def asked(capturing: Capturing) -> Capture:
    """What another thread is told."""
    found: list[Any] = []
    thread = Thread(target=lambda: found.append(capturing.so_far()))
    thread.start()
    thread.join()
    return found[0]  # type: ignore[no-any-return]


def test_sessions_so_far_and_at_the_end(model: Model) -> None:
    session, capturing = model.session(), Capturing("", EVERYTHING)
    with capturing as prof:
        for _ in range(3):
            session.run(model.loss, {model.x: THREE})
        early = asked(capturing)
        for _ in range(2):
            session.run(model.loss, {model.x: THREE})
    assert (early.measurement.runs_seen, early.measurement.runs_traced) == (3, 3)
    assert (prof.measurement.runs_seen, prof.measurement.runs_traced) == (5, 5)
    assert len(early.profile.executions) * 5 == len(prof.profile.executions) * 3
    assert early.profile.nodes.names == prof.profile.nodes.names
    assert early.profile.nodes.float_ops.tolist() == prof.profile.nodes.float_ops.tolist()
    assert early.profile.has_traces
    assert capturing.so_far() is None


def test_keras_so_far_has_its_layers() -> None:
    network = keras.Sequential([keras.Input([8]), keras.layers.Dense(4, name="hidden"), keras.layers.Dense(1)])
    network.compile("sgd", "mse")
    x, y = np.ones([64, 8], np.float32), np.ones([64, 1], np.float32)
    capturing = Capturing("", EVERYTHING)
    with capturing as prof:
        network.fit(x, y, verbose=0)
        early = asked(capturing)
        network.fit(x, y, verbose=0)
    assert early.measurement.runs_seen == 2
    assert "hidden" in early.view("layers").names
    assert prof.measurement.runs_seen == 4
    assert set(early.recorded.warnings) <= set(prof.recorded.warnings)


def test_next_steps_are_traced_when_somebody_asks_and_no_others() -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def train(x: Any) -> Any:
        return tf.reduce_sum(tf.matmul(x, x))

    x = tf.ones([16, 16])
    capturing = Capturing("", Steps(1000))
    with capturing as prof:
        for _ in range(3):
            train(x)
        assert not capturing.has_traced
        capturing.trace_next(4)
        for _ in range(4):
            train(x)
        assert not capturing.has_traced
        for _ in range(3):
            train(x)
        assert capturing.has_traced
    assert [(runs.seen, runs.traced) for runs in prof.measurement.runs] == [(10, 4)]
    assert len(prof.profile.steps) == 4


def test_next_runs_of_a_session_are_traced_when_somebody_asks(model: Model) -> None:
    session, capturing = model.session(), Capturing("", Steps(1000))
    with capturing as prof:
        session.run(model.loss, {model.x: THREE})
        capturing.trace_next(2)
        for _ in range(4):
            session.run(model.loss, {model.x: THREE})
    assert (prof.measurement.runs_seen, prof.measurement.runs_traced) == (5, 2)


def test_what_is_left_out_is_left_out_of_a_capture_that_recorded_nothing() -> None:
    with tfprof.capture() as prof:
        pass
    assert prof.without_source().is_empty
    assert "Nothing was captured" in str(prof.without_source())
    assert '"ops": []' in prof.to_json(source=False)
