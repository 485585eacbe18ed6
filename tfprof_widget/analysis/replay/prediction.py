"""Predicts how long a step would take if some of its work took another time, by replaying recorded steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.account.step import rows_of_steps
from tfprof_widget.analysis.replay.changes import INPUT_KEY, PYTHON_KEY, TimeFactors, time_factors
from tfprof_widget.analysis.replay.recorded_work import recorded_work
from tfprof_widget.analysis.replay.scheduler import ReplayedStep, fitted_slowdown, scheduled
from tfprof_widget.analysis.replay.work import StepWork
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import listed, written_percent, written_seconds
from tfprof_widget.profiles.cell import CellRuns, CellTimes
from tfprof_widget.profiles.data import ProfileData

MOST_OFF = 0.1
"""Where replaying steps unchanged is further off than this, nothing is predicted."""

SLOWDOWNS = (0.0, 1.0)
"""Executions take as long as recorded whatever runs beside them, or share what the workers can do together. The
interval holds both; the prediction itself has the slowdown that fits how long nodes took beside others and alone."""

LEAST_OFF = 0.05
"""No interval is narrower than this to either side: a change has effects, as on caches, that no replay knows of."""

FEW_STEPS = 3
OUTER = (10, 90)
"""Percentiles between which most steps are."""


class PathChange(NamedTuple):
    """The nodes on the critical path of a step in the order in which they ran, before a change and after it."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class WhatIf:
    """What a step would take if some of its work took another time; print it, or use its fields.

    `seconds` is the predicted step; most steps are expected between `low` and `high`. `measured` is the wall time of
    the recorded steps in the median, and `replayed` what replaying them without any change gives. `path` has the nodes
    of the critical path, before and after. `changes` are the factors that were asked for, and `steps` tells how many
    recorded steps were replayed. With `with_between`, all these times include what is between two steps.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = demo_profile().what_if({"layer:layer1": 0.5})
    >>> found.seconds < found.replayed, found.steps
    (True, 1)
    """

    seconds: float
    low: float
    high: float
    measured: float
    replayed: float
    path: PathChange = field(repr=False)
    changes: Mapping[str, float] = field(default_factory=dict)
    steps: int = 1
    with_between: bool = False

    @property
    def gain(self) -> float:
        """The share of the replayed step that the change saves; below 0 if it costs time."""
        return 1 - self.seconds / self.replayed if self.replayed else 0.0

    def text(self) -> str:
        """The prediction in a few lines.

        >>> path = PathChange(("a", "b"), ("a",))
        >>> print(WhatIf(0.008, 0.0075, 0.009, 0.0101, 0.01, path, {"b": 0.5}).text())
        step      10.1 ms   measured, 1 step
        replayed    10 ms   unchanged, 1.0 % less
        what if      8 ms   b takes 50 %: 20.0 % less; between 7.50 ms and 9 ms
        critical path: 2 executions before, 1 after
          leave it: b
        """
        counted = f"{self.steps} step" if self.steps == 1 else f"{self.steps} steps"
        with_between = " with the time between steps" if self.with_between else ""
        asked = ", ".join(f"{key} takes {written_percent(factor, 0)}" for key, factor in self.changes.items())
        lines = [
            ("step", self.measured, f"measured{with_between}, {counted}"),
            ("replayed", self.replayed, f"unchanged, {_off(self.replayed, self.measured)}"),
        ]
        if self.changes:
            between = f"between {written_seconds(self.low)} and {written_seconds(self.high)}"
            lines.append(("what if", self.seconds, f"{asked}: {_off(self.seconds, self.replayed)}; {between}"))
        width = max(len(written_seconds(seconds)) for _, seconds, _ in lines)
        told = [f"{name:<9} {written_seconds(seconds):>{width}}   {rest}" for name, seconds, rest in lines]
        before, after = self.path
        told.append(f"critical path: {len(before):,} executions before, {len(after):,} after")
        for name, some, others in (("leave it", before, after), ("join it", after, before)):
            moved = [each for each in dict.fromkeys(some) if each not in set(others)]
            if moved:
                told.append(f"  {name}: {listed(moved)}")
        return "\n".join(told)

    def __str__(self) -> str:
        return self.text()


