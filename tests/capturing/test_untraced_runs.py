"""A run that is not traced costs little: the instructions that hooks execute for it are counted, and not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.client import session as client
from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function

from tests.capturing.models import v1
from tfprof_widget.api.capture import capture
from tfprof_widget.capturing import trace_store

SESSION_RUN, FUNCTION_CALL, BESIDE_WAITING = 640, 720, 800
"""Instructions of Python's that a hooked call may execute; each took some 5 ns on a busy machine."""

CALLS = 100
STEADY = 600
"""After so many runs, the median is kept of some only."""


@pytest.fixture
def session_run(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Makes a session run, of which TensorFlow does nothing."""
    monkeypatch.setattr(client.BaseSession, "_call_tf_sessionrun", lambda self, *_: None)
    with tf.Graph().as_default():
        output = tf.constant(1.0)._as_tf_output()
        session = v1.Session()
    return lambda: session._call_tf_sessionrun(None, {}, [output], [], None)


@pytest.fixture
def function_call(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Calls a tf.function, of which TensorFlow does nothing."""
    function = tf.function(lambda: tf.constant(1.0))
    atomic = function.get_concrete_function()._inference_function
    monkeypatch.setattr(atomic_function.AtomicFunction, "call_flat", lambda self, *_: None)
    monkeypatch.setattr(polymorphic_function.Function, "__call__", lambda self: atomic.call_flat())
    return lambda: function()


@pytest.mark.parametrize(("made", "most"), [("session_run", SESSION_RUN), ("function_call", FUNCTION_CALL)])
def test_hooks_of_an_untraced_run_execute_few_instructions(made: str, most: int, request: Any) -> None:
    run = request.getfixturevalue(made)
    with capture(steps=(10**9, None)) as prof:
        for _ in range(STEADY):
            run()
        with counting() as count:
            for _ in range(CALLS):
                run()
    assert prof.measurement.runs_seen == STEADY + CALLS
    assert 0 < count[0] / CALLS < most


def test_traces_that_wait_to_be_read_cost_the_calls_after_them_little(
    function_call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading is worth it after a share of the time: to find out at each call took longer than all else."""
    monkeypatch.setattr(trace_store, "READING_SHARE", 1e-9)
    with capture(overhead=0.0) as prof:
        for _ in range(STEADY):
            function_call()
        with counting() as count:
            for _ in range(CALLS):
                function_call()
    assert prof.measurement.runs_traced >= 2
    assert 0 < count[0] / CALLS < BESIDE_WAITING


@contextmanager
def counting() -> Iterator[list[int]]:
    """Counts the instructions that this thread executes in the block, without those of the block itself."""
    count = [0]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count[0] += event == "opcode"
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # else Python 3.12 has no event for instructions yet
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)
