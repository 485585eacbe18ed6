"""Keeps traces as bytes, then as tables, and adds up which ops cost most so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Generic, TypeVar

from tfprof_widget.lib.safely import postpone_ctrl_c

ROOM = 64 << 20
"""So many bytes lie as they came at most: to read them takes about as long as to record them did."""

READING_SHARE = 0.02
"""The share of the time since the beginning that may be spent to read what lies there before it is too much."""

SECONDS_A_BYTE = 5e-8
"""What reading takes, until it is known better."""

JOINED_SHARE = 0.25
"""To join what was read with the graph takes so much of the time to read it."""

Trace = TypeVar("Trace")
Table = TypeVar("Table")


@dataclass(frozen=True)
class OpSeconds:
    """What op types took in some runs, and whether those were the first of their kind.

    >>> OpSeconds(2, {"MatMul": 0.5}).by_type
    {'MatMul': 0.5}
    """

    runs: int = 0
    by_type: Mapping[str, float] = field(default_factory=dict)
    are_warm_ups: bool = False


@dataclass(frozen=True)
class ReadTrace(Generic[Table]):
    """A trace that was read: its table, the bytes that are kept for it, and what op types took."""

    table: Table
    nbytes: int
    op_seconds: tuple[OpSeconds, ...] = ()


class TraceStore(Generic[Trace, Table]):
    """The traces of one capture, of any source; `read` turns one into a table, or gives None for what is lost.

    Threads may call it at the same time.

    >>> traces = TraceStore(lambda text: ReadTrace(text.upper(), len(text), (OpSeconds(2, {"MatMul": 0.5}),)))
    >>> traces.add("trace", size=5)
    >>> traces.all(), traces.costliest(3)
    (['TRACE'], [('MatMul', 0.25)])
    """

    def __init__(
        self,
        read: Callable[[Trace], ReadTrace[Table] | None],
        *,
        room: int = ROOM,
        most: int = 2 * ROOM,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._read, self._clock = read, clock
        self._room, self._most = room, most
        self._waiting: deque[tuple[Trace, int]] = deque()
        self._tables: list[Table] = []
        self._read_bytes = 0
        self._reading = Lock()
        self._seconds_a_byte = SECONDS_A_BYTE
        self._started = clock()
        self._seconds = 0.0
        self._totals: dict[bool, tuple[int, Counter[str]]] = {}

    def add(self, trace: Trace, size: int) -> None:
        """Keep a trace of so many bytes; a run is in one trace only."""
        self._waiting.append((trace, size))

    @property
    def nbytes(self) -> int:
        """The bytes that are kept."""
        return self._waiting_bytes + self._read_bytes

    @property
    def is_full(self) -> bool:
        """Whether no more should be added."""
        return self.nbytes > self._most

    @property
    def waiting_seconds(self) -> float:
        """What it will take to read and join the traces that lie there, as far as is known."""
        return self.reading_seconds(self._waiting_bytes)

    def reading_seconds(self, size: int) -> float:
        """What it takes to read and join a trace of so many bytes, as far as is known."""
        return size * self._seconds_a_byte * (1 + JOINED_SHARE)

    def read_some(self) -> float:
        """Read what there is no room for, else one trace if that costs little; returns the seconds that it took."""
        started = self._clock()
        with postpone_ctrl_c():
            if not self._waiting or not self._reading.acquire(blocking=False):
                return 0.0
            try:
                if self._waiting_bytes > self._room:
                    self._read_waiting()
                elif self._waiting and self._is_cheap(self._waiting[0][1], started):
                    self._read_next()
            finally:
                self._reading.release()
        seconds = self._clock() - started
        self._seconds += seconds
        return seconds

    def all(self) -> list[Table]:
        """All traces, read."""
        with self._reading:
            self._read_waiting()
            return list(self._tables)

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that take most of a run, by what was read so far: each with its seconds a run.

        Those of first runs are told until others come.
        """
        runs, totals = self._totals.get(False) or self._totals.get(True) or (1, Counter[str]())
        return [(op, seconds / runs) for op, seconds in totals.most_common(limit)]

    @property
    def _waiting_bytes(self) -> int:
        return sum(size for _, size in list(self._waiting))

    def _is_cheap(self, size: int, now: float) -> bool:
        return self._seconds + size * self._seconds_a_byte < READING_SHARE * (now - self._started)

    def _read_waiting(self) -> None:
        while self._waiting:
            self._read_next()

    def _read_next(self) -> None:
        trace, size = self._waiting.popleft()
        started = self._clock()
        found = self._read(trace)
        if found is None:
            return
        if size:
            self._seconds_a_byte = (self._clock() - started) / size
        self._tables.append(found.table)
        self._read_bytes += found.nbytes
        for each in found.op_seconds:
            runs, totals = self._totals.get(each.are_warm_ups, (0, Counter[str]()))
            totals = totals.copy()  # another thread may be telling of it
            totals.update(each.by_type)
            self._totals = {**self._totals, each.are_warm_ups: (runs + each.runs, totals)}
