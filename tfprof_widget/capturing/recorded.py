"""What capturing gives, whether of session runs or of functions: profiles, and how they were measured."""

from __future__ import annotations

from dataclasses import dataclass

from tfprof_widget.profiles import Profile
from tfprof_widget.step_names import WARM_UP as WARM_UP


@dataclass(frozen=True)
class Runs:
    """The runs of one kind: the same graph and fetches, or the same function or step of a model.

    `warm_up_seconds` is what the first run took, which traces, compiles and tunes; it is in neither sum. `untraced` is
    the number of runs in `untraced_seconds`, None if they were not counted apart; `warm_ups` that in `warm_up_seconds`.

    >>> Runs("train", seen=9, traced=2, untraced_seconds=3.0, traced_seconds=4.0, warm_up_seconds=8.0).warm_ups
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

    @property
    def run_seconds(self) -> float:
        """What one run took by the clock: an untraced one if there was any, else a traced one, else the first.

        >>> Runs("train", 9, 2, 3.0, 4.0, 8.0, untraced=6).run_seconds
        0.5
        """
        if self._untraced and self.untraced_seconds:
            return self.untraced_seconds / self._untraced
        return self.traced_run_seconds

    @property
    def traced_run_seconds(self) -> float:
        """What a traced run took by the clock, the first where no other was traced: tracing may slow it.

        >>> Runs("train", 9, 2, 3.0, 4.0, 8.0, untraced=6).traced_run_seconds
        2.0
        """
        traced = self.seen - self._untraced - self.warm_ups
        if traced > 0 and self.traced_seconds:
            return self.traced_seconds / traced
        return self.warm_up_seconds / max(self.warm_ups, 1)

    @property
    def _untraced(self) -> int:
        return self.seen - self.traced if self.untraced is None else self.untraced


@dataclass(frozen=True)
class GraphRecord:
    """One graph's profile, and the kinds of runs of it, in the order first seen."""

    profile: Profile
    runs: tuple[Runs, ...]


@dataclass(frozen=True)
class Recorded:
    """All that was captured; `warnings` say in plain sentences what is missing and why.

    `overhead_seconds` is None where nothing tells what tracing cost.
    """

    graphs: tuple[GraphRecord, ...]
    wall_seconds: float
    overhead_seconds: float | None
    dropped_events: int
    warnings: tuple[str, ...]

    @property
    def seen(self) -> int:
        """How many runs there were.

        >>> Recorded((), 0.0, 0.0, 0, ()).seen
        0
        """
        return sum(runs.seen for graph in self.graphs for runs in graph.runs)

    @property
    def traced(self) -> int:
        """How many of the runs were traced.

        >>> Recorded((), 0.0, 0.0, 0, ()).traced
        0
        """
        return sum(runs.traced for graph in self.graphs for runs in graph.runs)


def joined(first: Recorded, second: Recorded) -> Recorded:
    """Two recordings of the same time as one.

    >>> joined(Recorded((), 1.0, 0.1, 0, ("a",)), Recorded((), 2.0, 0.0, 3, ())).warnings
    ('a',)
    """
    return Recorded(
        graphs=first.graphs + second.graphs,
        wall_seconds=max(first.wall_seconds, second.wall_seconds),
        overhead_seconds=_sum(first.overhead_seconds, second.overhead_seconds),
        dropped_events=first.dropped_events + second.dropped_events,
        warnings=tuple(dict.fromkeys(first.warnings + second.warnings)),
    )


def _sum(first: float | None, second: float | None) -> float | None:
    """The sum of two costs, not known where one of them is not."""
    return None if first is None or second is None else first + second
