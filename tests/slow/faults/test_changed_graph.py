"""A graph that changes between runs: each run is of the graph as it was then, and none is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

import tfprof_widget as tfprof
from tests.capturing.models import THREE, Model, v1
from tests.capturing.program_steps import BATCH, TRAIN, data, small_model


def executed(prof: Any) -> dict[int, set[str]]:
    """The nodes that ran in each step."""
    profile = prof.profile
    found: dict[int, set[str]] = {step: set() for step in profile.steps}
    for node, step in zip(profile.executions.node.tolist(), profile.executions.step.tolist(), strict=True):
        found[profile.steps[step]].add(profile.nodes.names[node])
    return found


def test_nodes_are_added_between_runs(model: Model) -> None:
    session = model.session()
    with tfprof.capture(trace_all=True) as prof:
        assert session.run(model.loss, {model.x: THREE}) == 3.0
        for number in range(3):
            with model.graph.as_default():
                grown = tf.add(model.loss, 1.0, name=f"added_{number}")
            assert session.run(grown, {model.x: THREE}) == 4.0
    ran = executed(prof)
    assert "added_0" not in ran[0]
    assert [f"added_{number}" in ran[number + 1] for number in range(3)] == [True] * 3
    assert prof.measurement.warnings == () or not any("missing" in each for each in prof.measurement.warnings)


def test_nodes_are_added_between_the_steps_of_a_profile_context(model: Model, tmp_path: Path) -> None:
    session = model.session()
    with tfprof.ProfileContext(tmp_path, trace_steps=range(2), dump_steps=[0, 1]):
        session.run(model.loss, {model.x: THREE})
        with model.graph.as_default():
            grown = tf.add(model.loss, 1.0, name="added")
        assert session.run(grown, {model.x: THREE}) == 4.0
    names = [tfprof.Profile.load(tmp_path / f"profile_{step}").nodes.names for step in (0, 1)]
    assert ["added" in each for each in names] == [False, True]


def test_the_default_graph_is_made_anew_between_runs() -> None:
    """The nodes of both have the same names, and are not mixed up."""
    results = []
    with tfprof.capture(trace_all=True) as prof:
        for value in (2.0, 3.0):
            with tf.Graph().as_default():
                product = tf.multiply(v1.placeholder(tf.float32, name="x"), value, name="product")
                with v1.Session() as session:
                    results.append(float(session.run(product, {"x:0": 1.0})))
    assert results == [2.0, 3.0]
    assert [profile.steps for profile in prof.profiles] == [(0,), (0,)]


def test_a_function_is_traced_anew_between_its_steps() -> None:
    square = tf.function(tf.square)
    with tfprof.capture(trace_all=True) as prof:
        sizes = [int(tf.size(square(tf.ones([size])))) for size in (1, 2, 3, 2)]
    assert sizes == [1, 2, 3, 2]
    (runs,) = [runs for runs in prof.measurement.runs if runs.name == "square"]
    assert (runs.seen, runs.traced, runs.warm_ups) == (4, 4, 3)


def test_a_model_is_compiled_anew_between_its_fits() -> None:
    network = small_model()
    x, y = data(2)
    with tfprof.capture(trace_all=True) as prof:
        for optimizer in ("adam", "sgd"):
            network.compile(optimizer, "sparse_categorical_crossentropy")
            network.fit(x, y, batch_size=BATCH, verbose=0)
    assert sum(runs.seen for runs in prof.measurement.runs if runs.name.startswith(TRAIN)) == 4
    assert not hasattr(network.train_function, "__wrapped__")
