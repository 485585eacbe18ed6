"""Chooses which runs are traced: the first ones, then fewer and fewer, so that tracing costs little; tallies them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import ceil, inf
from statistics import median
from typing import Any

from tfprof_widget.capturing.recording import KindOfRun

# An adaptively traced run is followed by at least one untraced run to compare with, then by ever more of them.
GROWTH = 1.25
# Until a kind has an untraced run, tracing is assumed to be this share of its traced time: it slows runs up to 4 times.
SUSPECTED_SHARE = 0.75
# Most of a warm-up is setting up, so tracing is assumed to be at most so many seconds of it.
SUSPECTED_SECONDS = 0.05


@dataclass(frozen=True)
class Adaptive:
    """Trace while the extra cost is below `overhead`, a share of the untraced time, or below `allowance`, in seconds.

    One run of the kind that takes most of the time is traced in any case: else there would be nothing to show.

    >>> Adaptive(overhead=0.05)
    Adaptive(overhead=0.05, allowance=0.5)
    """

    overhead: float = 0.10
    allowance: float = 0.5

    def __post_init__(self) -> None:
        if not self.overhead >= 0:
            raise ValueError(f"overhead: {self.overhead} is negative; 0.1 allows a tenth of the untraced time")


@dataclass(frozen=True)
class Every:
    """Trace the first run of each kind and every `count`-th after it.

    >>> Every(10)
    Every(count=10)
    """

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"every: {self.count} is no distance between runs; 1 traces all of them")


@dataclass(frozen=True)
class Steps:
    """Trace the runs of each kind from `start` on and before `stop`, counted from 0; without a `stop` to the end.

    >>> Steps(10, 20)
    Steps(start=10, stop=20)
    """

    start: int
    stop: int | None = None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise ValueError(f"steps: {self.start}:{self.stop} holds no run; 10:20 holds the ten from the eleventh on")


SHORTER_SHARE = 1 / 3
LEAST_COMPARED = 0.005
"""Of runs that take less than these seconds chance decides which one takes a third as long."""

ALL_COMPARED, SOME_COMPARED = 500, 16
"""So many runs of a kind all count for the median, and every so-many-th after them: that takes time."""

FEWEST_COMPARED = 3
"""Of so many runs two are alike."""

Policy = Adaptive | Every | Steps
EVERYTHING = Every(1)


@dataclass(frozen=True, slots=True)
class Choice:
    """The number of a run within its kind, and whether the run is traced."""

    number: int
    traced: bool

    @property
    def is_first(self) -> bool:
        """Whether this is the first run of its kind, which sets up what later runs use.

        >>> Choice(0, traced=True).is_first
        True
        """
        return self.number == 0


class RunningMedian:
    """The median of numbers of which none are kept but five: the P² algorithm of Jain and Chlamtac (1985).

    >>> running = RunningMedian()
    >>> for number in range(1, 1000):
    ...     running.add(float(number % 100))
    >>> 48 < running.value < 52
    True
    """

    __slots__ = ("_heights", "_places", "_wanted")

    def __init__(self) -> None:
        self._heights: list[float] = []
        self._places = [0, 1, 2, 3, 4]
        self._wanted = [0.0, 1.0, 2.0, 3.0, 4.0]

    @property
    def value(self) -> float | None:
        """The median so far, None before the first number."""
        heights = self._heights
        return (heights[2] if len(heights) == len(self._places) else median(heights)) if heights else None

    def add(self, number: float) -> None:
        """Take one more number."""
        heights, places = self._heights, self._places
        if len(heights) < len(places):
            heights.append(number)
            heights.sort()
            return
        heights[0], heights[4] = min(heights[0], number), max(heights[4], number)
        for place in range(1, 5):
            places[place] += place == 4 or number < heights[place]
            self._wanted[place] += place / 4
        for place in (1, 2, 3):
            self._move(place)

    def _move(self, place: int) -> None:
        """Move a marker by one place if it is that far from where it should be, along a parabola or else a line."""
        heights, places = self._heights, self._places
        behind, ahead = places[place] - places[place - 1], places[place + 1] - places[place]
        away = self._wanted[place] - places[place]
        if not ((away >= 1 and ahead > 1) or (away <= -1 and behind > 1)):
            return
        step = 1 if away > 0 else -1
        up = (heights[place + 1] - heights[place]) / ahead
        down = (heights[place] - heights[place - 1]) / behind
        height = heights[place] + step * ((behind + step) * up + (ahead - step) * down) / (behind + ahead)
        if not heights[place - 1] < height < heights[place + 1]:
            height = heights[place] + step * (up if step > 0 else down)
        heights[place] = height
        places[place] += step


@dataclass(slots=True)
class Tally:
    """How many runs there were, how many of them were traced, and how long they took together and in the median."""

    runs: int = 0
    traced: int = 0
    seconds: float = 0.0
    median: RunningMedian = field(default_factory=RunningMedian)

    def add(self, seconds: float, *, traced: bool) -> None:
        """Count one more."""
        if self.runs < ALL_COMPARED or not self.runs % SOME_COMPARED:
            self.median.add(seconds)
        self.runs += 1
        self.traced += traced
        self.seconds += seconds


@dataclass(slots=True, eq=False)
class KindTally:
    """The tally of runs of one kind; the first run is counted by itself, and so are runs that retraced a function.

    `begun` also counts runs that have not ended. No run before number `due` is traced, and no window is opened before
    run number `resting_until`. The `owner` is kept, so that no other object gets its identity. `traced_steps` maps the
    step of a traced run to its seconds, without warm-ups.

    >>> kind = KindTally("train")
    >>> for number, seconds in enumerate([8.0, 2.0, 1.0]):
    ...     kind.add(Choice(number, traced=number < 2), seconds)
    >>> kind.runs().run_seconds, kind.runs().traced, kind.cost
    (1.0, 2, 1.0)
    """

    name: str
    owner: Any = None
    begun: int = 0
    due: int = 0
    resting_until: int = 0
    first: Tally = field(default_factory=Tally)
    retraced: Tally = field(default_factory=Tally)
    traced: Tally = field(default_factory=Tally)
    untraced: Tally = field(default_factory=Tally)
    traced_steps: dict[int, float] = field(default_factory=dict)

    def add(self, choice: Choice, seconds: float, *, is_retraced: bool = False) -> None:
        """Add a run that has ended."""
        if choice.is_first:
            tally = self.first
        elif is_retraced:
            tally = self.retraced
        else:
            tally = self.traced if choice.traced else self.untraced
        tally.add(seconds, traced=choice.traced)

    @property
    def cost(self) -> float | None:
        """The seconds that tracing adds to a run; None until both traced and untraced runs were timed."""
        if not self.traced.runs or not self.untraced.runs:
            return None
        return max(0.0, self.traced.seconds / self.traced.runs - self.untraced.seconds / self.untraced.runs)

    @property
    def extra_seconds(self) -> float:
        """The seconds that tracing added to all of these runs: measured if possible, else assumed."""
        cost = self.cost
        if cost is not None:
            return cost * (self.traced.runs + self.first.traced)
        suspected = SUSPECTED_SHARE * self.traced.seconds
        if self.first.traced:
            suspected += min(SUSPECTED_SHARE * self.first.seconds, SUSPECTED_SECONDS)
        return suspected

    @property
    def seconds(self) -> float:
        """The seconds that all of these runs took, without those that retraced a function."""
        return self.traced.seconds + self.untraced.seconds + self.first.seconds

    def runs(self) -> KindOfRun:
        """The tally as a recording has it."""
        tallies = (self.first, self.retraced, self.traced, self.untraced)
        return KindOfRun(
            name=self.name,
            seen=sum(tally.runs for tally in tallies),
            traced=sum(tally.traced for tally in tallies),
            untraced_seconds=self.untraced.seconds,
            traced_seconds=self.traced.seconds,
            warm_up_seconds=self.first.seconds + self.retraced.seconds,
            untraced=self.untraced.runs,
            warm_ups=self.first.runs + self.retraced.runs,
            median_seconds=self.untraced.median.value,
        )

    def shorter_steps(self) -> set[int]:
        """The traced steps that are not like most, as a small last batch is: they took less than a third as long."""
        usual = (self.untraced if self.untraced.runs else self.traced).median.value
        if usual is None or usual < LEAST_COMPARED or self.untraced.runs + self.traced.runs < FEWEST_COMPARED:
            return set()
        return {step for step, seconds in self.traced_steps.items() if seconds < SHORTER_SHARE * usual}


class Sampler:
    """Chooses the runs to trace by a policy, and keeps the one tally of each kind.

    It reads no clock: callers of `ran` say how long a run took. Calls must not overlap.

    >>> sampler = Sampler(Every(2))
    >>> train = sampler.kind("train", lambda: KindTally("train"))
    >>> [sampler.choose(train).traced for _ in range(5)]
    [True, False, True, False, True]
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.kinds: dict[Hashable, KindTally] = {}
        self.overhead_seconds = 0.0
        self._longest_seconds = 0.0
        self._extra_seconds = 0.0
        self._seconds = 0.0

    def kind(self, key: Hashable, new: Callable[[], KindTally]) -> KindTally:
        """The tally of the kind that has this key."""
        found = self.kinds.get(key)
        if found is None:
            found = self.kinds[key] = new()
        return found

    def choose(self, kind: KindTally, *, traceable: bool = True, cost: float = 0.0) -> Choice:
        """Choose whether the next run of a kind, which starts now, is traced; `cost` is added outside of the run.

        >>> Sampler(EVERYTHING).choose(KindTally("a partial run"), traceable=False)
        Choice(number=0, traced=False)
        """
        number = kind.begun
        kind.begun += 1
        return Choice(number, traceable and self._wants(kind, number, cost))

    def ran(self, kind: KindTally, choice: Choice, seconds: float, *, is_retraced: bool = False) -> None:
        """Add a run that has ended to the tally of its kind."""
        extra_before = kind.extra_seconds
        kind.add(choice, seconds, is_retraced=is_retraced)
        if choice.is_first or not is_retraced:
            self._seconds += seconds
            self._longest_seconds = max(self._longest_seconds, kind.seconds)
            self._extra_seconds += kind.extra_seconds - extra_before

    def add_overhead(self, seconds: float) -> None:
        """Add seconds that tracing cost outside of the runs to `overhead_seconds`."""
        self.overhead_seconds += seconds
        self._seconds += seconds
        self._extra_seconds += seconds

    def measured_cost(self) -> float | None:
        """The seconds that tracing added to runs of kinds that ran both traced and untraced, if there are any."""
        measured = [kind.extra_seconds for kind in self.kinds.values() if kind.cost is not None]
        return sum(measured) if measured else None

    def affordable_seconds(self) -> float:
        """The seconds that tracing may still cost; negative if it cost too much, infinite if its cost is not bounded.

        >>> Sampler(Adaptive()).affordable_seconds(), Sampler(EVERYTHING).affordable_seconds()
        (0.5, inf)
        """
        if not isinstance(self.policy, Adaptive):
            return inf
        untraced = self._seconds - self._extra_seconds
        return max(self.policy.overhead * untraced, self.policy.allowance) - self._extra_seconds

    def _wants(self, kind: KindTally, number: int, cost: float) -> bool:
        match self.policy:
            case Every(count):
                return number % count == 0
            case Steps(start, stop):
                return start <= number and (stop is None or number < stop)
            case Adaptive():
                return self._affords(kind, number, cost)

    def _affords(self, kind: KindTally, number: int, cost: float) -> bool:
        """Whether a run is due and tracing it is affordable; if it is not affordable, the next run is due."""
        if number < kind.due:
            return False
        is_missing = number > 0 and not kind.traced.runs and kind.seconds >= self._longest_seconds
        if not is_missing and (kind.cost or 0.0) + cost > self.affordable_seconds():
            return False
        kind.due = 1 if number == 0 else max(number + 2, ceil(number * GROWTH))
        return True


