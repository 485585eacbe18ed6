"""A cell on two engines gives the profile that the same runs in one process give, with a worker an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import tfprof_widget
from tests.magic.shells import new_shell
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.result import Capture
from tfprof_widget.profiles.data import EAGER, EARLY, SHORTER

SET_UP = """
import numpy as np
import tensorflow as tf
tf1 = tf.compat.v1
"""
SESSION = """
with tf1.Graph().as_default(), tf1.Session() as session:
    weights = tf1.get_variable("weights", [50, 20], initializer=tf1.ones_initializer())
    product = tf1.matmul(tf1.ones([10, 50]), weights, name="product")
    session.run(tf1.global_variables_initializer())
    for _ in range(6):
        last = session.run(product)
"""
FUNCTION = """
@tf.function
def similarity(features):
    return tf.matmul(features, features, transpose_b=True)
for _ in range(5):
    similarity(tf.ones([30, 40]))
"""
FIT = """
model = tf.keras.Sequential([tf.keras.Input([8]), tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones([32, 8]), np.ones([32, 1]), batch_size=8, epochs=2, verbose=0)
"""
ENGINES, EPOCHS = 2, 2
# The first call of a function traces it.
COUNTS = {"similarity (warm-up)": 1, "similarity": 4}


@pytest.fixture(scope="module")
def trained(cluster: Any) -> Any:
    """The cluster, with TensorFlow on its engines."""
    cluster[:].execute(SET_UP, block=True)
    return cluster


@pytest.fixture
def shell(trained: Any) -> Iterator[InteractiveShell]:
    with new_shell() as shell:
        shell.user_ns["rc"] = trained
        yield shell


def ran(shell: InteractiveShell, line: str, code: str) -> Capture:
    """The capture of a cell that ran well."""
    shell.run_cell(f"%%tfprof --quiet --out kept {line}\n{code}").raise_error()
    kept = shell.user_ns["kept"]
    assert isinstance(kept, Capture)
    return kept


def steady_names(profile: Profile) -> list[str]:
    """The names of the steps without what a busy machine adds to some."""
    return [name.removesuffix(SHORTER).removesuffix(EARLY) for name in profile.step_names]


def told(profile: Profile) -> Any:
    """All of a profile that does not depend on a clock."""
    nodes, totals = profile.nodes, profile.step_totals
    return (
        profile.steps,
        steady_names(profile),
        profile.step_workers,
        nodes.names,
        [nodes.ops[op] for op in nodes.op],
        [nodes.devices[device] if device >= 0 else "" for device in nodes.device],
        nodes.parameters.tolist(),
        nodes.float_ops.tolist(),
        nodes.inputs.values.tolist(),
        [column.tolist() for column in (totals.node, totals.step, totals.run_count, totals.requested_bytes)],
    )


def test_a_session_cell_gives_what_two_local_runs_merged_give(shell: InteractiveShell) -> None:
    local: dict[str, Any] = {}
    exec(SET_UP, local)
    profiles = {}
    for engine in ("engine 0", "engine 1"):
        with tfprof_widget.capture(trace_all=True) as prof:
            exec(SESSION, local)
        profiles[engine] = prof.profile
    found = ran(shell, "--engines --all", SESSION)
    assert told(found.profile) == told(tfprof_widget.merge(profiles))
    assert {runs.name: (runs.seen, runs.traced) for runs in found.measurement.runs} == {
        runs.name: (2 * runs.seen, 2 * runs.traced) for runs in prof.measurement.runs
    }
    assert tfprof_widget.last() is found


def test_a_function_is_counted_on_each_engine(shell: InteractiveShell) -> None:
    found = ran(shell, "--engines rc --all", FUNCTION)
    counted = Counter(
        step for step in zip(steady_names(found.profile), found.profile.step_workers, strict=True) if step[0] != EAGER
    )
    assert counted == Counter(
        {(name, engine): count for name, count in COUNTS.items() for engine in ("engine 0", "engine 1")}
    )
    nodes = found.profile.nodes
    assert nodes.float_ops[nodes.names.index("MatMul")] == 2 * 30 * 40 * 30


def test_lines_of_the_cell_are_the_same_on_all_engines_and_bring_their_text(shell: InteractiveShell) -> None:
    found = ran(shell, "--engines rc --all", FUNCTION)
    traces = found.profile.traces
    lines = {
        (traces.strings[file], line, traces.strings[source])
        for file, line, source in zip(traces.file, traces.line.tolist(), traces.source, strict=True)
        if traces.strings[file].startswith("ipykernel/")
    }
    assert {(line, text) for _, line, text in lines} == {
        (5, "return tf.matmul(features, features, transpose_b=True)"),
        (7, "similarity(tf.ones([30, 40]))"),
    }
    assert len({file for file, _, _ in lines}) == 1
    assert traces.live == frozenset()


def test_a_fit_is_counted_on_each_engine(shell: InteractiveShell) -> None:
    found = ran(shell, "--engines rc --all", FIT)
    assert {runs.name: runs.seen for runs in found.measurement.runs if runs.name != "eager ops"} == {
        "fit: train_step": ENGINES * EPOCHS * 32 // 8
    }
    trainable = found.profile.view("scope", account_type_regexes=["_trainable_variables"], select=["params"])
    assert trainable.to_dataframe().total_params[0] == (8 + 1) * 4 + (4 + 1) * 1


@pytest.mark.parametrize(("argument", "traced"), [("--steps 1:3", 2), ("--every 4", 2), ("--all", 6)])
def test_what_is_traced_there_is_what_was_asked_for_here(shell: InteractiveShell, argument: str, traced: int) -> None:
    found = ran(shell, f"--engines rc {argument}", SESSION)
    assert [(runs.seen, runs.traced) for runs in found.measurement.runs if "product" in runs.name] == [
        (ENGINES * 6, ENGINES * traced)
    ]


def test_options_of_the_view_and_the_name_are_for_the_merged_profile(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(f"%%tfprof --engines rc --all --name both --view op --worker_regexes '.*1'\n{SESSION}").raise_error()
    found = tfprof_widget.last()
    assert found is not None
    assert found.measurement.name == "both"
    assert found.options == {"view": "op", "worker_regexes": (".*1",)}
    assert found.text() in capsys.readouterr().out


def test_engines_keep_what_a_cell_made(shell: InteractiveShell, trained: Any) -> None:
    ran(shell, "--engines rc[1] --all", "kept_there = 17")
    assert trained[1]["kept_there"] == 17
    with pytest.raises(Exception, match="kept_there"):
        trained[0]["kept_there"]
    assert "kept_there" not in shell.user_ns


def test_what_ran_before_an_engine_failed_is_in_the_profile(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = "if get_ipython().kernel.engine_id == 1:\n    raise MemoryError('too large')"
    found = ran(shell, "--engines --all", SESSION + failing)
    told = "engine 1 failed: MemoryError: too large; what it ran until then is in the profile"
    assert capsys.readouterr().err.endswith(f"tfprof: {told}\n")
    assert told in found.measurement.warnings
    assert Counter(found.profile.step_workers) == {"engine 0": 1 + 6, "engine 1": 1 + 6}  # with the initializer


def test_code_in_a_string_is_captured_too(trained: Any) -> None:
    found = tfprof_widget.capture_engines(trained[:], SESSION, name="twin", trace_all=True)
    assert set(found.profile.step_workers) == {"engine 0", "engine 1"}
    assert found.measurement.name == "twin"
