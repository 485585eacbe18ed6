"""ProfileContext around loops of real sessions: steps, traces, views and files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import RunMetadata
from tensorflow.python.client import session as client

import tfprof_widget as tfprof
from tests.capturing.models import FULL_TRACE, THREE, Model
from tests.capturing.test_sessions import made_from_options
from tests.profile_context.saved import profiles_in

v1: Any = tf.compat.v1
Builder = tfprof.ProfileOptionBuilder
QUIET = Builder(Builder.time_and_memory()).order_by("micros").with_empty_output().build()


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture(autouse=True)
def tensorflow_is_as_it_was() -> Iterator[None]:
    before = dict(vars(client.BaseSession)), client.tf_session.TF_GetBuffer
    yield
    assert (dict(vars(client.BaseSession)), client.tf_session.TF_GetBuffer) == before


def train(model: Model, steps: int) -> None:
    """A loop that knows of no profiler: the run of initializers, then `steps - 1` others."""
    session = model.session()
    for _ in range(steps - 1):
        session.run(model.train, {model.x: THREE})


def test_traces_dumps_and_views_of_the_steps_asked_for(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=range(10, 20), dump_steps=[20]) as context:
        context.add_auto_profiling("op", QUIET, [15, 18, 20])
        context.add_auto_profiling("scope", Builder.trainable_variables_parameter() | {"output": "none"}, [20])
        train(model, 30)

    assert context.profiler is not None
    assert context.profiler.profile.steps == tuple(range(10, 21))
    assert profiles_in(tmp_path) == {"profile_20": list(range(10, 21))}
    assert list(context.get_profiles("op")) == [15, 18, 20]
    (variables,) = context.get_profiles("scope").values()
    assert variables.total_parameters == 1


def test_a_view_has_what_was_traced_until_its_step(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=range(1, 4), dump_steps=[]) as context:
        context.add_auto_profiling("op", QUIET | {"step": 2, "min_micros": 0, "min_bytes": 0}, [1, 2])
        with pytest.warns(tfprof.ProfileWarning, match="the op view of step 1 is missing: .*step"):
            train(model, 5)
    assert list(context.get_profiles("op")) == [2]


def test_steps_are_the_runs_of_all_sessions(model: Model, tmp_path: Path) -> None:
    """Whoever runs them: the numbers are those of the calls of Session.run."""
    other = model.session()
    with tfprof.ProfileContext(tmp_path, trace_steps=[1, 3, 4], dump_steps=[4]):
        session = model.session()
        other.run(model.count)
        session.run(model.train, {model.x: THREE})
        session.run(model.loss, {model.x: THREE})
        session.make_callable(model.count)()
    assert profiles_in(tmp_path) == {"profile_4": [1, 3, 4]}


def test_callables_made_from_options_are_steps_too(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=[2], dump_steps=[2]) as context:
        session = model.session()
        call = made_from_options(model, session)
        assert [call(THREE), call(THREE)] == [[3.0], [3.0]]
    assert context.profiler is not None
    assert context.profiler.profile.view("scope", show_name_regexes=["loss"], timing="tfprof").total["micros"][0] > 0


def test_monitored_training_session(tmp_path: Path) -> None:
    """The steps are those that the original counted: the calls of BaseSession.run, which MonitoredSession makes too."""
    model, calls = Model(), []
    original = client.BaseSession.run

    def counting(self: Any, fetches: Any, *arguments: Any, **keywords: Any) -> Any:
        calls.append(fetches)
        return original(self, fetches, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patched, model.graph.as_default():
        patched.setattr(client.BaseSession, "run", counting)
        hooks = [v1.train.StopAtStepHook(num_steps=5)]
        advance = v1.train.get_global_step().assign_add(1)
        with (
            tfprof.ProfileContext(tmp_path, trace_steps=range(100), dump_steps=[]) as context,
            v1.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path / "model"), hooks=hooks) as session,
        ):
            while not session.should_stop():
                session.run([model.train, advance], {model.x: THREE})
    assert context.profiler is not None
    profile = context.profiler.profile
    assert profile.steps == tuple(range(len(calls)))
    advanced = profile.executions.node == profile.nodes.names.index(advance.op.name)
    trained = [step for step, fetches in enumerate(calls) if model.train.name in str(fetches)]
    assert len(trained) == 5
    assert sorted(profile.steps[step] for step in profile.executions.step[advanced]) == trained


def test_next_step(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=[], dump_steps=[]) as context:
        session = model.session()
        context.trace_next_step()
        session.run(model.train, {model.x: THREE})
        session.run(model.train, {model.x: THREE})
        assert context.profiler is not None
        assert context.profiler.profile_operations(QUIET).total_exec_micros > 0
        context.dump_next_step()
        session.run(model.train, {model.x: THREE})
        session.run(model.train, {model.x: THREE})
    assert profiles_in(tmp_path) == {"profile_3": [1]}


def test_default_steps(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path) as context:
        train(model, 110)
    assert context.profiler is not None
    steps = list(context.profiler.profile.steps)
    assert steps[0] == 11
    assert profiles_in(tmp_path) == {"profile_100": steps}


def test_default_dump_of_a_short_loop(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path):
        train(model, 12)
    assert profiles_in(tmp_path) == {"profile_11": [11]}


def test_not_enabled(model: Model, tmp_path: Path) -> None:
    directory = tmp_path / "never"
    with tfprof.ProfileContext(directory, trace_steps=[1], dump_steps=[1], enabled=False) as context:
        assert "_tfprof_widget_patch" not in vars(client.BaseSession._call_tf_sessionrun)
        context.add_auto_profiling("op", QUIET, [1])
        context.trace_next_step()
        context.dump_next_step()
        train(model, 3)
    assert context.profiler is None
    assert not directory.exists()
    with pytest.raises(ValueError, match="there is no 'op' profile"):
        context.get_profiles("op")


def test_debug(model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=[2], dump_steps=[2], debug=True):
        train(model, 4)
    text = (tmp_path / "run_meta_2").read_text()
    assert 'node_name: "counter"' in text
    printed = capsys.readouterr().err.splitlines()
    assert printed == ["debug: traced step 2", f"debug: wrote {tmp_path / 'profile_2'}"]


def test_the_users_own_metadata_and_options(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path, trace_steps=[1, 2], dump_steps=[]) as context:
        session, plain, full = model.session(), v1.RunMetadata(), v1.RunMetadata()
        session.run(model.loss, {model.x: THREE}, v1.RunOptions(), plain)
        session.run(model.loss, {model.x: THREE}, v1.RunOptions(trace_level=FULL_TRACE), full)
    assert not plain.HasField("step_stats")
    assert isinstance(full, RunMetadata)
    assert "loss" in {node.node_name for device in full.step_stats.dev_stats for node in device.node_stats}
    assert context.profiler is not None
    assert context.profiler.profile.steps == (1, 2)


def test_contexts_in_one_another(model: Model, tmp_path: Path) -> None:
    with tfprof.ProfileContext(tmp_path / "outer", trace_steps=[0, 2], dump_steps=[2]):
        session = model.session()
        with tfprof.ProfileContext(tmp_path / "inner", trace_steps=[1], dump_steps=[1]), tfprof.capture() as captured:
            session.run(model.train, {model.x: THREE})
            session.run(model.train, {model.x: THREE})
        assert session.run(model.count) == 2.0
    assert profiles_in(tmp_path / "outer") == {"profile_2": [0, 2]}
    assert profiles_in(tmp_path / "inner") == {"profile_1": [1]}
    assert captured.measurement.runs_seen == 2


def test_entered_again(model: Model, tmp_path: Path) -> None:
    """The steps go on to be counted; but not while it is open."""
    context = tfprof.ProfileContext(tmp_path, trace_steps=[1, 3], dump_steps=[3])
    session = model.session()

    def loop() -> None:
        with context:
            session.run(model.count)
            session.run(model.count)
            with pytest.raises(tfprof.ProfileError, match="entered already"):
                context.__enter__()

    with pytest.warns(tfprof.ProfileWarning, match=r"what was traced is in .*profile_1"):
        loop()
    session.run(model.count)
    loop()
    assert profiles_in(tmp_path) == {"profile_1": [1], "profile_3": [1, 3]}


def test_sessions_of_two_graphs(tmp_path: Path) -> None:
    """Each graph has a file of its own: names of one graph mean nothing in another."""
    first, second = Model(), Model()
    with second.graph.as_default():
        more = tf.reduce_sum(second.x, name="more")
    with tfprof.ProfileContext(tmp_path, trace_steps=range(1, 7), dump_steps=[6]) as context:
        one, two = first.session(), second.session()
        for _ in range(2):
            one.run(first.loss, {first.x: THREE})
            two.run(more, {second.x: THREE})
        two.run(more, {second.x: THREE})
    assert profiles_in(tmp_path) == {"profile_4": [2, 4], "profile_6": [1, 3, 5, 6]}
    assert context.profiler is not None
    assert "more" in context.profiler.profile.nodes.names


def test_runs_in_many_threads(model: Model, tmp_path: Path) -> None:
    """Each run is a step of its own, and each that is asked for is traced once, however they overlap."""
    session = model.session()
    with tfprof.ProfileContext(tmp_path, trace_steps=range(0, 80, 2), dump_steps=[79]) as context:
        context.add_auto_profiling("op", QUIET, [40])

        def loop() -> None:
            for _ in range(10):
                session.run(model.train, {model.x: THREE})

        threads = [threading.Thread(target=loop) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert session.run(model.count) == 80.0
    assert context.profiler is not None
    assert context.profiler.profile.steps == tuple(range(0, 80, 2))
    (dumped,) = profiles_in(tmp_path).values()
    assert set(dumped) <= set(range(0, 80, 2))
    assert list(context.get_profiles("op")) == [40]


def test_what_is_told_of_a_loop_without_sessions(tmp_path: Path) -> None:
    with (
        pytest.warns(tfprof.ProfileWarning, match="no session ran in this ProfileContext.*tfprof_widget.capture"),
        tfprof.ProfileContext(tmp_path, trace_steps=[1]),
    ):
        tf.function(lambda: tf.ones([2]) + 1)()


def test_partial_runs_are_no_steps(model: Model, tmp_path: Path) -> None:
    context = tfprof.ProfileContext(tmp_path, trace_steps=[1], dump_steps=[])

    def loop() -> None:
        with context:
            session = model.session()
            handle = session.partial_run_setup([model.loss], [model.x])
            assert session.partial_run(handle, model.loss, {model.x: THREE}) == 3.0
            session.run(model.count)

    with pytest.warns(tfprof.ProfileWarning, match="some runs were not traced: TensorFlow gives partial_run neither"):
        loop()
    assert context.profiler is not None
    assert context.profiler.profile.steps == (1,)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"profile_dir": ""}, "profile_dir: is empty"),
        ({"profile_dir": "/tmp", "trace_steps": 10}, "trace_steps: 10 is no list of steps"),
        ({"profile_dir": "/tmp", "dump_steps": [-1]}, "dump_steps: step is -1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        tfprof.ProfileContext(**arguments)


@pytest.mark.parametrize(
    ("view", "options", "steps", "told"),
    [
        ("python", {}, [1], "view has no 'python'; choose from scope, graph, op, code"),
        ("op", {"min_microz": 1}, [1], "unknown option 'min_microz'.*min_micros"),
        ("op", {"output": "fil:outfile=a"}, [1], "there is no 'fil'"),
        ("op", {}, 1, "profile_steps: 1 is no list of steps"),
    ],
)
def test_bad_auto_profiling_is_refused_before_the_loop(
    tmp_path: Path, view: str, options: dict[str, Any], steps: Any, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        tfprof.ProfileContext(tmp_path).add_auto_profiling(view, options, steps)
