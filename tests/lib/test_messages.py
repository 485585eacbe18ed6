"""The package's messages against TensorFlow's: the same fields, both ways, in one process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, text_format
from google.protobuf.message import Message
from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.core.framework import (
    allocation_description_pb2,
    attr_value_pb2,
    cost_graph_pb2,
    full_type_pb2,
    function_pb2,
    graph_debug_info_pb2,
    graph_pb2,
    node_def_pb2,
    op_def_pb2,
    resource_handle_pb2,
    step_stats_pb2,
    tensor_description_pb2,
    tensor_pb2,
    tensor_shape_pb2,
    types_pb2,
    versions_pb2,
)
from tensorflow.core.profiler import tfprof_log_pb2, tfprof_options_pb2, tfprof_output_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.tsl.profiler.protobuf import profile_pb2, xplane_pb2

from protos.compile import compile_protos
from tfprof_widget.lib import messages
from tfprof_widget.lib.errors import ProfileError

ROOT = Path(__file__).parents[2]

NATIVE_FILES = [
    allocation_description_pb2,
    attr_value_pb2,
    config_pb2,
    cost_graph_pb2,
    full_type_pb2,
    function_pb2,
    graph_debug_info_pb2,
    graph_pb2,
    hlo_pb2,
    node_def_pb2,
    op_def_pb2,
    profile_pb2,
    resource_handle_pb2,
    step_stats_pb2,
    tensor_description_pb2,
    tensor_pb2,
    tensor_shape_pb2,
    tfprof_log_pb2,
    tfprof_options_pb2,
    tfprof_output_pb2,
    types_pb2,
    versions_pb2,
    xla_data_pb2,
    xplane_pb2,
]
NATIVE = {name: getattr(file, name) for file in NATIVE_FILES for name in file.DESCRIPTOR.message_types_by_name}

_FIELD = descriptor_pb2.FieldDescriptorProto
# What our messages have beyond TensorFlow's: (message, field) -> (number, type). Fields of pprof's are from the younger
# profile.proto of google/pprof; those of ProfileProto are our own, and native passes over them.
BEYOND = {
    ("Label", "num_unit"): (4, _FIELD.TYPE_INT64),
    ("Location", "is_folded"): (5, _FIELD.TYPE_BOOL),
    ("ProfileProto", "step_workers"): (100, _FIELD.TYPE_STRING),
    ("ProfileProto", "worker_steps"): (101, _FIELD.TYPE_INT64),
    ("ProfileProto", "transfers"): (102, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "allocators"): (103, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "other_stacks"): (104, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "accelerators"): (105, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "kernel_runs"): (106, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "float_ops"): (107, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "account"): (108, _FIELD.TYPE_MESSAGE),
    ("ProfileProto", "kept_run"): (109, _FIELD.TYPE_MESSAGE),
}
OUR_OWN = {
    *("StoredTransfer", "StoredAllocator", "StoredStacks", "StoredAccelerator", "StoredKernelRuns", "StoredFloatOps"),
    *("StoredAccount", "StoredPipelineStage", "StoredHeld", "StoredLayer", "StoredCell", "StoredCellRuns"),
    *("StoredPhase", "StoredPythonTime", "StoredLine", "StoredStack", "StoredKeptRun"),
}
# Of XLA's messages, which have hundreds of fields, ours have the few that are read.
PARTS = {
    "HloProto",
    "HloModuleProto",
    "HloComputationProto",
    "HloInstructionProto",
    "OpMetadata",
    "ShapeProto",
    "DotDimensionNumbers",
    "Window",
    "WindowDimension",
    "ConvolutionDimensionNumbers",
    "StackFrameIndexProto",
}

NAMED_IN_THE_ISSUE = {
    *("GraphDef", "RunMetadata", "StepStats", "OpLogProto", "ProfileProto", "GraphNodeProto"),
    *("MultiGraphNodeProto", "OptionsProto", "AdviceProto", "Profile", "XSpace"),
}


def descriptor_set() -> descriptor_pb2.FileDescriptorSet:
    path = ROOT / "tfprof_widget" / "_protos" / "descriptors.binpb"
    return descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())


MESSAGE_NAMES = sorted(
    message.name
    for file in descriptor_set().file
    for message in file.message_type
    if file.name != "tfprof_widget/sealed.proto" and message.name not in OUR_OWN
)
# What each sealed message leaves unread of the message whose bytes it takes: field and type of ours.
SEALED = {
    "SealedGraph": ("GraphDef", {"node": "SealedNode"}),
    "SealedNode": ("NodeDef", {"attr": "bytes"}),
    "SealedOpLog": ("OpLogProto", {"log_entries": "SealedEntry"}),
    "SealedEntry": ("OpLogEntry", {"code_def": "bytes"}),
    "SealedCode": ("CodeDef", {"traces": "bytes"}),
    "SealedRun": ("RunMetadata", {"step_stats": "SealedStepStats"}),
    "SealedStepStats": ("StepStats", {"dev_stats": "SealedDevice"}),
    "SealedDevice": ("DeviceStepStats", {"node_stats": "SealedExecution"}),
    "SealedExecution": ("NodeExecStats", {"output": "SealedOutput"}),
    "SealedOutput": ("NodeOutput", {"tensor_description": "SealedTensor"}),
    "SealedTensor": ("TensorDescription", {"shape": "bytes"}),
}
ENUM_NAMES = sorted(enum.name for file in descriptor_set().file for enum in file.enum_type)

Field = tuple[str, int, int, int, str, str]


def fields_of(message: descriptor_pb2.DescriptorProto, path: str) -> Iterator[tuple[str, Field]]:
    """Every field of the message and of those nested in it: name, number, label, type, type's name, oneof."""
    for field in message.field:
        if (message.name, field.name) in BEYOND:
            continue
        oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
        type_name = field.type_name.removeprefix(".")
        for package in (
            "tfprof_widget.",
            "tensorflow.tfprof.pprof.",
            "tensorflow.tfprof.",
            "tensorflow.profiler.",
            "xla.",
        ):
            type_name = type_name.removeprefix(package)
        type_name = type_name.removeprefix("tensorflow.")
        yield path, (field.name, field.number, field.label, field.type, type_name, oneof)
    for nested in message.nested_type:
        yield from fields_of(nested, f"{path}.{nested.name}")


