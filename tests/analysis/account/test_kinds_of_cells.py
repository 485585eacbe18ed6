"""The account of cells of every kind: their parts add up, and hold what a stopwatch in the cell saw.

In each program sleeps are planted beside its steps. A stopwatch and the account see the same moments, so that no load
of the machine comes between them; and the steps are few, so that what Python takes to go from one to a sleep is little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Barrier, Thread
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.analysis.account.budget import TimeBudget
from tfprof_widget.api.result import Capture
from tfprof_widget.lib.intervals import Intervals

v1 = tf.compat.v1
NEAR = 0.03
SLEEP = 0.25
TIMES = 6
X, Y = np.ones([64, 8], np.float32), np.ones([64, 1], np.float32)


class Stopwatch:
    """When something ran, by name, in seconds."""

    def __init__(self) -> None:
        self.spans: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def running(self, what: str) -> Iterator[None]:
        since = time.perf_counter()
        try:
            yield
        finally:
            self.spans.setdefault(what, []).append((since, time.perf_counter()))

    def sleep(self) -> None:
        with self.running("sleep"):
            time.sleep(SLEEP)

    def seconds(self, what: str) -> float:
        """For how long at least one such span ran."""
        start, end = (np.array(bounds) * 1e9 for bounds in zip(*self.spans[what], strict=True))
        return Intervals.of(start.astype(np.int64), end.astype(np.int64)).length / 1e9


def asleep() -> np.float32:
    """What is done in a step itself."""
    time.sleep(SLEEP)
    return np.float32(0.0)


@cache
def graph_with_step() -> tuple[Any, Any, Any]:
    with tf.Graph().as_default() as graph:
        step = v1.train.get_or_create_global_step()
        weights = v1.get_variable("weights", [8, 8])
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.ones([8, 8]), weights)))
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss, step)
    return graph, train, loss


def monitored_session(watch: Stopwatch) -> None:
    graph, train, _ = graph_with_step()
    with graph.as_default(), v1.train.MonitoredSession() as session:
        for _ in range(TIMES):
            session.run(train)
            watch.sleep()


class SleepingHook(v1.train.SessionRunHook):  # type: ignore[misc, name-defined]
    def __init__(self, watch: Stopwatch) -> None:
        self.watch = watch

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.watch.sleep()


def estimator(watch: Stopwatch) -> None:
    """The loop of tf.estimator: a monitored session with the hooks that it has, until one of them stops it."""
    graph, train, loss = graph_with_step()
    hooks = [v1.train.StopAtStepHook(num_steps=TIMES), v1.train.NanTensorHook(loss), SleepingHook(watch)]
    with (
        graph.as_default(),
        v1.train.MonitoredTrainingSession(hooks=hooks, save_summaries_steps=None, log_step_count_steps=None) as session,
    ):
        while not session.should_stop():
            session.run([train, loss])


def sleeping_callback(base: Any, watch: Stopwatch) -> Any:
    class Sleeping(base):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            watch.sleep()

        on_test_batch_end = on_predict_batch_end = on_train_batch_end

    return Sleeping()


def with_keras(library: Any) -> Callable[[Stopwatch], None]:
    def program(watch: Stopwatch) -> None:
        callbacks = [sleeping_callback(library.callbacks.Callback, watch)]
        model = library.Sequential([library.layers.Dense(8), library.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(X, Y, batch_size=32, verbose=0, callbacks=callbacks)
        model.evaluate(X, Y, batch_size=32, verbose=0, callbacks=callbacks)
        model.predict(X, batch_size=32, verbose=0, callbacks=callbacks)

    return program


def training_step() -> Callable[[], tf.Tensor]:
    weights = tf.Variable(tf.ones([8, 1]))

    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.constant(X) @ weights - Y))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    return step


def eager_loop(watch: Stopwatch) -> None:
    step = training_step()
    step()  # its first ops are made ready
    for _ in range(TIMES):
        step()
        watch.sleep()


def function_loop(watch: Stopwatch) -> None:
    step = tf.function(training_step())
    for _ in range(TIMES):
        with watch.running("function"):
            step()
        watch.sleep()


def several_kinds(watch: Stopwatch) -> None:
    """A session, a function and a fit, each of which waits in a step of its own for longer than all else takes."""
    with tf.Graph().as_default() as graph:
        (waited,) = v1.py_func(asleep, [], [tf.float32])
    waiting = tf.function(lambda: tf.numpy_function(asleep, [], tf.float32))
    waiting()
    session = v1.Session(graph=graph)
    session.run(waited)
    for _ in range(TIMES):
        with watch.running("session"):
            session.run(waited)
        with watch.running("function"):
            waiting()
        watch.sleep()
    with_keras(keras)(watch)


def raises(watch: Stopwatch) -> None:
    function_loop(watch)
    raise ValueError("of the cell's own")


def interrupted(watch: Stopwatch) -> None:
    function_loop(watch)
    raise KeyboardInterrupt  # as Ctrl-C does; how it comes is tested elsewhere


def threads(watch: Stopwatch) -> None:
    """Two threads wait in steps of their own, one after the other and at once, and then the cell sleeps."""
    with tf.Graph().as_default() as graph:
        (waited,) = v1.py_func(asleep, [], [tf.float32])
    session = v1.Session(graph=graph)
    with watch.running("session"):
        session.run(waited)
    together = Barrier(2)

    def work() -> None:
        for _ in range(TIMES // 2):
            together.wait()
            with watch.running("session"):
                session.run(waited)

    both = [Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    for _ in range(TIMES):
        watch.sleep()


Program = Callable[[Stopwatch], None]
PROGRAMS: dict[str, Program] = {
    "MonitoredSession": monitored_session,
    "an Estimator's loop": estimator,
    "Keras 3": with_keras(keras),
    **({"tf_keras": with_keras(import_module("tf_keras"))} if find_spec("tf_keras") else {}),
    "an eager loop": eager_loop,
    "a loop of a tf.function": function_loop,
    "several kinds of runs": several_kinds,
    "a cell that raises": raises,
    "a cell that is interrupted": interrupted,
    "threads": threads,
}
each_program = pytest.mark.parametrize("program", PROGRAMS)


@cache
def captured(program: str) -> tuple[Capture, Stopwatch]:
    watch = Stopwatch()
    graph_with_step()
    with suppress(ValueError, KeyboardInterrupt), tfprof.capture() as prof:
        PROGRAMS[program](watch)
    return prof, watch


def budget_of(program: str) -> TimeBudget:
    return captured(program)[0].time_budget()


@each_program
def test_parts_add_up_and_little_is_not_accounted_for(program: str) -> None:
    budget = budget_of(program)
    assert sum(budget.cell.values()) == pytest.approx(budget.cell_seconds, abs=1e-6)
    assert sum(budget.step.values()) == pytest.approx(budget.step_seconds, abs=1e-6)
    assert min(budget.cell.values()) >= 0
    assert budget.cell["other"] < 0.05 * budget.cell_seconds


@each_program
def test_what_sleeps_beside_steps_is_python(program: str) -> None:
    prof, watch = captured(program)
    frame = prof.python_lines()
    asleep = frame.loc[frame["source"].str.contains("watch.sleep|time.sleep"), "seconds"].sum()
    assert asleep == pytest.approx(watch.seconds("sleep"), abs=NEAR * prof.time_budget().cell_seconds)


@pytest.mark.parametrize("program", [each for each in PROGRAMS if "eras" in each])
def test_phases_of_fit_evaluate_and_predict_have_the_callback(program: str) -> None:
    prof, watch = captured(program)
    frame = prof.phases()
    asleep = frame[frame["phase"].str.startswith("Sleeping.")]
    assert asleep["times"].sum() == 3 * 2
    assert asleep["seconds"].sum() == pytest.approx(watch.seconds("sleep"), abs=NEAR * prof.time_budget().cell_seconds)


def test_kinds_of_runs_take_what_the_stopwatch_says() -> None:
    """One run of each kind, the first, was before the stopwatch ran."""
    budget, watch = budget_of("several kinds of runs"), captured("several kinds of runs")[1]
    for kind, what in (("PyFunc", "session"), ("<lambda>", "function")):
        seconds = watch.seconds(what) + SLEEP
        assert budget.kinds[kind] == pytest.approx(seconds, abs=NEAR * budget.cell_seconds), kind
    assert len(budget.kinds) == 2 + 3


def test_runs_at_once_count_once() -> None:
    prof, watch = captured("threads")
    budget = prof.time_budget()
    runs = sum(budget.cell[part] for part in ("steps", "first"))
    assert runs == pytest.approx(watch.seconds("session"), abs=NEAR * budget.cell_seconds)
    (seconds,) = budget.kinds.values()
    assert seconds > runs + 2 * SLEEP


@pytest.mark.parametrize("program", ["a cell that raises", "a cell that is interrupted"])
def test_cells_that_end_early_are_told_until_then(program: str) -> None:
    budget, watch = budget_of(program), captured(program)[1]
    runs = sum(budget.cell[part] for part in ("tracing", "first", "steps"))
    near, calls = NEAR * budget.cell_seconds, watch.seconds("function")
    assert runs - near <= calls <= runs + budget.cell["tfprof"] + near  # which begins to record in the first call


def test_each_task_has_the_budget_of_its_own_cell() -> None:
    """Two captures as those of two workers."""
    programs = ("a loop of a tf.function", "a cell that raises")
    merged = tfprof.merge({program: captured(program)[0].profile for program in programs})
    tasks = merged.time_budget().tasks
    assert set(tasks) == set(programs)
    for program, budget in tasks.items():
        assert budget.cell == budget_of(program).cell
        assert budget.step == pytest.approx(budget_of(program).step)
