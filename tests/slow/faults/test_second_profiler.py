"""A second profiler before, during and after a capture has its own, and so has the capture or it says why not."""

from __future__ import annotations

import cProfile
import pstats
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.slow.faults.hooks import hooks

Step = Callable[[], Any]


@pytest.fixture(params=["session", "function"])
def step(request: pytest.FixtureRequest, model: Model) -> Step:
    """A step that gives 3."""
    if request.param == "session":
        session = model.session()
        return lambda: float(session.run(model.loss, {model.x: THREE}))
    add = tf.function(lambda x: x + 2.0)
    return lambda: float(add(tf.constant(1.0)))


def traces(directory: Path) -> int:
    return len(list(directory.rglob("*.xplane.pb")))


@pytest.mark.parametrize("when", ["before", "during", "after", "around", "across the beginning", "across the end"])
def test_tensorflows_own_profiler_writes_its_trace(step: Step, when: str, tmp_path: Path) -> None:
    start, stop = (lambda: tf.profiler.experimental.start(str(tmp_path))), tf.profiler.experimental.stop
    moments = {
        "before": (start, stop, None, None, None, None),
        "during": (None, None, start, stop, None, None),
        "after": (None, None, None, None, start, stop),
        "around": (start, None, None, None, None, stop),
        "across the beginning": (start, None, stop, None, None, None),
        "across the end": (None, None, start, None, None, stop),
    }[when]

    def do(moment: int) -> None:
        action = moments[moment]
        if action is not None:
            action()
        assert step() == 3.0

    do(0)
    do(1)
    with tfprof.capture(trace_all=True) as prof:
        do(2)
        do(3)
    do(4)
    do(5)
    assert traces(tmp_path) == 1
    assert prof.measurement.runs_seen == 2
    assert prof.measurement.runs_traced == 2 or any("profiler" in each for each in prof.measurement.warnings)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first in, first out", "last in, first out"])
def test_two_captures_both_have_their_runs(model: Model, order: tuple[int, int]) -> None:
    session, before = model.session(), hooks()
    captures = [tfprof.capture(trace_all=True), tfprof.capture(trace_all=True)]
    stacks, profs = [ExitStack(), ExitStack()], []
    for stack, capture in zip(stacks, captures, strict=True):
        profs.append(stack.enter_context(capture))
        assert session.run(model.loss, {model.x: THREE}) == 3.0
    for number in order:
        assert hooks(patience=0) != before
        stacks[number].close()
        assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert hooks() == before
    assert [prof.measurement.runs_seen for prof in profs] == ([2, 2] if order == (0, 1) else [3, 1])


@pytest.mark.parametrize("order", [("capture", "context"), ("context", "capture")])
def test_a_profile_context_and_a_capture_both_have_their_runs(
    model: Model, tmp_path: Path, order: tuple[str, str]
) -> None:
    session = model.session()
    with ExitStack() as both:
        entered: dict[str, Any] = {
            kind: both.enter_context(
                tfprof.capture(trace_all=True)
                if kind == "capture"
                else tfprof.ProfileContext(tmp_path, trace_steps=range(9), dump_steps=[1])
            )
            for kind in order
        }
        for _ in range(3):
            assert session.run(model.loss, {model.x: THREE}) == 3.0
    assert entered["capture"].measurement.runs_traced == 3
    assert tfprof.Profile.load(tmp_path / "profile_1").steps == (0, 1)


def test_a_profiler_of_python_counts_the_calls_of_the_user(step: Step) -> None:
    profiler = cProfile.Profile()
    with tfprof.capture(trace_all=True) as prof:
        profiler.runcall(lambda: [step() for _ in range(3)])
        assert sys.getprofile() is None
    counts: Any = vars(pstats.Stats(profiler))["stats"]
    assert sum(counts[place][0] for place in counts if (place[0], place[2]) == (__file__, "<lambda>")) == 1 + 3
    assert prof.measurement.runs_seen == 3
