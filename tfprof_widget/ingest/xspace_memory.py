"""Adds up what the allocators say of each execution in an XSpace, as the memory of a RunMetadata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tfprof_widget.ingest.xspace_events import Event
from tfprof_widget.integers import NANOS_A_MICRO


@dataclass
class Memory:
    """The bytes of one execution; `records` are (microsecond, bytes, whether on an accelerator), releases negative."""

    requested: int = 0
    peak: int = 0
    residual: int = 0
    output: int = 0
    bytes_in_use: int = 0
    records: list[tuple[int, int, bool]] = field(default_factory=list)


def add_up(events: Iterable[Event]) -> Memory:
    """The memory of an execution from its allocations and releases, in their order.

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
        stats = event.stats
        address = int(stats.get("addr", 0))
        on_accelerator = "GPU" in str(stats.get("allocator_name", "")).upper()
        micros = event.start // NANOS_A_MICRO
        if event.kind == "release":
            size = live.pop(address, 0)
            if size:
                memory.residual -= size
                memory.records.append((micros, -size, on_accelerator))
            continue
        size = int(stats.get("requested_bytes", 0))
        live[address] = size
        memory.requested += size
        memory.residual += size
        memory.peak = max(memory.peak, memory.residual)
        memory.output += size if stats.get("region_type") == "output" else 0
        memory.records.append((micros, size, on_accelerator))
        if on_accelerator:
            memory.bytes_in_use = max(memory.bytes_in_use, int(stats.get("bytes_allocated", 0)))
    return memory
