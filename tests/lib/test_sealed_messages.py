"""Messages in every form that a caller may have them in."""

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2
from tensorflow.core.profiler import profile_pb2, tfprof_log_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import GraphDef, RunMetadata, as_message, message_class


@pytest.fixture(scope="module")
def graph() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        values = tf.compat.v1.placeholder(tf.float32, [None, 3], name="features")
        tf.matmul(values, tf.constant([[1.0], [2.0], [3.0]], name="weights"), name="product")
    return graph


@pytest.fixture(scope="module")
def native(graph: Any) -> Any:
    return graph.as_graph_def(add_shapes=True)


def names(graph_def: Any) -> list[str]:
    return [node.name for node in graph_def.node]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("GraphDef", graph_pb2.GraphDef()),
        ("RunMetadata", config_pb2.RunMetadata()),
        ("OpLogProto", tfprof_log_pb2.OpLogProto()),
        ("Profile", profile_pb2.Profile()),
        ("XSpace", xplane_pb2.XSpace()),
    ],
)
def test_messages_are_returned_as_they_are(kind: str, message: Any) -> None:
    assert as_message(message, kind, "given") is message
    ours = message_class(kind)()
    assert as_message(ours, kind, "given") is ours


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_bytes_of_any_sort_are_parsed_into_ours(native: Any, form: Any) -> None:
    message = as_message(form(native.SerializeToString()), "GraphDef", "graph")
    assert isinstance(message, GraphDef)
    assert names(message) == ["features", "weights", "product"]
    assert message.node[0].attr["_output_shapes"].list.shape[0].dim[1].size == 3


def test_no_bytes_are_a_message_without_fields() -> None:
    assert as_message(b"", "RunMetadata", "run_meta") == RunMetadata()


def test_graph_is_asked_for_its_definition_with_shapes(graph: Any, native: Any) -> None:
    assert as_message(graph, "GraphDef", "graph") == native


def test_object_that_serializes_itself(native: Any) -> None:
    class Proxy:
        def SerializeToString(self) -> bytes:
            data: bytes = native.SerializeToString()
            return data

    assert names(as_message(Proxy(), "GraphDef", "graph")) == names(native)


@pytest.mark.parametrize("encode", [str, str.encode])
def test_tensorflows_text_format(native: Any, encode: Any) -> None:
    text = text_format.MessageToString(native)
    message = as_message(encode(text), "GraphDef", "graph")
    assert text_format.MessageToString(message) == text
    assert message.node[0].attr["dtype"].type == tf.float32.as_datatype_enum


def refusal(value: Any, kind: str, source: str) -> str:
    with pytest.raises(ProfileError) as caught:
        as_message(value, kind, source)
    return str(caught.value)


def test_truncated_bytes(native: Any) -> None:
    data = native.SerializeToString()[:-1]
    message = refusal(data, "GraphDef", "graph")
    assert message.startswith(f"graph: these {len(data)} bytes are no GraphDef (Error parsing message")
    assert "check that they are whole" in message


def test_random_bytes() -> None:
    message = refusal(b"\xde\xad\xbe\xef", "RunMetadata", "run_meta")
    assert message.startswith("run_meta: these 4 bytes are no RunMetadata (Error parsing message")
    assert message.endswith("give a message RunMetadata of TensorFlow or tfprof_widget, or its serialized bytes")


def test_bytes_of_another_message_that_happen_to_parse() -> None:
    options = b"\x08\x05"  # field 1 is a number, where a graph has its nodes
    assert "they hold none of its fields" in refusal(options, "GraphDef", "graph")


def test_text_with_an_unknown_field_is_told_where() -> None:
    message = refusal(b"node {\n  nome: 'a'\n}", "GraphDef", "graph")
    assert 'as text: 2:3 : Message type "tfprof_widget.NodeDef" has no field named "nome"' in message


@pytest.mark.parametrize(("value", "shown"), [(3, "int"), (None, "None"), ([b""], "list"), (GraphDef, "")])
def test_something_else(value: Any, shown: str) -> None:
    assert refusal(value, "RunMetadata", "run_meta").startswith(f"run_meta: got {shown}")


@pytest.mark.parametrize("message", [RunMetadata(), config_pb2.RunMetadata()])
def test_message_of_another_kind(message: Any) -> None:
    text = refusal(message, "GraphDef", "graph")
    assert text == (
        f"graph: got {message.DESCRIPTOR.full_name}; give a message GraphDef of TensorFlow or tfprof_widget,"
        " its serialized bytes, its text or a tf.Graph"
    )


@pytest.mark.parametrize("kind", ["GraphDef", "RunMetadata"])
@pytest.mark.parametrize("path", ["/data/graph.pbtxt", Path("/data/graph.pbtxt"), ""])
def test_path_instead_of_content(kind: str, path: str | Path) -> None:
    message = refusal(path, kind, "given")
    assert repr(path) in message
    assert "pathlib.Path(path).read_bytes()" in message
