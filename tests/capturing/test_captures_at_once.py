"""Captures in several threads, and TensorFlow's profiler beside them: each has its own, or is told what it lacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.capturing.program_steps import BATCH, TRAIN, data, function, small_model
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.hooks import Patch
from tfprof_widget.capturing.recorder import OTHERS_OPS
from tfprof_widget.capturing.windows import SHARED
from tfprof_widget.profiles.data import EAGER

STEPS = 12


def seen(prof: Capture) -> dict[str, int]:
    return {runs.name: runs.seen for runs in prof.measurement.runs if runs.name != EAGER}


def traced(prof: Capture) -> dict[str, int]:
    return {runs.name: runs.traced for runs in prof.measurement.runs if runs.name != EAGER}


class InThreads:
    """Work of several threads that each capture their own; they take their steps in turns, one after the other."""

    def __init__(self, *works: Callable[[], Any]) -> None:
        self.barrier = threading.Barrier(len(works), timeout=60)
        self.turns = [threading.Lock() for _ in works]
        self.captures: list[Capture | None] = [None] * len(works)
        self.errors: list[BaseException] = []
        threads = [threading.Thread(target=self._capture, args=each) for each in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert self.errors == []

    def _capture(self, number: int, work: Callable[[], Any]) -> None:
        try:
            with tfprof.capture(trace_all=True) as prof:
                for _ in range(STEPS):
                    for turn in range(len(self.captures)):
                        self.barrier.wait()
                        if turn == number:
                            work()
                self.barrier.wait()
            self.captures[number] = prof
        except BaseException as error:
            self.errors.append(error)
            self.barrier.abort()

    def each(self) -> list[Capture]:
        return [prof for prof in self.captures if prof is not None]


def test_sessions_in_two_threads_each_have_their_own_runs() -> None:
    models = [Model(), Model()]
    sessions = [model.session() for model in models]
    first, second = InThreads(
        lambda: sessions[0].run(models[0].loss, {models[0].x: THREE}), lambda: sessions[1].run(models[1].count)
    ).each()
    assert (seen(first), traced(first)) == ({"loss": STEPS}, {"loss": STEPS}), first.measurement.warnings
    assert list(seen(second).values()) == list(traced(second).values()) == [STEPS], second.measurement.warnings
    assert "loss" not in seen(second)


def test_of_two_threads_that_put_hooks_in_at_once_both_see_the_calls() -> None:
    """The second begins while the first has read the original and not yet replaced it."""

    class Session:
        def run(self) -> list[str]:
            return []

    def hook(name: str) -> Callable[[Any], Callable[..., Any]]:
        return lambda original: lambda session: [*original(session), name]

    others: list[Patch] = []
    second = threading.Thread(target=lambda: others.append(Patch(Session, "run", hook("second"))))

    def meanwhile(original: Any) -> Callable[..., Any]:
        second.start()
        second.join(timeout=0.2)  # it is over by then, unless it waits for its turn
        return hook("first")(original)

    first = Patch(Session, "run", meanwhile)
    second.join()
    assert Session().run() == ["first", "second"]
    first.undo()
    others[0].undo()
    assert Session().run() == []


def test_functions_in_two_threads_hand_the_profiler_over_between_steps() -> None:
    square, sine = function(lambda x: tf.square(x)), function(lambda x: tf.sin(x))
    x = tf.constant(1.0)
    square(x)
    sine(x)
    captures = InThreads(lambda: square(x), lambda: sine(x)).each()
    for prof, op in zip(captures, ("Square", "Sin"), strict=True):
        assert seen(prof) == traced(prof) == {"<lambda>": STEPS}, prof.measurement.warnings
        assert op in {prof.profile.nodes.ops[code] for code in prof.profile.nodes.op.tolist()}


def test_step_under_way_keeps_the_profiler_until_the_next_one() -> None:
    """Of two threads: while the first is in its step the second's is not recorded, the next is, and then they swap."""
    begun, ended = threading.Event(), threading.Event()

    def waiting() -> Any:
        begun.set()
        assert ended.wait(60)
        return 1.0

    slow = function(lambda: tf.py_function(waiting, [], tf.float32))
    square, x = function(lambda x: tf.square(x)), tf.constant(1.0)
    square(x)
    captures: list[Capture] = []

    def work() -> None:
        with tfprof.capture(steps=(0, 2)) as prof:
            slow()
            slow()
        captures.append(prof)

    first = threading.Thread(target=work)
    first.start()
    assert begun.wait(60)
    with tfprof.capture(steps=(0, 3)) as second:
        square(x)
        ended.set()
        first.join()
        square(x)
        square(x)
    assert traced(captures[0]) == {"<lambda>": 1}
    assert traced(second) == {"<lambda>": 2}
    assert all(SHARED in prof.measurement.warnings for prof in (*captures, second))
    assert OTHERS_OPS in captures[0].measurement.warnings


