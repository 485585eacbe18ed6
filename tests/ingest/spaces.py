"""XSpaces made by hand, so that every figure of them is known."""

from __future__ import annotations

from typing import Any

from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.resolve import resolved_runs
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.lib.messages import XSpace

ORIGIN = 1_700_000_000_000_000_000


class Space:
    """An XSpace that is put together event by event; times are in nanoseconds since the start of profiling."""

    def __init__(self) -> None:
        self.message = XSpace()
        environment = self.message.planes.add(name="Task Environment")
        environment.stat_metadata[1].name = "profile_start_time"
        environment.stats.add(metadata_id=1, uint64_value=ORIGIN)
        self.planes: dict[str, Any] = {}
        self.lines: dict[tuple[str, str], Any] = {}

    def add(
        self, line: str, event_name: str, start: int, duration: int, plane: str = "/host:CPU", /, **stats: Any
    ) -> None:
        known = self.planes.get(plane)
        if known is None:
            known = self.planes[plane] = self.message.planes.add(name=plane)
        found = self.lines.get((plane, line))
        if found is None:
            found = self.lines[plane, line] = known.lines.add(id=len(known.lines), name=line, timestamp_ns=100)
        number = numbered(known.event_metadata, event_name)
        event = found.events.add(metadata_id=number, offset_ps=(start - 100) * 1000, duration_ps=duration * 1000)
        for key, value in stats.items():
            stat = event.stats.add(metadata_id=numbered(known.stat_metadata, key))
            if isinstance(value, int):
                stat.int64_value = value
            else:
                stat.ref_value = numbered(known.stat_metadata, value)

    def run(self, *steps: Step, **more: Any) -> Any:
        ((_, run),) = resolved_runs(read_xspace(self.message, steps), **more).runs
        return run


def numbered(metadata: Any, name: str) -> int:
    for number, each in metadata.items():
        if each.name == name:
            return int(number)
    number = len(metadata) + 1
    metadata[number].id = number
    metadata[number].name = name
    return number
