"""Captures one after the other, an hour's or few: memory stays flat, and every graph dies with its capture."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model, v1
from tests.capturing.program_steps import BATCH, data, small_model
from tests.slow.load.memory import held, resident, traced_memory
from tests.slow.share import SECONDS, share

CAPTURES = share(1000, 40)
WARM_UP = 10
# Caches and the allocator grow by leaps, for some dozens of fits, but what each capture loses shows in every quarter.
# The smallest profile takes more than this.
QUARTERS = 4
QUARTER_SECONDS = SECONDS / 3 / QUARTERS
"""Three kinds of captures share the seconds that are asked for."""
LOST_BYTES = 5_000
LOST_RESIDENT_BYTES = 50_000


def sessions() -> Callable[[], Any]:
    model = Model()
    session = model.session()
    return lambda: [session.run(model.loss, {model.x: THREE}) for _ in range(3)]


def functions() -> Callable[[], Any]:
    square, x = tf.function(lambda x: tf.square(x)), tf.constant(1.0)
    return lambda: [square(x) for _ in range(3)]


def fits() -> Callable[[], Any]:
    network, (x, y) = small_model(), data(2)
    return lambda: network.fit(x, y, batch_size=BATCH, verbose=0)


KINDS: dict[str, tuple[Callable[[], Callable[[], Any]], float]] = {
    "sessions": (sessions, 1.0),
    "functions": (functions, 1.0),
    "fits": (fits, 0.15),
}


@pytest.mark.timeout(1200)  # a busy machine needs longer for so many fits
@pytest.mark.parametrize("kind", share(list(KINDS), ["sessions"]))
def test_memory_is_flat(kind: str) -> None:
    """In a process of its own: the memory of one in which thousands of tests ran is not that of captures."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.slow.load.test_soak", kind],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    print(ran.stdout)


def judge(kind: str) -> None:
    """Capture again and again, and fail if captures lose memory."""
    make, part = KINDS[kind]
    step = make()

    def captured() -> None:
        with tfprof.capture(trace_all=True) as prof:
            step()
        assert prof.measurement.runs_traced > 0
        assert prof.view("op").names

    for _ in range(WARM_UP):
        captured()
    with traced_memory():
        captured()
        quarters = [_lost(captured, int(CAPTURES * part) // QUARTERS, QUARTER_SECONDS) for _ in range(QUARTERS)]
    for count, lost, lost_resident in quarters:
        print(f"{count} captures, each lost {lost:,.0f} bytes of Python's and {lost_resident:,.0f} of the process")
    assert min(lost for _, lost, _ in quarters) < LOST_BYTES
    assert min(lost for _, _, lost in quarters) < LOST_RESIDENT_BYTES


def _lost(work: Callable[[], None], least: int, seconds: float) -> tuple[int, float, float]:
    """How often the work was done, and how many bytes were lost each time: of Python's, and of the process."""
    held_before, resident_before, end, count = held(), resident(), monotonic() + seconds, 0
    while count < least or monotonic() < end:
        work()
        count += 1
    return count, (held() - held_before) / count, (resident() - resident_before) / count


def test_graphs_and_functions_die_with_their_captures() -> None:
    references: list[Any] = []
    for number in range(10):
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [None])
            loss = tf.reduce_sum(tf.square(x), name=f"loss_{number}")
        square = tf.function(lambda x: tf.square(x))
        with tfprof.capture(trace_all=True) as prof:
            with v1.Session(graph=graph) as session:
                session.run(loss, {x: np.ones([3])})
            square(tf.constant(1.0))
        assert prof.measurement.runs_seen == 2
        references += [weakref.ref(each) for each in (graph, square, prof, prof.profiles[0])]
        del graph, x, loss, square, session, prof
    with tfprof.capture():
        pass  # the last capture is kept for who forgot to name it
    gc.collect()
    gc.collect()
    assert [reference() for reference in references] == [None] * len(references)


if __name__ == "__main__":
    judge(sys.argv[1])
