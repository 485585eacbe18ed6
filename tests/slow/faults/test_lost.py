"""A session that is closed and a device that is lost during a run: the user gets TensorFlow's own error."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import Model

TOLD = {"UnavailableError": "Socket closed"}


def error_of(model: Model, *, closed_during: bool) -> tuple[BaseException, Any]:
    """What a session raises that is closed while it runs, or before, and the session."""
    started, over, session = threading.Event(), threading.Event(), model.session()

    def wait() -> bool:
        started.set()
        return over.wait(60)

    with model.graph.as_default():
        slow = tf.numpy_function(wait, [], tf.bool)
        after = tf.identity(slow)

    def close() -> None:
        started.wait(60)
        threading.Timer(0.2, over.set).start()
        session.close()

    thread = threading.Thread(target=close)
    if closed_during:
        thread.start()
    else:
        session.close()
    with pytest.raises((tf.errors.CancelledError, RuntimeError)) as caught:
        session.run(after)
    if closed_during:
        thread.join(60)
    return caught.value, session


@pytest.mark.parametrize("closed_during", [True, False], ids=["during", "before"])
def test_a_session_that_is_closed(closed_during: bool) -> None:
    expected, _ = error_of(Model(), closed_during=closed_during)
    model = Model()
    with tfprof.capture(trace_all=True) as prof:
        error, _ = error_of(model, closed_during=closed_during)
        assert model.session().run(model.count) == 0.0
    assert type(error) is type(expected)
    assert str(error).splitlines()[0] == str(expected).splitlines()[0]
    told = any("1 run was not counted, having ended in an exception" in each for each in prof.measurement.warnings)
    assert told == closed_during  # else it does not begin
    assert prof.measurement.runs_seen == 3


def test_the_traceback_begins_in_the_line_of_the_user(model: Model) -> None:
    session = model.session()
    with model.graph.as_default():
        wrong = tf.debugging.check_numerics(tf.constant(float("nan")), "not a number")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught, tfprof.capture(trace_all=True):
        session.run(wrong)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert (frames[0].filename, frames[0].line) == (__file__, "session.run(wrong)")
    assert not [frame for frame in frames if "tfprof_widget" in frame.filename.replace(__file__, "")]


def test_a_device_that_is_lost() -> None:
    """A program of its own: TensorFlow does not close a session whose worker has died."""
    program = Path(__file__).with_name("lost_device.py")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["error"] == "UnavailableError"
    assert "Socket closed" in told["message"] or "Connection reset" in told["message"]
    assert told["line"] == "session.run(last, {turns: FOR_EVER})"
    assert told["hooks are gone"]
    assert told["seen"] == 2
    assert told["executed"] > 0
    assert any("1 run was not counted, having ended in an exception" in each for each in told["warnings"])