def described(message_class: Any) -> descriptor_pb2.DescriptorProto:
    proto = descriptor_pb2.DescriptorProto()
    message_class.DESCRIPTOR.CopyToProto(proto)
    return proto


def fill(message: Any, variant: int, depth: int = 3) -> None:
    """Sets every field, of oneofs the one whose turn it is, and those of messages below down to a depth."""
    for position, field in enumerate(message.DESCRIPTOR.fields):
        if (message.DESCRIPTOR.name, field.name) in BEYOND:
            continue
        oneof = field.containing_oneof
        if oneof is not None and oneof.fields[variant % len(oneof.fields)] != field:
            continue
        if field.message_type is None:
            value = scalar(field, variant + position)
            if field.is_repeated:
                getattr(message, field.name).extend([value, value])
            else:
                setattr(message, field.name, value)
        elif depth:
            fill_messages(message, field, variant + position, depth)


def fill_messages(message: Any, field: Any, variant: int, depth: int) -> None:
    target = getattr(message, field.name)
    if not field.is_repeated:
        target.SetInParent()
        fill(target, variant, depth - 1)
    elif not field.message_type.GetOptions().map_entry:
        fill(target.add(), variant, depth - 1)
        fill(target.add(), variant + 1, depth - 1)
    else:
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        if value.message_type is None:
            target[scalar(key, variant)] = scalar(value, variant)
        else:
            fill(target[scalar(key, variant)], variant, depth - 1)


