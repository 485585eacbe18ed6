"""A thread that outlives the cell goes on as if nobody had ever looked at it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.capturing.program_steps import BATCH, data, small_model
from tests.slow.faults.hooks import hooks

SECONDS = 60


class Outliving:
    """A thread that takes a step in the cell, and some more when the cell is over."""

    def __init__(self, step: Callable[[], Any]) -> None:
        self._step = step
        self.results: list[Any] = []
        self.is_under_way, self.is_over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.results.append(self._step())
        self.is_under_way.set()
        self.is_over.wait(SECONDS)
        self.results += [self._step() for _ in range(20)]


@pytest.mark.parametrize("kind", ["session", "callable", "function", "eager op"])
def test_a_thread_goes_on_after_the_cell(kind: str, model: Model) -> None:
    session = model.session()
    call = session.make_callable(model.loss, [model.x])
    add = tf.function(lambda x: x + 2.0)
    steps: dict[str, Callable[[], Any]] = {
        "session": lambda: session.run(model.loss, {model.x: THREE}),
        "callable": lambda: call(THREE),
        "function": lambda: add(tf.constant(1.0)),
        "eager op": lambda: tf.constant(1.0) + 2.0,
    }
    before = hooks()
    outliving = Outliving(steps[kind])
    with tfprof.capture(trace_all=True) as prof:
        outliving.thread.start()
        outliving.is_under_way.wait(SECONDS)
    assert hooks() == before
    outliving.is_over.set()
    outliving.thread.join(SECONDS)
    assert [float(result) for result in outliving.results] == [3.0] * 21
    assert prof.measurement.runs_seen == 1
    with tfprof.capture(trace_all=True) as prof:
        steps[kind]()
    assert prof.measurement.runs_seen == 1


def test_a_fit_goes_on_after_the_cell() -> None:
    under_way, over = threading.Event(), threading.Event()

    def wait(batch: int, logs: Any = None) -> None:
        if batch == 1:
            under_way.set()
            over.wait(SECONDS)

    network, histories = small_model(), []
    x, y = data(4)
    waiting = keras.callbacks.LambdaCallback(on_train_batch_end=wait)

    def fit() -> None:
        histories.append(network.fit(x, y, batch_size=BATCH, verbose=0, epochs=2, callbacks=[waiting]))

    thread = threading.Thread(target=fit)
    with tfprof.capture(trace_all=True) as prof:
        thread.start()
        under_way.wait(SECONDS)
    over.set()
    thread.join(SECONDS)
    assert len(histories[0].history["loss"]) == 2
    assert prof.measurement.runs_seen == 2
    assert "tfprof" not in type(network.train_function).__module__
    assert not hasattr(network.train_function, "__wrapped__")


def test_a_session_closed_at_the_end_of_the_cell_ends_the_thread_by_its_own_error(model: Model) -> None:
    session, errors = model.session(), []
    begun = threading.Event()

    def train() -> None:
        try:
            while True:
                session.run(model.loss, {model.x: THREE})
                begun.set()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=train)
    with tfprof.capture(trace_all=True):
        thread.start()
        begun.wait(SECONDS)
        session.close()
        thread.join(SECONDS)
    (error,) = errors
    assert isinstance(error, RuntimeError | tf.errors.CancelledError)
