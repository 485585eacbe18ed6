"""Keeps the traces that TensorFlow's profiler gave: a while as they came, then as columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from time import perf_counter

import numpy as np

from tfprof_widget.capturing.interrupts import interrupted_later
from tfprof_widget.capturing.recorded import WARM_UP
from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.xspace import Step, read_xspace
from tfprof_widget.ingest.xspace_columns import XSpaceColumns

EAGER = "eager ops"

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


class Traces:
    """The traces of one capture; `note` is told sentences for the result. Threads may call it at the same time.

    >>> traces = Traces(print)
    >>> traces.add(b"", [])
    >>> len(traces.all()), traces.costliest(3)
    (1, [])
    """

    def __init__(self, note: Callable[[str], None], *, room: int = ROOM, most: int = MOST) -> None:
        self._note = note
        self._room, self._most = room, most
        self._waiting: deque[tuple[bytes, Sequence[Step], int]] = deque()
        self._read: list[XSpaceColumns] = []
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

        >>> round(Traces(print).reading_seconds(2_000_000), 3)
        0.125
        """
        return size * self._seconds_a_byte * (1 + JOINED_SHARE)

    def read_some(self) -> float:
        """Read what there is no room for, else one trace if that costs little; returns the seconds that it took."""
        started = perf_counter()
        with interrupted_later():
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

    def all(self) -> list[XSpaceColumns]:
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

    def _add_totals(self, columns: XSpaceColumns) -> None:
        """Add what ops took in steps that are no warm-up."""
        numbers = [
            number for number, name in columns.step_names.items() if name != EAGER and not name.endswith(WARM_UP)
        ]
        steps, totals = self._totals
        totals = dict(totals)
        for op, seconds in _op_seconds(columns, numbers):
            totals[op] = totals.get(op, 0.0) + seconds
        self._totals = (steps + len(numbers), totals)


def _op_seconds(columns: XSpaceColumns, steps: Sequence[int]) -> Iterator[tuple[str, float]]:
    counted = np.isin(columns.step, steps)
    nanos = np.bincount(columns.label[counted], columns.duration[counted], minlength=len(columns.labels))
    for label, each in zip(columns.labels, nanos.tolist(), strict=True):
        if label.kind not in ("eager part", "iterator"):  # iterators mostly wait
            yield label.op, each / 1e9
