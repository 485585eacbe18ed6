"""An interrupt ends a program that is captured as it would else, and what was recorded is kept."""

from __future__ import annotations

import re
import signal
import threading
import time
from typing import Any

import keras
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.program_steps import BATCH, TRAIN, capturing, data, function, small_model
from tfprof_widget.capturing import trace_store
from tfprof_widget.capturing.recorder import LONG, UNTIL_THEN
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.capturing.windows import FULL_STEPS
from tfprof_widget.lib.safely import postpone_ctrl_c
from tfprof_widget.profiles.data import EAGER

INTERRUPTED = ("1 step was not counted, having ended in an exception",)


def use_the_profiler(directory: Any) -> None:
    tf.profiler.experimental.start(str(directory))
    tf.square(2.0)
    tf.profiler.experimental.stop()
    assert list(directory.rglob("*.xplane.pb"))


def test_interrupt_in_a_loop_of_steps(tmp_path: Any) -> None:
    @function
    def step(x: Any) -> Any:
        return tf.square(x)

    def run() -> None:
        for number in range(5):
            step(tf.constant(1.0))
            if number == 3:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), capturing() as captured:
        run()
    runs = captured.runs["step"]
    assert (runs.seen, runs.traced) == (4, 4)
    assert captured.nodes("step", "step (warm-up)")["Square"] == 4
    assert captured.warnings == ()
    use_the_profiler(tmp_path)


def test_a_long_first_step_that_is_interrupted_is_shown() -> None:
    """Nothing else tells what the user waited for."""

    @function
    def step(x: Any) -> Any:
        tf.py_function(interrupt_later, [], [])
        return tf.square(x)

    def interrupt_later() -> None:
        time.sleep(LONG)  # the step is as long as that, however fast the machine
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), capturing() as captured:
        step(tf.constant(1.0))
    assert (captured.runs["step"].seen, captured.runs["step"].traced) == (1, 1)
    assert captured.nodes("step (warm-up)")["Square"] == 1
    assert any(note.endswith(UNTIL_THEN) for note in captured.warnings)


@pytest.mark.parametrize("is_beside", [True, False])
def test_a_long_step_that_is_not_counted_is_named_if_the_cell_waited_for_it(is_beside: bool) -> None:
    """A queue runner's run waits in a thread of its own, until the queue is closed at the end."""

    def work(fails: Any) -> None:
        if fails.numpy():
            time.sleep(LONG)
            raise ValueError("closed")

    @function
    def enqueue(fails: Any) -> None:
        tf.py_function(work, [fails], [])

    def run() -> None:
        enqueue(tf.constant(False))
        with pytest.raises(tf.errors.InvalidArgumentError):
            enqueue(tf.constant(True))

    with tfprof.capture() as prof:
        thread = threading.Thread(target=run)
        if is_beside:
            thread.start()
            thread.join()
        else:
            run()
    (told,) = (note for note in prof.measurement.warnings if note.startswith(INTERRUPTED))
    assert (": enqueue, after 1." in told) is not is_beside


def test_a_long_first_step_that_fails_while_it_is_built_is_not_counted() -> None:
    """Also if a small function was called meanwhile, such as one that makes a variable."""
    initial = function(lambda: tf.zeros([4]))

    @function
    def step(x: Any) -> Any:
        time.sleep(LONG)
        with tf.init_scope():
            initial()
        raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's"), capturing() as captured:
        step(tf.constant(1.0))
    assert captured.warnings[0].startswith("1 step was not counted, having ended in an exception: step, after 1.")


def test_interrupt_in_a_fit(tmp_path: Any) -> None:
    def interrupt(batch: int, logs: Any = None) -> None:
        if batch == 3:
            signal.raise_signal(signal.SIGINT)

    interrupting = keras.callbacks.LambdaCallback(on_train_batch_end=interrupt)
    model = small_model()
    model.make_train_function()
    made = model.train_function
    x, y = data(6)
    with pytest.raises(KeyboardInterrupt), capturing() as captured:
        model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[interrupting])
    assert (captured.runs[TRAIN].seen, captured.runs[TRAIN].traced) == (4, 4)
    assert captured.nodes(TRAIN)["small/dense/BiasAdd"] == 3
    assert captured.warnings == ()
    assert model.train_function is made
    use_the_profiler(tmp_path)
    model.fit(x, y, batch_size=BATCH, verbose=0)


def test_interrupt_in_a_step(tmp_path: Any) -> None:
    @function
    def step(number: Any) -> Any:
        if number is None:
            signal.raise_signal(signal.SIGINT)
        return tf.square(number)

    with capturing() as captured:
        step(tf.constant(1.0))
        with pytest.raises(KeyboardInterrupt):
            step(None)
    assert captured.runs["step"].seen == 1
    (told,) = captured.warnings  # on a machine that is very slow, with the name and how long it took
    assert re.fullmatch(rf"{INTERRUPTED[0]}(: step, after [0-9.]+ s)?", told)
    use_the_profiler(tmp_path)


@pytest.mark.parametrize(("owner", "name"), [(TfProfiler, "close"), (trace_store, "read_xspace")])
def test_interrupt_while_traces_are_fetched_loses_none(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(owner, name)
    interrupts = [signal.SIGINT]

    def interrupted(*arguments: Any) -> Any:
        if interrupts:
            signal.raise_signal(interrupts.pop())
        return original(*arguments)

    monkeypatch.setattr(owner, name, interrupted)
    square = function(lambda x: tf.square(x))

    def run() -> None:
        for _ in range(2 * FULL_STEPS):
            square(tf.constant(1.0))

    with pytest.raises(KeyboardInterrupt), capturing(room=0) as captured:
        run()
    runs = captured.runs["<lambda>"]
    assert FULL_STEPS <= runs.traced < 2 * FULL_STEPS
    assert len([name for name in captured.profile.step_names if name != EAGER]) == runs.traced


def test_other_threads_are_not_interrupted_anyway() -> None:
    entered: list[Any] = []

    def work() -> None:
        with postpone_ctrl_c():
            entered.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [signal.getsignal(signal.SIGINT)]


def test_handler_of_the_program_is_called() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        with postpone_ctrl_c():
            signal.raise_signal(signal.SIGINT)
            assert received == []
        assert received == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
