"""Tallies the runs of each kind: how many there were, how long they took, which were traced and what that cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from tfprof_widget.analysis.steady import op_seconds
from tfprof_widget.capturing.cell_log import RunLog
from tfprof_widget.capturing.recording import KindOfRun
from tfprof_widget.lib.arrays import RunningMedian
from tfprof_widget.profiles.cell import PARTLY_TRACED, TRACED, CellRuns
from tfprof_widget.profiles.data import EAGER, EARLY, SHORTER, ProfileTables

# Until a kind has an untraced run, tracing is assumed to be this share of its traced time: it slows runs up to 4 times.
SUSPECTED_SHARE = 0.75
# Most of a warm-up is setting up, so tracing is assumed to be at most so many seconds of it.
SUSPECTED_SECONDS = 0.05

SHORTER_SHARE = 1 / 3
LEAST_COMPARED = 0.005
"""Of runs that take less than these seconds chance decides which one takes a third as long."""

FEWEST_COMPARED = 3
"""Of so many runs two are alike."""

EARLY_RUNS = 3
"""The first so many runs of a kind are slower than later ones: memory is touched and caches are filled for the first
time."""

MOST_WAITING = 16
"""So many traced runs in a row are compared with the untraced runs before and after them."""


UNTRACED = (0, PARTLY_TRACED)
"""The marks of runs that took as long as without tfprof."""


class Choice(NamedTuple):
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


@dataclass(slots=True)
class Tally:
    """How many runs there were, how many of them were traced, and how long they took together."""

    runs: int = 0
    traced: int = 0
    seconds: float = 0.0

    def add(self, seconds: float, *, traced: bool) -> None:
        """Count one more."""
        self.runs += 1
        self.traced += traced
        self.seconds += seconds


@dataclass(slots=True)
class PartTally:
    """How many runs were recorded in part, how long they took, and how much of that was recorded."""

    runs: int = 0
    seconds: float = 0.0
    recorded: float = 0.0

    def add(self, seconds: float, recorded: float) -> None:
        """Count one more."""
        self.runs += 1
        self.seconds += seconds
        self.recorded += min(recorded, seconds)


@dataclass(slots=True)
class ComparedTally(Tally):
    """The tally of untraced runs, with which the traced runs beside them are compared: that tells what tracing costs.

    Runs of the same time are compared, as early runs are slower than later ones whether they are traced or not. The
    second run has none before it that is like it, so that early runs tell only until later ones do.

    >>> untraced = ComparedTally()
    >>> untraced.compare(1, 9.0)
    >>> untraced.add(5.0, traced=False)
    >>> untraced.compare(3, 6.0)
    >>> untraced.add(3.0, traced=False)
    >>> untraced.cost
    2.0
    """

    early: RunningMedian = field(default_factory=RunningMedian)
    later: RunningMedian = field(default_factory=RunningMedian)
    before: float | None = None
    waiting: list[tuple[int, float, float | None]] = field(default_factory=list)

    def compare(self, number: int, seconds: float) -> None:
        """Let a traced run of this number be compared with the runs before it and after it."""
        if len(self.waiting) < MOST_WAITING:
            self.waiting.append((number, seconds, self.before))

    def add(self, seconds: float, *, traced: bool) -> None:
        """Count one more, and compare those with it that wait for it; this is called at each run of the user's."""
        self.runs += 1
        self.traced += traced
        self.seconds += seconds
        if self.waiting:
            for number, took, before in self.waiting:
                beside = seconds if before is None else (before + seconds) / 2
                (self.early if number < EARLY_RUNS else self.later).add(took - beside)
            self.waiting.clear()
        self.before = seconds

    @property
    def cost(self) -> float | None:
        """The median of what tracing added to a run, at least 0; None as long as nothing could be compared."""
        found = self.later.value
        if found is None:
            found = self.early.value
        if found is None:
            ahead = [took - before for _, took, before in self.waiting if before is not None]
            found = median(ahead) if ahead else None
        return None if found is None else max(found, 0.0)


