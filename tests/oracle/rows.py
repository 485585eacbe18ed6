"""Reads a serialized result into flat rows, however deep it nests, to compare two field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict

VARINT, BYTES = 0, 2
FIXED_LENGTHS = {1: 8, 5: 4}


class Row(NamedTuple):
    """A node of a result: its depth, and its fields in protobuf's JSON form (64-bit integers as strings)."""

    depth: int
    fields: dict[str, Any]


def rows(serialized: bytes, message: Any) -> list[Row]:
    """The nodes in preorder; a loop, for protobuf parses no message nested over 100 deep.

    `message` is the class GraphNodeProto or MultiGraphNodeProto, TensorFlow's or this package's.

    >>> from tfprof_widget.lib.messages import GraphNodeProto
    >>> tree = GraphNodeProto(name="a", children=[GraphNodeProto(name="a/b", run_count=2)])
    >>> rows(tree.SerializeToString(), GraphNodeProto)
    [Row(depth=0, fields={'name': 'a'}), Row(depth=1, fields={'name': 'a/b', 'run_count': '2'})]
    """
    children_number = message.DESCRIPTOR.fields_by_name["children"].number
    found: list[Row] = []
    pending = [(0, memoryview(serialized))]
    while pending:
        depth, node = pending.pop()
        own, children = bytearray(), []
        for number, content, whole in _fields(node):
            if number == children_number:
                children.append((depth + 1, content))
            else:
                own += whole
        fields = MessageToDict(message.FromString(bytes(own)), preserving_proto_field_name=True)
        found.append(Row(depth, fields))
        pending.extend(reversed(children))
    return found


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Number, content and whole of each field; the content of one with a length is without it."""
    position = 0
    while position < len(message):
        start = position
        tag, position = _varint(message, position)
        content, wire_type = position, tag & 7
        if wire_type == BYTES:
            length, content = _varint(message, position)
            position = content + length
        elif wire_type == VARINT:
            _, position = _varint(message, position)
        else:
            position += FIXED_LENGTHS[wire_type]
        yield tag >> 3, message[content:position], message[start:position]


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while message[position] & 0x80:
        value |= (message[position] & 0x7F) << shift
        shift, position = shift + 7, position + 1
    return value | message[position] << shift, position + 1
