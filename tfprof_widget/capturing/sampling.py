"""Chooses which runs are traced: the first ones and then ever more seldom, so that tracing costs little."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from tfprof_widget.capturing.recording import KindOfRun

# An adaptively traced run is followed by at least one untraced run to compare with, then by ever more of them.
GROWTH = 1.25
# A group that has no untraced run yet may have cost this share of its traced seconds: tracing takes up to 4 times.
SUSPECTED_SHARE = 0.75
# Most of a warm-up is setting up, so tracing is not suspected of more seconds than these.
SUSPECTED_SECONDS = 0.05


@dataclass(frozen=True)
class Adaptive:
    """Trace as long as the extra cost keeps within a share of the untraced time, or within some seconds in total.

    But what takes most of the time is traced once, whatever it costs: else there would be nothing to show.

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
    """Trace each group's first run and every `count`-th after it.

    >>> Every(10)
    Every(count=10)
    """

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"every: {self.count} is no distance between runs; 1 traces all of them")


@dataclass(frozen=True)
class Steps:
    """Trace each group's runs from `start` on and before `stop`, counted from 0; without a `stop` to the end.

    >>> Steps(10, 20)
    Steps(start=10, stop=20)
    """

    start: int
    stop: int | None = None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise ValueError(f"steps: {self.start}:{self.stop} holds no run; 10:20 holds the ten from the eleventh on")


Policy = Adaptive | Every | Steps
EVERYTHING = Every(1)


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of a run: its number within its group, and whether it is traced."""

    number: int
    traced: bool

    @property
    def warm_up(self) -> bool:
        """Whether this is the first run of its group, which sets up what later ones find ready.

        >>> Choice(0, traced=True).warm_up
        True
        """
        return self.number == 0


@dataclass(slots=True)
class Times:
    """How often a group ran and how long it took; a group's warm-up is counted by itself."""

    seen: int = 0
    due: int = 0
    traced: int = 0
    traced_seconds: float = 0.0
    untraced: int = 0
    untraced_seconds: float = 0.0
    warmed_up: bool = False
    warm_up_seconds: float = 0.0
    warm_up_traced: bool = False

    @property
    def cost(self) -> float | None:
        """The seconds that tracing adds to a run, once runs of both kinds were timed.

        >>> Times(traced=2, traced_seconds=8.0, untraced=4, untraced_seconds=4.0).cost
        3.0
        """
        if not self.traced or not self.untraced:
            return None
        return max(0.0, self.traced_seconds / self.traced - self.untraced_seconds / self.untraced)

    @property
    def extra_seconds(self) -> float:
        """The seconds that tracing added to all of this group's runs: measured, else suspected."""
        cost = self.cost
        if cost is not None:
            return cost * (self.traced + self.warm_up_traced)
        suspected = SUSPECTED_SHARE * self.traced_seconds
        if self.warm_up_traced:
            suspected += min(SUSPECTED_SHARE * self.warm_up_seconds, SUSPECTED_SECONDS)
        return suspected

    @property
    def seconds(self) -> float:
        """The seconds that all of this group's runs took."""
        return self.traced_seconds + self.untraced_seconds + self.warm_up_seconds


