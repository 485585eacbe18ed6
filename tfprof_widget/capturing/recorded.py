"""What capturing gives, whether of session runs or of functions: profiles, and how they were measured."""

from __future__ import annotations

from dataclasses import dataclass

from tfprof_widget.profiles import Profile

# Follows the name of a kind in the steps of its first run, which traces, compiles and tunes.
WARM_UP = " (warm-up)"


@dataclass(frozen=True)
class Runs:
    """The runs of one kind: the same graph and fetches, or the same function or step of a model.

    `warm_up_seconds` is what the first run took, which traces, compiles and tunes; it is in neither sum.
    """

    name: str
    seen: int
    traced: int
    untraced_seconds: float
    traced_seconds: float
    warm_up_seconds: float


@dataclass(frozen=True)
class GraphRecord:
    """One graph's profile, and the kinds of runs of it, in the order first seen."""

    profile: Profile
    runs: tuple[Runs, ...]


@dataclass(frozen=True)
class Recorded:
    """All that was captured; `warnings` say in plain sentences what is missing and why."""

    graphs: tuple[GraphRecord, ...]
    wall_seconds: float
    overhead_seconds: float
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
        overhead_seconds=first.overhead_seconds + second.overhead_seconds,
        dropped_events=first.dropped_events + second.dropped_events,
        warnings=first.warnings + second.warnings,
    )
