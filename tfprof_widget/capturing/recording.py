"""Holds what capturing gives: the tables and kinds of runs of each graph, and how they were measured."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tfprof_widget.analysis.steady import OP_TIME, RUNS_TRACED, StepUse, executions_a_step, work_seconds
from tfprof_widget.lib.text import Fact, fixed, written_percent, written_seconds
from tfprof_widget.profiles.cell import CellRuns, CellTimes
from tfprof_widget.profiles.data import (
    EAGER,
    EARLY,
    FIRST,
    FIRST_PART,
    PARTIAL,
    SHORTER,
    WARM_UP,
    ProfileTables,
)
from tfprof_widget.profiles.devices import ran_on_cpus


@dataclass(frozen=True)
class KindOfRun:
    """The runs of one kind: of the same graph and fetches, or of the same function or step of a model.

    `warm_up_seconds` is the time of warm-ups, which trace, compile and tune: the first run, and runs that retraced a
    function. `traced_seconds` and `untraced_seconds` leave warm-ups out. `untraced` is the number of runs in
    `untraced_seconds`, None if they were not counted separately; `warm_ups` is that of runs in `warm_up_seconds`.
    `median_seconds` is the median of the untraced runs, None if it is not known. Of the `parted` runs, which were
    recorded in part, `part_seconds` is the time that was recorded, and `parted_seconds` the time of these runs, which
    counts as untraced. Warm-ups in part are apart from these: `first_part_seconds`, `first_parted_seconds`.
    `standing_seconds` is what a traced run took that stands for the kind, None if all of them do.

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
    parted: int = 0
    part_seconds: float = 0.0
    parted_seconds: float = 0.0
    first_part_seconds: float = 0.0
    first_parted_seconds: float = 0.0
    standing_seconds: float | None = None

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

    def seconds_of(self, steps: str) -> float:
        """The wall time of one of the steps of this kind that have this name; 0 for those shorter than most.

        >>> runs = KindOfRun("train", 9, 2, 3.0, 4.0, 8.0, untraced=6)
        >>> runs.seconds_of("train"), runs.seconds_of("train (warm-up)")
        (0.5, 8.0)
        """
        if steps.endswith(FIRST):
            return self.warm_up_seconds / max(self.warm_ups, 1)
        return self.run_seconds if steps in ("", self.name, self.name + PARTIAL) else 0.0

    def part_of(self, steps: str) -> tuple[float, float]:
        """What was recorded of a step of this kind that has this name, and of how long; zeros if it was whole.

        >>> KindOfRun("f", 1, 1, 0.0, 0.0, 8.0, first_part_seconds=0.5, first_parted_seconds=2.0).part_of("f")
        (0.0, 0.0)
        """
        if steps == self.name + FIRST_PART:
            return self.first_part_seconds, self.first_parted_seconds
        number = max(self.parted, 1)
        return (self.part_seconds / number, self.parted_seconds / number) if steps.endswith(PARTIAL) else (0.0, 0.0)

    @property
    def traced_run_seconds(self) -> float:
        """The wall time of a traced run, which tracing may slow; that of the first run if no other was traced.

        >>> KindOfRun("train", 9, 2, 3.0, 4.0, 8.0, untraced=6).traced_run_seconds
        2.0
        """
        if self.standing_seconds is not None:
            return self.standing_seconds
        traced = self.seen - self._untraced - self.warm_ups
        if traced > 0 and self.traced_seconds:
            return self.traced_seconds / traced
        return self.warm_up_seconds / max(self.warm_ups, 1)

    @property
    def has_only_first(self) -> bool:
        """Whether runs after the first were seen, and none of them was recorded.

        >>> KindOfRun("train", 9, 1, 3.0, 0.0, 8.0, untraced=8).has_only_first
        True
        """
        steady = self.seen - self.warm_ups
        return 0 < steady == self._untraced and not self.parted

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
    """One graph's tables, and the kinds of runs of it, in the order first seen; `runs` are the runs of each kind."""

    tables: ProfileTables
    kinds: tuple[KindOfRun, ...]
    runs: tuple[CellRuns, ...] = ()


LEAST_EAGER_SECONDS = 0.01
"""With less op time in a cell, eager ops only make what functions take."""