class Sampler:
    """Chooses the runs to trace by a policy; runs of one group do the same work.

    It is told how long the runs took, and looks at no clock. Calls must not overlap.

    >>> sampler = Sampler(Every(2))
    >>> [sampler.choose("train").traced for _ in range(5)]
    [True, False, True, False, True]
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._groups: dict[Hashable, Times] = {}
        self._longest_seconds = 0.0
        self.spent_seconds = 0.0
        self._extra_seconds = 0.0
        self._seconds = 0.0

    def choose(self, group: Hashable, *, traceable: bool = True, cost: float = 0.0) -> Choice:
        """Say whether this group's next run, which starts now, is to be traced; `cost` is known to come beside the run.

        >>> Sampler(EVERYTHING).choose("a partial run", traceable=False)
        Choice(number=0, traced=False)
        """
        times = self._groups.setdefault(group, Times())
        number = times.seen
        times.seen += 1
        return Choice(number, traceable and self._wants(times, number, cost))

    def ran(self, group: Hashable, choice: Choice, seconds: float) -> None:
        """Note how long a run took that has come to its end."""
        times = self._groups[group]
        extra_before = times.extra_seconds
        if choice.warm_up:
            times.warmed_up = True
            times.warm_up_seconds = seconds
            times.warm_up_traced = choice.traced
        elif choice.traced:
            times.traced += 1
            times.traced_seconds += seconds
        else:
            times.untraced += 1
            times.untraced_seconds += seconds
        self._seconds += seconds
        self._longest_seconds = max(self._longest_seconds, times.seconds)
        self._extra_seconds += times.extra_seconds - extra_before

    def spent(self, seconds: float) -> None:
        """Note seconds that tracing cost beside the runs; `spent_seconds` sums them up."""
        self.spent_seconds += seconds
        self._seconds += seconds
        self._extra_seconds += seconds

    def times(self, group: Hashable) -> Times:
        """What is known of a group.

        >>> sampler = Sampler(EVERYTHING)
        >>> sampler.ran("train", sampler.choose("train"), 0.5)
        >>> sampler.times("train").warm_up_seconds
        0.5
        """
        return self._groups[group]

    def measured_cost(self) -> float | None:
        """The seconds that tracing added to the runs of groups that ran both traced and untraced, if there are any.

        >>> Sampler(EVERYTHING).measured_cost() is None
        True
        """
        measured = [times.extra_seconds for times in self._groups.values() if times.cost is not None]
        return sum(measured) if measured else None

    def affordable_seconds(self) -> float:
        """What tracing may cost from now on; negative where it cost too much, without end where that is no matter.

        >>> Sampler(Adaptive()).affordable_seconds(), Sampler(EVERYTHING).affordable_seconds()
        (0.5, inf)
        """
        if not isinstance(self.policy, Adaptive):
            return inf
        untraced = self._seconds - self._extra_seconds
        return max(self.policy.overhead * untraced, self.policy.allowance) - self._extra_seconds

    def _wants(self, times: Times, number: int, cost: float) -> bool:
        match self.policy:
            case Every(count):
                return number % count == 0
            case Steps(start, stop):
                return start <= number and (stop is None or number < stop)
            case Adaptive():
                return self._affords(times, number, cost)

    def _affords(self, times: Times, number: int, cost: float) -> bool:
        """Whether a run is due and within what tracing may cost; one that is not within stays due."""
        if number < times.due:
            return False
        is_missing = number > 0 and not times.traced and times.seconds >= self._longest_seconds
        if not is_missing and (times.cost or 0.0) + cost > self.affordable_seconds():
            return False
        times.due = 1 if number == 0 else max(number + 2, ceil(number * GROWTH))
        return True


LOOP = ": "


@dataclass
class Kind:
    """The steps of one kind that have ended, and how long they took; `resting_until` is a number of a step.

    >>> kind = Kind("train", None)
    >>> for number, seconds in enumerate([8.0, 2.0, 1.0]):
    ...     kind.add(FunctionRun("train", kind, Choice(number, traced=number < 2), number, 0.0), seconds)
    >>> kind.runs().run_seconds, kind.traced, kind.untraced, kind.warm_ups
    (1.0, 2, 1, 1)
    """

    name: str
    owner: Any
    seen: int = 0
    traced: int = 0
    untraced: int = 0
    warm_ups: int = 0
    untraced_seconds: float = 0.0
    traced_seconds: float = 0.0
    warm_up_seconds: float = 0.0
    resting_until: int = 0

    def add(self, run: FunctionRun, seconds: float) -> None:
        """Add a step that has ended."""
        self.seen += 1
        self.traced += run.choice.traced
        if run.is_warm_up:
            self.warm_ups += 1
            self.warm_up_seconds += seconds
        elif run.choice.traced:
            self.traced_seconds += seconds
        else:
            self.untraced += 1
            self.untraced_seconds += seconds

    def runs(self) -> KindOfRun:
        """As a result has it."""
        return KindOfRun(
            name=self.name,
            seen=self.seen,
            traced=self.traced,
            untraced_seconds=self.untraced_seconds,
            traced_seconds=self.traced_seconds,
            warm_up_seconds=self.warm_up_seconds,
            untraced=self.untraced,
            warm_ups=self.warm_ups,
        )


@dataclass
class FunctionRun:
    """A step that has begun; `number` is that of the recorded step, None if it is not recorded."""

    key: Hashable
    kind: Kind
    choice: Choice
    number: int | None
    started: float
    is_traced_anew: bool = False

    @property
    def is_warm_up(self) -> bool:
        """Whether it was the first of its kind, or traced a function, so that others do not take as long."""
        return self.choice.warm_up or self.is_traced_anew

    @property
    def is_of_loop(self) -> bool:
        """Whether a loop of a library's makes the steps, so that all of a step is in its function."""
        return LOOP in self.kind.name


def policy(
    overhead: float | None = None, every: int | None = None, steps: Any = None, trace_all: bool = False
) -> Policy:
    """What to trace, from the arguments of `capture`.

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
