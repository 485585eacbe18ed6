"""Holds what capturing gives: the tables and kinds of runs of each graph, and how they were measured."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tfprof_widget.analysis.steady import executions_a_step, work_seconds
from tfprof_widget.lib.text import Fact, written_percent, written_seconds
from tfprof_widget.profiles.data import EAGER, SHORTER, WARM_UP, ProfileTables


@dataclass(frozen=True)
class KindOfRun:
    """The runs of one kind: of the same graph and fetches, or of the same function or step of a model.

    `warm_up_seconds` is the time of warm-ups, which trace, compile and tune: the first run, and runs that retraced a
    function. `traced_seconds` and `untraced_seconds` leave warm-ups out. `untraced` is the number of runs in
    `untraced_seconds`, None if they were not counted separately; `warm_ups` is that of runs in `warm_up_seconds`.
    `median_seconds` is the median of the untraced runs, None if it is not known.

    >>> KindOfRun("train", seen=9, traced=2, untraced_seconds=3.0, traced_seconds=4.0, warm_up_seconds=8.0).warm_ups
    1
    """

    name: str
    seen: int
    traced: int
    untraced_seconds: float
    traced_seconds: float
    warm_up_seconds: float
    untraced: int | None = None
    warm_ups: int = 1
    median_seconds: float | None = None

    @property
    def seconds(self) -> float:
        """What all runs took by the clock.

        >>> KindOfRun("train", 9, 2, 3.0, 4.0, 8.0, untraced=6).seconds
        15.0
        """
        return self.untraced_seconds + self.traced_seconds + self.warm_up_seconds

    @property
    def run_seconds(self) -> float:
        """The wall time of one run: the mean of untraced runs if there were any, else of traced ones, else the first.

        Of the untraced ones it is the median where it is known, else the mean.

        >>> KindOfRun("train", 9, 2, 3.0, 4.0, 8.0, untraced=6).run_seconds
        0.5
        """
        if self.median_seconds is not None:
            return self.median_seconds
        if self._untraced and self.untraced_seconds:
            return self.untraced_seconds / self._untraced
        return self.traced_run_seconds

    @property
    def traced_run_seconds(self) -> float:
        """The wall time of a traced run, which tracing may slow; that of the first run if no other was traced.

        >>> KindOfRun("train", 9, 2, 3.0, 4.0, 8.0, untraced=6).traced_run_seconds
        2.0
        """
        traced = self.seen - self._untraced - self.warm_ups
        if traced > 0 and self.traced_seconds:
            return self.traced_seconds / traced
        return self.warm_up_seconds / max(self.warm_ups, 1)

    @property
    def _untraced(self) -> int:
        return self.seen - self.traced if self.untraced is None else self.untraced


def timed_sentence(runs: KindOfRun) -> str:
    """The times of the runs of a kind without recorded ops, in a line.

    >>> timed_sentence(KindOfRun("train", 9, 0, untraced_seconds=4.0, traced_seconds=0.0, warm_up_seconds=8.0))
    'timed: train: the first 8 s, then 8 of 444.4 ms'
    """
    steady = runs.seen - runs.warm_ups
    first = f"the first {written_seconds(runs.warm_up_seconds)}" if runs.warm_ups else ""
    others = f"then {steady:,} of {written_seconds(runs.run_seconds)}" if steady > 0 else ""
    return f"timed: {runs.name}: {', '.join(filter(None, [first, others]))}"


@dataclass(frozen=True)
class GraphRecording:
    """One graph's tables, and the kinds of runs of it, in the order first seen."""

    tables: ProfileTables
    kinds: tuple[KindOfRun, ...]


LEAST_EAGER_SECONDS = 0.01
"""With less op time in a cell, eager ops only make what functions take."""


def work_of(tables: ProfileTables, kinds: Sequence[KindOfRun]) -> list[tuple[float, float]]:
    """The work of each kind: the op time of its steady runs, then of all, without ops that wait; 0 if none was traced.

    Eager ops do work of their own if they take twice the op time of each other kind, and are more than all theirs: else
    they set up what steps need, or make what functions take.
    """
    traced = [runs for runs in kinds if runs.traced and runs.name != EAGER]
    steps = {runs.name: steps_shown(tables, runs) for runs in traced}
    executed = sum(executions_a_step(tables, steps[runs.name]) * runs.seen for runs in traced)
    found = []
    for runs in kinds:
        if runs.name == EAGER:
            seconds = (runs.untraced_seconds + runs.traced_seconds) / 2
            is_work = 2 * seconds > LEAST_EAGER_SECONDS and executions_a_step(tables, EAGER) * runs.seen > executed
            found.append((seconds, seconds) if is_work or not traced else (0.0, 0.0))
        else:
            work = work_seconds(tables, steps[runs.name]) if runs.name in steps else 0.0
            found.append((work * max(runs.seen - runs.warm_ups, 0), work * runs.seen))
    return found