def policy(
    overhead: float | None = None, every: int | None = None, steps: Any = None, trace_all: bool = False
) -> Policy:
    """The policy that the arguments of `capture` ask for.

    >>> policy(every=10), policy(steps=range(10, 20))
    (Every(count=10), Steps(start=10, stop=20))
    >>> policy(every=2, overhead=0.1)
    Traceback (most recent call last):
        ...
    ValueError: overhead and every exclude each other: give one of overhead, every, steps, trace_all
    """
    given = {
        "overhead": overhead is not None,
        "every": every is not None,
        "steps": steps is not None,
        "trace_all": trace_all,
    }
    named = [name for name, is_given in given.items() if is_given]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} exclude each other: give one of {', '.join(given)}")
    if trace_all:
        return EVERYTHING
    if every is not None:
        return Every(every)
    if steps is not None:
        return _range(steps)
    return Adaptive() if overhead is None else Adaptive(overhead, allowance=0.0)


def _range(steps: Any) -> Steps:
    if isinstance(steps, range | slice):
        if steps.step not in (None, 1):
            raise ValueError(f"steps: {steps} skips runs; give every=... for that")
        return Steps(steps.start or 0, steps.stop)
    try:
        start, stop = steps
    except (TypeError, ValueError):
        raise ValueError(f"steps: {steps!r} is no range; give range(10, 20), or (10, 20)") from None
    return Steps(start or 0, stop)
