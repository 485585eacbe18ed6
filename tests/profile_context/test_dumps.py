"""The files of a ProfileContext: native reads in them what it would have measured, and none is lost or half written."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.profiler import tfprof_logger

import tfprof_widget as tfprof
from tests.capturing.models import FULL_TRACE, THREE, Model
from tests.oracle.native import VIEWS, NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.oracle.rows import rows
from tests.profile_context.saved import profiles_in
from tfprof_widget import profile_context as context_module
from tfprof_widget.capturing.schedule import Schedule

v1: Any = tf.compat.v1


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.mark.parametrize("view", VIEWS)
def test_native_reads_what_it_would_have_measured(
    native: NativeTfprof, model: Model, tmp_path: Path, view: str
) -> None:
    """The user asks for the same metadata, which native is given run by run, as its own context did."""
    run_metas = [v1.RunMetadata() for _ in range(4)]
    with tfprof.ProfileContext(tmp_path, trace_steps=[2, 4], dump_steps=[4]):
        session = model.session()
        for run_meta in run_metas:
            session.run(model.train, {model.x: THREE}, v1.RunOptions(trace_level=FULL_TRACE), run_meta)

    graph = model.graph.as_graph_def(add_shapes=True).SerializeToString()
    op_log = tfprof_logger.merge_default_with_oplog(model.graph).SerializeToString()
    steps = [Step(step, run_metas[step - 1].SerializeToString(), graph, op_log) for step in (2, 4)]
    asked = {"select": ["micros", "bytes", "params", "float_ops", "occurrence"], "order_by": "name"}
    for step in (2, 4, -1):
        request = Request(view, options_proto(DEFAULTS | asked | {"step": step}))
        measured = native.profile_steps(request, graph, op_log, steps)
        read = native.profile_file(request, str(tmp_path / "profile_4"))
        assert isinstance(measured, NativeAnswer)
        assert isinstance(read, NativeAnswer)
        expected = rows(measured.proto, VIEWS[view])
        assert rows(read.proto, VIEWS[view]) == expected
        assert len(expected) > 3


def test_we_read_what_was_traced(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=[2, 4], dump_steps=[4]) as context:
        train(model, 6)
    assert context.profiler is not None
    read, traced = tfprof.load(tmp_path / "profile_4"), context.profiler.profile
    assert read.steps == (2, 4)
    for view in VIEWS:  # a file has the times as native counts them
        assert read.view(view, timing="tfprof").text() == traced.view(view, timing="tfprof").text()


@contextmanager
def dumping(directory: Path, **arguments: Any) -> Iterator[tfprof.ProfileContext]:
    with tfprof.ProfileContext(
        directory, **({"trace_steps": range(10, 20), "dump_steps": [20]} | arguments)
    ) as context:
        yield context


def train(model: Model, steps: int, error: type[BaseException] | None = None) -> None:
    session = model.session()
    for _ in range(steps - 1):
        session.run(model.train, {model.x: THREE})
    if error is not None:
        raise error


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_loop_that_raises(model: Model, tmp_path: Path, error: type[BaseException]) -> None:
    told = "the loop ended with step 14, before the profile was to be dumped at step 20; what was traced is in .*_14"
    with pytest.warns(tfprof.ProfileWarning, match=told), pytest.raises(error), dumping(tmp_path):
        train(model, 15, error)
    assert profiles_in(tmp_path) == {"profile_14": [10, 11, 12, 13, 14]}


def test_loop_that_raises_after_all_dumps(model: Model, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), dumping(tmp_path, dump_steps=[12]):
        train(model, 15, ZeroDivisionError)
    assert profiles_in(tmp_path) == {"profile_12": [10, 11, 12]}


def test_run_that_raises_at_the_step_of_a_dump(model: Model, tmp_path: Path) -> None:
    """As the run that finds its input at an end does. The steps after it are counted on."""
    with model.graph.as_default():
        tf.debugging.check_numerics(tf.constant(np.nan, name="nan"), "not a number", name="check")
    with dumping(tmp_path, trace_steps=[1, 2, 3], dump_steps=[2]) as context:
        session = model.session()
        session.run(model.train, {model.x: THREE})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run("check:0")
        session.run(model.train, {model.x: THREE})
    assert profiles_in(tmp_path) == {"profile_2": [1]}
    assert context.profiler is not None
    assert context.profiler.profile.steps == (1, 3)


def test_error_of_the_loop_is_not_hidden_by_a_warning(model: Model, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError), dumping(tmp_path):
            train(model, 15, ZeroDivisionError)
    assert profiles_in(tmp_path) == {"profile_14": [10, 11, 12, 13, 14]}


def test_warnings_that_are_errors_come_at_the_end(model: Model, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        context = tfprof.ProfileContext(tmp_path, trace_steps=[1], dump_steps=[])
        context.add_auto_profiling("op", {"step": 3, "output": "none"}, [1])
        session = model.session()
        results: list[float] = []

        def loop() -> None:
            with context:
                results.extend(session.run(model.count) for _ in range(3))

        with pytest.raises(tfprof.ProfileWarning, match="the op view of step 1 is missing"):
            loop()
    assert results == [0.0, 0.0, 0.0]


def test_the_directory_is_made_with_the_first_file(tmp_path: Path) -> None:
    """As natively: a loop that fails early leaves no empty directory."""
    with (
        pytest.raises(RuntimeError),
        tfprof.ProfileContext(tmp_path / "train" / "dir", trace_steps=[], dump_steps=[1]),
    ):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_directory_that_cannot_be_made_is_told_of_before_the_loop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(tfprof.ProfileError, match=r"profile_dir: cannot make .*file/below.*: .*file' is no directory"):
        tfprof.ProfileContext(tmp_path / "file" / "below", dump_steps=[1]).__enter__()


def test_disk_that_fails_leaves_the_loop_alone(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the dump before is still whole, and the next dump has it all."""

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with dumping(tmp_path, trace_steps=[1, 2, 3], dump_steps=[1, 2, 3]):
        session = model.session()
        session.run(model.count)
        monkeypatch.setattr("os.fsync", fail)
        with pytest.warns(tfprof.ProfileWarning, match=r"profile_2 is missing: .*No space left"):
            session.run(model.count)
        monkeypatch.undo()
        session.run(model.count)
    assert profiles_in(tmp_path) == {"profile_1": [1], "profile_3": [1, 2, 3]}


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Schedule, "next"),
        (tfprof.Profiler, "add_step"),
        (context_module.ProfileContext, "_add"),
        (context_module, "shortcomings"),
    ],
)
def test_our_own_errors_leave_the_loop_alone(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("broken on purpose")

    session = model.session()
    monkeypatch.setattr(owner, name, broken)

    def loop() -> None:
        with dumping(tmp_path, trace_steps=range(9), dump_steps=[100]):
            for _ in range(3):
                session.run(model.train, {model.x: THREE})

    with pytest.warns(tfprof.ProfileWarning, match="stopped early.*broken on purpose.*report this") as told:
        loop()
    assert session.run(model.count) == 3.0
    assert len([each for each in told if "broken on purpose" in str(each.message)]) == 1


def test_run_that_outlasts_the_context_goes_on(model: Model, tmp_path: Path) -> None:
    started, over = threading.Event(), threading.Event()

    def wait() -> bool:
        started.set()
        return over.wait(60)

    with model.graph.as_default():
        slow = tf.numpy_function(wait, [], tf.bool, name="slow")
    session = model.session()
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(session.run(slow)))
    with dumping(tmp_path, trace_steps=[0, 1], dump_steps=[1]):
        thread.start()
        started.wait(60)
        session.run(model.count)
    over.set()
    thread.join()
    assert results == [True]
    assert profiles_in(tmp_path) == {"profile_1": [1]}
