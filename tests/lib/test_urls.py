"""What is written at a URL is read back by another program's file system: fsspec's memory, or TensorFlow's `ram://`."""

from __future__ import annotations

import sys
from typing import Any
from uuid import uuid4

import pytest
import tensorflow as tf
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto

import tfprof_widget as tfprof
from tests.sketches import profile_of, protos_of
from tfprof_widget.lib.errors import ProfileError

v1: Any = tf.compat.v1


@pytest.fixture(params=["memory", "ram"])
def place(request: pytest.FixtureRequest) -> str:
    """A URL of a directory that is not there yet; fsspec does not know `ram`, nor TensorFlow `memory`."""
    return f"{request.param}://tests/{uuid4().hex}"


def read(url: str) -> bytes:
    if url.startswith("ram:"):
        with tf.io.gfile.GFile(url, "rb") as file:
            return bytes(file.read())
    import fsspec

    with fsspec.open(url) as file:
        return bytes(file.read())


def test_all_that_is_written(place: str) -> None:
    profile = profile_of("a/b = Op() 5us | a.py:1:f")
    profile.save(f"{place}/profile_1")
    assert tfprof.load(f"{place}/profile_1").nodes.names == profile.nodes.names
    assert tfprof.load(place).steps == profile.steps
    assert tfprof.load(f"{place}/*_1").steps == profile.steps
    assert profile.view("graph").write_timeline(f"{place}/run.json") == [f"{place}/run.json"]
    assert b'"traceEvents"' in read(f"{place}/run.json")
    graph, (run,), _ = protos_of("a = Op() 5us")
    options = tfprof.ProfileOptionBuilder().with_file_output(f"{place}/scope.txt").build()
    tfprof.profile(graph, run, options=options)
    assert b"node name" in read(f"{place}/scope.txt")


def test_the_op_log_and_a_context(place: str) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        product = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), name="product")
        tfprof.write_op_log(graph, place)
        with tfprof.ProfileContext(f"{place}/train", trace_steps=[1], dump_steps=[1]):
            for _ in range(2):
                session.run(product)
    entries = OpLogProto.FromString(read(f"{place}/tfprof_log")).log_entries
    assert "product" in [entry.name for entry in entries]
    assert tfprof.load(f"{place}/train/profile_1").steps == (1,)


def test_a_url_of_no_known_kind() -> None:
    with pytest.raises(ProfileError, match=r"^cannot write 'nowhere://a/b': .*; check the URL and your access to it$"):
        profile_of("a = Op() 5us").save("nowhere://a/b")
    with pytest.raises(ProfileError, match=r"^cannot write 'nowhere://a': Protocol not known"):
        tfprof.ProfileContext("nowhere://a", dump_steps=[1]).__enter__()


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    profile = profile_of("a = Op() 5us")
    if place.startswith("ram:"):
        profile.save(f"{place}/profile_0")
        assert read(f"{place}/profile_0")
        return
    with pytest.raises(ProfileError, match=r"need fsspec.*run `pip install 'tfprof-widget\[distributed\]'`"):
        profile.save(f"{place}/profile_0")
