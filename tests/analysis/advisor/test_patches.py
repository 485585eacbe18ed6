"""Patches on statements written out by hand: what is changed, and where nothing is, as no change would fit."""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.advisor.findings import only
from tests.analysis.advisor.test_cell_time import SECOND, captured, phase, took
from tests.analysis.advisor.test_input_bound import MAP, fed
from tfprof_widget.analysis.advisor.cell_time import python_between, retracing
from tfprof_widget.analysis.advisor.input_wait import input_bound
from tfprof_widget.analysis.advisor.patches import (
    as_graph,
    faster_input,
    not_eagerly,
    one_signature,
    prefetched_loop,
    seldom_called,
    several_steps,
    whole_batches,
)
from tfprof_widget.analysis.own_statements import CodeChange, own_statements
from tfprof_widget.api.profile import load
from tfprof_widget.capturing.called_functions import signature_of
from tfprof_widget.profiles.cell import CellRuns, CellTimes, CodeLine, OwnCode, PythonTime
from tfprof_widget.profiles.program import DataFunction
from tfprof_widget.widget.scriptless import static_html
from tfprof_widget.widget.shown import Shown

FILE = "/home/me/train.py"


def code(*texts: str, file: str = FILE, first: int = 1, **signatures: str) -> OwnCode:
    """Statements one below the other, in one function."""
    lines, at = [], first
    for text in texts:
        lines.append(CodeLine(file, at, "main", text))
        at += text.count("\n") + 1
    return OwnCode(tuple(lines), signatures)


def after(patch: CodeChange | None) -> str | None:
    return None if patch is None else "\n".join(patch.after)


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        (
            ["ds = ds.map(slow).batch(64)"],
            "ds = ds.map(slow, num_parallel_calls=tf.data.AUTOTUNE).batch(64).prefetch(tf.data.AUTOTUNE)",
        ),
        (
            ["    return make('ü').map(slow,).batch(8)"],
            "    return make('ü').map(slow, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(tf.data.AUTOTUNE)",
        ),
        (
            ["ds = (\n    ds\n    .map(slow)\n    .batch(64)\n)"],
            "ds = (\n    ds\n    .map(slow, num_parallel_calls=tf.data.AUTOTUNE)\n"
            "    .batch(64).prefetch(tf.data.AUTOTUNE)\n)",
        ),
        (["ds = ds.map(slow)", "ds = ds.batch(64)"], "ds = ds.map(slow, num_parallel_calls=tf.data.AUTOTUNE)"),
        (["ds = ds.map(slow, 8)", "ds = ds.batch(64)"], "ds = ds.batch(64).prefetch(tf.data.AUTOTUNE)"),
        (
            ["ds = ds.map(slow, num_parallel_calls=2)"],
            "ds = ds.map(slow, num_parallel_calls=2).prefetch(tf.data.AUTOTUNE)",
        ),
        (["ds = ds.map(slow, **how).prefetch(1)"], None),
        (["ds = ds.map(other).batch(64)"], None),
        (["ds = ds.map(slow)", "other = other.map(slow)"], None),
        (["ds = map(slow, xs)"], None),
    ],
)
def test_the_stage_that_is_slow_gets_threads_and_works_ahead(texts: list[str], changed: str | None) -> None:
    assert after(faster_input(code(*texts), [MAP], MAP)) == changed


def test_of_a_cell_that_was_run_again_the_last_run_counts() -> None:
    again = (*code("ds = ds.map(slow)", file="In[3]").statements, *code("ds = ds.map(slow)", file="In[12]").statements)
    found = faster_input(OwnCode(again), [MAP], MAP)
    assert found is not None
    assert found.line.place == "In[12]:1"


def test_a_lambda_is_found_by_its_line_and_a_generator_by_its_name() -> None:
    stage = replace(MAP, stage="ParallelMap(<lambda>)", line=CodeLine(FILE, 2, "<lambda>"))
    lines = code("ds = ds.map(lambda x: x)", "ds = ds.map(lambda x: x + 1)")
    found = faster_input(lines, [stage], stage)
    assert found is not None
    assert found.line.line == 2
    made = replace(MAP, stage="Generator(batches)")
    assert after(faster_input(code("ds = D.from_generator(batches, output_signature=s)"), [made], made)) == (
        "ds = D.from_generator(batches, output_signature=s).prefetch(tf.data.AUTOTUNE)"
    )


