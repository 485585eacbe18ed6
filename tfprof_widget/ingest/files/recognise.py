"""Recognises a file by its content."""

from __future__ import annotations

import ast
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from google.protobuf import text_format

from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.messages import as_message, message_class

# How much of a message is checked: so many fields, half as many of each message within, and so many messages deep.
MOST_FIELDS = 16
MOST_DEPTH = 4

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_STRING, _MESSAGE, _BYTES = 9, 11, 12
_WIRE_TYPES = {1: _FIXED64, 6: _FIXED64, 16: _FIXED64, 2: _FIXED32, 7: _FIXED32, 15: _FIXED32}
# Fields whose strings have no control characters; without this rule many messages would fit several kinds.
_NAMES = frozenset({"device", "name", "node_name", "op"})


class UnknownFile(ProfileError):
    """Raised for a file that is none of the kinds that can be loaded, as most files in a directory may be."""


class Field(NamedTuple):
    """A field of a serialized message; `content` is empty if the field is a number."""

    number: int
    wire_type: int
    content: memoryview
    is_whole: bool


def fits(data: bytes, descriptor: Any) -> bool:
    """Whether the bytes may be a message of this type, or the start of one that was cut off.

    >>> from tfprof_widget.lib.messages import GraphDef, RunMetadata
    >>> graph = GraphDef(node=[{"name": "a", "op": "Add"}]).SerializeToString()
    >>> fits(graph, GraphDef.DESCRIPTOR), fits(graph, RunMetadata.DESCRIPTOR)
    (True, False)
    """
    try:
        return _fits(memoryview(data), descriptor, MOST_DEPTH)
    except ValueError:
        return False


def _fits(data: memoryview, descriptor: Any, depth: int) -> bool:
    for found in _fields(data, MOST_FIELDS >> (MOST_DEPTH - depth)):
        field = descriptor.fields_by_number.get(found.number)
        if field is None or not _is_of(field, found.wire_type):
            return False
        if found.wire_type == _LENGTH and not _content_fits(found, field, depth):
            return False
    return True


def _is_of(field: Any, wire_type: int) -> bool:
    if field.type in (_STRING, _MESSAGE, _BYTES):
        return wire_type == _LENGTH
    is_repeated = field.default_value == []  # the oldest protobuf has no other way to tell
    return (is_repeated and wire_type == _LENGTH) or wire_type == _WIRE_TYPES.get(field.type, _VARINT)


def _content_fits(found: Field, field: Any, depth: int) -> bool:
    if field.type == _MESSAGE and depth:
        return _fits(found.content, field.message_type, depth - 1)
    if field.type == _STRING and found.is_whole:
        text = bytes(found.content).decode()
        return field.name not in _NAMES or not any(character < " " for character in text)
    return True


def _fields(data: memoryview, most: int = MOST_FIELDS) -> Iterator[Field]:
    """The first fields of a message; the last one may be cut off."""
    place = 0
    for _ in range(most):
        if place >= len(data):
            return
        tag, place = _varint(data, place)
        number, wire_type = tag >> 3, tag & 7
        content, is_whole = data[:0], True
        if wire_type == _LENGTH:
            length, place = _varint(data, place)
            content, is_whole = data[place : place + length], place + length <= len(data)
            place += length
        elif wire_type == _VARINT:
            _, place = _varint(data, place)
        elif wire_type in (_FIXED64, _FIXED32):
            place += 8 if wire_type == _FIXED64 else 4
        else:
            raise value_error(f"there is no wire type {wire_type}")
        yield Field(number, wire_type, content, is_whole)


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            return value, place
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, place
    raise value_error("a number is longer than ten bytes")


# The kinds in the order in which they are tried: files of an earlier kind may also fit a later one.
KINDS = ("RunMetadata", "OpLogProto", "GraphDef", "ProfileProto", "XSpace")