def scalar(field: Any, variant: int) -> Any:
    """A value that its wire type could garble: large, negative, not ASCII."""
    if field.enum_type is not None:
        return field.enum_type.values[1 + variant % (len(field.enum_type.values) - 1)].number
    largest = {
        field.TYPE_INT32: -(2**31) + variant,
        field.TYPE_INT64: -(2**63) + variant,
        field.TYPE_UINT32: 2**32 - 1 - variant,
        field.TYPE_UINT64: 2**64 - 1 - variant,
        field.TYPE_FIXED64: 2**64 - 1 - variant,
        field.TYPE_FLOAT: 0.5 + variant,
        field.TYPE_DOUBLE: 0.1 + variant,
        field.TYPE_BOOL: True,
        field.TYPE_STRING: f"größe/层{variant}",
        field.TYPE_BYTES: b"\xff\x00" + bytes([variant % 256]),
    }
    return largest[field.type]


def assert_equal_on_the_wire(source: Message, target_class: Any) -> None:
    data = source.SerializeToString(deterministic=True)
    target = target_class.FromString(data)
    assert text_format.MessageToString(target) == text_format.MessageToString(source)  # known fields only
    assert target.SerializeToString(deterministic=True) == data


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_all_that_the_issue_names_is_there() -> None:
    assert set(MESSAGE_NAMES) >= NAMED_IN_THE_ISSUE
    assert all(name.startswith("tfprof_widget/") for name in (file.name for file in descriptor_set().file))
    assert {file.package for file in descriptor_set().file} == {"tfprof_widget"}


@pytest.mark.parametrize("name", MESSAGE_NAMES)
def test_message_has_the_fields_of_tensorflows(name: str) -> None:
    ours, native = (sorted(fields_of(described(one), name)) for one in (getattr(messages, name), NATIVE[name]))
    assert [field for field in native if field in ours or name not in PARTS] == ours != []


@pytest.mark.parametrize(("message", "field"), list(BEYOND))
def test_field_beyond_tensorflows_has_a_number_of_its_own(message: str, field: str) -> None:
    descriptor = getattr(messages, message).DESCRIPTOR.fields_by_name[field]
    assert (descriptor.number, descriptor.type) == BEYOND[message, field]


@pytest.mark.parametrize("name", ENUM_NAMES)
def test_enum_has_the_values_of_tensorflows(name: str) -> None:
    natives = {
        "DataType": types_pb2.DataType,
        "FullTypeId": full_type_pb2.FullTypeId,
        "PrimitiveType": xla_data_pb2.PrimitiveType,
    }
    native = natives[name]
    assert getattr(messages, name).items() == native.items()


@pytest.mark.parametrize(("name", "whole", "unread"), [(name, *sealed) for name, sealed in SEALED.items()])
def test_sealed_message_has_the_fields_of_the_whole_one(name: str, whole: str, unread: dict[str, str]) -> None:
    sealed, native = getattr(messages, name).DESCRIPTOR, NATIVE[whole].DESCRIPTOR
    for field in sealed.fields:
        assert native.fields_by_number[field.number].name == field.name
        assert native.fields_by_number[field.number].is_repeated == field.is_repeated
        if field.name in unread:
            found = field.message_type.name if field.message_type else "bytes"
            assert found == unread[field.name]
        else:
            assert native.fields_by_number[field.number].type == field.type


def test_sealed_attributes_are_map_entries() -> None:
    graph = messages.GraphDef(node=[{"name": "a", "attr": {"shape": {"i": 7}}}])
    (entry,) = messages.SealedGraph.FromString(graph.SerializeToString()).node[0].attr
    attribute = messages.SealedAttribute.FromString(entry)
    assert attribute.key == "shape"
    assert messages.AttrValue.FromString(attribute.value).i == 7


@pytest.mark.parametrize("name", MESSAGE_NAMES)
def test_filled_message_goes_both_ways(name: str) -> None:
    ours, native = getattr(messages, name), NATIVE[name]
    variants = range(10)  # as many as the largest oneof has members
    ways = [(ours, native)] if name in PARTS else [(ours, native), (native, ours)]
    for (source, target), variant in product(ways, variants):
        message = source()
        fill(message, variant)
        assert message.ListFields()
        assert_equal_on_the_wire(message, target)


