"""Tells the memory of each execution in an XSpace, as a RunMetadata does: what it took, and until when it was held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tfprof_widget.ingest.xspace_events import Event, count_of


@dataclass
class Memory:
    """The bytes of one execution."""

    requested: int = 0
    peak: int = 0
    residual: int = 0
    output: int = 0
    bytes_in_use: int = 0


class Record(NamedTuple):
    """An allocation or release, when it was (nanoseconds), its bytes, negative if released, and where."""

    nanos: int
    size: int
    address: int
    on_accelerator: bool


def add_up(events: Iterable[Event]) -> Memory:
    """The memory of an execution from the allocations and releases in it, in their order.

    What it releases of its own is not residual; what it releases of others' is theirs.

    >>> def event(kind, address, size, **more):
    ...     return Event(kind, "", "", 5000, 0, {"addr": address, "requested_bytes": size, **more})
    >>> events = [event("allocation", 1, 8), event("allocation", 2, 4, region_type="output"), event("release", 1, 8)]
    >>> memory = add_up(events)
    >>> memory.requested, memory.peak, memory.residual, memory.output
    (12, 12, 4, 4)
    """
    memory = Memory()
    live: dict[int, int] = {}
    for event in events:
        record = record_of(event)
        if event.kind == "release":
            memory.residual -= live.pop(record.address, 0)
            continue
        live[record.address] = record.size
        memory.requested += record.size
        memory.residual += record.size
        memory.peak = max(memory.peak, memory.residual)
        memory.output += record.size if event.stats.get("region_type") == "output" else 0
        if record.on_accelerator:
            memory.bytes_in_use = max(memory.bytes_in_use, count_of(event.stats, "bytes_allocated"))
    return memory


def record_of(event: Event) -> Record:
    """What an event of the allocator says.

    >>> record_of(Event("release", "", "", 5000, 0, {"addr": 1, "requested_bytes": 8}))
    Record(nanos=5000, size=-8, address=1, on_accelerator=False)
    """
    size = count_of(event.stats, "requested_bytes")
    on_accelerator = "GPU" in str(event.stats.get("allocator_name", "")).upper()
    return Record(
        event.start, -size if event.kind == "release" else size, count_of(event.stats, "addr"), on_accelerator
    )


def held(allocations: Iterable[tuple[int, Record]], releases: Iterable[Record]) -> list[tuple[int, Record]]:
    """The allocations, each after its owner, and their releases, in order of time: a release has the same owner.

    Any thread may release what another allocated. What no owner allocated is left out.

    >>> first, again = Record(10, 8, 1, False), Record(30, 4, 1, False)
    >>> found = held([(7, first), (9, again)], [Record(5, -2, 1, False), Record(20, -8, 1, False)])
    >>> [(owner, record.nanos, record.size) for owner, record in found]
    [(7, 10, 8), (7, 20, -8), (9, 30, 4)]
    """
    live: dict[int, tuple[int, int]] = {}
    found: list[tuple[int, Record]] = []
    events = [*allocations, *((None, record) for record in releases)]
    for owner, record in sorted(events, key=lambda event: event[1].nanos):
        if owner is not None:
            live[record.address] = (owner, record.size)
            found.append((owner, record))
        elif record.address in live:
            owner, size = live.pop(record.address)
            found.append((owner, record._replace(size=-size)))
    return found
