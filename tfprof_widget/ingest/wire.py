"""Takes a message in any of the forms that a caller may have it in: TensorFlow's, ours, bytes or text."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, overload

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from tfprof_widget.errors import ProfileError
from tfprof_widget.messages import message_class

if TYPE_CHECKING:
    from tfprof_widget.messages import (
        GraphDef,
        OpLogProto,
        RunMetadata,
        SealedGraph,
        SealedOpLog,
        SealedRun,
    )


@overload
def as_message(value: object, kind: Literal["GraphDef"], source: str) -> "GraphDef": ...
@overload
def as_message(value: object, kind: Literal["RunMetadata"], source: str) -> "RunMetadata": ...
@overload
def as_message(value: object, kind: Literal["OpLogProto"], source: str) -> "OpLogProto": ...
@overload
def as_message(value: object, kind: str, source: str) -> Any: ...
def as_message(value: object, kind: str, source: str) -> Any:
    """The message of that kind which `value` is or holds; `source` is the argument's name, for errors.

    A message of that name is returned as it is, TensorFlow's too: its fields have the same names. Bytes
    become ours. For a GraphDef, anything with `as_graph_def` will do, and the text format.

    >>> as_message(b"\\n\\x03\\n\\x01a", "GraphDef", "graph").node[0].name
    'a'
    >>> as_message("node { name: 'a' }", "GraphDef", "graph").node[0].name
    'a'
    >>> as_message(b"truncated", "RunMetadata", "run_meta")
    Traceback (most recent call last):
    ...
    tfprof_widget.errors.ProfileError: run_meta: these 9 bytes are no RunMetadata (...); ...
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
def as_sealed(value: object, kind: Literal["GraphDef"], source: str) -> "SealedGraph": ...
@overload
def as_sealed(value: object, kind: Literal["OpLogProto"], source: str) -> "SealedOpLog": ...
@overload
def as_sealed(value: object, kind: Literal["RunMetadata"], source: str) -> "SealedRun": ...
def as_sealed(value: object, kind: Literal["GraphDef", "OpLogProto", "RunMetadata"], source: str) -> Any:
    """As `as_message`, but with the parts left as bytes that most nodes share: they are read once, later.

    >>> as_sealed("node { name: 'a' }", "GraphDef", "graph").node[0].name
    'a'
    """
    sealed = message_class(_SEALED[kind])
    if isinstance(value, bytes):
        with suppress(DecodeError):
            message = sealed.FromString(value)
            if message.ListFields() or not value:
                return message
    # in one order, for merging chooses among graphs by their bytes
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
        return type(value).__name__  # the rest may be long, and long to print
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
        except ValueError as error:  # neither UTF-8 nor, as ParseError is one too, the text format
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
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not graph.ListFields():
        raise ValueError("it is empty")
    return graph
