"""pprof's profiles of code views: every node once, in the innermost shown frame, and the tool itself opens them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.output.pprof_profiles import PprofProfile, read_pprof
from tests.sketches import profile_of, protos_of
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.output.pprof import pprof_profile

MODEL = """
    loss                    = MatMul(w)    5us   24B | /me/train.py:3:main > /me/model.py:7:layer
    sum                     = Add(loss)    2us    8B | /me/train.py:3:main > /me/model.py:7:layer > /me/math.py:9:add
    w                       = VariableV2() 500ns 8x2 | /me/train.py:2:main
    gradients/loss_grad/Mul = Mul(w)       7us    4B | /me/train.py:5:main
"""


def pprof_of(sketch: str, **options: Any) -> PprofProfile:
    return read_pprof(pprof_profile(profile_of(sketch).view("code", **options)))


def test_a_sample_is_a_node_with_its_line_in_each_function() -> None:
    profile = pprof_of(MODEL, select=["micros"])
    assert profile.types == [("count", "count"), ("micros", "nanoseconds")]
    main, layer = ("train:main", "/me/train.py", 3), ("model:layer", "/me/model.py", 7)
    assert {name: (sample.values, sample.stack) for name, sample in profile.samples.items()} == {
        "loss": ((1, 5000), (layer, main)),
        "sum": ((1, 2000), (("math:add", "/me/math.py", 9), layer, main)),
        "w": ((1, 500), (("train:main", "/me/train.py", 2),)),
        "gradients/loss_grad/Mul": (
            (1, 7000),
            (("model:layer (gradient)", "/me/model.py", 7), ("train:main (gradient)", "/me/train.py", 3)),
        ),
    }


def test_all_measures_that_are_selected_are_there_in_their_units() -> None:
    profile = pprof_of(MODEL, select=["device", "bytes", "params", "cpu_micros", "occurrence"], timing="tfprof")
    assert profile.types == [
        ("count", "count"),
        ("bytes", "bytes"),
        ("params", "count"),
        ("cpu_micros", "microseconds"),
    ]
    assert profile.samples["loss"].values == (1, 24, 0, 5)
    assert profile.samples["w"].values == (1, 0, 16, 1)  # natively less than a microsecond is one


def test_a_mean_over_steps_is_rounded_to_whole_units() -> None:
    profile = pprof_of("a = Op() 1us;2us;2us 5B | a.py:1:f", select=["micros", "bytes"])
    assert profile.samples["a"].values == (1, 1667, 5)


@pytest.mark.parametrize(
    ("options", "stacks"),
    [
        ({"max_depth": 2}, {"loss": ["main"], "sum": ["main"], "w": ["main"]}),
        ({"trim_name_regexes": ["model.*"]}, {"loss": ["main"], "sum": ["main"], "w": ["main"]}),
        ({"hide_name_regexes": ["model.*"]}, {"loss": ["main"], "sum": ["add", "main"], "w": ["main"]}),
        ({"start_name_regexes": ["model.*"]}, {"loss": ["layer"], "sum": ["add", "layer"]}),
        ({"min_micros": 3}, {"loss": ["layer", "main"], "sum": ["layer", "main"]}),
        ({"account_type_regexes": ["Add"]}, {"sum": ["add", "layer", "main"]}),
        ({"max_depth": 2, "account_displayed_op_only": True}, {"w": ["main"]}),
        ({"show_name_regexes": ["math.*"], "account_displayed_op_only": True}, {"sum": ["add"]}),
        ({"max_depth": 1}, {}),
    ],
)
def test_nodes_are_counted_in_the_innermost_shown_frame(options: dict[str, Any], stacks: dict[str, list[str]]) -> None:
    without_gradient = "\n".join(MODEL.splitlines()[:-1])
    samples = pprof_of(without_gradient, **options).samples
    assert {name: sample.functions for name, sample in samples.items()} == stacks


def test_the_same_view_is_the_same_file() -> None:
    view = profile_of(MODEL).view("code")
    assert pprof_profile(view) == pprof_profile(view)


def test_the_older_api_writes_one_and_says_how_to_look_at_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.pb.gz"
    graph, (run_meta,), op_log = protos_of(MODEL)
    options = tfprof.ProfileOptionBuilder().select(["bytes"]).with_pprof_output(str(path)).build()
    message = tfprof.profile(graph, run_meta, op_log, "code", options)
    assert capsys.readouterr().out == f"\nRun pprof -png --nodecount=100 --sample_index=1 <{path}>\n"
    assert message.total_requested_bytes == 24 + 8 + 4
    values = {name: sample.values for name, sample in read_pprof(path.read_bytes()).samples.items()}
    assert values == {"loss": (1, 24), "sum": (1, 8), "w": (1, 0), "gradients/loss_grad/Mul": (1, 4)}


@pytest.mark.parametrize(
    ("view", "select", "complaint"),
    [
        ("op", ["micros"], "output pprof: the op view has no pprof output; choose the view code"),
        ("scope", ["micros"], "output pprof: the scope view has no pprof output; choose the view code"),
        ("code", ["device"], r"pprof: select is \['device'\], but must hold one of micros, .*, float_ops"),
    ],
)
def test_the_older_api_warns_of_what_cannot_be_written_and_writes_nothing(
    tmp_path: Path, view: str, select: list[str], complaint: str
) -> None:
    """Native prints a line and goes on; a program with such an option is not to end there."""
    graph, (run_meta,), op_log = protos_of("a = Op() 5us | a.py:1:f")
    options = {"output": f"pprof:outfile={tmp_path / 'out'}", "select": select}
    with pytest.warns(ProfileWarning, match=f"^nothing is written: {complaint}$"):
        found = tfprof.profile(graph, run_meta, op_log, view, options)
    assert found.total_exec_micros == 5 if view == "scope" else found.children
    assert list(tmp_path.iterdir()) == []


def test_without_code_traces_it_says_so_and_writes_nothing(tmp_path: Path) -> None:
    graph, (run_meta,), _ = protos_of("a = Op() 5us")
    options = {"output": f"pprof:outfile={tmp_path / 'out'}", "select": ["micros"]}
    with pytest.warns(ProfileWarning, match="there are no code traces"):
        tfprof.profile(graph, run_meta, None, "code", options)
    assert list(tmp_path.iterdir()) == []


def pprof(path: Path, *arguments: str) -> str:
    """What Go's pprof prints, which Debian's golang-go has."""
    command = ["go", "tool", "pprof", *arguments, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"HOME": str(path.parent)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("timing", "total", "own", "below"), [("exact", "14500ns", "5000ns", "7000ns"), ("tfprof", "15us", "5us", "7us")]
)
def test_the_tool_itself_opens_it(tmp_path: Path, timing: str, total: str, own: str, below: str) -> None:
    path = tmp_path / "out.pb.gz"
    profile_of(MODEL).view("code", select=["micros", "bytes"], timing=timing).write_pprof(str(path))
    top = pprof(path, "-top")
    assert "Type: micros" in top
    assert f"100% of {total} total" in top
    assert re.search(rf"^ +{own} .* {below} +[\d.]+%  model:layer$", top, re.MULTILINE)
    assert "100% of 36B total" in pprof(path, "-top", "-sample_index=bytes")
    assert "graph node::[sum]" in pprof(path, "-raw")
