"""Checkpoints that TensorFlow wrote, of both formats: their variables get a type, and values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.graph import open_checkpoint
from tfprof_widget.lib.errors import ProfileError

v1: Any = tf.compat.v1
FORMATS = {"V1": v1.train.SaverDef.V1, "V2": v1.train.SaverDef.V2}


@pytest.fixture(params=FORMATS)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, str]:
    """A graph, and the prefix of a checkpoint of some of its variables."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        with v1.variable_scope("layer", use_resource=False):
            kernel = v1.get_variable("kernel", initializer=np.array([[1.0, 2.0], [3.0, 1 / 3]], np.float32))
            step = v1.get_variable("step", initializer=np.int64(7), trainable=False)
            v1.get_variable("not_saved", [2])
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver([kernel, step], write_version=FORMATS[request.param])
        return graph, saver.save(session, str(tmp_path / "model.ckpt"), global_step=100)


def test_values_and_types(saved: tuple[Any, str]) -> None:
    graph, prefix = saved
    profile = tfprof.Profile.from_protos(graph, checkpoint=prefix)
    options = {"account_type_regexes": ["_checkpoint_variables"], "select": ["params", "tensor_value"]}
    view = profile.view("scope", **options)
    assert view.text().partition("params")[2].partition("params\n")[2] == ""
    assert view.text().endswith(
        "_TFProfRoot (--/5 params)\n"
        "  layer (--/5 params)\n"
        "    layer/kernel (2x2, 4/4 params)\n"
        "[[1.00 2.00 ],\n[3.00 0.33 ],\n],\n"
        "    layer/step (1, 1/1 params)\n"
        "[7 ],\n"
    )
    root: Any = view.proto()
    kernel, step = root.children[0].children
    assert list(kernel.tensor_value.value_double) == [1, 2, 3, 0.333333]
    assert list(step.tensor_value.value_int64) == [7]


def test_own_op_log_stays(saved: tuple[Any, str]) -> None:
    """What a live graph says of itself is no less said for there being a checkpoint."""
    graph, prefix = saved
    view = tfprof.Profile.from_protos(graph, checkpoint=prefix).view(
        "scope", account_type_regexes=["_trainable_variables"], select=["op_types"]
    )
    assert "layer/kernel (VariableV2|_checkpoint_variables|_trainable_variables)" in view.text()
    assert "layer/not_saved (VariableV2|_trainable_variables)" in view.text()


def test_names_of_a_checkpoint(saved: tuple[Any, str], tmp_path: Path) -> None:
    _, prefix = saved
    others = [path for path in tmp_path.iterdir() if path.name.startswith("model.ckpt") and path.suffix != ".meta"]
    names: list[str | Path] = [prefix, Path(prefix), tmp_path, *others]
    for path in names:
        assert open_checkpoint(path).value("layer/step") == 7


def test_loaded_with_files(saved: tuple[Any, str], tmp_path: Path) -> None:
    graph, prefix = saved
    (tmp_path / "graph.pbtxt").write_text(str(graph.as_graph_def(add_shapes=True)))
    profile = tfprof.load(tmp_path / "graph.pbtxt", checkpoint=prefix)
    assert "[7 ]" in profile.view("graph", select=["tensor_value"], account_type_regexes=[".*"]).text()
    assert tfprof.load(tmp_path).nodes.names == profile.nodes.names  # files of the checkpoint are passed over


@pytest.mark.parametrize("content", [None, b"no checkpoint"])
def test_no_checkpoint(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "model.ckpt").write_bytes(content)
    for path in (tmp_path / "model.ckpt", tmp_path / "model.ckpt.index", tmp_path):
        with pytest.raises(ProfileError, match=rf"checkpoint '{path}': .*; give the prefix"):
            Gathered().add_checkpoint(path)


def test_value_that_is_not_there(saved: tuple[Any, str]) -> None:
    _, prefix = saved
    checkpoint = open_checkpoint(prefix)
    with pytest.raises(ProfileError, match=r"checkpoint '.*': 'missing' cannot be read: .*; check that all files"):
        checkpoint.value("missing")


WITHOUT_TENSORFLOW = """
import sys
import tfprof_widget
from tfprof_widget.demo import recorded
sys.modules["tensorflow"] = None
profile = tfprof_widget.Profile.from_protos(recorded("graph"), recorded("run_meta"))
try:
    tfprof_widget.Profile.from_protos(recorded("graph"), checkpoint="model.ckpt")
except tfprof_widget.ProfileError as error:
    print(error)
"""


def test_without_tensorflow() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_TENSORFLOW], capture_output=True, text=True, check=True)
    assert ran.stdout == (
        "checkpoint 'model.ckpt': checkpoints are read by TensorFlow, which is not installed; "
        "run `pip install 'tfprof-widget[tensorflow]'`\n"
    )
