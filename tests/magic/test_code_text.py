"""The code view as a capture prints it has the user's own frames, as the widget folds all others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.widget.shown import Shown

KERNEL = "<frozen runpy>:88:_run_code > lib/python3.11/site-packages/ipykernel/app.py:18:launch"
TERMINAL = "venv/bin/ipython:8:<module> > lib/python3.11/site-packages/IPython/app.py:9:start"


def captured(sketch: str) -> Capture:
    """A capture of one run."""
    runs = KindOfRun("", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0)
    return Capture.of(Recording((GraphRecording(profile_of(sketch), (runs,)),), 1.0, 0.0, 0, ()))


def rows(sketch: str, **options: Any) -> list[str]:
    """The names that a capture prints, indented."""
    _, _, table = captured(sketch).text("code", **options).partition("cpu execution time\n")
    table, _, _ = table.partition("... ")
    table, _, _ = table.partition("Left out: ")
    return [row.partition(" (")[0] for row in table.splitlines()]


@pytest.mark.parametrize("name", ["show_name_regexes", "start_name_regexes"])
def test_frames_that_the_user_asks_for_are_shown(name: str) -> None:
    sketch = f"a = MatMul() 50us | {KERNEL}"
    assert rows(sketch, **{name: ["app.*"]}) == ["_TFProfRoot", "  app.py:18:launch"]


def test_the_frames_of_the_kernel_and_of_libraries_are_left_out() -> None:
    sketch = f"""
        a = MatMul() 50us | {KERNEL} > In[3]:4:<module> > site-packages/keras/layer.py:7:call > In[2]:5:dense
        b = Relu() 30us   | {KERNEL} > In[3]:9:<module>
    """
    assert rows(sketch) == [
        "_TFProfRoot",
        "  In[3]:4:<module>",
        "    In[2]:5:dense",
        "  In[3]:9:<module>",
    ]


def test_the_program_of_a_terminal_is_left_out() -> None:
    assert rows(f"a = MatMul() 50us | {TERMINAL} > In[3]:4:<module> > model.py:2:dense") == [
        "_TFProfRoot",
        "  In[3]:4:<module>",
        "    model.py:2:dense",
    ]


def test_the_deepest_lines_are_shown() -> None:
    """tfprof's own limit of 100 levels would cut the innermost of 120 frames, and its time."""
    deep = " > ".join(f"In[{number}]:1:<module>" for number in range(120))
    assert captured(f"a = MatMul() 50us | {deep}").view("code").names[-1] == "In[119]:1:<module>"
    assert Shown.of_profile(profile_of(f"a = MatMul() 50us | {deep}"), view="code").options["max_depth"] == 121


def test_gradients_begin_where_their_ops_do() -> None:
    sketch = f"""
        a = MatMul() 50us                         | {KERNEL} > In[3]:4:<module>
        gradients/a_grad/MatMul = MatMul(a) 30us  | {KERNEL} > In[3]:5:<module>
    """
    assert [row.strip() for row in rows(sketch)] == ["_TFProfRoot", "In[3]:4:<module>", "In[3]:4:<module>"]


def test_a_script_has_its_own_lines() -> None:
    assert rows("a = MatMul() 50us | <frozen runpy>:88:_run_code > train.py:3:main > model.py:5:dense") == [
        "_TFProfRoot",
        "  train.py:3:main",
        "    model.py:5:dense",
    ]


def test_of_what_no_code_of_the_user_made_the_outermost_frame_is_left() -> None:
    sketch = f"""
        a = MatMul() 50us | {KERNEL} > In[3]:4:<module>
        b = Copy() 30us   | lib/python3.11/threading.py:9:_bootstrap > site-packages/keras/data.py:7:fill
    """
    assert rows(sketch) == ["_TFProfRoot", "  In[3]:4:<module>", "  threading.py:9:_bootstrap"]


def test_the_view_itself_is_whole() -> None:
    runs = KindOfRun("", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0)
    profile = profile_of(f"a = MatMul() 50us | {KERNEL} > In[3]:4:<module>")
    capture = Capture.of(Recording((GraphRecording(profile, (runs,)),), 1.0, 0.0, 0, ()))
    assert capture.view("code").names == profile.view("code").names
    assert len(capture.view("code")) == 4
    assert capture.text("code").endswith("... 2 rows of libraries left out: see .view('code')")
    assert "left out" not in capture.text("op")