def busiest(tables: ProfileTables, kinds: Sequence[KindOfRun]) -> KindOfRun | None:
    """The traced kind that does most of the work; None if no run was traced.

    >>> from tfprof_widget.demo import demo_profile
    >>> busiest(demo_profile(), [KindOfRun("train", 9, 0, 3.0, 0.0, 8.0)])
    """
    work = zip(work_of(tables, kinds), kinds, strict=True)
    return max([(*each, runs) for each, runs in work if runs.traced], key=lambda found: found[:2], default=(None,))[-1]


def steps_shown(tables: ProfileTables, runs: KindOfRun) -> str:
    """The name of the steps that stand for a kind: the steady ones, else the first, else those shorter than most."""
    names = tables.step_names
    return next((name for name in (runs.name, runs.name + WARM_UP, runs.name + SHORTER) if name in names), runs.name)


def main_steps(tables: ProfileTables, kinds: Sequence[KindOfRun]) -> str:
    """The name of the steps to show first; empty if no run was traced."""
    runs = busiest(tables, kinds)
    return steps_shown(tables, runs) if runs is not None else ""


@dataclass(frozen=True)
class Recording:
    """All that was captured; `warnings` are sentences that say what is missing and why.

    `overhead_seconds` is None if the cost of tracing is not known.
    """

    graphs: tuple[GraphRecording, ...]
    wall_seconds: float
    overhead_seconds: float | None
    dropped_events: int
    warnings: tuple[str, ...]

    @property
    def seen(self) -> int:
        """How many runs there were."""
        return sum(runs.seen for graph in self.graphs for runs in graph.kinds)

    @property
    def traced(self) -> int:
        """How many of the runs were traced."""
        return sum(runs.traced for graph in self.graphs for runs in graph.kinds)


def joined(first: Recording, second: Recording) -> Recording:
    """Two recordings of the same block as one.

    >>> joined(Recording((), 1.0, 0.1, 0, ("a",)), Recording((), 2.0, 0.0, 3, ())).warnings
    ('a',)
    """
    return Recording(
        graphs=first.graphs + second.graphs,
        wall_seconds=max(first.wall_seconds, second.wall_seconds),
        overhead_seconds=_sum(first.overhead_seconds, second.overhead_seconds),
        dropped_events=first.dropped_events + second.dropped_events,
        warnings=tuple(dict.fromkeys(first.warnings + second.warnings)),
    )


def _sum(first: float | None, second: float | None) -> float | None:
    """The sum of two costs; None if one of them is None."""
    return None if first is None or second is None else first + second


_NOTICED_SECONDS = 1.0

SLOWED = 1.5
"""A note says that tracing slowed the runs if traced runs took at least so many times as long as others."""