def _work_of(tables: ProfileTables, kinds: Sequence[KindOfRun]) -> list[tuple[float, float]]:
    """The work of each kind: the op time of its steady runs, then of all, without ops that wait; 0 if none was traced.

    On CPUs that is at most what the runs took by the clock, times the ops that ran at once. What a first run did says
    nothing of later runs: if nothing else was recorded of a kind, these are taken to work as long a time as the other
    kinds' of what they take by the clock, and count half, as nothing of them can be shown. A long call that was cut
    counts as steady if it is the only one of its kind. Eager ops do work of their own if they take twice the op time of
    each other kind, and are more than all theirs: else they set up what steps need, or make what functions take.
    """
    traced = [runs for runs in kinds if runs.traced and runs.name != EAGER]
    steps = {runs.name: steps_shown(tables, runs) for runs in traced}
    use = StepUse.of(tables) if ran_on_cpus(tables) else None
    found: dict[str, tuple[float, float]] = {}
    clock = worked = 0.0
    for runs in sorted(traced, key=lambda runs: steps[runs.name].endswith(FIRST)):
        shown = steps[runs.name]
        work, (part, parted) = work_seconds(tables, shown), runs.part_of(shown)
        work *= parted / part if part else 1.0
        steady = max(runs.seen - runs.warm_ups, 0)
        later, seconds = work * steady, runs.untraced_seconds + runs.traced_seconds
        if seconds and use is not None:  # what was recorded may be of larger batches
            later = min(later, seconds * max(use.ops_at_once(tables.steps_named(shown)), 1.0))
        if not shown.endswith(FIRST):
            clock, worked = clock + seconds, worked + later
        elif clock:
            later = min(later, seconds * worked / clock) / 2
        whole = later + work * (runs.seen - steady)
        found[runs.name] = (whole, whole) if part and not steady else (later, whole)
    most = max((whole for _, whole in found.values()), default=0.0)
    executed = sum(executions_a_step(tables, steps[runs.name]) * runs.seen for runs in traced)
    for runs in kinds:
        if runs.name == EAGER:
            seconds = (runs.untraced_seconds + runs.traced_seconds) / 2
            is_most = seconds > max(most, LEAST_EAGER_SECONDS / 2)
            is_work = is_most and executions_a_step(tables, EAGER) * runs.seen > executed
            found[EAGER] = (seconds, seconds) if is_work or not traced else (0.0, 0.0)
    return [found.get(runs.name, (0.0, 0.0)) for runs in kinds]


def busiest(tables: ProfileTables, kinds: Sequence[KindOfRun]) -> tuple[KindOfRun | None, tuple[float, float]]:
    """The traced kind that does most of the work, and its work; None if no run was traced.

    >>> from tfprof_widget.demo import demo_profile
    >>> busiest(demo_profile(), [KindOfRun("train", 9, 0, 3.0, 0.0, 8.0)])
    (None, (0.0, 0.0))
    """
    work = zip(_work_of(tables, kinds), kinds, strict=True)
    names = tables.step_names
    traced = [(runs, each) for each, runs in work if runs.traced and (steps_shown(tables, runs) in names or not names)]
    return max(traced, key=lambda found: found[1], default=(None, (0.0, 0.0)))


def steps_shown(tables: ProfileTables, runs: KindOfRun) -> str:
    """The name of the steps that stand for a kind: the steady ones, else parts of these, the first, or unlike ones."""
    names = (runs.name + unlike for unlike in ("", PARTIAL, WARM_UP, FIRST_PART, EARLY, SHORTER))
    return next((name for name in names if name in tables.step_names), runs.name)


@dataclass(frozen=True)
class Recording:
    """All that was captured; `warnings` are sentences that say what is missing and why.

    `overhead_seconds` is None if the cost of tracing is not known; `known_overhead` is the part of it that is always
    known: the time of opening, closing and reading. `runs` are all runs that took time of the cell's, by kind, and
    `cells` say how its time was spent, one for each process that ran it.
    """

    graphs: tuple[GraphRecording, ...]
    wall_seconds: float
    overhead_seconds: float | None
    dropped_events: int
    warnings: tuple[str, ...]
    known_overhead: float = 0.0
    runs: tuple[CellRuns, ...] = ()
    cells: tuple[CellTimes, ...] = ()

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
        known_overhead=first.known_overhead + second.known_overhead,
        runs=first.runs + second.runs,
    )


def _sum(first: float | None, second: float | None) -> float | None:
    """The sum of two costs; None if one of them is None."""
    return None if first is None or second is None else first + second


_NOTICED_SECONDS = 1.0


