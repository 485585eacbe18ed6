"""Keeps traces as bytes, then as tables, and adds up which ops cost most so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfprof_widget.ingest.parts.names import may_be_node
from tfprof_widget.ingest.run_metadata import op_of_label
from tfprof_widget.ingest.xspace.reader import Step, TraceTable, read_xspace
from tfprof_widget.lib.arrays import NANOS_A_MICRO
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import SealedRun
from tfprof_widget.lib.safely import postpone_ctrl_c
from tfprof_widget.profiles.data import EAGER, WARM_UP
from tfprof_widget.profiles.devices import accelerator_streams, canonical

ROOM = 64 << 20
"""So many bytes lie as they came at most: to read them takes about as long as to record them did."""

MOST = 128 << 20
"""So many bytes are kept at most, in either form."""

READING_SHARE = 0.02
"""The share of the time since the beginning that may be spent to read what lies there before it is too much."""

SECONDS_A_BYTE = 5e-8
"""What reading takes, until it is known better."""

JOINED_SHARE = 0.25
"""To join what was read with the graph takes so much of the time to read it."""


class TraceStore:
    """The traces of one capture; `note` is told sentences for the result. Threads may call it at the same time.

    >>> traces = TraceStore(print)
    >>> traces.add(b"", [])
    >>> len(traces.all()), traces.costliest(3)
    (1, [])
    """

    def __init__(self, note: Callable[[str], None], *, room: int = ROOM, most: int = MOST) -> None:
        self._note = note
        self._room, self._most = room, most
        self._waiting: deque[tuple[bytes, Sequence[Step], int]] = deque()
        self._read: list[TraceTable] = []
        self._reading = Lock()
        self._seconds_a_byte = SECONDS_A_BYTE
        self._started = perf_counter()
        self._seconds = 0.0
        self._totals: tuple[int, dict[str, float]] = (0, {})

    def add(self, xspace: bytes, steps: Sequence[Step], profiling_started: int = 0) -> None:
        """Keep a trace and the steps that it holds; a step is in one trace only."""
        self._waiting.append((xspace, steps, profiling_started))

    @property
    def nbytes(self) -> int:
        """The bytes that are kept."""
        return self._waiting_bytes + sum(columns.nbytes for columns in self._read)

    @property
    def is_full(self) -> bool:
        """Whether no more should be added."""
        return self.nbytes > self._most

    @property
    def waiting_seconds(self) -> float:
        """How long it will take to read what lies as it came, and to join it with the graph."""
        return self.reading_seconds(self._waiting_bytes)

    def reading_seconds(self, size: int) -> float:
        """How long it will take to read so many bytes, and to join what is in them with the graph.

        >>> round(TraceStore(print).reading_seconds(2_000_000), 3)
        0.125
        """
        return size * self._seconds_a_byte * (1 + JOINED_SHARE)

    def read_some(self) -> float:
        """Read what there is no room for, else one trace if that costs little; returns the seconds that it took."""
        started = perf_counter()
        with postpone_ctrl_c():
            if not self._waiting or not self._reading.acquire(blocking=False):
                return 0.0
            try:
                if self._waiting_bytes > self._room:
                    self._read_waiting()
                elif self._waiting and self._is_cheap(len(self._waiting[0][0]), started):
                    self._read_next()
            finally:
                self._reading.release()
        seconds = perf_counter() - started
        self._seconds += seconds
        return seconds

    def all(self) -> list[TraceTable]:
        """All traces, read."""
        with self._reading:
            self._read_waiting()
            return list(self._read)

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that take most of a step, by what was read so far: each with its seconds a step."""
        steps, totals = self._totals
        ordered = sorted(totals.items(), key=lambda each: -each[1])
        return [(op, seconds / steps) for op, seconds in ordered[:limit]]

    @property
    def _waiting_bytes(self) -> int:
        return sum(len(xspace) for xspace, *_ in list(self._waiting))

    def _is_cheap(self, size: int, now: float) -> bool:
        return self._seconds + size * self._seconds_a_byte < READING_SHARE * (now - self._started)

    def _read_waiting(self) -> None:
        while self._waiting:
            self._read_next()

    def _read_next(self) -> None:
        xspace, steps, profiling_started = self._waiting.popleft()
        started = perf_counter()
        try:
            columns = read_xspace(xspace, steps, profiling_started)
        except ProfileError as error:
            self._note(f"{len(steps):,} steps are missing: {error}")
            return
        if xspace:
            self._seconds_a_byte = (perf_counter() - started) / len(xspace)
        self._read.append(columns)
        self._add_totals(columns)

    def _add_totals(self, columns: TraceTable) -> None:
        """Add what ops took in steps that are no warm-up."""
        numbers = [
            number for number, name in columns.step_names.items() if name != EAGER and not name.endswith(WARM_UP)
        ]
        steps, totals = self._totals
        totals = dict(totals)
        for op, seconds in _op_seconds(columns, numbers):
            totals[op] = totals.get(op, 0.0) + seconds
        self._totals = (steps + len(numbers), totals)


