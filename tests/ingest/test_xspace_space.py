"""Events are read from bytes as protobuf itself reads them, also where they are not written as protobuf writes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from tfprof_widget.ingest.xspace.space import ReadPlane, read_space
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import XSpace

NUMBERS = (0, 1, -1, 127, 128, 300, 2**31, 2**55, 2**56 - 1, 2**56, 2**62, 2**63 - 1, -(2**63))
TEXTS = ("", "a", "MatMul", "x" * 127, "x" * 128, "größe", "y" * 20_000)
NAMES = {1: "addr", 7: "tf_op", 200: "step_num", 70_000: "shape", 9: "not read"}
LINES = ("python", "tf_Compute/7", "Stream #7(Compute)")


def some_space(seed: int, events: int = 30) -> XSpace:
    """An XSpace with numbers and texts of all lengths, and all kinds of values."""
    chosen = random.Random(seed)
    space = XSpace(hostnames=["vm"], warnings=["late"])
    for name in ("/host:CPU", "/device:GPU:0"):
        plane = space.planes.add(name=name)
        for key, name_of_stat in {**NAMES, 5: "a text"}.items():
            plane.stat_metadata[key].name = name_of_stat
        for line_name in LINES:
            line = plane.lines.add(name=line_name, id=-3, timestamp_ns=1000)
            for _ in range(chosen.randrange(events)):
                event = line.events.add(metadata_id=chosen.choice((0, 3, 200)), duration_ps=chosen.choice(NUMBERS))
                if chosen.random() < 0.9:
                    event.offset_ps = chosen.choice(NUMBERS)
                for key in chosen.sample(sorted(NAMES), chosen.randrange(4)):
                    stat = event.stats.add(metadata_id=key)
                    field = chosen.choice(("double_value", "uint64_value", "int64_value", "str_value", "ref_value", ""))
                    if field:
                        setattr(stat, field, value_of(field, chosen))
    return space


def value_of(field: str, chosen: random.Random) -> Any:
    if field == "str_value":
        return chosen.choice(TEXTS)
    number = chosen.choice(NUMBERS)
    return {"uint64_value": number % 2**64, "ref_value": chosen.choice((5, 1, 2**64 - 1))}.get(field, number)


def as_protobuf_reads(space: XSpace) -> list[list[tuple[Any, ...]]]:
    """Of each plane the events of the lines that are read, by protobuf's own classes."""
    found = []
    for plane in space.planes:
        lines = [line for line in plane.lines if plane.name.startswith("/host:") or line.name.startswith("Stream ")]
        texts = {key: each.name for key, each in plane.stat_metadata.items()}
        found.append([told_by(event, line.name, texts) for line in lines for event in line.events])
    return found


def told_by(event: Any, line: str, texts: dict[int, str]) -> tuple[Any, ...]:
    stats: dict[str, Any] = {}
    for stat in event.stats:
        field = stat.WhichOneof("value")
        if field is not None and stat.metadata_id in NAMES.keys() - {9}:
            value = getattr(stat, field)
            stats[NAMES[stat.metadata_id]] = texts.get(value, "") if field == "ref_value" else value
    return line, event.metadata_id, event.offset_ps, event.duration_ps, stats


def as_read(plane: ReadPlane) -> Iterator[tuple[Any, ...]]:
    """The same as columns have it."""
    events = plane.events
    columns = {name: events.values(name, np.arange(len(events))) for name in NAMES.values()}
    for row in range(len(events)):
        stats = {name: values[place[row]] for name, (place, values) in columns.items() if place[row] >= 0}
        times = (int(column[row]) for column in (events.metadata, events.offset, events.duration))
        yield plane.lines[events.line[row]], *times, stats


@pytest.mark.parametrize("seed", range(8))
def test_events_are_those_that_protobuf_reads(seed: int) -> None:
    space = some_space(seed)
    read = read_space(space.SerializeToString())
    assert [list(as_read(plane)) for plane in read.planes] == as_protobuf_reads(space)
    for plane in space.planes:
        for line in plane.lines:
            del line.events[:]
    assert read.message == space


def test_many_events_are_read_in_parts() -> None:
    space = some_space(1, events=16_000)
    for read, told in zip(read_space(space.SerializeToString()).planes, as_protobuf_reads(space), strict=True):
        assert list(as_read(read)) == told
    assert max(map(len, as_protobuf_reads(space))) > 8192


