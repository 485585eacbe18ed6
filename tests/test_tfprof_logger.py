"""`write_op_log` writes, to the entry, what TensorFlow's own writes."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
from tensorflow.python.profiler import tfprof_logger

import tfprof_widget as tfprof
from tests.oracle.models import MODELS, Traced
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.tfprof_logger import merge_default_with_oplog

v1: Any = tf.compat.v1


@pytest.fixture(scope="module", params=["mnist", "rnn in frames"])
def traced(request: pytest.FixtureRequest) -> Traced:
    return MODELS[request.param]()


def written(writer: Any, directory: Path, *arguments: Any, **named: Any) -> OpLogProto:
    directory.mkdir()
    writer(arguments[0], str(directory), *arguments[1:], **named)
    return OpLogProto.FromString((directory / "tfprof_log").read_bytes())


@pytest.mark.parametrize("add_trace", [True, False])
@pytest.mark.parametrize("with_op_log", [False, True])
def test_of_a_graph(traced: Traced, tmp_path: Path, with_op_log: bool, add_trace: bool) -> None:
    op_log = own_types(traced.graph) if with_op_log else None
    log = equal_to_native(tmp_path, traced.graph, op_log, None, add_trace)
    assert any("_trainable_variables" in entry.types for entry in log.log_entries)
    assert any(entry.HasField("code_def") for entry in log.log_entries) == add_trace


def test_of_a_run_that_completes_shapes(tmp_path: Path) -> None:
    traced = MODELS["mnist"]()
    counted = sum(entry.float_ops for entry in merge_default_with_oplog(traced.graph).log_entries)
    log = equal_to_native(tmp_path, traced.graph, own_types(traced.graph), traced.run_meta)
    assert sum(entry.float_ops for entry in log.log_entries) > counted


def equal_to_native(tmp_path: Path, graph: Any, op_log: Any, *arguments: Any) -> OpLogProto:
    """We go first: native adds to the op log that it is given, and shapes of the run to the graph."""
    ours = written(tfprof.write_op_log, tmp_path / "ours", graph, deepcopy(op_log), *arguments)
    native = written(v1.profiler.write_op_log, tmp_path / "native", graph, op_log, *arguments)
    assert ours.id_to_string == native.id_to_string
    assert list(ours.log_entries) == list(native.log_entries)
    return ours


def own_types(graph: Any) -> OpLogProto:
    first, second, *_ = graph.get_operations()
    op_log = OpLogProto()
    op_log.log_entries.add(name=second.name, types=["mine", "ours"], float_ops=77)
    op_log.log_entries.add(name=first.name, types=["mine"])
    op_log.log_entries.add(name="not in the graph", types=["mine"])
    trainable = graph.get_collection("trainable_variables")[0]
    op_log.log_entries.add(name=trainable.op.name, types=["variable"])
    return op_log


def test_strings_of_ones_own_are_kept() -> None:
    """Native drops them, and reads their numbers as those of other strings."""
    op_log = OpLogProto(id_to_string={0: "mine.py", 7: "build"})
    op_log.log_entries.add(name="a").code_def.traces.add(file_id=0, lineno=3, function_id=7, line_id=9)
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="b")
    merged = merge_default_with_oplog(graph, op_log)
    trace = merged.log_entries[0].code_def.traces[0]
    strings = merged.id_to_string
    assert (strings[trace.file_id], strings[trace.function_id], strings[trace.line_id]) == ("mine.py", "build", "none")
    assert __file__ in [strings[frame.file_id] for frame in merged.log_entries[1].code_def.traces]
    assert op_log.log_entries[0].code_def.traces[0].function_id == 7


def test_the_default_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        v1.get_variable("w", [2])
        log = written(tfprof.write_op_log, tmp_path / "log", None)
    assert [entry.name for entry in log.log_entries if entry.types] == ["w"]


@pytest.mark.parametrize("adds", [{"add_trace": False}, {"add_trainable_var": False}])
def test_what_is_merged_is_what_tensorflow_merges(traced: Traced, adds: dict[str, bool]) -> None:
    op_log = own_types(traced.graph)
    ours = merge_default_with_oplog(traced.graph, deepcopy(op_log), traced.run_meta, **adds)
    native = tfprof_logger.merge_default_with_oplog(traced.graph, op_log, traced.run_meta, **adds)
    assert OpLogProto.FromString(ours.SerializeToString()) == native


def test_without_a_graph_there_is_nothing_to_merge() -> None:
    """Natively too: without a default graph even an op log of one's own is left out."""
    assert not merge_default_with_oplog(None, OpLogProto(log_entries=[{"name": "a"}])).log_entries
    assert not tfprof_logger.merge_default_with_oplog(None, OpLogProto(log_entries=[{"name": "a"}])).log_entries


def test_no_graph_at_all(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"write_op_log: graph is no tf.Graph but NoneType; give a tf.Graph"):
        tfprof.write_op_log(None, tmp_path)


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"cannot write '.*tfprof_log': No such file or directory; choose"):
        tfprof.write_op_log(tf.Graph(), tmp_path / "missing")
