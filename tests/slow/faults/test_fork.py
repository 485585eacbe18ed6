"""A fork of a process that captures runs on by itself, and the capture stays its parent's."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model
from tests.slow.faults.children import Fork, in_fork
from tests.slow.faults.disk import entries
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.sampling import EVERYTHING, Sampler
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.lib.safely import FORKED


def test_the_capture_goes_on_beside_a_fork_that_leaves_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fork leaves it as any code does: all that ends a capture runs in it too."""
    removed: list[str] = []

    def remove(path: str, **options: Any) -> None:
        removed.append(path)
        shutil_rmtree(path, **options)

    shutil_rmtree = shutil.rmtree
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "rmtree", remove)
    square = tf.function(tf.square)
    with tfprof.capture(name="parent", trace_all=True) as prof:
        square(tf.constant(1.0))
        fork = Fork()
        if fork.number:
            ended = fork.wait()
            square(tf.constant(2.0))
        removed.clear()
    if not fork.number:
        fork.end(f"{len(removed)} directories removed, {prof.measurement.runs_seen} runs; {prof.text()}")
    assert (ended.status, ended.told) == (0, f"0 directories removed, 0 runs; Nothing was captured: {FORKED}")
    assert (prof.measurement.runs_seen, prof.measurement.runs_traced) == (2, 2)
    ran = [prof.profile.nodes.names[node] for node in prof.profile.executions.node.tolist()]
    assert len([name for name in ran if name.endswith("Square")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_profile_context_writes_nothing_in_a_fork(model: Model, tmp_path: Path) -> None:
    session = model.session()
    with tfprof.ProfileContext(tmp_path, trace_steps=range(5)):
        session.run(model.loss, {model.x: THREE})
        fork = Fork()
        if fork.number:
            ended = fork.wait()
            assert entries(tmp_path) == {}
    if not fork.number:
        fork.end("left")
    assert (ended.status, ended.told) == (0, "left")
    assert entries(tmp_path).keys() == {"profile_0"}


@pytest.mark.parametrize("make", [SessionSource, FunctionSource])
def test_a_fork_does_not_wait_for_a_thread_that_it_lacks(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread holds the recorder's lock at the moment of the fork, in which nobody will ever give it back."""
    holds, go_on = threading.Event(), threading.Event()
    choose = Sampler.choose

    def waiting(*arguments: Any, **named: Any) -> Any:
        holds.set()
        go_on.wait(60)
        return choose(*arguments, **named)

    monkeypatch.setattr(Sampler, "choose", waiting)
    recorder = make(EVERYTHING)
    begin = (object(), ["loss"]) if make is SessionSource else ("key", "name", None)
    thread = threading.Thread(target=recorder.begin, args=begin)
    thread.start()
    holds.wait(60)

    def work() -> Any:
        begun = recorder.begin(*begin)
        if make is FunctionSource:
            recorder.release_profiler()
            recorder.end_eager_ops()
        return begun, recorder.recorded().warnings == (FORKED,)

    ended = in_fork(work)
    go_on.set()
    thread.join()
    assert (ended.status, ended.told) == (0, "(None, True)")


def test_workers_that_load_data_are_forks_and_hinder_nobody(model: Model) -> None:
    """As PyTorch's DataLoader or a `keras.utils.PyDataset` have them."""
    session = model.session()
    with tfprof.capture(trace_all=True) as prof, _workers() as workers:
        batches = workers.map(np.ones, [(3,)] * 20)
        assert [session.run(model.loss, {model.x: batch}) for batch in batches] == [3.0] * 20
    assert prof.measurement.runs_seen == 20
    assert prof.profile.steps == tuple(range(20))


def _workers() -> Any:
    return multiprocessing.get_context("fork").Pool(2)