def number(value: int) -> bytes:
    """A number as protobuf writes it."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes((*found, value))


def field(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + number(len(content)) + content


def host_plane(event: bytes) -> bytes:
    """An XSpace with three such events."""
    name = field(0x2A, b"\x08\x07" + field(0x12, field(0x12, b"tf_op")))
    return field(0x0A, field(0x12, b"/host:CPU") + field(0x1A, field(0x22, event) * 3 + field(0x12, b"python")) + name)


STAT = field(0x22, b"\x08\x07\x20\x05")
EVENTS = {
    "as it is": b"\x08\x03\x10\x64\x18\x02" + STAT,
    "in another order": STAT + b"\x18\x02\x10\x64\x08\x03",
    "given twice": b"\x08\x01\x08\x03\x10\x64\x18\x02" + STAT,
    "a stat whose value comes first": b"\x08\x03\x10\x64\x18\x02" + field(0x22, b"\x20\x05\x08\x07"),
    "a stat that is given twice": b"\x08\x03\x10\x64\x18\x02" + field(0x22, b"\x08\x07\x20\x04\x20\x05"),
    "with a field that nobody knows": b"\x08\x03\x10\x64\x18\x02" + STAT + field(0x7A, b"new"),
    "with a field that nobody knows first": field(0x7A, b"new") + b"\x08\x03\x10\x64\x18\x02" + STAT,
    "with a group that nobody knows": b"\x08\x03\x10\x64\x18\x02" + STAT + b"\x7b\x08\x01\x7c",
    "with a stat of no name": b"\x08\x03\x10\x64\x18\x02" + field(0x22, b"\x20\x09") + STAT,
    "in long numbers": b"\x08\x83\x80\x00\x10\xe4\x80\x80\x00\x18\x82\x00" + STAT,
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
def test_an_event_may_be_written_in_any_way_that_protobuf_reads(event: bytes) -> None:
    (read,) = read_space(host_plane(event)).planes
    assert list(as_read(read)) == [("python", 3, 100, 2, {"tf_op": 5})] * 3
    assert list(as_read(read)) == as_protobuf_reads(XSpace.FromString(host_plane(event)))[0]


def test_an_event_that_counts_has_no_time() -> None:
    """Its count stands where others have their offset."""
    line = {"name": "python", "events": [{"metadata_id": 3, "num_occurrences": 12}]}
    (read,) = read_space(XSpace(planes=[{"name": "/host:CPU", "lines": [line]}])).planes
    assert list(as_read(read)) == [("python", 3, 0, 0, {})]


def test_what_protobuf_refuses_is_refused_wherever_it_is_cut_off() -> None:
    written = some_space(3, events=5).SerializeToString()
    for size in range(1, len(written), 7):
        try:
            whole = as_protobuf_reads(XSpace.FromString(written[:size]))
        except DecodeError:
            with pytest.raises(ProfileError, match=r"xspace: these .* bytes are no XSpace"):
                read_space(written[:size])
        else:
            assert [list(as_read(plane)) for plane in read_space(written[:size]).planes] == whole


@pytest.mark.parametrize(
    "damaged",
    [
        *(b"\x22\x03\x08\x07\x20", b"\x22\x7f\x08\x07\x20\x05", b"\x0b", b"\x08" + b"\xff" * 11),
        *(b"\x22\x7f\x08\x05", b"\x22" + number(2**62) + b"\x08\x05", b"\x22" + number(2**63 - 1)),
    ],
)
def test_damage_within_an_event_is_noticed(damaged: bytes) -> None:
    """The lengths around it fit."""
    written = host_plane(damaged)
    with pytest.raises(ProfileError, match=r"xspace: these .* bytes are no XSpace"):
        read_space(written)
    with pytest.raises(DecodeError):
        XSpace.FromString(written)


def test_a_time_that_no_64_bits_hold_is_refused() -> None:
    line = {"timestamp_ns": 2**63 - 1, "events": [{"offset_ps": 2**62}]}
    (plane,) = read_space(XSpace(planes=[{"name": "/host:CPU", "lines": [line]}])).planes
    with pytest.raises(ProfileError, match="a time or size beyond"):
        plane.start_nanos(0)
