"""Tells from what is in a file what it is: which of the profilers' messages, in binary, text or compressed form."""

from __future__ import annotations

import ast
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from typing import Any

from google.protobuf import text_format

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.wire import as_message
from tfprof_widget.loading.fitting import fits
from tfprof_widget.messages import message_class

# What is recognised, in the order of looking: a later kind may fit what is an earlier one.
KINDS = ("RunMetadata", "OpLogProto", "GraphDef", "ProfileProto", "XSpace")

_GZIP = b"\x1f\x8b"
_FIRST_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")
# As Python writes bytes, and nothing else that could be evaluated.
_BYTES_LITERAL = re.compile(rb"""b(['"])(?:(?!\1)[ -\[\]-~]|\\(?:[\\'"nrt]|x[0-9a-f]{2}))*+\1\s*""")
# Text shrinks to a hundredth at most; what shrinks more was made to fill the memory.
_MOST_UNPACKED, _MOST_UNPACKED_A_BYTE = 2**26, 200
_CHUNK = 2**20


@dataclass(frozen=True)
class Content:
    """What a file holds: one of KINDS, and the message or its bytes."""

    kind: str
    value: Any

    def message(self, source: str) -> Any:
        """The message itself; `source` is named in errors."""
        return as_message(self.value, self.kind, source)


def recognise(data: bytes, source: str) -> Content:
    """What some bytes are; `source` is named in errors.

    >>> recognise(b"node { name: 'a' op: 'Add' }", "graph.pbtxt").kind
    'GraphDef'
    >>> recognise(b'{"traceEvents": []}', "timeline.json")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: timeline.json: this is a Chrome trace, which holds ...
    """
    data = _unpacked(data, source)
    if not data:
        raise ProfileError(f"{source}: the file is empty; write it again")
    text = _as_text(data)
    if text is not None:
        found = _of_text(text, source)
        if found is not None:
            return found
    for kind in KINDS:
        if fits(data, message_class(kind).DESCRIPTOR):
            return Content(kind, data)
    raise ProfileError(
        f"{source}: this is none of {', '.join(KINDS)}, in binary or text form; check which file it is, "
        "or whether it was cut off or changed on its way"
    )


def _unpacked(data: bytes, source: str) -> bytes:
    """The bytes without compression, and without the quotes that Python 3 put around what tf.contrib wrote."""
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
                    "if you trust it, unpack it with gunzip, and give what comes of it"
                )
    return bytes(found)


def _as_text(data: bytes) -> str | None:
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
        raise ProfileError(
            f"{source}: this is a Chrome trace, which holds times but neither the graph nor shapes and memory; "
            "load the RunMetadata, ProfileProto or .xplane.pb that it was made of, or open it in a trace viewer"
        )
    raise ProfileError(
        f"{source}: this is JSON, and profiles are protobuf messages; "
        f"write one of {', '.join(KINDS)} by SerializeToString, or as text"
    )
