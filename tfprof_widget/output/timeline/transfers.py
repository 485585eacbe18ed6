"""What went between devices, on a timeline: a process for each device that got something, and arrows to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.activity import Activity
from tfprof_widget.cluster.producers import Producers
from tfprof_widget.cluster.waits import Waits
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.output.timeline.lanes import first_free_lanes
from tfprof_widget.output.timeline.placed import Placed
from tfprof_widget.output.timeline.trace_events import Place, as_json, flow_events, label_event, slice_event
from tfprof_widget.output.timeline.tracks import Tracks
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers

_NANOS_A_SECOND = 10**9


@dataclass(frozen=True, eq=False)
class PlacedTransfers:
    """The transfers that are shown: their rows in the waits, and where each stands."""

    profile: Profile
    waits: Waits
    rows: Integers
    start: Integers
    tracks: Tracks
    process: Integers
    lane: Integers

    @classmethod
    def of(cls, profile: Profile, when: Placed, displayed: Flags, first_track: int) -> PlacedTransfers:
        """Those of the steps that have a place, of the tensors of displayed nodes and of those that are no node's."""
        waits = Waits.of(Activity(profile, tuple(when.spans)))
        transfers = profile.transfers
        node = transfers.node[waits.transfer]
        rows = np.flatnonzero(np.append(displayed, True)[node])
        shift = np.zeros(len(profile.steps), np.int64)
        for step, span in when.spans.items():
            shift[step] = span.start - span.origin
        start = np.maximum(waits.begin[rows] + shift[transfers.step[waits.transfer[rows]]], 0)
        tracks = Tracks.of(profile, transfers.devices, first_track)
        chosen = waits.transfer[rows]
        process = tracks.number(transfers.step[chosen], transfers.target[chosen])
        lane = np.zeros(len(rows), np.int64)
        for each in np.unique(process).tolist():
            there = np.flatnonzero(process == each)
            lane[there] = first_free_lanes(start[there], waits.transfer_nanos[rows][there])
        return cls(profile, waits, rows, start, tracks, process, lane)

    def labels(self) -> Iterator[str]:
        """What the processes are."""
        among = (*self.profile.nodes.devices, *self.profile.transfers.devices)
        yield from self.tracks.labels(self.process, among, " · received")
        for process in np.unique(self.process).tolist():
            for lane in range(int(self.lane[self.process == process].max()) + 1):
                yield label_event("thread_name", (process, lane), f"lane {lane}")

    def slices(self) -> Iterator[str]:
        """Each with where it came from, its bytes, its rate, and how long its target stood still for it before."""
        transfers = self.profile.transfers
        took, wait = self.waits.transfer_nanos[self.rows], self.waits.wait[self.rows]
        for at in np.lexsort((self.lane, self.process, self.start)).tolist():
            row = int(self.waits.transfer[self.rows[at]])
            size, nanos = int(transfers.bytes[row]), int(took[at])
            args = {
                "from": transfers.devices[transfers.source[row]],
                "step": self.profile.steps[transfers.step[row]],
                "bytes": size,
                "bytes_per_second": round(size * _NANOS_A_SECOND / nanos) if nanos else None,
                "wait_us": int(wait[at]) / NANOS_A_MICRO,
            }
            kind = as_json(transfers.kinds[transfers.kind[row]])
            name = as_json(transfers.tensors[transfers.tensor[row]])
            yield slice_event(name, kind, self._place(at), int(self.start[at]), nanos, as_json(args))

    def arrows(self, when: Placed, shown: Flags, places: tuple[Integers, Integers], number: int) -> Iterator[str]:
        """From the execution that made each tensor, if it is shown; they are numbered from a number on."""
        track, lanes = places
        made = Producers.of(self.profile).execution[self.waits.transfer[self.rows]]
        for at in np.flatnonzero((made >= 0) & shown[made]).tolist():
            execution, start = int(made[at]), int(self.start[at])
            begin = int(when.start[execution])
            left = max(begin, min(begin + int(when.duration[execution]) - 1, start))
            source = int(track[execution]), int(lanes[execution])
            yield from flow_events(as_json("sent"), number + at, (source, left), (self._place(at), start))

    def _place(self, at: int) -> Place:
        return int(self.process[at]), int(self.lane[at])