def test_a_pipeline_that_works_ahead_needs_no_prefetch() -> None:
    ahead = replace(MAP, stage="Prefetch")
    assert after(faster_input(code("ds = ds.map(slow)"), [ahead, MAP], MAP)) == (
        "ds = ds.map(slow, num_parallel_calls=tf.data.AUTOTUNE)"
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("for x in ds:", "for x in ds.prefetch(tf.data.AUTOTUNE):"),
        ("for n, x in enumerate(ds):", "for n, x in enumerate(ds.prefetch(tf.data.AUTOTUNE)):"),
        ("model.fit(ds, epochs=2)", "model.fit(ds.prefetch(tf.data.AUTOTUNE), epochs=2)"),
        ("for x in ds.prefetch(1):", None),
        ("for n in range(3):", None),
        ("for x in [1, 2]:", None),
    ],
)
def test_a_loop_over_a_dataset(text: str, changed: str | None) -> None:
    assert after(prefetched_loop(code(text), FILE, 1)) == changed
    assert prefetched_loop(code(text), FILE, 2) is None


SIGNATURE = "input_signature=[tf.TensorSpec([None, 3], tf.float32)]"


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("@tf.function\ndef step(x):", f"@tf.function({SIGNATURE})\ndef step(x):"),
        (
            "    @tf.function(jit_compile=True)\n    def step(x):",
            f"    @tf.function(jit_compile=True, {SIGNATURE})\n    def step(x):",
        ),
        ("run = tf.function(step)", f"run = tf.function(step, {SIGNATURE})"),
        ("@tf.function(reduce_retracing=True)\ndef step(x):", None),
        ("def step(x):", None),
        ("@tf.function\ndef other(x):", None),
    ],
)
def test_one_signature_for_all_calls(text: str, changed: str | None) -> None:
    assert after(one_signature(code(text, step=SIGNATURE), "step")) == changed
    assert one_signature(code(text), "step") is None


def test_batches_of_one_size() -> None:
    assert after(whole_batches(code("ds = ds.padded_batch(8)"))) == "ds = ds.padded_batch(8, drop_remainder=True)"
    assert whole_batches(code("ds = ds.batch(8, True)")) is None
    assert whole_batches(code("a = a.batch(8)", "b = b.batch(8)")) is None


def test_a_function_of_ops_becomes_a_graph() -> None:
    assert after(as_graph(code("    def step(self, x):"), FILE, 1)) == "    @tf.function\n    def step(self, x):"
    assert as_graph(code("@jit\ndef step(x):"), FILE, 1) is None
    assert as_graph(code("step = f(x)"), FILE, 1) is None


CALLBACK = "class A(Callback):\n    def on_train_batch_end(self, batch, logs=None):\n        {body}"


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (CALLBACK.format(body="plot(logs)"), "    def on_epoch_end(self, batch, logs=None):"),
        (
            CALLBACK.format(body="plot(batch)"),
            "    def on_train_batch_end(self, batch, logs=None):\n        if batch % 100:\n            return\n"
            "        plot(batch)",
        ),
        (CALLBACK.format(body="plot()") + "\n    def on_epoch_end(self, epoch, logs=None):\n        pass", None),
        (CALLBACK.format(body="plot()").replace("train_batch_end", "epoch_end"), None),
        (CALLBACK.format(body="plot()").replace("batch, logs=None", "*rest"), None),
    ],
)
def test_work_leaves_a_callback(text: str, changed: str | None) -> None:
    method = "on_train_batch_end" if "train_batch" in text else "on_epoch_end"
    assert after(seldom_called(code(text), CodeLine(FILE, 2, method), method)) == changed
    assert seldom_called(code(text), CodeLine("other.py", 2, method), method) is None


def test_what_compiles_the_model() -> None:
    assert after(several_steps(code("model.compile('sgd')"))) == "model.compile('sgd', steps_per_execution=10)"
    assert several_steps(code("model.compile('sgd', steps_per_execution=4)")) is None
    assert several_steps(code("a.compile('sgd')", "b.compile('sgd')")) is None
    assert several_steps(code("p = re.compile('x')")) is None
    assert after(not_eagerly(code("model.compile(run_eagerly=True, loss='mse')"))) == "model.compile(loss='mse')"
    assert not_eagerly(code("model.compile('sgd')")) is None


