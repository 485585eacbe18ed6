"""Chooses which runs are traced, so that tracing costs little."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from tfprof_widget.capturing.recording import KindOfRun
from tfprof_widget.capturing.tallies import SUSPECTED_SECONDS, Choice, KindTally
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.data import FIRST_PART

# An adaptively traced run is followed by at least one untraced run to compare with, then by ever more of them.
GROWTH = 1.25
# If a run that is due costs too much, the next one is due when there were one in so many more: to look takes time.
NEXT_LOOK = 100


@dataclass(frozen=True)
class Adaptive:
    """Trace while the extra cost is below `overhead`, a share of the untraced time, or below `allowance`, in seconds.

    Of the kind that takes most of the time two runs are traced in any case: else there would be nothing to show. A few
    steady runs of each kind that takes much of the time may cost another `allowance`.

    >>> Adaptive(overhead=0.05)
    Adaptive(overhead=0.05, allowance=0.1)
    """

    overhead: float = 1 / 30
    allowance: float = 0.1

    def __post_init__(self) -> None:
        if not self.overhead >= 0:
            raise value_error(f"overhead: {self.overhead} is negative; 0.1 allows a tenth of the untraced time")


@dataclass(frozen=True)
class Every:
    """Trace the first run of each kind and every `count`-th after it.

    >>> Every(10)
    Every(count=10)
    """

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise value_error(f"every: {self.count} is no distance between runs; 1 traces all of them")


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
            raise value_error(f"steps: {self.start}:{self.stop} holds no run; 10:20 holds the ten from the eleventh on")


NOTABLE = 0.1
"""A kind that takes so large a share of the time may cost another allowance until a few steady runs are traced."""

Policy = Adaptive | Every | Steps
EVERYTHING = Every(1)


class Sampler:
    """Chooses the runs to trace by a policy, and keeps the one tally of each kind.

    It reads no clock: callers of `ran` say how long a run took, and `unread_seconds` how long it will take to read the
    traces that are kept. Calls must not overlap.

    >>> sampler = Sampler(Every(2))
    >>> train = sampler.kind("train", lambda: KindTally("train"))
    >>> [sampler.choose(train).traced for _ in range(5)]
    [True, False, True, False, True]
    """

    def __init__(self, policy: Policy, unread_seconds: Callable[[], float] = lambda: 0.0) -> None:
        self.policy = policy
        self.unread_seconds = unread_seconds
        self.kinds: dict[Hashable, KindTally] = {}
        self.overhead_seconds = 0.0
        self._longest_seconds = 0.0
        self._extra_seconds = 0.0
        self._changed: set[KindTally] = set()
        self._seconds = 0.0
        self._has_traced = False
        self._first_granted = 0.0
        self._asked: dict[KindTally, int] = {}

    def ask(self, runs: int) -> None:
        """Let the next runs of each kind be traced, so many of them, whatever that costs.

        >>> sampler = Sampler(Steps(100))
        >>> train = sampler.kind("train", lambda: KindTally("train"))
        >>> sampler.ask(2)
        >>> [sampler.choose(train).traced for _ in range(3)], sampler.has_answered
        ([True, True, False], True)
        """
        for kind in self.kinds.values():
            self._asked[kind] = kind.begun + runs
            kind.due = kind.resting_until = kind.begun

    def is_asked_for(self, kind: KindTally, number: int) -> bool:
        """Whether somebody asked for the run of a kind that has this number."""
        return bool(self._asked) and number < self._asked.get(kind, 0)

    @property
    def has_answered(self) -> bool:
        """Whether some kind has gone on beyond the runs that were asked for."""
        return any(kind.begun > until for kind, until in self._asked.items())

    def kind(self, key: Hashable, new: Callable[[], KindTally]) -> KindTally:
        """The tally of the kind that has this key."""
        found = self.kinds.get(key)
        if found is None:
            found = self.kinds[key] = new()
            found.due = self.policy.start if isinstance(self.policy, Steps) else 0
        return found

    def is_due(self, kind: KindTally) -> bool:
        """Whether the next run of a kind may be traced, if that is affordable; this takes no time to find out."""
        match self.policy:
            case Adaptive():
                return kind.begun >= kind.due
            case Every(count):
                return kind.begun % count == 0
            case Steps(start, stop):
                return start <= kind.begun and (stop is None or kind.begun < stop)

    def begin(
        self,
        kind: KindTally,
        cost: Callable[[KindTally], float],
        is_traceable: Callable[[KindTally], bool] = lambda kind: True,
    ) -> tuple[int, bool]:
        """The number of the run of a kind that begins now, and whether it is traced.

        Most runs are not due: to find that out takes a few instructions, and calls neither of the functions.
        """
        number = kind.begun
        if number < kind.due:
            kind.begun = number + 1
            return number, False
        is_due = self.is_asked_for(kind, number) or self.is_due(kind)
        return self.choose(kind, traceable=is_due and is_traceable(kind), cost=cost)

    def choose(
        self, kind: KindTally, *, traceable: bool = True, cost: Callable[[KindTally], float] = lambda kind: 0.0
    ) -> Choice:
        """Choose whether the next run of a kind, which starts now, is traced; `cost` is added outside of the run.

        >>> Sampler(EVERYTHING).choose(KindTally("a partial run"), traceable=False)
        Choice(number=0, traced=False)
        """
        number = kind.begun
        asked = self.is_asked_for(kind, number)
        traced = traceable and (asked or (self.is_due(kind) and self._affords(kind, number, cost)))
        kind.begun = number + 1
        return Choice(number, traced)

    def ran(self, kind: KindTally, choice: Choice, seconds: float, *, is_retraced: bool = False) -> None:
        """Add a run that has ended to the tally of its kind."""
        kind.add(choice, seconds, is_retraced=is_retraced)
        self._changed.add(kind)
        self._has_traced |= choice.traced

    def ran_untraced(self, kind: KindTally, seconds: float) -> None:
        """Add an untraced run that has ended and was no warm-up, as nearly all are."""
        kind.untraced.add(seconds, traced=False)
        self._changed.add(kind)

    def marked_steps(self) -> dict[int, str]:
        """The traced steps that do not stand for their kinds, each with the mark of its name."""
        unlike: dict[int, str] = {}
        for tally in self.kinds.values():
            unlike |= tally.marked_steps() | dict.fromkeys(tally.first_part_steps, FIRST_PART)
        return unlike

    def measured_cost(self, waiting: Collection[KindOfRun] = ()) -> float | None:
        """The seconds that tracing added to runs of kinds that ran both traced and untraced, if there are any.

        Kinds that only ran beside the cell's own thread, and mostly waited, took none of its time.
        """
        measured = (kind for kind in self.kinds.values() if kind.cost is not None)
        counted = [kind for kind in measured if not (kind.is_beside and kind.runs() in waiting)]
        return sum(kind.extra_seconds for kind in counted) if counted else None

    def affordable_seconds(self, running: float = 0.0) -> float:
        """The seconds that tracing may still cost; negative if it cost too much, infinite if its cost is not bounded.

        `running` is how long the run under way has taken so far.

        >>> Sampler(Adaptive()).affordable_seconds(), Sampler(EVERYTHING).affordable_seconds()
        (0.1, inf)
        """
        if not isinstance(self.policy, Adaptive):
            return inf
        self._count_changed()
        untraced = self._seconds + running - self._extra_seconds
        spent = self._extra_seconds + self.overhead_seconds + self.unread_seconds()
        return max(self.policy.overhead * untraced, self.policy.allowance) - spent

    def affordable_for(self, kind: KindTally) -> float:
        """The seconds that tracing the next run of a kind may cost; more than others if too little of it was recorded.

        Whatever other kinds and eager ops have cost, a kind that takes much of the time may cost an allowance of its
        own until a few of its steady runs are recorded. First runs, of which it is not known what time their kinds will
        take, may together cost the allowance whatever eager ops have cost.
        """
        left = self.affordable_seconds()
        if not isinstance(self.policy, Adaptive) or not self.policy.allowance:
            return left
        own = self.policy.allowance
        if not kind.begun:
            return max(left, own - self._extra_seconds - self._first_granted)
        if not kind.has_few or kind.seconds < NOTABLE * self._seconds:
            return left
        return max(left, own if kind.is_missing else own - kind.extra_seconds - kind.granted)

    def _count_changed(self) -> None:
        """Count the times of the kinds that ran since they were last counted: most runs need not know them."""
        for kind in self._changed:
            seconds, extra = kind.seconds, kind.extra_seconds
            self._seconds += seconds - kind.counted[0]
            self._extra_seconds += extra - kind.counted[1]
            kind.counted = seconds, extra
            self._longest_seconds = max(self._longest_seconds, seconds)
        self._changed.clear()

    def _affords(self, kind: KindTally, number: int, cost: Callable[[KindTally], float]) -> bool:
        """Whether tracing a run that is due is affordable; if it is not, a later run is due: of the first, the next."""
        if not isinstance(self.policy, Adaptive):
            return True
        extra, left = (kind.cost or 0.0) + cost(kind), self.affordable_for(kind)
        is_longest = kind.is_missing and kind.seconds >= self._longest_seconds
        is_needed = is_longest if number else not self._has_traced
        if not is_needed and extra > left:
            kind.due = number + max(number // NEXT_LOOK, 1)
            return False
        if extra > self.affordable_seconds():
            if number:
                kind.granted += extra
            else:
                self._first_granted += max(extra, SUSPECTED_SECONDS)
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
        raise value_error(f"{' and '.join(named)} exclude each other: give one of {', '.join(given)}")
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
            raise value_error(f"steps: {steps} skips runs; give every=... for that")
        return Steps(steps.start or 0, steps.stop)
    try:
        start, stop = steps
    except (TypeError, ValueError):
        raise value_error(f"steps: {steps!r} is no range; give range(10, 20), or (10, 20)") from None
    return Steps(start or 0, stop)
