"""Files of every form are told by their content, and loaded together; errors name the file and the way out."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from google.protobuf import text_format

import tfprof_widget as tfprof
from tests.oracle.random_profiles import random_profile
from tests.sketches import profile_of, protos_of
from tfprof_widget.ingest.files.loading import load_message, load_run_metas
from tfprof_widget.ingest.files.recognise import KINDS, recognise
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import GraphDef, OpLogProto, RunMetadata, XSpace
from tfprof_widget.output.saved import profile_proto

SKETCH = """
    w    = VariableV2() 1us;2us 3x4 64B +mine | train.py:1:main > model.py:2:layer
    loss = MatMul(w) 9us;7us 7flops           | train.py:1:main > model.py:3:layer
"""
PROTOS = protos_of(SKETCH)
MESSAGES: dict[str, Any] = {
    "GraphDef": PROTOS.graph,
    "RunMetadata": PROTOS.run_metas[0],
    "OpLogProto": PROTOS.op_log,
    "ProfileProto": profile_proto(profile_of(SKETCH)),
    "XSpace": XSpace(planes=[{"id": 7, "name": "/host:CPU", "lines": [{"id": 3, "name": "é", "timestamp_ns": 5}]}]),
}


def as_text(message: Any) -> bytes:
    return text_format.MessageToString(message).encode()


FORMS: dict[str, Callable[[Any], bytes]] = {
    "binary": lambda message: message.SerializeToString(),
    "text": as_text,
    "text after a comment": lambda message: b"# made by hand\n\n" + as_text(message),
    "text with a byte order mark": lambda message: b"\xef\xbb\xbf" + as_text(message),
    "compressed": lambda message: gzip.compress(message.SerializeToString()),
    "compressed text": lambda message: gzip.compress(as_text(message)),
    "as tf.contrib wrote it in Python 3": lambda message: str(message.SerializeToString()).encode(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_kind_and_form(kind: str, form: str) -> None:
    found = recognise(FORMS[form](MESSAGES[kind]), "a file")
    assert found.kind == kind
    assert found.message("a file").SerializeToString(deterministic=True) == MESSAGES[kind].SerializeToString(
        deterministic=True
    )


@pytest.mark.parametrize("seed", range(4000, 4100))
def test_random_messages_are_told_apart(seed: int) -> None:
    profile = random_profile(seed)
    ((_, run_meta),) = profile.steps
    messages = {"GraphDef": profile.graph, "RunMetadata": run_meta, "OpLogProto": profile.op_log}
    for kind, message in messages.items():
        if message.ByteSize():
            assert recognise(message.SerializeToString(), "a file").kind == kind
            assert recognise(as_text(message), "a file").kind == kind


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A directory with all parts under names that say nothing, and files that are no part."""
    (tmp_path / "a").write_bytes(as_text(PROTOS.graph))
    (tmp_path / "b.json").write_bytes(PROTOS.op_log.SerializeToString())
    (tmp_path / "run_meta_2").write_bytes(PROTOS.run_metas[1].SerializeToString())
    (tmp_path / "run_meta_10.gz").write_bytes(gzip.compress(PROTOS.run_metas[0].SerializeToString()))
    (tmp_path / "timeline.json").write_text('{"traceEvents": []}')
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "empty").touch()
    (tmp_path / ".hidden").write_bytes(b"\n\x03\n\x01x")
    return tmp_path