def test_captures_within_one_another_take_turns_too() -> None:
    square = function(lambda x: tf.square(x))
    x = tf.constant(1.0)
    with tfprof.capture(trace_all=True) as outer, tfprof.capture(trace_all=True) as inner:
        for _ in range(STEPS):
            square(x)
    for prof in (outer, inner):
        assert seen(prof) == {"<lambda>": STEPS}
        assert 2 <= traced(prof)["<lambda>"] < STEPS
        assert SHARED in prof.measurement.warnings


def test_capture_that_nobody_ended_makes_way() -> None:
    """As where the thread of a cell was given up: the profiler is free for the next, which records all of its steps."""
    square = function(lambda x: tf.square(x))
    x = tf.constant(1.0)
    left = tfprof.capture(trace_all=True)
    try:
        opened = threading.Thread(target=left.__enter__)
        opened.start()
        opened.join()
        with tfprof.capture(trace_all=True) as prof:
            for _ in range(3):
                square(x)
        assert traced(prof) == {"<lambda>": 3}
    finally:
        left.__exit__(None, None, None)


def test_threads_without_a_capture_of_their_own_are_seen_by_all() -> None:
    model = Model()
    session = model.session()
    with tfprof.capture(trace_all=True) as prof:
        worker = threading.Thread(target=lambda: session.run(model.loss, {model.x: THREE}))
        worker.start()
        worker.join()
    assert seen(prof) == {"loss": 1}


@contextmanager
def profiling(directory: Path) -> Iterator[None]:
    tf.profiler.experimental.start(str(directory))
    try:
        yield
    finally:
        tf.profiler.experimental.stop()


@pytest.mark.parametrize("times", [1, 3])
def test_own_profiler_within_has_its_session_and_steps_are_recorded_after_it(tmp_path: Path, times: int) -> None:
    square = function(lambda x: tf.square(x))
    x = tf.constant(1.0)
    square(x)
    with tfprof.capture(trace_all=True) as prof:
        square(x)
        for each in range(times):
            with profiling(tmp_path / str(each)):
                square(x)
            square(x)
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == times
    assert (seen(prof), traced(prof)) == ({"<lambda>": 1 + 2 * times}, {"<lambda>": 1 + times})
    (told,) = (each for each in prof.measurement.warnings if "there can be only one" in each)
    assert __file__ in told


def test_callback_of_keras_has_its_batches_and_the_others_are_recorded(tmp_path: Path) -> None:
    """As TensorBoard's does with profile_batch=(3, 5)."""
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: tf.profiler.experimental.start(str(tmp_path)) if batch == 3 else None,
        on_train_batch_end=lambda batch, logs: tf.profiler.experimental.stop() if batch == 5 else None,
    )
    model = small_model()
    x, y = data(8)
    with tfprof.capture(trace_all=True) as prof:
        model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=[callback])
    assert list(tmp_path.rglob("*.xplane.pb"))
    assert (seen(prof)[TRAIN], traced(prof)[TRAIN]) == (8, 5)
    assert any("there can be only one" in each for each in prof.measurement.warnings)


@pytest.mark.parametrize(("failures", "is_read"), [(1, True), (2, False)])
def test_what_another_thread_changed_is_read_once_more(
    failures: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, original = [failures], FunctionSource._read

    def read(source: FunctionSource, *arguments: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise RuntimeError("dictionary changed size during iteration")
        return original(source, *arguments, **named)

    monkeypatch.setattr(FunctionSource, "_read", read)
    square, x = function(lambda x: tf.square(x)), tf.constant(1.0)
    square(x)
    with tfprof.capture(trace_all=True) as prof:
        square(x)
    assert seen(prof) == ({"<lambda>": 1} if is_read else {})
    assert any("could not be read" in note for note in prof.measurement.warnings) is not is_read