def _off(seconds: float, base: float) -> str:
    share = seconds / base - 1 if base else 0.0
    return f"{written_percent(abs(share))} {'more' if share > 0 else 'less'}"


def what_if(profile: ProfileData, changes: Mapping[str, float] = MappingProxyType({})) -> WhatIf:
    """What the steps of a profile would take with these changes; an error says why it cannot be predicted.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = what_if(demo_profile())
    >>> found.seconds == found.replayed, round(found.measured * 1e6)
    (True, 365)
    """
    return Replay.of(profile).what_if(changes)


class BetweenSteps(NamedTuple):
    """The time between two steps in nanoseconds: Python's, and its wait for input."""

    python: float
    input: float


@dataclass(frozen=True, eq=False)
class Replay:
    """Recorded steps that were replayed without any change, once for each of SLOWDOWNS.

    `between` is the time between two steps in the median, None where no captured cell tells it. `spread` has OUTER
    percentiles of what steps take by the clock, as shares of the median; it stands in where few steps were recorded.
    """

    profile: ProfileData
    works: tuple[StepWork, ...]
    unchanged: tuple[ReplayedStep, ...]
    between: BetweenSteps | None
    spread: tuple[float, float]

    @classmethod
    def of(cls, profile: ProfileData) -> Replay:
        """The replay of a profile's steps, kept with the profile."""
        return profile.cache.kept("replay", lambda: cls.over(profile, recorded_work(profile)))

    @classmethod
    def over(cls, profile: ProfileData, works: tuple[StepWork, ...]) -> Replay:
        """The replay of some recorded steps."""
        runs = _runs(profile, works)
        between, spread = None, (1.0, 1.0)
        if runs is not None:
            cell, of_kind = runs
            between = _between(cell, of_kind)
            steady = of_kind.nanos[of_kind.is_steady]
            if len(steady) >= FEW_STEPS:
                low, high = (np.percentile(steady, OUTER) / max(float(np.median(steady)), 1.0)).tolist()
                spread = low, high
        return cls(profile, works, tuple(map(scheduled, works)), between, spread)

    @property
    def measured(self) -> NDArray[np.float64]:
        """The wall time of each step in nanoseconds."""
        return np.array([work.nanos for work in self.works], np.float64)

    @property
    def replayed(self) -> NDArray[np.float64]:
        """The wall time of each step as replayed unchanged."""
        return np.array([schedule.nanos for schedule in self.unchanged])

    @property
    def off(self) -> float:
        """How far off the replay is, as a share of what was measured: in the median step, or between the medians."""
        measured = np.maximum(self.measured, 1)
        between = abs(float(np.median(self.replayed) / np.median(measured)) - 1)
        return max(float(np.median(np.abs(self.replayed / measured - 1))), between)

    def check(self) -> None:
        """Refuse to predict where the unchanged replay is not the measured step."""
        if self.off <= MOST_OFF:
            return
        workers = max(max(work.workers) for work in self.works)
        direction = "longer" if np.median(self.replayed - self.measured) > 0 else "shorter"
        why = (
            f"on {workers} threads ops ran in an order that the executor's rules do not explain, as when other "
            "programs keep the processor busy"
            if workers > 1
            else "ops that overlapped for moments were taken to run one after the other"
        )
        raise ProfileError(
            f"cannot predict: replaying the recorded steps unchanged takes {written_percent(self.off)} {direction} "
            f"than they took ({written_percent(MOST_OFF, 0)} is the most): {why}; record more steps, on a quiet machine"
        )

    def what_if(self, changes: Mapping[str, float]) -> WhatIf:
        """What the steps would take with some changes, if the replay holds."""
        self.check()
        between = self.between
        factors = time_factors(
            self.profile,
            changes,
            has_between=between is not None,
            waits_between=between is not None and between.input > 0,
        )
        return self._predicted(factors, changes)

    def _predicted(self, factors: TimeFactors, changes: Mapping[str, float]) -> WhatIf:
        """What the steps would take."""
        factor = [factors.node[np.maximum(work.node, 0)] for work in self.works]
        is_changed = any((each != 1).any() for each in factor)
        fitted = fitted_slowdown(self.works) if is_changed and self.has_overlap else 0.0
        taken, fixed = [], self.unchanged
        for slowdown in sorted({fitted, *SLOWDOWNS}) if is_changed and self.has_overlap else SLOWDOWNS[:1]:
            found = (
                tuple(scheduled(work, each, slowdown=slowdown) for work, each in zip(self.works, factor, strict=True))
                if is_changed
                else self.unchanged
            )
            taken.append(np.array([schedule.nanos for schedule in found]))
            if slowdown == fitted:
                fixed = found
        kept = added = 0.0
        if factors.with_between and self.between is not None:
            kept = self.between.python + self.between.input
            added = self.between.python * factors.python + self.between.input * factors.input
        middle = float(np.median([schedule.nanos for schedule in fixed]))
        lowest, highest = zip(*(self._around(each, float(np.median(each))) for each in taken), strict=True)
        typical = _typical(self.measured)
        return WhatIf(
            seconds=(middle + added) / 1e9,
            low=(min(lowest) + added) / 1e9,
            high=(max(highest) + added) / 1e9,
            measured=(float(np.median(self.measured)) + kept) / 1e9,
            replayed=(float(np.median(self.replayed)) + kept) / 1e9,
            path=PathChange(self._names(self.unchanged[typical]), self._names(fixed[typical])),
            changes=dict(changes),
            steps=len(self.works),
            with_between=factors.with_between,
        )

    @property
    def has_overlap(self) -> bool:
        """Whether executions ran at once, so that they may have slowed each other down."""
        return any(max(work.workers) > 1 for work in self.works)

    def _around(self, taken: NDArray[np.float64], middle: float) -> tuple[float, float]:
        """The interval around predictions of steps; the replay's own error widens it."""
        low, high = np.percentile(taken, OUTER)
        if len(taken) < FEW_STEPS:
            low, high = min(low, middle * self.spread[0]), max(high, middle * self.spread[1])
        off = float(np.median(self.measured) - np.median(self.replayed))
        low, high = min(low, middle * (1 - LEAST_OFF)), max(high, middle * (1 + LEAST_OFF))
        return max(min(low, low + off), 0.0), max(high, high + off)

    def _names(self, schedule: ReplayedStep) -> tuple[str, ...]:
        names = self.profile.nodes.names
        return tuple(names[node] for node in schedule.work.node[schedule.path].tolist())


