"""Changes an input a little, as damage or malice would: the fields of a protobuf message, or the pieces of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
LARGEST = 2**64 - 1
NUMBERS = (0, 1, 2, 127, 128, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, LARGEST - 2**31, LARGEST)
TEXTS = (
    "",
    "/",
    "a/" * 40,
    "^a",
    "a:9",
    ":",
    "\0",
    "\n",
    "\u202e",
    "<script>",
    "%s",
    "GPU",
    "/device:GPU:0",
    "stream:",
)


@dataclass
class Field:
    """A field of a message: its value is a number, or the bytes of anything else."""

    number: int
    wire_type: int
    value: int | bytes


def mutated_message(data: bytes, random: Random) -> bytes:
    """The message with a field changed somewhere in it; what is none is changed as bytes."""
    found = fields_of(data) if random.random() < 0.9 else None
    if not found:
        return mutated_bytes(data, random, TEXTS)
    at = random.randrange(len(found))
    field = found[at]
    if isinstance(field.value, bytes) and field.value and random.random() < 0.7:
        field.value = mutated_message(field.value, random)
        return written(found)
    match random.randrange(8):
        case 0:
            del found[at]
        case 1:
            found[at:at] = [field] * random.choice((1, 2, 30))
        case 2:
            other = random.randrange(len(found))
            found[at], found[other] = found[other], field
        case 3:
            field.number = random.choice((random.randint(1, 20), random.choice(found).number))
        case 4:
            field.value = random.choice(found).value
            field.wire_type = VARINT if isinstance(field.value, int) else LENGTH
        case 5:  # a message in itself, as deep as it goes
            for _ in range(random.choice((1, 4, 200))):
                field = Field(field.number, LENGTH, written([field]))
            found[at] = field
        case _:
            field.value = _other_value(field.value, random)
    return written(found)


def mutated_bytes(data: bytes, random: Random, pieces: Sequence[str]) -> bytes:
    """The bytes with some lost, doubled, moved or changed, or one of the pieces put in."""
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((1, 2, 8, 64)))
    chunk = data[start:end]
    match random.randrange(7):
        case 0:
            return data[:start]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:end] + chunk * random.choice((1, 2, 50)) + data[end:]
        case 3:
            at = random.randint(0, len(data))
            return data[:at] + chunk + data[at:]
        case 4:
            return data[:start] + bytes(random.randrange(256) for _ in chunk) + data[end:]
        case 5 if chunk:
            return data[:start] + bytes([chunk[0] ^ 1 << random.randrange(8)]) + data[start + 1 :]
        case _:
            return data[:start] + random.choice(pieces).encode() + data[random.choice((start, end)) :]


def fields_of(data: bytes) -> list[Field] | None:
    """The fields of a message; None if the bytes are none.

    >>> fields_of(b"\\x08\\x05\\x12\\x01a")
    [Field(number=1, wire_type=0, value=5), Field(number=2, wire_type=2, value=b'a')]
    """
    found: list[Field] = []
    place = 0
    try:
        while place < len(data):
            tag, place = _varint(data, place)
            number, wire_type = tag >> 3, tag & 7
            value: int | bytes
            if wire_type == VARINT:
                value, place = _varint(data, place)
            elif wire_type in (FIXED64, FIXED32, LENGTH):
                size, place = _varint(data, place) if wire_type == LENGTH else (8 if wire_type == FIXED64 else 4, place)
                if not number or place + size > len(data):
                    return None
                value, place = data[place : place + size], place + size
            else:
                return None
            found.append(Field(number, wire_type, value))
    except IndexError:
        return None
    return found


def written(fields: Sequence[Field]) -> bytes:
    """The message of some fields.

    >>> written([Field(1, VARINT, 5), Field(2, LENGTH, b"a")])
    b'\\x08\\x05\\x12\\x01a'
    """
    parts = []
    for field in fields:
        parts.append(_as_varint(field.number << 3 | field.wire_type))
        if isinstance(field.value, int):
            parts.append(_as_varint(field.value))
        else:
            parts += [_as_varint(len(field.value)) if field.wire_type == LENGTH else b"", field.value]
    return b"".join(parts)


def _other_value(value: int | bytes, random: Random) -> int | bytes:
    if isinstance(value, int):
        return random.choice((*NUMBERS, (value + 1) & LARGEST, (value - 1) & LARGEST, random.getrandbits(64)))
    return random.choice((mutated_bytes(value, random, TEXTS), random.choice(TEXTS).encode(), value[:-1]))


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & LARGEST, place
    raise IndexError("a number is longer than ten bytes")


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
