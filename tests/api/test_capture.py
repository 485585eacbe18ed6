"""`capture` joins what ran in sessions and in functions, and tells how far it is while the block runs."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

from tests.capturing.models import THREE, Model
from tfprof_widget.api.capture import CPU_MEMORY, capture
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.session_source import SessionSource

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
    assert f"note: {CPU_MEMORY}" in prof.text()


def test_memory_of_sessions_is_complete() -> None:
    with capture(every=2) as prof:
        session = Model().session()
        session.run("loss:0", {"x:0": THREE})
    assert CPU_MEMORY not in prof.measurement.warnings


def test_functions_that_were_not_traced_have_no_memory_to_speak_of() -> None:
    with capture(steps=(100, 200)) as prof:
        tf.function(lambda x: x + x)(tf.constant(1.0))
    assert CPU_MEMORY not in prof.measurement.warnings
