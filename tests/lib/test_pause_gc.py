"""Pauses of the garbage collector in several threads and forks, and in looks at another thread's frames."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.slow.share import share
from tfprof_widget.capturing.python_sampler import PythonSampler, looking
from tfprof_widget.lib.threads import pause_gc

SECONDS = share(30, 2)

of_python_3_11 = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="since Python 3.12 no garbage is collected while an object is made"
)


@pytest.fixture
def paused_elsewhere() -> Iterator[Callable[[], None]]:
    """Another thread pauses the collector, until the function is called."""
    begun, over = threading.Event(), threading.Event()

    def pause() -> None:
        with pause_gc():
            begun.set()
            over.wait()

    def end() -> None:
        over.set()
        thread.join()

    thread = threading.Thread(target=pause)
    thread.start()
    begun.wait()
    yield end
    end()


def test_the_last_of_several_pauses_ends_them(paused_elsewhere: Callable[[], None]) -> None:
    with pause_gc():
        paused_elsewhere()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_pause_goes_on_after_one_within_it(paused_elsewhere: Callable[[], None]) -> None:
    with pause_gc():
        pass
    assert not gc.isenabled()
    paused_elsewhere()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pause_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_has_no_pause_of_a_thread_that_it_has_not(paused_elsewhere: Callable[[], None]) -> None:
    child = os.fork()
    if not child:
        with pause_gc():
            pass
        os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not gc.isenabled()


def called_deep(frames: int, work: Callable[[], object]) -> None:
    """Work from within so many more frames."""
    if frames:
        called_deep(frames - 1, work)
    else:
        work()


@of_python_3_11
def test_nothing_is_collected_while_frames_are_followed() -> None:
    at: list[str] = []

    def collect(phase: str, _: Any) -> None:
        if phase == "start":
            at.append(sys._getframe(1).f_code.co_name)

    sampler, me = PythonSampler(), threading.get_ident()
    thresholds = gc.get_threshold()
    gc.callbacks.append(collect)
    gc.set_threshold(1)
    try:
        with looking(sampler, lambda: me, 0.001):
            while len(sampler.at) < 3:
                called_deep(100, lambda: threading.Event().wait(0.002))
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collect)
    assert at
    assert {"see", "_with_lines"} & {*at} == set()


CRASHING = """
import gc, sys, threading, time
from tests.lib.test_pause_gc import called_deep
from tfprof_widget.capturing.python_sampler import PythonSampler, looking

me = threading.get_ident()


class Garbage:
    def __init__(self):
        self.itself = self

    def __del__(self):  # lets the thread that is looked at go on
        if threading.get_ident() != me:
            time.sleep(0.001)


def work():
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass


gc.collect()
gc.freeze()
gc.set_threshold(100)
until, depth = time.monotonic() + float(sys.argv[1]), 0
with looking(PythonSampler(), lambda: me, 0.001):
    while time.monotonic() < until:
        Garbage(), Garbage()
        depth = (depth + 1) % 50
        called_deep(100 + depth, work)
"""


def test_frames_that_are_left_meanwhile_crash_nothing() -> None:
    """Without the pause Python 3.11.7 crashes within some five seconds."""
    subprocess.run([sys.executable, "-c", CRASHING, str(SECONDS)], check=True, capture_output=True)
