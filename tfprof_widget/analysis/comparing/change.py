"""Tells by how much one time changed between two groups of runs, and whether that is more than runs differ anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tfprof_widget.analysis.comparing.statistics import SMALLEST_SPREAD, quantile
from tfprof_widget.lib.arrays import Floats
from tfprof_widget.lib.text import fixed, written_percent, written_seconds

Verdict = Literal["slower", "faster", "no difference seen", "cannot tell"]

OUTSIDE = 0.05
"""An interval misses the true ratio so often."""

FALSELY = 0.025
"""Runs of the same code are called different so often at most: half of what is promised, for real noise is uneven."""

MISSED = 0.2
"""The smallest difference that would have been seen is missed so often."""

TOO_COARSE = 1.25
"""Where a difference smaller than this may go unseen, it is not said that none was seen."""

FEWEST_STEPS = 8
"""The median of fewer steps says too little of how it would have come out another time."""

MOST_STEPS = 512
RESAMPLES = 400

TIMES = "\N{MULTIPLICATION SIGN}"

NO_TIMES = "one of them has no times of it"
FEW_STEPS = f"one of the two runs has fewer than {FEWEST_STEPS} steps"
TWO_RUNS = "this holds for these two runs: how much runs of the same code differ is not known"
ONE_RUN_EACH = "one run each does not tell how much runs of the same code differ"
NO_ROUND = "no round of it is complete"
ONE_ROUND = "one round does not tell how much rounds differ"
TOO_WIDE = "the runs differ so much among themselves that a difference of a quarter could hide"
BORDERLINE = "it is at the edge of what runs of the same code differ by"


@dataclass(frozen=True)
class Change:
    """By how much a time changed from the runs before to the runs after; ratios are of after / before.

    The true ratio lies between `low` and `high` in 19 of 20 comparisons. `smallest` is the smallest ratio, taken
    either way, that would have been seen in 4 of 5 comparisons. `reason` says why nothing can be told, or what the
    verdict holds for; it is empty where nothing is to be added. Unknown numbers are NaN.

    >>> same = change([[1.0], [1.02], [0.98]], [[1.01], [0.99], [1.0]])
    >>> same.verdict, round(same.ratio, 2), same.runs
    ('no difference seen', 1.0, (3, 3))
    """

    verdict: Verdict
    ratio: float
    low: float
    high: float
    before_seconds: float
    after_seconds: float
    runs: tuple[int, int]
    smallest: float = math.nan
    reason: str = ""

    def text(self, subject: str = "a step") -> str:
        """The change as a sentence.

        >>> change([[0.1], [0.101], [0.099]], [[0.125], [0.124], [0.126]]).text()
        'a step became 1.22 to 1.28 ... slower (100.0 → 125.0 ms; 3 runs against 3)'
        """
        return "".join(text for text, _ in self.spans(subject))

    def spans(self, subject: str) -> list[tuple[str, bool]]:
        """The same in pieces, each with whether it is the answer, which is to stand out."""
        times = f" ({_span(self.before_seconds, self.after_seconds)}; {counted_runs(self.runs)})"
        rest = times + (f": {self.reason}" if self.reason else "")
        if self.verdict in ("slower", "faster"):
            low, high = (self.low, self.high) if self.verdict == "slower" else (1 / self.high, 1 / self.low)
            answer = f"{written_ratios(low, high)} {TIMES} {self.verdict}"
            return [(f"{subject} became ", False), (answer, True), (rest, False)]
        if self.verdict == "no difference seen":
            seen = f"one of {written_percent(self.smallest - 1, 0 if self.smallest > 1.1 else 1)} would have been"
            return [("no difference seen", True), (f" in {subject}, and {seen}{rest}", False)]
        return [("it cannot be told", True), (f" whether {subject} changed{rest}", False)]

    def untold(self, reason: str) -> Change:
        """The same numbers without a verdict.

        >>> change([[1.0]] * 3, [[2.0]] * 3).untold("the machine was busy").verdict
        'cannot tell'
        """
        return replace(self, verdict="cannot tell", reason=reason)


def counted_runs(runs: tuple[int, int]) -> str:
    """How many runs there are on either side.

    >>> counted_runs((1, 4))
    '1 run against 4'
    """
    return f"{runs[0]} run{'s' * (runs[0] != 1)} against {runs[1]}"


def written_ratios(low: float, high: float) -> str:
    """An interval of ratios; twice the same is written once.

    >>> written_ratios(1.226, 1.311), written_ratios(2.0, 2.001)
    ('1.23 to 1.31', '2.00')
    """
    decimals = 2 if high < 10 else 1
    first, last = fixed(low, decimals), fixed(high, decimals)
    return first if first == last else f"{first} to {last}"


def change(
    before: Sequence[Sequence[float] | Floats],
    after: Sequence[Sequence[float] | Floats],
    others: Sequence[Sequence[Sequence[float] | Floats]] = (),
    questions: int = 1,
) -> Change:
    """Compare groups of runs; of each run there are the seconds of its steps in order, or a single time.

    The log of a run's median is one observation, and runs differ by more than their steps. By how much is taken from
    all groups, by Student's t, since resampling three or four runs finds too narrow intervals. `others` are groups of
    further runs, each of the same code, that tell only this. One run against one, without others, is judged by its
    steps: then the interval holds for these two runs. With several questions at once, each answer has to be surer.

    >>> times = np.random.default_rng(5).normal(1.0, 0.05, (2, 200))
    >>> alone = change([times[0]], [times[1] * 1.2])
    >>> alone.verdict, alone.reason == TWO_RUNS, alone.low < 1.2 < alone.high
    ('slower', True, True)
    """
    groups = [[np.asarray(run, np.float64) for run in group] for group in (before, after, *others)]
    groups = [[run for run in group if len(run) and (run > 0).all()] for group in groups]
    runs = len(groups[0]), len(groups[1])
    medians = [np.array([np.log(np.median(run)) for run in group]) for group in groups]
    if not all(runs):
        known = [float(np.exp(each.mean())) if len(each) else math.nan for each in medians[:2]]
        return Change("cannot tell", math.nan, math.nan, math.nan, known[0], known[1], runs, reason=NO_TIMES)
    first, second = (float(each.mean()) for each in medians[:2])
    found = Change("cannot tell", math.exp(second - first), math.nan, math.nan, math.exp(first), math.exp(second), runs)
    freedom = sum(max(len(each) - 1, 0) for each in medians)
    if not freedom:
        return _of_two(found, groups[0][0], groups[1][0], questions)
    between = sum(float(((each - each.mean()) ** 2).sum()) for each in medians if len(each)) / freedom
    error = math.sqrt((between + SMALLEST_SPREAD**2) * (1 / runs[0] + 1 / runs[1]))
    return _judged(found, second - first, error, freedom, questions)


def paired_change(log_ratios: Floats, before: Floats, after: Floats, looks: int = 1) -> Change:
    """Compare in pairs: each log ratio is of two runs that were made in turns, and so is one observation.

    `before` and `after` are the logs of the times of all runs. An answer that is looked for several times, until there
    is one, has to be surer each time.

    >>> logs = np.log([[1.0, 2.0, 1.5], [1.1, 2.21, 1.64]])
    >>> found = paired_change(logs[1] - logs[0], logs[0], logs[1])
    >>> found.verdict, round(found.ratio, 2), found.runs
    ('slower', 1.1, (3, 3))
    """
    runs = len(before), len(after)
    if not len(log_ratios):
        return Change("cannot tell", math.nan, math.nan, math.nan, math.nan, math.nan, runs, reason=NO_ROUND)
    mean = float(log_ratios.mean())
    found = Change(
        "cannot tell", math.exp(mean), math.nan, math.nan, math.exp(before.mean()), math.exp(after.mean()), runs
    )
    if len(log_ratios) < 2:
        return found.untold(ONE_ROUND)
    error = math.sqrt((float(log_ratios.var(ddof=1)) + SMALLEST_SPREAD**2) / len(log_ratios))
    return _judged(found, mean, error, len(log_ratios) - 1, looks)


# Of a part that took nothing in some runs and much in others nothing is known, and its interval has no number.
_LARGEST_LOG = 700.0


def _judged(found: Change, log_ratio: float, error: float, freedom: int, questions: int) -> Change:
    """The change with its interval and verdict."""
    reach, needed = (quantile(probability, freedom) * error for probability in (OUTSIDE, FALSELY / questions))
    smallest = math.exp(min(needed + quantile(2 * MISSED, freedom) * error, _LARGEST_LOG))
    high = math.exp(min(log_ratio + reach, _LARGEST_LOG))
    found = replace(found, low=math.exp(log_ratio - reach), high=high, smallest=min(smallest, 1e9))
    if abs(log_ratio) > needed:
        return replace(found, verdict="slower" if log_ratio > 0 else "faster")
    if abs(log_ratio) > reach:
        return found.untold(BORDERLINE)
    if smallest > TOO_COARSE:
        return found.untold(TOO_WIDE)
    return replace(found, verdict="no difference seen")


def median_interval(times: Floats) -> tuple[float, float, float]:
    """The median of the steps of a run, with the interval in which it would lie in 19 of 20 such runs; NaN of none.

    >>> median_interval(np.full(9, 0.5))
    (0.5, 0.5, 0.5)
    """
    if not len(times) or not (times > 0).all():
        return math.nan, math.nan, math.nan
    median, reach = float(np.median(times)), quantile(OUTSIDE, math.inf) * math.sqrt(_median_variance(times))
    return median, median * math.exp(-reach), median * math.exp(reach)


def _of_two(found: Change, before: Floats, after: Floats, questions: int) -> Change:
    """The change between two runs, by the steps within them."""
    if max(len(before), len(after)) == 1:
        return found.untold(ONE_RUN_EACH)
    if min(len(before), len(after)) < FEWEST_STEPS:
        return found.untold(FEW_STEPS)
    error = math.sqrt(_median_variance(before) + _median_variance(after) + SMALLEST_SPREAD**2)
    freedom = max(int(min(_independent(before), _independent(after))) - 1, 1)
    judged = _judged(found, math.log(found.ratio), error, freedom, questions)
    return judged if judged.verdict == "cannot tell" else replace(judged, reason=TWO_RUNS)


def _median_variance(times: Floats) -> float:
    """The variance of the log of a run's median, by resampling its steps in blocks; 0 of a single time.

    Steps one after the other resemble each other, so that blocks of them are drawn, and not steps.
    """
    if len(times) < 2:
        return 0.0
    times = _thinned(times)
    if (times == times[0]).all():
        return 0.0
    length = _block(times)
    blocks = -(-len(times) // length)
    starts = np.random.default_rng(len(times)).integers(0, len(times), (RESAMPLES, blocks, 1))
    drawn = ((starts + np.arange(length)) % len(times)).reshape(RESAMPLES, -1)[:, : len(times)]
    few = len(times) / max(len(times) - 2 * length, 1)  # what blocks leave out of the variance, as simulation shows
    return float(np.var(np.log(np.median(times[drawn], axis=1)))) * few


def _thinned(times: Floats) -> Floats:
    """Some steps of many, evenly spread."""
    if len(times) <= MOST_STEPS:
        return times
    return times[np.linspace(0, len(times) - 1, MOST_STEPS).astype(np.int64)]


def _block(times: Floats) -> int:
    """So many steps in a row are drawn together: as many as resemble each other, at most a quarter of all."""
    likeness = _likeness(times)
    length = max(len(times) ** (1 / 3), 2 / (1 - likeness) if likeness > 0 else 1.0)
    return int(max(1, min(round(length), len(times) // 4)))


def _likeness(times: Floats) -> float:
    """How much a step resembles the one before it, by their ranks, which an outlier does not decide; below 0.95."""
    ranks = np.argsort(np.argsort(times)).astype(np.float64)
    ranks -= ranks.mean()
    return min(float((ranks[1:] * ranks[:-1]).sum() / max((ranks * ranks).sum(), 1.0)), 0.95)


def _independent(times: Floats) -> float:
    """How many independent steps would tell as much as these."""
    times = _thinned(times)
    likeness = max(_likeness(times), 0.0)
    return len(times) * (1 - likeness) / (1 + likeness)


def _span(before: float, after: float) -> str:
    """Two times, the unit once if it is the same."""
    if math.isnan(before) or math.isnan(after):
        return " → ".join("not known" if math.isnan(each) else written_seconds(each) for each in (before, after))
    first, last = written_seconds(before), written_seconds(after)
    unit = last.rpartition(" ")[2]
    return f"{first.removesuffix(f' {unit}')} → {last}"
