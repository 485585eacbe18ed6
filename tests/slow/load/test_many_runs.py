"""10,000 runs in a cell: all are counted, few are traced, and what is kept is bounded however many are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model, captured
from tests.slow.load.memory import held, traced_memory
from tests.slow.share import share
from tfprof_widget.capturing.sampling import Adaptive, Sampler
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.capturing.tallies import KindTally

RUNS = 10_000
CAPTURED = share(RUNS, 4_000)
LEAST_KEPT = 8
"""The bytes of one reference: what is kept of each run takes at least so many. Other threads allocate a little, too."""
TIMES = 2 * 8 * 9 / 8
"""The bytes of the start and the length of a run, in arrays that have an eighth of room when they have grown."""
# By default every traced run is followed by a quarter as many untraced ones as came before: the first, every second
# until the eighth, and then log(10,000 / 8) / log(1.25) = 32 more.
MOST_TRACED = 1 + 4 + 32
MOST_RECORDED = 150
"""Functions are recorded in windows of eight steps, each as far from the next as it is from the first."""


def test_few_of_many_runs_of_a_session_are_traced(model: Model) -> None:
    session = model.session()
    with tfprof.capture(overhead=1e9) as prof:  # so that the number does not depend on how fast the machine is
        for _ in range(CAPTURED):
            session.run(model.loss, {model.x: THREE})
    assert prof.measurement.runs_seen == CAPTURED
    assert 30 <= prof.measurement.runs_traced <= MOST_TRACED
    assert len(prof.profile.executions) == 5 * prof.measurement.runs_traced
    assert prof.text()


def test_few_of_many_steps_of_a_function_are_traced() -> None:
    square, x = tf.function(lambda x: tf.square(x)), tf.constant(1.0)
    with tfprof.capture(overhead=1e9) as prof:
        for _ in range(CAPTURED):
            square(x)
    assert prof.measurement.runs_seen == CAPTURED
    assert 8 < prof.measurement.runs_traced <= MOST_RECORDED
    assert len(prof.profile.executions) <= prof.measurement.runs_traced + 1
    assert prof.text()


def test_every_one_of_many_runs_may_be_traced(model: Model) -> None:
    runs, session = share(RUNS, RUNS // 10), model.session()
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(runs):
            session.run(model.loss, {model.x: THREE})
    assert (prof.measurement.runs_seen, prof.measurement.runs_traced) == (runs, runs)
    assert np.bincount(prof.profile.executions.step, minlength=runs).tolist() == [5] * runs
    view = prof.view("op")
    assert view.to_dataframe()["name"].tolist()


def test_tracing_ends_when_all_the_room_is_taken(model: Model) -> None:
    session = model.session()
    with captured(room=10_000, most=100_000) as inside:
        for _ in range(RUNS // 10):
            assert session.run(model.loss, {model.x: THREE}) == 3.0
    seen, traced = inside.runs["loss"]
    assert seen == RUNS // 10
    assert 20 < traced < seen // 2
    assert any(
        each.startswith("tracing stopped at 0 MB of metadata; trace fewer runs") for each in inside.recorded.warnings
    )


@pytest.mark.parametrize("kinds", [1, 100])
def test_what_is_kept_of_untraced_runs_does_not_grow_with_them(kinds: int) -> None:
    """A thousand, and ten thousand more, of a few kinds: of a run its start and its length are kept, and no objects."""
    recorder, graph = SessionSource(Adaptive(overhead=0.0, allowance=0.0)), object()
    names = [[f"loss_{kind}"] for kind in range(kinds)]

    def run(count: int) -> None:
        for number in range(count):
            begun = recorder.begin(graph, names[number % kinds])
            assert begun is not None
            recorder.finished(begun, b"" if begun.traced else None)

    run(1000)
    with traced_memory():
        run(1000)
        before = held()
        run(RUNS)
        assert held() - before < (TIMES + LEAST_KEPT / 4) * RUNS
    assert recorder.counts()[0] == 2000 + RUNS


def test_choosing_keeps_nothing_of_a_run() -> None:
    sampler = Sampler(Adaptive())
    kind = sampler.kind("train", lambda: KindTally("train"))
    work: Callable[[], Any] = lambda: sampler.ran(kind, sampler.choose(kind), 1e-3)  # noqa: E731
    work()
    with traced_memory():
        before = held()
        for _ in range(RUNS):
            work()
        assert held() - before < LEAST_KEPT * RUNS / 4
