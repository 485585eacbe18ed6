"""Builds protobuf classes, and reads a message from bytes, from text or from TensorFlow's own class."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, overload

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from tfprof_widget.lib.errors import ProfileError, value_error

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

    from tfprof_widget._protos import *

PACKAGE = "tfprof_widget"

if not TYPE_CHECKING:  # type checkers have the stubs, and so find the names that do not exist

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):  # tools ask for such names, and no message has one: build nothing
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return message_class(name)


@cache
def message_class(name: str) -> Any:
    """The class of a message, or the wrapper of an enum, by its name in the `.proto` files.

    >>> from tfprof_widget.lib.messages import GraphDef
    >>> GraphDef(node=[{"name": "a", "op": "NoOp"}]).node[0].op
    'NoOp'
    >>> message_class("DataType").Name(1)
    'DT_FLOAT'
    """
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

    pool = _filled_pool()
    try:
        return _class_of(pool, pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
    except KeyError:
        pass
    try:
        return EnumTypeWrapper(pool.FindEnumTypeByName(f"{PACKAGE}.{name}"))
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no message or enum {name!r}") from None


def _class_of(pool: DescriptorPool, descriptor: Any) -> Any:
    from google.protobuf import message_factory

    factory: Any = message_factory
    if hasattr(factory, "GetMessageClass"):
        return factory.GetMessageClass(descriptor)
    return factory.MessageFactory(pool).GetPrototype(descriptor)  # before protobuf 4.22


@cache
def _filled_pool() -> DescriptorPool:
    """The process's default pool, which also has TensorFlow's messages, completed by the missing files."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    pool = descriptor_pool.Default()
    for file in descriptor_pb2.FileDescriptorSet.FromString(_read_descriptors()).file:
        try:
            pool.FindFileByName(file.name)
        except KeyError:
            pool.AddSerializedFile(file.SerializeToString())
    return pool


def _read_descriptors() -> bytes:
    path = files(PACKAGE) / "_protos" / "descriptors.binpb"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ProfileError(
            f"{path} is missing: it is built, not kept in the repository;"
            " run `make build`, or `python protos/compile.py`"
        ) from None


@overload
def as_message(value: object, kind: Literal["GraphDef"], source: str) -> GraphDef: ...
@overload
def as_message(value: object, kind: Literal["RunMetadata"], source: str) -> RunMetadata: ...
@overload
def as_message(value: object, kind: Literal["OpLogProto"], source: str) -> OpLogProto: ...
@overload
def as_message(value: object, kind: str, source: str) -> Any: ...
def as_message(value: object, kind: str, source: str) -> Any:
    """The message that `value` is or holds; `source` is the name of the argument, for errors.

    A message of that kind is returned unchanged, also one of TensorFlow's classes, which have the same fields. Bytes
    become a message of this package's class. A GraphDef may also be given as an object with `as_graph_def`, or in the
    text format.

    >>> as_message(b"\\n\\x03\\n\\x01a", "GraphDef", "graph").node[0].name
    'a'
    >>> as_message("node { name: 'a' }", "GraphDef", "graph").node[0].name
    'a'
    >>> as_message(b"truncated", "RunMetadata", "run_meta")
    Traceback (most recent call last):
    ...
    tfprof_widget.ProfileError: run_meta: these 9 bytes are no RunMetadata (...); ...
    """
    if kind == "GraphDef" and hasattr(value, "as_graph_def"):
        value = value.as_graph_def(add_shapes=True)
    if isinstance(value, Message):
        if value.DESCRIPTOR.name == kind:
            return value
        raise ProfileError(f"{source}: got {value.DESCRIPTOR.full_name}; {_way_out(kind)}")
    if isinstance(value, bytes | bytearray | memoryview):
        return _from_bytes(bytes(value), kind, source)
    if isinstance(value, str) and kind == "GraphDef":
        return _from_text(value, source)
    if isinstance(value, str | os.PathLike):
        raise ProfileError(f"{source}: got {_shown(value)}; {_way_out(kind)}. {_IF_A_PATH}")
    if hasattr(value, "SerializeToString") and not isinstance(value, type):
        return _from_bytes(value.SerializeToString(), kind, source)
    raise ProfileError(f"{source}: got {_shown(value)}; {_way_out(kind)}")


@overload
def as_sealed(value: object, kind: Literal["GraphDef"], source: str) -> SealedGraph: ...
@overload
def as_sealed(value: object, kind: Literal["OpLogProto"], source: str) -> SealedOpLog: ...
@overload
def as_sealed(value: object, kind: Literal["RunMetadata"], source: str) -> SealedRun: ...
def as_sealed(value: object, kind: Literal["GraphDef", "OpLogProto", "RunMetadata"], source: str) -> Any:
    """As `as_message`, but the parts that many nodes have in common stay bytes, and are read once, later.

    >>> as_sealed("node { name: 'a' }", "GraphDef", "graph").node[0].name
    'a'
    """
    sealed = message_class(_SEALED[kind])
    if isinstance(value, bytes):
        with suppress(DecodeError):
            message = sealed.FromString(value)
            if message.ListFields() or not value:
                return message
    # in a fixed order, because merging chooses among graphs by their bytes
    return sealed.FromString(as_message(value, kind, source).SerializeToString(deterministic=True))


_SEALED = {"GraphDef": "SealedGraph", "OpLogProto": "SealedOpLog", "RunMetadata": "SealedRun"}
_IF_A_PATH = "If it is a path, give the file's content: pathlib.Path(path).read_bytes()"


def _way_out(kind: str) -> str:
    forms = "or its serialized bytes"
    if kind == "GraphDef":
        forms = "its serialized bytes, its text or a tf.Graph"
    return f"give a message {kind} of TensorFlow or tfprof_widget, {forms}"


def _shown(value: object) -> str:
    if value is not None and not isinstance(value, str | os.PathLike):
        return type(value).__name__  # the rest may be long, and slow to print
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _from_bytes(data: bytes, kind: str, source: str) -> Any:
    try:
        message = message_class(kind).FromString(data)
        reason = "" if message.ListFields() or not data else "they hold none of its fields"
    except DecodeError as error:
        reason = str(error)
    if not reason:
        return message
    if kind == "GraphDef":
        try:
            return _parsed_text(data.decode())
        except ValueError as error:  # not UTF-8, or not the text format: ParseError is a ValueError too
            reason += f"; as text: {error}"
    raise ProfileError(
        f"{source}: these {len(data)} bytes are no {kind} ({reason});"
        f" check that they are whole and which file they come from, or {_way_out(kind)}"
    )


def _from_text(text: str, source: str) -> Any:
    try:
        return _parsed_text(text)
    except ValueError as error:
        raise ProfileError(
            f"{source}: got {_shown(text)}, which is no GraphDef in the text format ({error});"
            f" {_way_out('GraphDef')}. {_IF_A_PATH}"
        ) from None


def _parsed_text(text: str) -> Any:
    try:
        graph = text_format.Parse(text, message_class("GraphDef")())
    except text_format.ParseError as error:
        raise value_error(str(error)) from None
    except RecursionError:
        raise value_error("it is nested too deeply") from None
    if not graph.ListFields():
        raise value_error("it is empty")
    return graph