def _op_seconds(columns: TraceTable, steps: Sequence[int]) -> Iterator[tuple[str, float]]:
    counted = np.isin(columns.step, steps)
    nanos = np.bincount(columns.label[counted], columns.duration[counted], minlength=len(columns.labels))
    for label, each in zip(columns.labels, nanos.tolist(), strict=True):
        if label.kind not in ("eager part", "iterator"):  # iterators mostly wait
            yield label.op, each / 1e9


# Looking may take this share of the time, whatever the size of the graph.
SHARE = 0.02


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run that was traced: its graph (a tf.Graph), its RunMetadata, and whether it was the first of its kind."""

    graph: Any
    metadata: bytes
    warm_up: bool


class CostliestOps:
    """The mean costs of op types over the traced runs that were looked at; warm-ups count until others come.

    >>> run = SealedRun()
    >>> device = run.step_stats.dev_stats.add(device="/job:a/device:CPU:0")
    >>> _ = device.node_stats.add(node_name="loss", op_end_rel_nanos=500)
    >>> ops = CostliestOps(lambda: 0.0)
    >>> ops.ran(TracedRun(None, run.SerializeToString(), warm_up=False))
    >>> ops.costliest(3)
    [('loss', 5e-07)]
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looking = Lock()
        self._latest: TracedRun | None = None
        self._nanos: Counter[str] = Counter()
        self._runs = 0
        self._are_warm_ups = True
        self._op_types: dict[tuple[int, str], str] = {}
        self._rests_until = float("-inf")

    def ran(self, run: TracedRun) -> None:
        """Take note of the latest run: no more than this is done where the runs are waited for."""
        latest = self._latest
        if latest is None or latest.warm_up or not run.warm_up:
            self._latest = run

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that cost most, and the seconds that each took a run; looks at the latest run if it may."""
        with self._looking:
            started = self._clock()
            if started >= self._rests_until and self._latest is not None:
                run, self._latest = self._latest, None
                self._look(run)
                self._rests_until = started + (self._clock() - started) / SHARE
            return [(op, nanos / 1e9 / self._runs) for op, nanos in self._nanos.most_common(limit)]

    def _look(self, run: TracedRun) -> None:
        if run.warm_up and not self._are_warm_ups:
            return
        try:
            devices = SealedRun.FromString(run.metadata).step_stats.dev_stats
        except DecodeError:  # the result will tell of it
            return
        if not devices:
            return
        if self._are_warm_ups and not run.warm_up:
            self._are_warm_ups = False
            self._nanos.clear()
            self._runs = 0
        self._runs += 1
        names = [device.device.lower() for device in devices]
        counts = canonical(names) | accelerator_streams(names)
        for device, is_counted in zip(devices, counts.tolist(), strict=True):
            for execution in device.node_stats if is_counted else ():
                name = execution.node_name.partition(":")[0]
                if may_be_node(name):
                    nanos = execution.op_end_rel_nanos or execution.op_end_rel_micros * NANOS_A_MICRO
                    self._nanos[self._op_type(run.graph, name, execution.timeline_label)] += nanos

    def _op_type(self, graph: Any, name: str, label: str) -> str:
        """A node's op; as in a profile, where the graph lacks it the op that ran, else its name."""
        key = id(graph), name
        if key not in self._op_types:
            self._op_types[key] = op_of_label(label) or name
            with suppress(Exception):
                self._op_types[key] = graph.get_operation_by_name(name).type
        return self._op_types[key]
