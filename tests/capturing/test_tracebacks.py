"""What the user's code raises tells of that code and of TensorFlow, as it does without a capture."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from IPython.core.ultratb import VerboseTB

from tests.capturing.models import Model
from tests.capturing.program_steps import BATCH, data, small_model
from tfprof_widget.api.capture import capture
from tfprof_widget.capturing.hooks import without_hooks

Failing = Callable[[], Any]


def failing_function() -> Failing:
    gather = tf.function(lambda table, row: tf.gather(table, row))
    return lambda: gather(tf.constant([1.0, 2.0]), tf.constant(5))


def failing_while_traced() -> Failing:
    def divided(x: Any) -> Any:
        return x / (1 // 0)

    function = tf.function(divided)
    return lambda: function(tf.constant(1.0))


def failing_fit() -> Failing:
    model, (x, y) = small_model(), data(1)
    return lambda: model.fit(x, np.full_like(y, 1e6) if y.dtype.kind == "i" else y[:, :0], batch_size=BATCH, verbose=0)


def failing_session() -> Failing:
    model = Model()
    session = model.session()
    return lambda: session.run(model.loss, {model.x: [["no number"]]})


def failing_kernel() -> Failing:
    model = Model()
    with model.graph.as_default():
        checked = tf.debugging.check_numerics(tf.constant(np.nan), "not a number")
    session = model.session()
    return lambda: session.run(checked)


PROGRAMS = [failing_function, failing_while_traced, failing_fit, failing_session, failing_kernel]


def raised_by(failing: Failing) -> BaseException:
    try:
        failing()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def raised_in_capture(failing: Failing) -> BaseException:
    try:
        with capture(trace_all=True):
            failing()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def places(error: BaseException) -> list[tuple[str, str]]:
    """The functions that a traceback names below the one that raised it, of the error and of what led to it."""
    found = [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)[1:]]
    led = error.__cause__ or error.__context__
    return found if led is None else [*found, *places(led)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_tracebacks_are_those_without_a_capture(program: Callable[[], Failing]) -> None:
    expected = raised_by(program())
    given = raised_in_capture(program())
    assert type(given) is type(expected)
    assert places(given) == places(expected)


@pytest.mark.parametrize("program", PROGRAMS)
def test_ipython_shows_no_hook_within_a_capture(program: Callable[[], Failing]) -> None:
    failing = program()
    with capture(trace_all=True):
        error = raised_by(failing)
    shown = "\n".join(VerboseTB().structured_traceback(type(error), error, error.__traceback__))
    assert "raised_by" in shown
    # TensorFlow's message may name all that was on the stack when the op was made.
    assert "tfprof_widget" not in shown.replace(str(error), "")


def test_the_code_that_made_an_op_is_not_the_hooks() -> None:
    model, (x, y) = small_model(), data(2)
    with capture(trace_all=True) as prof:
        model.fit(x, y, batch_size=BATCH, verbose=0)
    traces = prof.profile.traces
    files = {traces.strings[file] for file in traces.file.tolist()}
    assert __file__ in files
    assert not [file for file in files if "tfprof_widget/capturing" in file]


def test_only_frames_of_hooks_are_taken_out() -> None:
    """A function of another package may hide itself too, and an error of a hook's own has its innermost frame."""

    def hidden_elsewhere() -> None:
        __tracebackhide__ = True
        raise KeyError("of the user")

    hook: dict[str, Any] = {"__name__": "tfprof_widget.capturing.any"}
    exec("def called(function):\n    __tracebackhide__ = True\n    function()", hook)
    exec("def broken():\n    __tracebackhide__ = True\n    raise KeyError('of a hook')", hook)
    error = raised_by(lambda: hook["called"](hidden_elsewhere))
    assert [name for _, name in places(error)] == ["<lambda>", "called", "hidden_elsewhere"]
    without_hooks(error)
    assert [name for _, name in places(error)] == ["<lambda>", "hidden_elsewhere"]
    broken = raised_by(lambda: hook["called"](hook["broken"]))
    without_hooks(broken)
    assert [name for _, name in places(broken)] == ["<lambda>", "broken"]
