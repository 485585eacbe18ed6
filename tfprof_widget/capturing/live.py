"""Tells any thread how a running capture stands, by dividing only the time since the last look."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import takewhile
from operator import itemgetter
from statistics import median
from threading import Lock

import numpy as np

from tfprof_widget.analysis.account.cell import CellSpans, divide
from tfprof_widget.capturing.cell_log import CellLog, Spans, nanos_of
from tfprof_widget.capturing.recorder import RunUnderWay, SamplingRecorder
from tfprof_widget.capturing.tallies import UNTRACED, KindTally
from tfprof_widget.lib.arrays import Floats
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.cell import CELL_PARTS, FIRST_RUN, RAISED
from tfprof_widget.profiles.live import MOST_NOTES, MOST_OPS, MOST_STEPS, LiveState, Phase

PATIENCE = 0.02
"""A look waits for a recorder so many seconds at most; if it is busy, as when a window ends, the next look tells."""

COMPARED = 20
"""The medians at first and lately are of so many steps."""

MOST_KEPT = 100_000
"""While a run goes on for very long, so many others beside it are kept until it is over."""

Stretches = tuple[str, Floats, Floats]
"""A part of the cell, when it began each time, and when it ended."""


@dataclass
class _SeenKind:
    """How much of the log of a kind was looked at, its first steps after the warm-up, and its last steps."""

    runs: int = 0
    rest: float = 0.0
    first: list[float] = field(default_factory=list)
    steady: deque[float] = field(default_factory=lambda: deque(maxlen=COMPARED))
    last: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_STEPS))


@dataclass(frozen=True)
class _EndedRuns:
    """Runs of a kind, of which the first has this place in its log: when they began, what they took, and their marks.

    `built` is when Python had built a function. What is only added up took `rest`, and the last of that `late`.
    """

    first: int
    started: array[float]
    seconds: array[float]
    marks: Mapping[int, int]
    built: Mapping[int, float]
    rest: float
    late: tuple[float, ...]


@dataclass
class _SeenSpans:
    """How many bounds of some spans were looked at, and what was only added up."""

    bounds: int = 0
    rest: float = 0.0


class LiveWatch:
    """How a capture stands; `state` may be called from any thread, and does not hold the captured code up.

    >>> watch = LiveWatch("train.py", CellLog(), [])
    >>> watch.state().phase, watch.state().what
    ('starting', 'train.py')
    """

    def __init__(self, what: str, log: CellLog, sources: Sequence[SamplingRecorder]) -> None:
        self._what, self._log, self._sources = what, log, sources
        self._looking = Lock()
        self._kinds: dict[KindTally, _SeenKind] = {}
        self._spans = {"tracing": _SeenSpans(), "input": _SeenSpans(), "tfprof": _SeenSpans()}
        self._watching = 0.0
        self._until = log.entered
        self._settled = self._parts = dict.fromkeys(CELL_PARTS, 0.0)
        self._kept: list[Stretches] = []
        self._sums = dict.fromkeys(CELL_PARTS, 0.0)

    def state(self) -> LiveState:
        """How the capture stands now; its parts may be of some moments ago where a recorder is busy."""
        log = self._log
        with self._looking:
            now = log.clock() if log.closing is None else log.closing
            self._look(now)
            kind = max(self._kinds, key=_weight, default=None)
            seen = self._kinds[kind] if kind is not None else _SeenKind()
            counts = [source.counts() for source in self._sources]
            return LiveState(
                what=self._what,
                phase=self._phase(),
                seconds=log.clock() - log.entered,
                runs=sum(runs for runs, _ in counts),
                traced=sum(traced for _, traced in counts),
                kind=kind.name if kind is not None else "",
                steps=kind.counts()[0] if kind is not None else 0,
                first_seconds=median(seen.first) if seen.first else 0.0,
                step_seconds=median(seen.steady or seen.last or [0.0]),
                strip=tuple(seen.last),
                under_way=max((max(now - run.started, 0.0) for run in self._under_way()), default=0.0),
                parts={part: seconds for part, seconds in self._parts.items() if seconds > 0},
                costliest=tuple(self.costliest(MOST_OPS)),
                notes=tuple(note for source in self._sources for note in source.notes)[:MOST_NOTES],
            )

    def costliest(self, limit: int) -> list[tuple[str, float]]:
        """The op types that cost most in one run, of all sources, as far as traces have been read.

        >>> LiveWatch("", CellLog(), []).costliest(3)
        []
        """
        return nlargest(
            limit, (each for source in self._sources for each in source.costliest(limit)), key=itemgetter(1)
        )

    def _phase(self) -> Phase:
        if self._log.closing is not None:
            return "reading"
        if any(kind.traced.runs or kind.untraced.runs for kind in self._kinds):
            return "running"
        return "first runs" if self._kinds or any(self._under_way()) else "starting"

    def _under_way(self) -> Iterator[RunUnderWay]:
        for source in self._sources:
            yield from (run for run in tuple(source.under_way) if not self._is_beside(run.kind))

    def _is_beside(self, kind: KindTally) -> bool:
        """Whether runs of a kind go on in other threads than those that the cell waits for."""
        return kind.is_beside and self._log.has_own

    def _look(self, now: float) -> None:
        """Divide the time until now, unless a recorder is busy: then the next look does.

        What a run is made of is known when it has ended: until then its time is divided anew at each look.
        """
        going: list[Stretches] = []
        for source in self._sources:
            if not source.lock.acquire(timeout=PATIENCE):
                return
            try:
                ended = [(kind, self._ended(kind)) for kind in tuple(source.sampler.kinds.values())]
                under_way = [(run.is_warm_up, run.started) for run in source.under_way if not self._is_beside(run.kind)]
            finally:
                source.lock.release()
            for kind, runs in ended:
                self._keep(kind, runs)
            going += [("first" if first else "steps", np.array([at]), np.array([now])) for first, at in under_way]
        for part, spans in self._logged():
            self._sums[part] += self._keep_spans(part, spans)
        watching = self._log.watching
        self._sums["tfprof"] += watching - self._watching
        self._watching = watching
        until = now
        if sum(len(start) for _, start, _ in self._kept) < MOST_KEPT:
            until = min([now, *(float(start[0]) for _, start, _ in going)])
            until = self._until if self._log.building else max(until, self._until)
        if until > self._until:
            self._settled = _added(self._settled, self._divided(self._kept, self._sums, self._until, until))
            self._sums = dict.fromkeys(CELL_PARTS, 0.0)
        self._kept = [
            (part, start[end > until], end[end > until]) for part, start, end in self._kept if (end > until).any()
        ]
        self._until = until
        self._parts = self._settled
        if until < now:
            self._parts = _added(self._settled, self._divided(self._kept + going, {}, until, now))

    def _logged(self) -> Iterable[tuple[str, Spans]]:
        return (("tracing", self._log.tracing), ("input", self._log.waiting), ("tfprof", self._log.own))

    def _ended(self, kind: KindTally) -> _EndedRuns:
        """The runs of a kind that ended since the last look; the recorder's lock is held, so this only copies."""
        log, seen = kind.log, self._kinds.setdefault(kind, _SeenKind())
        found = _EndedRuns(
            seen.runs,
            log.started[seen.runs :],
            log.seconds[seen.runs :],
            {place: log.marks[place] for place in takewhile(lambda place: place >= seen.runs, reversed(log.marks))},
            {place: log.built[place] for place in takewhile(lambda place: place >= seen.runs, reversed(log.built))},
            log.rest - seen.rest,
            tuple(log.late) if log.rest > seen.rest else (),
        )
        seen.runs, seen.rest = seen.runs + len(found.started), log.rest
        return found

    def _keep(self, kind: KindTally, runs: _EndedRuns) -> None:
        """Keep the runs of a kind for the next division, and as what its steps are told by."""
        seen, start, seconds = self._kinds[kind], np.array(runs.started), np.array(runs.seconds)
        mark = np.zeros(len(start), np.int8)
        for place, each in runs.marks.items():
            mark[place - runs.first] = each
        is_shown = (mark & RAISED) == 0
        is_shown[: not runs.first] &= (mark[: not runs.first] & FIRST_RUN) == 0
        steady = seconds[np.isin(mark, UNTRACED)]
        seen.first += steady[: COMPARED - len(seen.first)].tolist()
        seen.steady.extend(steady[-COMPARED:].tolist() + list(runs.late))
        seen.last.extend(seconds[is_shown][-MOST_STEPS:].tolist() + list(runs.late))
        if self._is_beside(kind):
            return
        self._sums["steps"] += runs.rest
        end, is_first = start + seconds, (mark & FIRST_RUN) > 0
        for place, built in runs.built.items():
            self._kept.append(("tracing", np.array([runs.started[place - runs.first]]), np.array([built])))
        self._kept += [("first", start[is_first], end[is_first]), ("steps", start[~is_first], end[~is_first])]

    def _keep_spans(self, part: str, spans: Spans) -> float:
        """Keep the stretches that ended since the last look; gives the seconds of those that are only added up."""
        seen, bounds = self._spans[part], np.array(spans.bounds[self._spans[part].bounds :])
        start, end = bounds[::2], bounds[1::2]
        # Python that waited turns out to have waited, and so on, only when that is over.
        before = float((np.minimum(end, self._until) - start)[start < self._until].sum())
        before = min(before, self._settled["python"])
        self._settled = _added(self._settled, {"python": -before, part: before})
        self._kept.append((part, start, end))
        more, seen.rest = spans.rest - seen.rest, spans.rest
        seen.bounds += len(bounds)
        return more

    def _divided(
        self, stretches: Sequence[Stretches], sums: Mapping[str, float], since: float, until: float
    ) -> Mapping[str, float]:
        """The parts of the time from `since` to `until`; what has only `sums` is taken off what is left for Python."""
        whole, opened = nanos_of((until, max(self._log.opened, since)), since).tolist()
        spans = {}
        for part in {part for part, _, _ in stretches}:
            bounds = [(start, end) for each, start, end in stretches if each == part]
            columns = (np.concatenate(column) for column in zip(*bounds, strict=True))
            spans[part] = Intervals.of(*(np.clip(nanos_of(column, since), 0, whole) for column in columns))
        known = {part: round(1e9 * seconds) for part, seconds in sums.items() if seconds > 0}
        divided = divide(CellSpans(min(opened, whole), whole, whole, spans, known))
        return {part: nanos / 1e9 for part, nanos in divided.parts.items()}


def _added(parts: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    return {part: parts[part] + more.get(part, 0.0) for part in CELL_PARTS}


def _weight(kind: KindTally) -> tuple[bool, float, float]:
    """By which the kind is chosen that is told of: in the cell's own threads, the longest without its warm-up."""
    return not kind.is_beside, kind.traced.seconds + kind.untraced.seconds, kind.seconds