def times(profile: tfprof.Profile, step: int) -> dict[str, int]:
    view = profile.view("scope", step=step, order_by="name", timing="tfprof")
    return dict(zip(view.names[1:], (view.own["micros"] // view.time_scale).tolist()[1:], strict=True))


def test_directory(written: Path) -> None:
    profile = tfprof.load(written)
    assert profile.nodes.names == ("loss", "w")
    assert profile.steps == (2, 10)
    assert times(profile, 2) == {"loss": 7, "w": 2}
    assert times(profile, 10) == {"loss": 9, "w": 1}
    assert profile.view("code").names[1:3] == ("train.py:1:main", "model.py:2:layer")
    assert profile.nodes.float_ops.tolist() == [7, 0]
    assert "mine" in profile.nodes.type_names


def test_list_and_pattern(written: Path) -> None:
    profile = tfprof.load([written / "a", str(written / "run_meta_*")])
    assert profile.steps == (2, 10)
    assert not profile.has_traces
    assert tfprof.load(str(written / "**" / "run_meta_*")).steps == (2, 10)


def test_steps_count_from_zero_where_not_all_names_tell(written: Path) -> None:
    (written / "run_meta_2").rename(written / "other")
    assert tfprof.load([written / "a", written / "run_meta_10.gz", written / "other"]).steps == (0, 1)


def test_pattern_is_taken_in_the_order_of_numbers(written: Path) -> None:
    (written / "run_meta_2").rename(written / "run9")
    (written / "run_meta_10.gz").rename(written / "run10")
    profile = tfprof.load([written / "a", str(written / "run*")])
    assert times(profile, 0) == {"loss": 7, "w": 2}
    assert times(profile, 1) == {"loss": 9, "w": 1}


def test_graph_of_functions_only() -> None:
    """Its bytes could also be those of a cost graph whose nodes have strange names."""
    graph = GraphDef(library={"function": [{"signature": {"name": "f"}}]})
    assert recognise(graph.SerializeToString(), "a file").kind == "GraphDef"


def test_url() -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/dump/graph", PROTOS.graph.SerializeToString())
    system.pipe("/dump/run_meta_3", PROTOS.run_metas[0].SerializeToString())
    system.pipe("/dump/run_meta_4", PROTOS.run_metas[1].SerializeToString())
    system.pipe("/dump/notes", b"nothing")
    assert tfprof.load("memory://dump").steps == (3, 4)
    assert tfprof.load(["memory://dump/graph", "memory://dump/run_meta_*"]).steps == (3, 4)
    assert load_message("memory://dump/graph", "GraphDef").node[0].name == "w"
    for missing in ("memory://dump/missing", "memory://dump/missing*"):
        with pytest.raises(ProfileError, match=r"cannot read 'memory://dump/missing\*?': there is no such file; give"):
            tfprof.load(missing)


def test_unknown_kind_of_url() -> None:
    with pytest.raises(ProfileError, match=r"cannot read 'nosuch://a/b': .*nosuch.*; check the URL"):
        tfprof.load("nosuch://a/b")


def test_url_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(ProfileError, match=r"need fsspec.*run `pip install 'tfprof-widget\[distributed\]'`"):
        tfprof.load("s3://bucket/profile_0")


def test_dump_directory_of_cumulated_profiles(tmp_path: Path) -> None:
    """Each profile holds the steps of those before it; one step is there as run metadata, too."""
    graph, (first, second), op_log = PROTOS
    for upto, steps in ((5, {5: first}), (20, {5: first, 20: second})):
        tfprof.Profile.from_protos(graph, steps, op_log).save(tmp_path / f"profile_{upto}")
    (tmp_path / "run_meta_20").write_bytes(second.SerializeToString())
    profile = tfprof.load(tmp_path)
    assert profile.steps == (5, 20)
    assert times(profile, 5) == {"loss": 9, "w": 1}
    assert times(profile, 20) == {"loss": 7, "w": 2}
    assert times(tfprof.load(str(tmp_path / "profile_*")), 20) == {"loss": 7, "w": 2}


def test_parts_one_by_one(written: Path) -> None:
    assert load_message(written / "a", "GraphDef") == PROTOS.graph
    assert load_message(written / "b.json", "OpLogProto") == PROTOS.op_log
    runs = load_run_metas(written / "run_meta_*")
    assert runs == {2: [PROTOS.run_metas[1]], 10: [PROTOS.run_metas[0]]}
    assert tfprof.Profile.from_protos(PROTOS.graph, runs).steps == (2, 10)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", r"the file is empty; write it again"),
        (b"\x1f\x8b\x08\x00", r"it is compressed by gzip, but damaged .*; copy or write it again"),
        (gzip.compress(b"a" * 99, mtime=0)[:-9], r"it is compressed by gzip, but damaged .*; copy or write it again"),
        (b'{"traceEvents": []}', r"this is a Chrome trace, .*; load the RunMetadata, ProfileProto or .xplane.pb"),
        (b' [{"ph": "X"}]', r"this is a Chrome trace"),
        (gzip.compress(b'{"traceEvents": []}', mtime=0), r"this is a Chrome trace"),
        (b'{"node": []}', r"this is JSON.*; write one of RunMetadata"),
        (b"node { name: 'a' op }", r"as the text of a GraphDef it cannot be read \(1:\d+.*\); write it again"),
        (b"hello: world", r"this is none of RunMetadata, .*; check which file it is"),
        (bytes(range(256)), r"this is none of RunMetadata"),
        (b"\x89PNG\r\n\x1a\n", r"this is none of RunMetadata"),
        (PROTOS.run_metas[0].SerializeToString()[:-9], r"run_meta: these \d+ bytes are no RunMetadata .*whole"),
        (
            GraphDef(node=[{"op": "é"}]).SerializeToString()[:-1],
            r"graph: these \d+ bytes are no GraphDef .*whole",
        ),
        (PROTOS.graph.SerializeToString()[:-3], r"graph: these \d+ bytes are no GraphDef .*whole"),
        (profile_proto(profile_of(SKETCH)).SerializeToString()[:-3], r"profile: these \d+ bytes are no ProfileProto"),
        (RunMetadata(partition_graphs=[PROTOS.graph]).SerializeToString(), r"run_meta: it has no step stats; run"),
        (OpLogProto(log_entries=[{"name": "a", "types": ["b"]}]).SerializeToString(), r"an op log and nothing to"),
    ],
)
def test_fault_names_the_file(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "the file"
    path.write_bytes(content)
    with pytest.raises(ProfileError, match=rf"the file'?: .*{reason}"):
        tfprof.load(path)


def test_run_of_another_graph(tmp_path: Path) -> None:
    (tmp_path / "graph").write_bytes(GraphDef(node=[{"name": "other", "op": "Add"}]).SerializeToString())
    (tmp_path / "run_meta").write_bytes(PROTOS.run_metas[0].SerializeToString())
    with pytest.raises(ProfileError, match=r"run_meta: run_meta: none of its 2 nodes is in the graph .*; it was"):
        tfprof.load(tmp_path)


def test_same_run_twice(written: Path) -> None:
    with pytest.raises(ProfileError, match=r"run_meta_2: step 2: this run_meta is already in the profile.*; give"):
        tfprof.load([written / "a", written / "run_meta_2", written / "run_meta_2"])


def test_directory_without_any_part(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"the directory holds no files; give a file, a directory"):
        tfprof.load(tmp_path)
    (tmp_path / "notes").write_text("nothing")
    with pytest.raises(ProfileError, match=r"notes': there is none of RunMetadata, .* nothing to profile; give"):
        tfprof.load(tmp_path)


@pytest.mark.parametrize("source", [None, 3, [b"bytes"]])
def test_no_path(source: Any) -> None:
    with pytest.raises(ProfileError, match=r"source: got (NoneType|int|bytes); give a file"):
        tfprof.load(source)


def test_wrong_part(written: Path) -> None:
    with pytest.raises(ProfileError, match=r"b.json: this is a OpLogProto, where a GraphDef is asked for; give"):
        load_message(written / "b.json", "GraphDef")
    with pytest.raises(ProfileError, match=r"there are \d files, such as .*; give one GraphDef file"):
        load_message(written, "GraphDef")
    with pytest.raises(ProfileError, match=r"a: this is a GraphDef, where a RunMetadata is asked for"):
        load_run_metas([written / "run_meta_2", written / "a"])


def test_file_that_may_not_be_read(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ProfileError, match=r"cannot read '.*a': Permission denied; check it"):
        tfprof.load(written / "a")


def test_a_run_of_another_graph_is_told_among_others(written: Path) -> None:
    other = protos_of("x = Op() 1us\ny = Op() 1us")
    (written / "run_meta_11").write_bytes(other.run_metas[0].SerializeToString())
    with pytest.raises(
        ProfileError, match=r"run_meta_11: run_meta: none of its 2 nodes is in the graph \(such as '[xy]'\)"
    ):
        tfprof.load([written / "a", written / "run_meta_*"])


def test_the_graph_of_a_meta_graph_is_read_where_it_is_given_by_name(tmp_path: Path) -> None:
    """A checkpoint's `.meta`: TensorFlow 1 saves the graph in it, and often nowhere else."""
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        loss = tf.reduce_sum(tf.compat.v1.get_variable("w", [4, 2], use_resource=False), name="loss")
        tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        tf.compat.v1.train.export_meta_graph(str(tmp_path / "model.ckpt.meta"))
    meta = tmp_path / "model.ckpt.meta"
    expected = {node.name for node in graph.as_graph_def().node}
    assert set(tfprof.load(meta).nodes.names) == expected
    assert {node.name for node in load_message(meta, "GraphDef").node} == expected
    (tmp_path / "graph.pb").write_bytes(PROTOS.graph.SerializeToString())
    assert set(tfprof.load(tmp_path).nodes.names) == {"w", "loss"}  # a log directory has the graph by itself
    meta.write_bytes(meta.read_bytes()[:200])
    with pytest.raises(ProfileError, match=r"model\.ckpt\.meta: "):
        tfprof.load(meta)
