"""What is planted in a program is found, by a stopwatch in it: within 3 points of the cell's wall time.

Where the truth is what a generator or a map took in another thread, beside steps, it is within 10 points. A stopwatch
and the account see the same moments, so that no load of the machine comes between them. Most programs run in
`make test-slow` only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.slow.share import share
from tfprof_widget.api.result import Capture
from tfprof_widget.profiles.cell import SAVING, VALIDATION

v1 = tf.compat.v1

pytestmark = pytest.mark.filterwarnings(  # of Keras, as it saves and as it comes to the end of a generator
    "ignore:__array__ implementation:DeprecationWarning", "ignore:Your input ran out of data:UserWarning"
)

INSIDE, BESIDE = 0.03, 0.10
HERE = Path(__file__).name


class Stopwatch:
    """How long what was planted took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        since = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - since


def model_of(width: int = 8) -> keras.Model:
    model = keras.Sequential([keras.Input([8]), keras.layers.Dense(width), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


X, Y = np.ones([640, 8], np.float32), np.ones([640, 1], np.float32)


class SleepingCallback(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, watch: Stopwatch) -> None:
        super().__init__()
        self.watch = watch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with self.watch.running():
            time.sleep(0.05)  # a callback that sleeps


class NumpyCallback(SleepingCallback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with self.watch.running():
            for _ in range(200):
                np.linalg.svd(np.ones([40, 40]))  # a callback that computes


class SleepWhileValidating(keras.callbacks.Callback):  # type: ignore[misc]
    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(0.05)


class WatchedModel(keras.Sequential):  # type: ignore[misc]
    watch = Stopwatch()

    def evaluate(self, *arguments: Any, **options: Any) -> Any:
        with self.watch.running():
            return super().evaluate(*arguments, **options)


class SavingCallback(SleepingCallback):
    path: str = ""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with self.watch.running():
            self.model.save_weights(self.path)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Nothing."""


def sleeping_callback(watch: Stopwatch, folder: Path) -> None:
    model_of().fit(X, Y, epochs=2, verbose=0, callbacks=[SleepingCallback(watch)])


def numpy_callback(watch: Stopwatch, folder: Path) -> None:
    model_of().fit(X, Y, epochs=2, verbose=0, callbacks=[NumpyCallback(watch)])


def validation(watch: Stopwatch, folder: Path) -> None:
    model = WatchedModel([keras.Input([8]), keras.layers.Dense(1)])
    model.watch = watch
    model.compile("sgd", "mse")
    options: dict[str, Any] = {"validation_data": (X, Y), "callbacks": [SleepWhileValidating()]}
    model.fit(X, Y, epochs=2, verbose=0, **options)


def checkpoint(watch: Stopwatch, folder: Path) -> None:
    saving = SavingCallback(watch)
    saving.path = str(folder / "model.weights.h5")
    model_of(100_000).fit(X[:64], Y[:64], epochs=4, verbose=0, callbacks=[saving])


@cache
def session_with_product() -> tuple[Any, tf.Tensor]:
    """A session that ran already: what it does at first is no part of the cell."""
    with tf.Graph().as_default() as graph:
        product = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
    session = v1.Session(graph=graph)
    session.run(product)
    return session, product


def between_session_runs(watch: Stopwatch, folder: Path) -> None:
    session, product = session_with_product()
    for _ in range(15):
        session.run(product)
        with watch.running():
            time.sleep(0.1)  # between session runs


def retracing(watch: Stopwatch, folder: Path) -> None:
    def python(x: tf.Tensor, number: int) -> tf.Tensor:
        for _ in range(60):
            x = tf.tanh(x) + number
        return x

    step = tf.function(python)
    for number in range(12):
        with watch.running():
            step(tf.ones([8]), number)
        for _ in range(5):
            step(tf.ones([8]), number)


def first_step(watch: Stopwatch, folder: Path) -> None:
    def python(x: tf.Tensor) -> tf.Tensor:
        for _ in range(1000):
            x = tf.tanh(x)
        return x

    step = tf.function(python)
    with watch.running():
        step(tf.ones([8]))
    for _ in range(10):
        step(tf.ones([8]))


def generator(watch: Stopwatch, folder: Path) -> None:
    def batches() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        for _ in range(40):
            with watch.running():
                time.sleep(0.05)  # a generator
            yield X[:32], Y[:32]

    model_of().fit(batches(), shuffle=False, verbose=0)


OF_A_BATCH = 0.08


def slow(x: Any, y: Any) -> Any:
    def sleeping(x: Any) -> Any:
        time.sleep(OF_A_BATCH)
        return x

    return tf.ensure_shape(tf.numpy_function(sleeping, [x], tf.float32), [32, 8]), y


def mapped(watch: Stopwatch, parallelism: int | None) -> None:
    data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat(3).batch(32).map(slow, num_parallel_calls=parallelism)
    model_of().fit(data, shuffle=False, verbose=0)
    watch.seconds = 60 * OF_A_BATCH / (parallelism or 1)  # 60 batches


def slow_map(watch: Stopwatch, folder: Path) -> None:
    mapped(watch, None)


def parallel_map(watch: Stopwatch, folder: Path) -> None:
    mapped(watch, 2)


def of_phase(name: str) -> Callable[[Capture], float]:
    def found(prof: Capture) -> float:
        frame = prof.phases()
        return float(frame.loc[frame["phase"] == name, "seconds"].sum())

    return found


def of_cell(*parts: str) -> Callable[[Capture], float]:
    return lambda prof: sum(prof.time_budget().cell[part] for part in parts)


def waiting(prof: Capture) -> float:
    """What is waited for input in steps and outside of them."""
    budget = prof.time_budget()
    in_steps = budget.step["input"] / budget.step_seconds * budget.cell["steps"] if budget.step_seconds else 0.0
    return in_steps + budget.cell["input"]


Planted = tuple[Callable[[Stopwatch, Path], None], Callable[[Capture], float], float, str, str]

PROGRAMS: dict[str, Planted] = {
    "a callback that sleeps": (
        sleeping_callback,
        of_phase("SleepingCallback.on_train_batch_end"),
        INSIDE,
        "PythonChecker",
        "a callback that sleeps",
    ),
    "Python between session runs": (
        between_session_runs,
        of_cell("python"),
        INSIDE,
        "PythonChecker",
        "between session runs",
    ),
    "retracing": (retracing, of_cell("tracing", "first"), INSIDE, "RetracingChecker", "step(tf.ones([8]), number)"),
    "validation": (validation, of_phase(VALIDATION), INSIDE, "PythonChecker", ""),
    **share(
        {
            "a callback that computes": (
                numpy_callback,
                of_phase("NumpyCallback.on_train_batch_end"),
                INSIDE,
                "PythonChecker",
                "a callback that computes",
            ),
            "a checkpoint": (checkpoint, of_phase(SAVING), INSIDE, "PythonChecker", ""),
            "a long first step": (first_step, of_cell("tracing", "first"), INSIDE, "RetracingChecker", ""),
            "a generator": (generator, waiting, BESIDE, "InputBoundChecker", ""),
            "a slow map": (slow_map, waiting, BESIDE, "InputBoundChecker", ""),
            "a slow map on two threads": (parallel_map, waiting, BESIDE, "InputBoundChecker", ""),
        },
        {},
    ),
}
"""The program, what the account says of what was planted, how near it is, who advises, and the text of its line."""

each_program = pytest.mark.parametrize("program", PROGRAMS)


@cache
def captured(program: str, folder: Path) -> tuple[Capture, float]:
    watch = Stopwatch()
    session_with_product()
    with tfprof.capture() as prof:
        PROGRAMS[program][0](watch, folder)
    return prof, watch.seconds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planted")


@each_program
def test_it_is_as_long_as_the_stopwatch_says(program: str, folder: Path) -> None:
    prof, truth = captured(program, folder)
    cell = prof.time_budget().cell_seconds
    assert abs(PROGRAMS[program][1](prof) - truth) <= PROGRAMS[program][2] * cell


@each_program
def test_advice_says_so_with_its_line(program: str, folder: Path) -> None:
    prof, _ = captured(program, folder)
    _, _, _, checker, line = PROGRAMS[program]
    told = "\n".join(map(str, prof.advice().reports[checker]))
    assert " of the cell (" in told
    if line:
        source = Path(__file__).read_text(encoding="utf-8").splitlines()
        number = next(number for number, text in enumerate(source, 1) if line in text)
        assert f"{HERE}:{number}" in told


@each_program
def test_the_parts_add_up_and_little_is_not_accounted_for(program: str, folder: Path) -> None:
    budget = captured(program, folder)[0].time_budget()
    assert sum(budget.cell.values()) == pytest.approx(budget.cell_seconds, abs=1e-6)
    assert sum(budget.step.values()) == pytest.approx(budget.step_seconds, abs=1e-6)
    assert budget.cell["other"] < 0.05 * budget.cell_seconds


@pytest.mark.parametrize("program", [each for each in PROGRAMS if "map" in each])
def test_the_stage_that_holds_the_steps_up(program: str, folder: Path) -> None:
    frame = captured(program, folder)[0].input_pipeline()
    (slowest,) = frame[frame["bottleneck"]].to_dict("records")
    assert "slow" in slowest["stage"]
    assert slowest["line"].startswith(f"{HERE}:")


def test_of_a_plain_fit_nothing_is_said() -> None:
    x, y = np.ones([3200, 256], np.float32), np.ones([3200, 1], np.float32)
    layers = keras.layers
    model = keras.Sequential([keras.Input([256]), layers.Dense(512), layers.Dense(512), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x[:64], y[:64], verbose=0)  # else the first step is half of a short cell
    with tfprof.capture() as prof:
        model.fit(x, y, epochs=4, verbose=0)
    reports = prof.advice().reports
    checkers = share(("PythonChecker", "RetracingChecker", "InputBoundChecker"), ("PythonChecker", "RetracingChecker"))
    assert {checker: reports[checker] for checker in checkers} == dict.fromkeys(checkers, ())
    assert not set(prof.phases()["phase"]) & {VALIDATION, SAVING}