def test_findings_have_their_patches_and_lines() -> None:
    profile = replace(fed(MAP, 500), own_code=code("ds = ds.map(slow)"))
    waits = only(input_bound(profile))
    assert waits.line == MAP.line
    assert str(waits).endswith(
        "change train.py:1 (the results stay the same):\n"
        "    - ds = ds.map(slow)\n"
        "    + ds = ds.map(slow, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)"
    )
    line = CodeLine(FILE, 2, "on_train_batch_end")
    calls = captured(phases=(phase("A.on_train_batch_end", 2.0, line=line),))
    assert only(python_between(replace(calls, own_code=code(CALLBACK.format(body="plot()"))))).patch is not None
    assert only(python_between(calls)).patch is None
    loop = only(python_between(replace(captured(took(5.0, "calls")), own_code=code("model.compile('sgd')"))))
    assert after(loop.patch) == "model.compile('sgd', steps_per_execution=10)"
    assert loop.line == CodeLine(FILE, 7, "")
    building = dict.fromkeys(range(9), SECOND // 2)
    runs = CellRuns.of("step", range(0, 9 * SECOND, SECOND), [SECOND] * 9, {}, {}, building)
    again = replace(captured(runs=(runs,)), own_code=code("@tf.function\ndef step(x):", step=SIGNATURE))
    assert after(only(retracing(again)).patch) == f"@tf.function({SIGNATURE})\ndef step(x):"


PROGRAM = """\
import tensorflow as tf
key = "a secret"

class Watcher(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        pass

@tf.function
def step(x):
    return x

def main():
    ds = make().map(
        augment)
    for x in ds:
        helper(x)
    model.fit(ds)

def helper(x): return x
"""


def test_statements_are_those_that_advice_may_change(tmp_path: Path) -> None:
    """A line that holds anything else, such as the key, is not kept."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    linecache.checkcache()
    seen = (PythonTime("input", 1.0, str(file), 15), PythonTime("ops", 1.0, str(file), 19, "helper"))
    tables = replace(captured(), pipelines=((DataFunction("Map", "augment", "", CodeLine(str(file), 1, "augment")),),))
    found = own_statements(tables, [CellTimes.of({}, outside=seen)])
    assert [(each.line, each.function, each.source.splitlines()[0]) for each in found if each.file == str(file)] == [
        (4, "<module>", "class Watcher(tf.keras.callbacks.Callback):"),
        (8, "<module>", "@tf.function"),
        (13, "main", "    ds = make().map("),
        (15, "main", "    for x in ds:"),
        (17, "main", "    model.fit(ds)"),
        (19, "<module>", "def helper(x): return x"),
    ]


def test_the_signature_that_takes_in_all_calls() -> None:
    tf = pytest.importorskip("tensorflow")
    function = tf.function(lambda x, n: x * tf.cast(n, x.dtype))
    calls = [(tf.ones((2, 3)), 1), (tf.ones((5, 3)), 2), (tf.ones((7, 3)), 3)]
    made = [function.get_concrete_function(*each)._inference_function for each in calls]
    assert signature_of(made) == "input_signature=[tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([], tf.int32)]"
    mixed = [function.get_concrete_function(tf.ones(2, kind), 1)._inference_function for kind in ("float32", "int32")]
    assert signature_of(mixed) == ""


def test_the_patch_of_what_is_told_first_is_read_without_scripts() -> None:
    profile = replace(fed(MAP, 500), own_code=code("ds = ds.map(slow) # <b>"))
    html = static_html(Shown.of_profile(profile), {"view": "overview"})
    assert "<pre>change train.py:1 (the results stay the same):\n  - ds = ds.map(slow) # &lt;b&gt;\n" in html
    assert "<pre>" not in static_html(Shown.of_profile(fed(MAP, 500)), {"view": "overview"})


def test_a_saved_profile_keeps_its_patches(tmp_path: Path) -> None:
    again = captured(phases=(phase("A.on_train_batch_end", 2.0, line=CodeLine(FILE, 2, "on_train_batch_end")),))
    profile = replace(again, own_code=code(CALLBACK.format(body="plot()"), step=SIGNATURE))
    profile.save(tmp_path / "saved.profile")
    loaded = load(tmp_path / "saved.profile")
    assert loaded.own_code == profile.own_code
    assert str(only(python_between(loaded))) == str(only(python_between(profile)))
