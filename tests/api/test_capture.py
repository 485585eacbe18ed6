"""`capture` joins what ran in sessions and in functions, and tells how far it is while the block runs."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import weakref
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.capturing.models import THREE, Model
from tfprof_widget.api.capture import capture, last
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.devices import CPU_MEMORY

COST_OF_OP = r"\w+ [\d.]+ (ns|µs|ms|s)"


def test_progress_of_sessions_has_the_costliest_ops() -> None:
    model = Model()
    session = model.session()
    with capture(every=2) as prof:
        assert prof.progress() is None
        for _ in range(4):
            session.run(model.loss, {model.x: THREE})
        told = prof.progress()
    assert told is not None
    assert re.fullmatch(rf"tfprof: 2 of 4 runs traced; {COST_OF_OP}, {COST_OF_OP}, {COST_OF_OP} a run", told)
    assert "Square" in told or "Sum" in told


def test_costliest_ops_of_sessions_and_functions_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    of_sessions, of_functions = [("Conv2D", 3.0), ("Add", 1.0)], [("MatMul", 2.0), ("Relu", 0.5)]
    monkeypatch.setattr(SessionSource, "costliest", lambda self, limit: of_sessions[:limit])
    monkeypatch.setattr(FunctionSource, "costliest", lambda self, limit: of_functions[:limit])
    with capture(every=1) as prof:
        Model().session()
        told = prof.progress()
    assert told == "tfprof: 1 of 1 runs traced; Conv2D 3 s, MatMul 2 s, Add 1 s a run"


def test_memory_of_functions_on_the_cpu_is_said_to_be_too_low() -> None:
    double = tf.function(lambda x: x + x)
    with capture(trace_all=True) as prof:
        for _ in range(3):
            double(tf.constant(1.0))
    assert prof.measurement.warnings.count(CPU_MEMORY) == 1
    assert f"note: {CPU_MEMORY}" in prof.text(select=("micros", "bytes"))


def test_what_is_missing_of_bytes_is_not_told_where_none_are_shown() -> None:
    double = tf.function(lambda x: x + x)
    with capture(trace_all=True) as prof:
        for _ in range(3):
            double(tf.constant(1.0))
    assert CPU_MEMORY not in prof.text()
    assert CPU_MEMORY in prof.text("scope", select=("peak_bytes",))


def test_memory_of_sessions_is_complete() -> None:
    with capture(every=2) as prof:
        session = Model().session()
        session.run("loss:0", {"x:0": THREE})
    assert CPU_MEMORY not in prof.measurement.warnings


def test_functions_that_were_not_traced_have_no_memory_to_speak_of() -> None:
    with capture(steps=(100, 200)) as prof:
        tf.function(lambda x: x + x)(tf.constant(1.0))
    assert CPU_MEMORY not in prof.measurement.warnings


def of_a_session() -> tuple[Capture, weakref.ref[Any]]:
    model = Model()
    session = model.session()
    with capture(trace_all=True) as prof:
        session.run(model.loss, {model.x: THREE})
    session.close()
    return prof, weakref.ref(model.graph)


def of_a_function() -> tuple[Capture, weakref.ref[Any]]:
    double = tf.function(lambda x: x + x)
    with capture(trace_all=True) as prof:
        double(tf.constant(1.0))
    return prof, weakref.ref(double)


def of_a_fit() -> tuple[Capture, weakref.ref[Any]]:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3)])
    model.compile(loss="mse")
    with capture(trace_all=True) as prof:
        model.fit(np.ones((4, 4)), np.ones((4, 3)), verbose=0)
    keras.backend.clear_session()  # Keras itself keeps what it names
    return prof, weakref.ref(model)


@pytest.mark.parametrize("captured", [of_a_session, of_a_function, of_a_fit])
def test_a_capture_that_is_over_keeps_neither_model_nor_graph(
    captured: Callable[[], tuple[Capture, weakref.ref[Any]]],
) -> None:
    prof, alive = captured()
    gc.collect()
    assert alive() is None
    assert last() is prof
    assert prof.measurement.runs_traced > 0
    assert prof.progress() is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])
def test_a_capture_and_all_that_it_gives_can_be_sent_elsewhere(copied: Callable[[Any], Any]) -> None:
    prof, _ = of_a_session()
    again = copied(prof)
    assert again.text() == prof.text()
    assert again.advice().reports == prof.advice().reports
    for view in ("scope", "graph", "op", "code"):
        assert copied(prof.view(view)).text() == prof.view(view).text()
    for each in (prof.measurement, prof.advice(), prof.profile.flops_coverage(), prof.profile.cluster()):
        assert repr(copied(each)) == repr(each)


def test_a_capture_that_is_not_over_stays_where_it_is() -> None:
    with capture() as prof, pytest.raises(ProfileError, match="the capture is not over"):
        pickle.dumps(prof)


def test_a_block_that_is_left_twice_is_left_once() -> None:
    block = capture()
    with block as prof:
        pass
    block.__exit__(None, None, None)
    assert last() is prof