def test_fields_of_later_versions_are_kept() -> None:
    later = b"\xc2>\x03new"  # field 1000 of wire type 2
    data = messages.GraphDef(node=[{"name": "a"}]).SerializeToString() + later
    assert messages.GraphDef.FromString(data).SerializeToString() == data


def test_paths_of_debug_info_need_not_be_utf8() -> None:
    data = b"\x2a\x03\x0a\x01\xff"  # debug_info { files: "\xff" }
    assert messages.GraphDef.FromString(data).SerializeToString() == data
    assert graph_pb2.GraphDef.FromString(data).SerializeToString() == data


def test_classes_are_made_once() -> None:
    assert messages.GraphDef is messages.GraphDef
    assert type(messages.GraphDef().library) is messages.FunctionDefLibrary
    assert messages._filled_pool.__wrapped__() is messages._filled_pool()  # once more, into the same pool


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no message or enum 'GraphDeaf'"):
        getattr(messages, "GraphDeaf")  # noqa: B009
    assert not hasattr(messages, "__path__")


def test_missing_descriptors_say_how_to_build_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(messages, "files", lambda _: tmp_path)
    with pytest.raises(ProfileError, match=r"descriptors\.binpb is missing.*`make build`"):
        messages._read_descriptors()


def test_import_loads_no_protobuf() -> None:
    code = "import sys, tfprof_widget, tfprof_widget.api.profile; print('google.protobuf' in sys.modules)"
    assert run_python(code) == "False"


@pytest.mark.parametrize("first", ["ours", "native"])
def test_either_may_be_loaded_first(first: str) -> None:
    imports = [
        "from tfprof_widget.lib.messages import GraphDef as Ours; Ours()",
        "from tensorflow.core.framework.graph_pb2 import GraphDef as Native; Native()",
    ]
    code = "\n".join(imports if first == "ours" else imports[::-1])
    names = "print(Ours.DESCRIPTOR.full_name, Native.DESCRIPTOR.full_name)"
    assert run_python(f"{code}\n{names}") == "tfprof_widget.GraphDef tensorflow.GraphDef"


def test_protobuf_without_its_compiled_runtime() -> None:
    code = (
        "from google.protobuf.internal import api_implementation as runtime\n"
        "from tfprof_widget.lib.messages import GraphDef\n"
        "data = GraphDef(node=[{'name': 'a'}]).SerializeToString()\n"
        "print(runtime.Type(), GraphDef.FromString(data).node[0].name)"
    )
    assert run_python(code, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python") == "python a"


def write_proto(directory: Path, body: str) -> None:
    (directory / "small.proto").write_text(f'syntax = "proto3";\npackage tfprof_widget;\n{body}\n')


def contents(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}


def test_compiling_again_does_nothing_until_a_source_is_newer(tmp_path: Path) -> None:
    source, target = tmp_path / "protos", tmp_path / "made"
    source.mkdir()
    write_proto(source, "message Small { int32 a = 1; }")
    compile_protos(source, target)
    made = contents(target)
    assert set(made) == {"__init__.pyi", "descriptors.binpb", "small_pb2.pyi"}
    compile_protos(source, target)
    assert contents(target) == made

    write_proto(source, "message Small { int32 b = 1; }")
    later = (target / "descriptors.binpb").stat().st_mtime + 1
    os.utime(source / "small.proto", (later, later))
    compile_protos(source, target)
    made = contents(target)
    assert b"    b: int" in made["small_pb2.pyi"][0]


def test_a_proto_that_does_not_compile_leaves_what_was_there(tmp_path: Path) -> None:
    source, target = tmp_path / "protos", tmp_path / "made"
    source.mkdir()
    write_proto(source, "message Small { int32 a = 1; }")
    compile_protos(source, target)
    made = contents(target)
    write_proto(source, "message Small { int33 a = 1; }")
    later = (target / "descriptors.binpb").stat().st_mtime + 1
    os.utime(source / "small.proto", (later, later))
    with pytest.raises(RuntimeError, match='"int33" is not defined'):
        compile_protos(source, target)
    assert contents(target) == made