@dataclass(slots=True, eq=False)
class KindTally:
    """The tally of runs of one kind; the first run is counted by itself, and so are runs that retraced a function.

    `begun` also counts runs that have not ended. No run before number `due` is traced, and no window is opened before
    run number `resting_until`. The `owner` is kept, so that no other object gets its identity. `traced_steps` maps the
    step of a traced run to its seconds, without warm-ups; `early_steps` are those of them that a sampler chose among
    the first runs, and `later` is the number of the others. `parts` are the runs that were recorded in part, which
    count as untraced too, and `first_parts` the warm-ups among them; `first_part_steps` are the steps of the latter.
    `is_beside` says that all runs so far were in other threads than the capture's own. `counted` are the `seconds` and
    the `extra_seconds` that the sampler has added up so far, and `granted` is what recording a few runs of this kind
    cost beside them when others had used the allowance up. `log` has all runs, those that raised too.

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
    untraced: ComparedTally = field(default_factory=ComparedTally)
    traced_steps: dict[int, float] = field(default_factory=dict)
    early_steps: set[int] = field(default_factory=set)
    later: int = 0
    parts: PartTally = field(default_factory=PartTally)
    first_parts: PartTally = field(default_factory=PartTally)
    first_part_steps: set[int] = field(default_factory=set)
    is_beside: bool = True
    counted: tuple[float, float] = (0.0, 0.0)
    granted: float = 0.0
    log: RunLog = field(default_factory=RunLog)

    def add(self, choice: Choice, seconds: float, *, is_retraced: bool = False) -> None:
        """Add a run that has ended."""
        if not choice.number:
            tally = self.first
        elif is_retraced:
            tally = self.retraced
        else:
            tally = self.traced if choice.traced else self.untraced
            if choice.traced:
                self.untraced.compare(choice.number, seconds)
                self.later += choice.number >= EARLY_RUNS
        tally.add(seconds, traced=choice.traced)

    @property
    def cost(self) -> float | None:
        """The seconds that tracing adds to a run; None until both traced and untraced runs were timed."""
        if not self.traced.runs or not self.untraced.runs:
            return None
        return self.untraced.cost

    @property
    def extra_seconds(self) -> float:
        """The seconds that tracing added to all of these runs: measured if possible, else assumed."""
        cost = self.cost
        if cost is not None:  # without it no run took less than nothing
            of_first = min(cost, self.first.seconds) if self.first.traced else 0.0
            return min(cost * self.traced.runs, self.traced.seconds) + of_first
        suspected = SUSPECTED_SHARE * self.traced.seconds
        if self.first.traced:
            suspected += min(SUSPECTED_SHARE * self.first.seconds, SUSPECTED_SECONDS)
        return suspected

    @property
    def is_missing(self) -> bool:
        """Whether no run but a warm-up was recorded, as a whole or in part."""
        return not self.traced.runs and not self.parts.runs

    @property
    def has_few(self) -> bool:
        """Whether too few steady runs were recorded to stand for the kind, or none but early ones."""
        return not self.parts.runs and (self.traced.runs < FEWEST_COMPARED or not self.later)

    @property
    def seconds(self) -> float:
        """The seconds that all of these runs took, without those that retraced a function."""
        return self.traced.seconds + self.untraced.seconds + self.first.seconds

    def counts(self) -> tuple[int, int]:
        """How many runs there were, and how many of them were traced."""
        tallies = (self.first, self.retraced, self.traced, self.untraced)
        traced = sum(tally.traced for tally in tallies) + self.parts.runs + self.first_parts.runs
        return sum(tally.runs for tally in tallies), traced

    def runs(self) -> KindOfRun:
        """The tally as a recording has it."""
        seen, traced = self.counts()
        return KindOfRun(
            name=self.name,
            seen=seen,
            traced=traced,
            untraced_seconds=self.untraced.seconds,
            traced_seconds=self.traced.seconds,
            warm_up_seconds=self.first.seconds + self.retraced.seconds,
            untraced=self.untraced.runs,
            warm_ups=self.first.runs + self.retraced.runs,
            median_seconds=self._usual_seconds(),
            standing_seconds=self._standing_seconds() if self.marked_steps() else None,
            parted=self.parts.runs,
            part_seconds=self.parts.recorded,
            parted_seconds=self.parts.seconds,
            first_part_seconds=self.first_parts.recorded,
            first_parted_seconds=self.first_parts.seconds,
        )

    def all_runs(self, entered: float) -> CellRuns:
        """The runs one by one, of a cell that was entered then."""
        return self.log.runs(self.name, entered, self._usual_seconds())

    def marked_steps(self) -> dict[int, str]:
        """The traced steps that do not stand for the kind where others do, each with the mark of its name.

        That are those that took less than a third as long as most, as that of a small last batch does, and early ones.
        """
        unlike = dict.fromkeys(self.shorter_steps(), SHORTER)
        if self.traced_steps.keys() - unlike.keys() - self.early_steps:
            unlike |= dict.fromkeys(self.early_steps - unlike.keys(), EARLY)
        return unlike

    def shorter_steps(self) -> set[int]:
        """The traced steps that are not like most, as a small last batch is: they took less than a third as long."""
        lengths = self.log.lengths(*UNTRACED) if self.untraced.runs else self.log.lengths(TRACED)
        usual = float(lengths[len(lengths) // 4]) if len(lengths) else 0.0
        if usual < LEAST_COMPARED or self.untraced.runs + self.traced.runs < FEWEST_COMPARED:
            return set()
        return {step for step, seconds in self.traced_steps.items() if seconds < SHORTER_SHARE * usual}

    def _standing_seconds(self) -> float | None:
        """The seconds of a traced run that stands for the kind, in the mean; None if none does."""
        standing = [self.traced_steps[step] for step in self.traced_steps.keys() - self.marked_steps().keys()]
        return sum(standing) / len(standing) if standing else None

    def _usual_seconds(self) -> float | None:
        """The median of the untraced runs; where it lies between two that are unlike, the one like the traced runs."""
        lengths = self.log.lengths(*UNTRACED)
        if not len(lengths):
            return None
        shorter, longer = float(lengths[(len(lengths) - 1) // 2]), float(lengths[len(lengths) // 2])
        if shorter >= SHORTER_SHARE * longer:
            return (shorter + longer) / 2
        standing = self._standing_seconds()
        return shorter if standing is not None and standing**2 < shorter * longer else longer


FIRST_STEPS = 2
"""The size of the first window of a kind: its first step only sets up, so that a second one is needed."""

MOST_STEPS = 8

EMPTY_SECONDS = 0.004
"""The cost of a window that holds nearly nothing."""

LOOK_SECONDS = 0.1
"""Of a run with a loop so much is recorded before it is known what recording it costs."""


@dataclass
class WindowCosts:
    """The cost of a step in the last window of each kind; a window's kind is that of its first step.

    >>> costs = WindowCosts()
    >>> costs.add("train", 2, 0.204)
    >>> costs.of_one("train"), costs.affordable_steps("train", 0.504), costs.affordable_steps("train", 9.0)
    (0.104, 5, 8)
    """

    _seconds: dict[str, float] = field(default_factory=dict)
    _last: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, kind: str, steps: int, seconds: float, opened: float = 0.0) -> None:
        """Take note of the cost of a window of so many steps, in which these ran for `opened` seconds."""
        self._seconds[kind] = max(seconds - EMPTY_SECONDS, 0.0) / steps
        if opened >= LOOK_SECONDS / 2:  # what opening and closing cost weighs too much in a shorter one
            self._last[kind] = seconds, opened

    def of_one(self, kind: str) -> float:
        """The cost of a window of one step of this kind, estimated from the last window.

        >>> WindowCosts().of_one("train")
        0.004
        """
        return EMPTY_SECONDS + self._seconds.get(kind, 0.0)

    def affordable_steps(self, kind: str, seconds: float) -> int:
        """How many steps, at least one, a window may hold to cost no more than so many seconds.

        >>> WindowCosts().affordable_steps("train", 9.0), WindowCosts().affordable_steps("train", -1.0)
        (2, 1)
        """
        if seconds <= 0:
            return 1
        each = self._seconds.get(kind)
        if each is None:
            return FIRST_STEPS
        affordable = (seconds - EMPTY_SECONDS) / each if each else MOST_STEPS
        return int(max(1, min(affordable, MOST_STEPS)))

    def affordable_time(self, kind: str, seconds: float) -> float:
        """How long a step of this kind may be recorded to cost no more than so many seconds, if it goes on as so far.

        That is at most twice as long as the last window was: ops may have been few in it, as while TensorFlow sets up.

        >>> costs = WindowCosts()
        >>> costs.add("train", 1, 0.5, opened=0.25)
        >>> [costs.affordable_time("train", seconds) for seconds in (0.5, 9.0)], costs.affordable_time("another", 9.0)
        ([0.25, 0.5], 0.1)
        """
        cost, opened = self._last.get(kind, (0.0, 0.0))
        return min(seconds * opened / cost, 2 * max(opened, LOOK_SECONDS)) if cost and opened else LOOK_SECONDS


MOST_GUESSED = 10.0
"""What was recorded of eager ops stands for at most so many times as long."""


def eager_runs(tables: ProfileTables, windows: int, seconds: float, between: float | None) -> KindOfRun:
    """Eager ops as a kind of run: beside steps by their op time, with a guess of what was not recorded.

    They were recorded in so many windows for `seconds`, of the time `between` steps; None if there were no steps.

    >>> from tfprof_widget.demo import demo_profile
    >>> eager_runs(demo_profile(), 1, 0.5, None).traced_seconds
    0.5
    """
    if between is None:
        return KindOfRun(EAGER, windows, windows, 0.0, seconds, 0.0, untraced=0, warm_ups=0)
    found = op_seconds(tables, EAGER)
    rest = found * min(max(between / seconds - 1, 0.0), MOST_GUESSED) if seconds else 0.0
    return KindOfRun(EAGER, windows, windows, rest, found, 0.0, untraced=0, warm_ups=0)
