"""Keeps traces, first as bytes and then as tables, and adds up which op types cost most so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from threading import Lock
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tfprof_widget.ingest.flops.registry import with_eager_ops
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.safely import postpone_ctrl_c
from tfprof_widget.profiles.data import EAGER, FIRST, PARTIAL, kind_of_steps

if TYPE_CHECKING:
    from tfprof_widget.capturing.windows import RecordedWindow

ROOM = 64 << 20
"""The most bytes of traces to keep unread: reading them takes about as long as recording them did."""

READING_SHARE = 0.02
"""The share of the time so far that may go to reading traces before there is need to."""

SECONDS_A_BYTE = 5e-8
"""The time of reading, until traces were read that tell."""

TELLING = 1 << 14
"""How long smaller traces take to read says nothing of larger ones: it is the same for one byte as for thousands."""

JOINED_SHARE = 0.5
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

    `working` tells how long this thread has worked, by which the cost of reading is measured. Several threads may call
    the store at the same time.

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
        working: Callable[[], float] = thread_time,
    ) -> None:
        self._read, self._clock, self._working = read, clock, working
        self._room, self._most = room, most
        self._waiting: deque[tuple[Trace, int]] = deque()
        self._tables: list[Table] = []
        self._read_bytes = 0
        self._reading = Lock()
        self._measured, self._measured_seconds = TELLING, TELLING * SECONDS_A_BYTE
        self._started = clock()
        self._seconds = 0.0
        self._due = inf
        self._totals: dict[bool, tuple[int, Counter[str]]] = {}

    def add(self, trace: Trace, size: int) -> None:
        """Keep a trace of `size` bytes; no run may be in two traces."""
        self._waiting.append((trace, size))
        self._plan()

    @property
    def nbytes(self) -> int:
        """The bytes of all traces, read and unread."""
        return self._waiting_bytes + self._read_bytes

    @property
    def is_due(self) -> bool:
        """Whether a trace is to be read now; this is asked after each run, and mostly none is."""
        return self._due < inf and self._clock() >= self._due

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

    @property
    def _seconds_a_byte(self) -> float:
        return self._measured_seconds / self._measured

    def read_some(self) -> float:
        """Read all traces if they exceed the room, else one trace if that costs little; returns the seconds taken."""
        if not self.is_due:  # to postpone Ctrl-C takes longer than all else that a hook does
            return 0.0
        started = self._clock()
        with postpone_ctrl_c():
            if not self._waiting or not self._reading.acquire(blocking=False):
                return 0.0
            try:
                if self._waiting_bytes > self._room:
                    self._read_waiting()
                else:
                    self._read_next()
            finally:
                self._plan()
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

    def _plan(self) -> None:
        """Find when the first waiting trace is to be read: now if there is no room, else when that costs little."""
        try:
            _, size = self._waiting[0]
        except IndexError:
            self._due = inf
            return
        seconds = self._seconds + size * self._seconds_a_byte
        cheap = self._started + seconds / READING_SHARE if READING_SHARE else inf
        self._due = -inf if self._waiting_bytes > self._room else cheap

    def _read_waiting(self) -> None:
        while self._waiting:
            self._read_next()

    def _read_next(self) -> None:
        trace, size = self._waiting.popleft()
        started = self._working()
        found = self._read(trace)
        if found is None:
            return
        if size >= TELLING:
            self._measured += size
            self._measured_seconds += self._working() - started
        self._tables.append(found.table)
        self._read_bytes += found.nbytes
        for each in found.op_seconds:
            runs, totals = self._totals.get(each.are_warm_ups, (0, Counter[str]()))
            totals = totals.copy()  # another thread may be in `costliest`
            totals.update(each.by_type)
            self._totals = {**self._totals, each.are_warm_ups: (runs + each.runs, totals)}


def read_window(window: RecordedWindow, note: Callable[[str], None]) -> ReadTrace[TraceTable] | None:
    """The table of a window; None, with a note, if it cannot be read."""
    try:
        table = read_xspace(window.xspace, window.steps, window.started)
        table = with_eager_ops(replace(table, functions=table.functions | window.functions), window.eager_ops)
    except ProfileError as error:
        note(f"{len(window.steps):,} steps are missing: {error}")
        return None
    return ReadTrace(table, table.nbytes, tuple(seconds_by_type(table)))


def seconds_by_type(table: TraceTable) -> Iterator[OpSeconds]:
    """The time of each op type in the steps of warm-ups and of runs recorded in part, and in the others.

    >>> from tfprof_widget.ingest.xspace.reader import read_xspace
    >>> list(seconds_by_type(read_xspace(b"")))
    []
    """
    for are_warm_ups in (False, True):
        steps = [
            number
            for number, name in table.step_names.items()
            if name != EAGER and name.endswith((*FIRST, PARTIAL)) == are_warm_ups
        ]
        counted = np.isin(table.step, steps)
        nanos = np.bincount(table.label[counted], table.duration[counted], minlength=len(table.labels))
        found: Counter[str] = Counter()
        for label, each in zip(table.labels, nanos.tolist(), strict=True):
            if label.kind not in ("eager part", "iterator"):  # iterators mostly wait
                found[label.op] += each / 1e9
        if steps:
            yield OpSeconds(len(steps), found, are_warm_ups)


def with_marks(table: TraceTable, marks: Mapping[int, str]) -> TraceTable:
    """The table, with a mark behind the kind in the names of those steps that do not stand for it.

    Whether a call is a warm-up is known when it is over: only then it is sure that it did not trace its function again.

    >>> from tfprof_widget.ingest.xspace.reader import read_xspace
    >>> with_marks(read_xspace(b""), {1: " (shorter)"}).step_names
    {}
    """
    names = {step: kind_of_steps(name) + marks[step] for step, name in table.step_names.items() if step in marks}
    return replace(table, step_names={**table.step_names, **names})
