"""What was made in a notebook's cells is shown by the cells' numbers, as IPython's own tracebacks show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell

from tests.made import profile_of_tables
from tests.magic.shells import new_shell
from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.engine.code import frame_name
from tfprof_widget.ingest.parts.stacks import with_source_lines
from tfprof_widget.parallel.errands import packed, unpacked
from tfprof_widget.profiles.tables import CodeStacks

MODEL = """import tensorflow as tf
@tf.function
def loss(x):
    "{test}"
    return tf.reduce_sum(tf.matmul(x, x))
"""
RUN = "with capture(trace_all=True) as kept:\n    loss(tf.ones([8, 8]))"


@pytest.fixture
def model(request: pytest.FixtureRequest) -> str:
    """A cell like no other: of functions of the same code TensorFlow tells where the first of them was."""
    return MODEL.format(test=request.node.name)


@pytest.fixture(params=[False, True], ids=["terminal", "kernel"])
def shell(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A shell that names its cells as a terminal does, or as a notebook's kernel does."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with new_shell() as shell:
        monkeypatch.setattr(InteractiveShell, "_instance", shell)
        if request.param:
            shell.compile = XCachingCompiler()
        yield shell


def captured(shell: InteractiveShell, *cells: str) -> Capture:
    for cell in ("from tfprof_widget import capture", *cells):
        assert shell.run_cell(cell, store_history=True).success
    capture = shell.user_ns["kept"]
    assert isinstance(capture, Capture)
    return capture


def places(traces: CodeStacks) -> dict[str, str]:
    """The source lines of frames by their names."""
    text = traces.strings
    frames = zip(
        traces.file.tolist(), traces.line.tolist(), traces.function.tolist(), traces.source.tolist(), strict=True
    )
    return {frame_name(text[file], line, text[name]): text[source] for file, line, name, source in frames}


def test_frames_of_cells_have_their_numbers_and_their_lines(shell: InteractiveShell, model: str) -> None:
    profile = captured(shell, model, RUN).profile
    assert {"In[2]:5:loss", "In[3]:2:<module>"} <= set(profile.view("code").names)
    lines = places(with_source_lines(profile.traces))
    assert lines["In[2]:5:loss"] == model.splitlines()[-1].strip()
    assert lines["In[3]:2:<module>"] == "loss(tf.ones([8, 8]))"


def test_advice_tells_the_cell(shell: InteractiveShell, model: str) -> None:
    capture = captured(shell, model, RUN)
    assert "In[2]:5:loss, cpu: " in str(capture.advice())


def test_the_widget_s_profile_is_the_same(shell: InteractiveShell, model: str) -> None:
    capture = captured(shell, model, RUN)
    assert capture.profiles == (capture.profile,)
    assert "In[2]:5:loss" in capture.widget().profile.view("code").names


def test_a_cell_that_was_run_again_has_the_number_of_its_last_run(shell: InteractiveShell, model: str) -> None:
    names = captured(shell, model, RUN, model, RUN).profile.view("code").names
    assert "In[5]:2:<module>" in names
    assert "In[3]:2:<module>" not in names


def test_a_file_of_a_cell_s_name_is_not_read(
    shell: InteractiveShell, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfprof_widget.ingest.parts.stacks.with_source_lines", lambda traces: traces)
    profile = captured(shell, model, RUN).profile
    Path(tmp_path, "In[2]").write_text("secret\n" * 9)
    monkeypatch.chdir(tmp_path)
    assert "secret" not in places(with_source_lines(profile.traces)).values()


def test_what_travels_to_another_process_keeps_the_names_of_its_files(shell: InteractiveShell, model: str) -> None:
    """Engines have counters of their own: one cell of all of them would become several."""
    capture = captured(shell, model, RUN)
    (graph,) = unpacked(packed(capture.recorded)).graphs
    assert not any(name.startswith("In[") for name in places(profile_of_tables(graph.tables).traces))


def test_a_profile_of_no_cells_is_the_recorded_one(shell: InteractiveShell) -> None:
    profile = profile_of("a = Add() 3us | a.py:1:f")
    assert shell.run_cell("f = 'In[1]'", store_history=True).success
    runs = KindOfRun("", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0)
    assert Capture.of(Recording((GraphRecording(profile, (runs,)),), 1.0, 0.0, 0, ())).profile.traces is profile.traces
