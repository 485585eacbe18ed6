"""Keeps traces, first as bytes and then as tables, and adds up which op types cost most so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Generic, TypeVar

from tfprof_widget.lib.safely import postpone_ctrl_c

ROOM = 64 << 20
"""The most bytes of traces to keep unread: reading them takes about as long as recording them did."""

READING_SHARE = 0.02
"""The share of the time so far that may go to reading traces before there is need to."""

SECONDS_A_BYTE = 5e-8
"""The time of reading, until the first trace was read."""

JOINED_SHARE = 0.25
"""The time of joining a trace with the graph, as a share of the time of reading the trace."""

Trace = TypeVar("Trace")
Table = TypeVar("Table")


@dataclass(frozen=True)
class OpSeconds:
    """The seconds of each op type in some runs, and whether these runs were warm-ups.

    >>> OpSeconds(2, {"MatMul": 0.5}).by_type
    {'MatMul': 0.5}
    """

    runs: int = 0
    by_type: Mapping[str, float] = field(default_factory=dict)
    are_warm_ups: bool = False


@dataclass(frozen=True)
class ReadTrace(Generic[Table]):
    """A trace that was read: its table, the bytes that it takes, and the seconds of op types."""

    table: Table
    nbytes: int
    op_seconds: tuple[OpSeconds, ...] = ()


class TraceStore(Generic[Trace, Table]):
    """The traces of one capture, of any source; `read` turns a trace into a table, or gives None if that fails.

    Several threads may call the store at the same time.

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
        """Keep a trace of `size` bytes; no run may be in two traces."""
        self._waiting.append((trace, size))

    @property
    def nbytes(self) -> int:
        """The bytes of all traces, read and unread."""
        return self._waiting_bytes + self._read_bytes

    @property
    def is_full(self) -> bool:
        """Whether no more should be added."""
        return self.nbytes > self._most

    @property
    def waiting_seconds(self) -> float:
        """How long it will take to read and join the unread traces, estimated from earlier ones."""
        return self.reading_seconds(self._waiting_bytes)

    def reading_seconds(self, size: int) -> float:
        """How long it takes to read and join a trace of `size` bytes, estimated from earlier ones."""
        return size * self._seconds_a_byte * (1 + JOINED_SHARE)

    def read_some(self) -> float:
        """Read all traces if they exceed the room, else one trace if that costs little; returns the seconds taken."""
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
        """Read what is unread, and return the tables of all traces."""
        with self._reading:
            self._read_waiting()
            return list(self._tables)

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The costliest op types by the traces read so far, each with its seconds in one run.

        Warm-up runs count only until another run was read.
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
            totals = totals.copy()  # another thread may be in `costliest`
            totals.update(each.by_type)
            self._totals = {**self._totals, each.are_warm_ups: (runs + each.runs, totals)}
