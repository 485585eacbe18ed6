"""How a capture was measured, as numbers and as the facts of a head line."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfprof_widget.capturing.recorded import Runs
from tfprof_widget.capturing.traces import EAGER
from tfprof_widget.output.numbers import percent, seconds

_NOTICED_SECONDS = 1.0

SLOWED = 1.5
"""So many times as long a traced run has to take before that is told."""


@dataclass(frozen=True)
class Fact:
    """A fact of the head line, short; `help` says how it was measured."""

    label: str
    value: str
    help: str

    def __str__(self) -> str:
        return f"{self.label} {self.value}"


@dataclass(frozen=True)
class Measurement:
    """How a capture was measured: what ran, what of it was traced, and what that cost.

    `op_seconds` is the summed time of all ops of one run of the busiest kind, `traced_run_seconds` what that run took
    by the clock: their ratio says how many ops ran at once. `run_seconds` is what such a run took when not traced.
    `coverage` is the share of the op time for which float operations are known. `overhead_seconds` is what capturing
    cost, the tracing, the watching and the reading at the end; it is None where nothing tells, as when all runs were
    traced and none is there to compare with.
    """

    name: str
    taken: datetime.datetime
    wall_seconds: float
    overhead_seconds: float | None
    runs: tuple[Runs, ...]
    run_seconds: float
    traced_run_seconds: float
    op_seconds: float
    coverage: float
    dropped_events: int
    warnings: tuple[str, ...]

    @property
    def runs_seen(self) -> int:
        """How many runs there were; eager ops are none beside others."""
        return sum(runs.seen for runs in self._counted())

    @property
    def runs_traced(self) -> int:
        """How many of the runs were traced."""
        return sum(runs.traced for runs in self._counted())

    def _counted(self) -> Sequence[Runs]:
        return [runs for runs in self.runs if runs.name != EAGER] or self.runs

    def facts(self) -> Iterator[Fact]:
        """What the head line says: runs traced, op and wall time, cost, coverage."""
        seen = f"{self.runs_traced:,} of {self.runs_seen:,}"
        yield Fact("runs traced", seen, "runs whose operations were recorded, of all that were made")
        if self.runs_traced:
            yield Fact("step", seconds(self.op_seconds), "summed time of all operations of one run of the busiest kind")
        wall = seconds(self.run_seconds)
        if self.traced_run_seconds and self.runs_traced:
            wall += f" · {self.op_seconds / self.traced_run_seconds:.2f} ops at once"
        at_once = f"the op time beside the {seconds(self.traced_run_seconds)} that the traced runs took"
        yield Fact("wall", wall, f"what such a run takes by the clock when it is not traced; ops at once is {at_once}")
        yield self._cost()
        if self.runs_traced:
            coverage = f"{percent(self.coverage, 0)} of time"
            yield Fact("FLOP formulas for", coverage, "share of the op time for which float operations are known")
        if self.dropped_events:
            yield Fact("dropped", f"{self.dropped_events:,} events", "what the recorder had no room for")

    def _cost(self) -> Fact:
        """What capturing cost: of a short cell it may be a large share, and yet nothing that anyone would notice."""
        spent, without = self.overhead_seconds, self.wall_seconds - (self.overhead_seconds or 0.0)
        share = "unknown" if spent is None or without <= 0 else percent(spent / without)
        if spent is None or spent >= _NOTICED_SECONDS:
            return Fact(
                "tracing cost", share, "time that tracing, watching and reading added, of the time without them"
            )
        help_ = f"time that tracing, watching and reading added; of the time without them, {share}"
        return Fact("tracing cost", seconds(spent), help_)

    def sentence(self) -> str:
        """The facts in a line, after the name."""
        return " · ".join(filter(None, [self.name, *map(str, self.facts())]))


def note_on_slow_runs(runs: Runs) -> str | None:
    """Says that runs took much longer while they were traced, if they did.

    >>> note_on_slow_runs(Runs("train", 9, 2, 3.0, 2.0, 8.0, untraced=6))
    'traced runs of train took 1 s, others 500 ms: tracing slows small ops, whose times and gaps are too long here'
    >>> note_on_slow_runs(Runs("train", 9, 2, 3.0, 1.4, 8.0, untraced=6))
    """
    if not runs.untraced or not runs.traced_seconds or runs.traced_run_seconds < SLOWED * runs.run_seconds:
        return None
    return (
        f"traced runs of {runs.name} took {seconds(runs.traced_run_seconds)}, others {seconds(runs.run_seconds)}: "
        "tracing slows small ops, whose times and gaps are too long here"
    )