_GZIP = b"\x1f\x8b"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""What text does not have; to decode a large file before it turns out to be none would take three times its memory."""

_FIRST_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")
# Bytes as Python writes them, and nothing else that could be evaluated.
_BYTES_LITERAL = re.compile(rb"""b(['"])(?:(?!\1)[ -\[\]-~]|\\(?:[\\'"nrt]|x[0-9a-f]{2}))*+\1\s*""")
# gzip makes text at most a hundred times smaller; a file that unpacks to more was made to fill the memory.
_MOST_UNPACKED, _MOST_UNPACKED_A_BYTE = 2**26, 200
_CHUNK = 2**20


@dataclass(frozen=True)
class Content:
    """What a file holds: one of KINDS, and the message or its bytes."""

    kind: str
    value: Any

    def message(self, source: str) -> Any:
        """The content as a message; `source` is named in errors."""
        return as_message(self.value, self.kind, source)


def recognise(data: bytes, source: str) -> Content:
    """The kind and content of some bytes; `source` is named in errors.

    >>> recognise(b"node { name: 'a' op: 'Add' }", "graph.pbtxt").kind
    'GraphDef'
    >>> recognise(b'{"traceEvents": []}', "timeline.json")
    Traceback (most recent call last):
        ...
    tfprof_widget.ingest.files.recognise.UnknownFile: timeline.json: this is a Chrome trace, which holds ...
    """
    data = _unpacked(data, source)
    if not data:
        raise UnknownFile(f"{source}: the file is empty; write it again")
    text = _as_text(data)
    if text is not None:
        found = _of_text(text, source)
        if found is not None:
            return found
    for kind in KINDS:
        if fits(data, message_class(kind).DESCRIPTOR):
            return Content(kind, data)
    raise UnknownFile(
        f"{source}: this is none of {', '.join(KINDS)}, in binary or text form; check which file it is, "
        "or whether it was cut off or changed on its way"
    )


_META_GRAPH_INFO, _META_GRAPH_GRAPH, _META_GRAPH_FIELDS = 1, 2, 7


def graph_of_meta_graph(data: bytes) -> bytes | None:
    """The GraphDef in a MetaGraphDef, such as the `.meta` file of a checkpoint; None if the bytes are no MetaGraphDef.

    >>> graph_of_meta_graph(b"none of these") is None
    True
    """
    try:
        fields = list(_fields(memoryview(data)))
    except ValueError:
        return None
    if not fields or any(each.wire_type != _LENGTH or each.number > _META_GRAPH_FIELDS for each in fields):
        return None
    numbers = [each.number for each in fields]
    if numbers.count(_META_GRAPH_INFO) != 1 or numbers.count(_META_GRAPH_GRAPH) != 1:
        return None
    graph = fields[numbers.index(_META_GRAPH_GRAPH)]
    found = bytes(graph.content)
    return found if graph.is_whole and fits(found, message_class("GraphDef").DESCRIPTOR) else None


def _unpacked(data: bytes, source: str) -> bytes:
    """The bytes without gzip, and without the quotes that tf.contrib put around them in Python 3."""
    if data.startswith(_GZIP):
        try:
            data = _decompressed(data, source)
        except (OSError, EOFError, zlib.error) as error:
            raise ProfileError(
                f"{source}: it is compressed by gzip, but damaged ({error}); copy or write it again"
            ) from None
    if _BYTES_LITERAL.fullmatch(data):
        return bytes(ast.literal_eval(data.decode("ascii")))
    return data


def _decompressed(data: bytes, source: str) -> bytes:
    most = _MOST_UNPACKED + _MOST_UNPACKED_A_BYTE * len(data)
    found = bytearray()
    with gzip.open(io.BytesIO(data)) as packed:
        while chunk := packed.read(_CHUNK):
            found += chunk
            if len(found) > most:
                raise ProfileError(
                    f"{source}: its {len(data):,} bytes are compressed by gzip, and become more than {most:,}; "
                    "if you trust it, unpack it with gunzip, and load the unpacked file"
                )
    return bytes(found)


def _as_text(data: bytes) -> str | None:
    if _CONTROL.search(data, 0, _CHUNK) is not None:
        return None
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None


def _of_text(text: str, source: str) -> Content | None:
    if text.lstrip().startswith(("{", "[")):
        _refuse_json(text, source)
    first = _FIRST_FIELD.match(text)
    if first is None:
        return None
    fault = ""
    for kind in KINDS:
        message = message_class(kind)()
        if first[1] in message.DESCRIPTOR.fields_by_name:
            try:
                return Content(kind, text_format.Parse(text, message, allow_unknown_field=True))
            except text_format.ParseError as error:
                fault = fault or f"{source}: as the text of a {kind} it cannot be read ({error}); write it again"
            except RecursionError:
                fault = fault or f"{source}: as the text of a {kind} it is nested too deeply; write it again"
    if fault:
        raise ProfileError(fault)
    return None


def _refuse_json(text: str, source: str) -> None:
    if '"traceEvents"' in text or '"ph"' in text:
        raise UnknownFile(
            f"{source}: this is a Chrome trace, which holds times but neither the graph nor shapes and memory; "
            "load the RunMetadata, ProfileProto or .xplane.pb that it was made of, or open it in a trace viewer"
        )
    raise UnknownFile(
        f"{source}: this is JSON, and profiles are protobuf messages; "
        f"write one of {', '.join(KINDS)} by SerializeToString, or as text"
    )
