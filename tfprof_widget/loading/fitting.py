"""Tells whether some bytes can be a message of some type, by a look at the first fields of each of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

# How much is looked at: so many fields of a message, and so many messages deep.
MOST_FIELDS = 16
MOST_DEPTH = 4

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_STRING, _MESSAGE, _BYTES = 9, 11, 12
_WIRE_TYPES = {1: _FIXED64, 6: _FIXED64, 16: _FIXED64, 2: _FIXED32, 7: _FIXED32, 15: _FIXED32}
# Strings that have no control characters: else many a message would pass for one.
_NAMES = frozenset({"device", "name", "node_name", "op"})


class Field(NamedTuple):
    """A field as it is written: its content is empty where it is but a number."""

    number: int
    wire_type: int
    content: memoryview
    is_whole: bool


def fits(data: bytes, descriptor: Any) -> bool:
    """Whether the bytes may be such a message, or the start of one that was cut off.

    >>> from tfprof_widget.messages import GraphDef, RunMetadata
    >>> graph = GraphDef(node=[{"name": "a", "op": "Add"}]).SerializeToString()
    >>> fits(graph, GraphDef.DESCRIPTOR), fits(graph, RunMetadata.DESCRIPTOR)
    (True, False)
    """
    try:
        return _fits(memoryview(data), descriptor, MOST_DEPTH)
    except ValueError:
        return False


def _fits(data: memoryview, descriptor: Any, depth: int) -> bool:
    for found in _fields(data):
        field = descriptor.fields_by_number.get(found.number)
        if field is None or not _is_of(field, found.wire_type):
            return False
        if found.wire_type == _LENGTH and not _content_fits(found, field, depth):
            return False
    return True


def _is_of(field: Any, wire_type: int) -> bool:
    if field.type in (_STRING, _MESSAGE, _BYTES):
        return wire_type == _LENGTH
    is_repeated = field.default_value == []  # what the oldest protobuf says it by, too
    return (is_repeated and wire_type == _LENGTH) or wire_type == _WIRE_TYPES.get(field.type, _VARINT)


def _content_fits(found: Field, field: Any, depth: int) -> bool:
    if field.type == _MESSAGE and depth:
        return _fits(found.content, field.message_type, depth - 1)
    if field.type == _STRING and found.is_whole:
        text = bytes(found.content).decode()
        return field.name not in _NAMES or not any(character < " " for character in text)
    return True


def _fields(data: memoryview) -> Iterator[Field]:
    """The first fields of a message; of one that is cut off, its start."""
    place = 0
    for _ in range(MOST_FIELDS):
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
            raise ValueError(f"there is no wire type {wire_type}")
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
    raise ValueError("a number is longer than ten bytes")