def _typical(nanos: NDArray[np.float64]) -> int:
    """The place of the step whose wall time is the median, the shorter one of two."""
    return int(np.argsort(nanos, kind="stable")[(len(nanos) - 1) // 2])


def _runs(profile: ProfileData, works: Sequence[StepWork]) -> tuple[CellTimes, CellRuns] | None:
    found = rows_of_steps(profile)
    return next((found[work.step][:2] for work in works if work.step in found), None)


def _between(cell: CellTimes, runs: CellRuns) -> BetweenSteps | None:
    """The time between two runs in the median; what is beside recorded ones counts only if there are no others."""
    gaps = runs.start[1:] - (runs.start + runs.nanos)[:-1]
    steady = runs.is_steady[1:] & runs.is_steady[:-1]
    gaps = np.maximum(gaps[steady] if steady.any() else gaps, 0)
    if not len(gaps):
        return None
    nanos = float(np.median(gaps))
    python, given = cell.part(PYTHON_KEY), cell.part(INPUT_KEY)
    share = given / (python + given) if given else 0.0
    return BetweenSteps(nanos * (1 - share), nanos * share)


CURVE = tuple(share / 10 for share in range(11))


def what_if_curve(profile: ProfileData, key: str) -> Iterator[tuple[float, float, float, float]]:
    """The factor of what a key names, from 0 to 1, and the predicted step with its interval in seconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> curve = list(what_if_curve(demo_profile(), "layer1/Relu"))
    >>> [row[0] for row in curve] == list(CURVE), curve[-1][1] == demo_profile().what_if({}).seconds
    (True, True)
    """
    for factor in CURVE:
        found = what_if(profile, {key: factor})
        yield factor, found.seconds, found.low, found.high