@dataclass(frozen=True)
class Measurement:
    """How a capture was measured: what ran, how much of it was traced, and what tracing cost.

    `shown` is the name of the steps that do most of the work. Of such a step, `op_seconds` is the summed time of all
    ops, `ops_at_once` is that time by the time in which any op ran, `traced_run_seconds` is the wall time, and
    `run_seconds` is the wall time when it is not traced. `coverage` is the share of the op time for which float
    operations are known. `overhead_seconds` is the time that tracing, watching and the reading at the end added; it is
    None if that is not known, as when all runs were traced and there is no untraced run to compare with. Of it,
    `known_overhead` is always known: the time of opening, closing and reading. `raised_seconds` is what runs took that
    are not counted, as they ended in an exception or had not ended.
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
    known_overhead: float = 0.0
    raised_seconds: float = 0.0

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
        """The facts of the head line: cell, runs traced, what is shown with its wall and op time, cost, coverage."""
        if self.wall_seconds:
            yield Fact("cell", written_seconds(self.wall_seconds), "wall time from the cell's first line to its last")
        seen = f"{self.runs_traced:,} of {self.runs_seen:,}"
        yield Fact(RUNS_TRACED, seen, "runs whose operations were recorded, of all that were made")
        yield from self.facts_of_steps()
        if self.op_seconds:
            told = f"{written_seconds(self.op_seconds)} · {fixed(self.ops_at_once, 2)} ops at once"
            yield Fact(OP_TIME, told, "summed time of all ops of a step, and the same by the time in which any op ran")
        yield self._cost()
        if self.op_seconds:
            coverage = f"{written_percent(self.coverage, 0)} of time"
            yield Fact("FLOP formulas for", coverage, "share of the op time for which float operations are known")
        if self.dropped_events:
            yield Fact("dropped", f"{self.dropped_events:,} events", "what the recorder had no room for")

    def facts_of_steps(self) -> Iterator[Fact]:
        """What is said of the steps shown: their name with their share of the cell, and the wall time of one."""
        help_ = "the steps that are shown, and the share of the cell's time that all of them took"
        is_told = len(self.runs) > 1 or self.shown == EAGER  # eager ops are no runs, as one would take them for
        if self.shown and is_told and self.share is not None:
            yield Fact("shown", f"{self.shown}, {written_percent(self.share, 0)} of the cell", help_)
        if self.run_seconds and self.shown != EAGER:
            usual = "when it is not traced, in the median"
            first = "in the mean; in it TensorFlow traces, compiles and tunes"
            which = first if self.shown.endswith(FIRST) else usual
            yield Fact("step", written_seconds(self.run_seconds), f"what such a step takes by the clock {which}")
        runs = self._kind(self.shown)
        part = runs.part_of(self.shown)[0] if runs is not None else 0.0
        if part:
            yield Fact(
                "recorded", written_seconds(part), "the part of such a step that was recorded, whose ops are shown"
            )

    def of_steps(self, name: str) -> Measurement:
        """The same with the steps of another name shown; without what only their ops tell."""
        runs = self._kind(name)
        seconds = runs.seconds_of(name) if runs is not None else 0.0
        return replace(self, shown=name, run_seconds=seconds, op_seconds=0.0, ops_at_once=0.0)

    @property
    def share(self) -> float | None:
        """The share of the cell's time that runs of the kind shown took; None where that is not known.

        Eager ops are no runs: theirs is the time outside of runs, which is Python's too.
        """
        runs = self._kind(self.shown)
        if runs is None or not self.wall_seconds:
            return None
        seconds = runs.seconds
        if self.shown == EAGER:
            of_runs = sum(each.seconds for each in self.runs if each.name != EAGER)
            seconds = self.wall_seconds - of_runs - self.raised_seconds
        return min(max(seconds / self.wall_seconds, 0.0), 1.0)

    def _kind(self, name: str) -> KindOfRun | None:
        """The kind of the steps of this name; None if no runs are known of it."""
        named = [runs for runs in self.runs if name == runs.name or name.startswith(f"{runs.name} (")]
        return max(named, key=lambda runs: len(runs.name), default=None)

    def _cost(self) -> Fact:
        """The cost of capturing: a time below a second, since it may be a large share of a short cell; else a share."""
        if self.overhead_seconds is None and self.known_overhead:
            told = f"at least {written_seconds(self.known_overhead)}"
            help_ = "time that opening, closing and reading took; how much tracing slowed the runs is not known"
            return Fact("tracing cost", told, help_)
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