@dataclass(frozen=True)
class Measurement:
    """How a capture was measured: what ran, how much of it was traced, and what tracing cost.

    `shown` is the name of the steps that do most of the work. Of such a step, `op_seconds` is the summed time of all
    ops, `ops_at_once` is that time by the time in which any op ran, `traced_run_seconds` is the wall time, and
    `run_seconds` is the wall time when it is not traced. `coverage` is the share of the op time for which float
    operations are known. `overhead_seconds` is the time that tracing, watching and the reading at the end added; it is
    None if that is not known, as when all runs were traced and there is no untraced run to compare with.
    """

    name: str
    taken: datetime.datetime
    wall_seconds: float
    overhead_seconds: float | None
    runs: tuple[KindOfRun, ...]
    run_seconds: float
    traced_run_seconds: float
    op_seconds: float
    coverage: float
    dropped_events: int
    warnings: tuple[str, ...]
    ops_at_once: float = 0.0
    shown: str = ""

    @property
    def runs_seen(self) -> int:
        """How many runs there were; windows of eager ops count only if nothing else ran."""
        return sum(runs.seen for runs in self._counted())

    @property
    def runs_traced(self) -> int:
        """How many of the runs were traced."""
        return sum(runs.traced for runs in self._counted())

    def _counted(self) -> Sequence[KindOfRun]:
        return [runs for runs in self.runs if runs.name != EAGER] or self.runs

    def facts(self) -> Iterator[Fact]:
        """The facts of the head line: runs traced, op and wall time, cost, coverage."""
        seen = f"{self.runs_traced:,} of {self.runs_seen:,}"
        yield Fact("runs traced", seen, "runs whose operations were recorded, of all that were made")
        if self.shown and len(self.runs) > 1 and self.share is not None:
            help_ = "the steps that do most of the work, and the share of the cell's time that all of them took"
            yield Fact("shown", f"{self.shown}, {written_percent(self.share, 0)} of the cell", help_)
        help_ = "what such a step takes by the clock when it is not traced, in the median"
        yield Fact("step", written_seconds(self.run_seconds), help_)
        if self.runs_traced:
            told = f"{written_seconds(self.op_seconds)} · {self.ops_at_once:.2f} ops at once"
            help_ = "summed time of all ops of a step, and the same by the time in which any op ran"
            yield Fact("op time", told, help_)
        yield self._cost()
        if self.runs_traced:
            coverage = f"{written_percent(self.coverage, 0)} of time"
            yield Fact("FLOP formulas for", coverage, "share of the op time for which float operations are known")
        if self.dropped_events:
            yield Fact("dropped", f"{self.dropped_events:,} events", "what the recorder had no room for")

    @property
    def share(self) -> float | None:
        """The share of the cell's time that runs of the kind shown took; None where that is not known.

        Eager ops are no runs: theirs is the time outside of runs, which is Python's too.
        """
        named = [runs for runs in self.runs if self.shown.startswith(runs.name)]
        if not named or not self.wall_seconds:
            return None
        seconds = max(named, key=lambda runs: len(runs.name)).seconds
        if self.shown == EAGER:
            seconds = self.wall_seconds - sum(runs.seconds for runs in self.runs if runs.name != EAGER)
        return min(max(seconds / self.wall_seconds, 0.0), 1.0)

    def _cost(self) -> Fact:
        """The cost of capturing: a time below a second, since it may be a large share of a short cell; else a share."""
        spent, without = self.overhead_seconds, self.wall_seconds - (self.overhead_seconds or 0.0)
        share = "unknown" if spent is None or without <= 0 else written_percent(spent / without)
        if spent is None or spent >= _NOTICED_SECONDS:
            return Fact(
                "tracing cost", share, "time that tracing, watching and reading added, of the time without them"
            )
        help_ = f"time that tracing, watching and reading added; of the time without them, {share}"
        return Fact("tracing cost", written_seconds(spent), help_)

    def sentence(self) -> str:
        """The capture's name and its facts in one line."""
        return " · ".join(filter(None, [self.name, *map(str, self.facts())]))


UNTOLD = 0.2
"""So large a share of the cell is not left out without a word."""


def notes_on_untraced(kinds: Iterable[KindOfRun], wall_seconds: float) -> Iterator[str]:
    """Names the kinds of runs that took much of the cell and of which no ops were recorded.

    >>> traced = KindOfRun("g", 1, 1, 0.0, 0.0, 0.1)
    >>> list(notes_on_untraced([KindOfRun("f", 1, 0, 0.0, 0.0, 0.9), traced], wall_seconds=1.0))
    ['f took 90 % of the cell, and no run of it was recorded: to record it, trace all runs (--all, or trace_all=True)']
    """
    kinds = tuple(kinds)
    if not any(runs.traced for runs in kinds):
        return  # then a note says why there are none
    for runs in kinds:
        if runs.seen and not runs.traced and runs.seconds > UNTOLD * wall_seconds > 0:
            share = written_percent(min(runs.seconds / wall_seconds, 1.0), 0)
            yield (
                f"{runs.name} took {share} of the cell, and no run of it was recorded: "
                "to record it, trace all runs (--all, or trace_all=True)"
            )


def note_on_slow_runs(runs: KindOfRun) -> str | None:
    """A note that runs took much longer while they were traced; None if they did not.

    >>> note_on_slow_runs(KindOfRun("train", 9, 2, 3.0, 2.0, 8.0, untraced=6))
    'traced runs of train took 1 s, others 500 ms: tracing slows small ops, whose times and gaps are too long here'
    >>> note_on_slow_runs(KindOfRun("train", 9, 2, 3.0, 1.4, 8.0, untraced=6))
    """
    if not runs.untraced or not runs.traced_seconds or runs.traced_run_seconds < SLOWED * runs.run_seconds:
        return None
    return (
        f"traced runs of {runs.name} took {written_seconds(runs.traced_run_seconds)}, "
        f"others {written_seconds(runs.run_seconds)}: "
        "tracing slows small ops, whose times and gaps are too long here"
    )
