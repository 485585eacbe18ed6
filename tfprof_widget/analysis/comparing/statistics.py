"""Tests of many rows at once which of them differ between two groups of runs: moderated t-tests.

SciPy has Student's t distribution too, but it is ten times the size of this package and its dependencies' code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tfprof_widget.lib.arrays import Floats, Indices

_TERMS = 300
_SMALLEST = 1e-300
_NORMAL_FROM = 1e6
"""From so many degrees of freedom on the distribution is the normal one, to six digits."""
_RECURSE_BELOW = 10.0
"""The series of digamma and trigamma are exact to twelve digits from here on."""


def two_sided(t: Floats, freedom: Floats) -> Floats:
    """The probability that Student's t with some degrees of freedom is at least so far from 0.

    With one degree of freedom it is the Cauchy distribution, whose quartiles are -1 and 1.

    >>> two_sided(np.array([0.0, 1.0]), np.array([5.0, 1.0])).round(12).tolist()
    [1.0, 0.5]
    """
    t, freedom = (each.astype(np.float64) for each in np.broadcast_arrays(np.abs(t), freedom))
    known = np.isfinite(t) & (freedom > 0)
    found = np.where(np.isposinf(t) & (freedom > 0), 0.0, np.nan)
    normal = known & (freedom >= _NORMAL_FROM)
    found[normal] = [math.erfc(each / math.sqrt(2)) for each in t[normal].tolist()]
    rest = known & ~normal
    found[rest] = _regularized(t[rest], freedom[rest])
    return found


@lru_cache(maxsize=1000)
def quantile(probability: float, freedom: float) -> float:
    """What Student's t exceeds with this probability on either side, as 5 % for an interval of 95 %.

    >>> round(quantile(0.05, 1), 3), round(quantile(0.05, float("inf")), 3)
    (12.706, 1.96)
    """
    low, high = 0.0, 1.0
    while _exceeds(high, freedom) > probability:
        low, high = high, 2 * high
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _exceeds(middle, freedom) > probability else (low, middle)
    return high


def digamma(x: Floats) -> Floats:
    """The derivative of the logarithm of the gamma function, of positive numbers.

    >>> digamma(np.array([2.0]) ).round(10) - digamma(np.array([1.0])).round(10)
    array([1.])
    """
    x, less = _recursed(x, 1)
    inverse = 1 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return np.log(x) - 1 / (2 * x) - series - less


def trigamma(x: Floats) -> Floats:
    """The derivative of digamma, of positive numbers.

    >>> bool(abs(trigamma(np.array([1.0]))[0] - math.pi**2 / 6) < 1e-12)
    True
    """
    x, more = _recursed(x, 2)
    inverse = 1 / (x * x)
    series = inverse * (1 / 6 - inverse * (1 / 30 - inverse * (1 / 42 - inverse * (1 / 30 - inverse * 5 / 66))))
    return (1 + 1 / (2 * x) + series) / x + more


def inverse_trigamma(value: float) -> float:
    """The number whose trigamma is this positive value.

    >>> round(inverse_trigamma(math.pi**2 / 6), 9)
    1.0
    """
    low, high = -20.0, 20.0  # of its logarithm
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (middle, high) if trigamma(np.array([math.exp(middle)]))[0] > value else (low, middle)
    return math.exp(high)


def _exceeds(t: float, freedom: float) -> float:
    return float(two_sided(np.array([t]), np.array([freedom]))[0])


def _recursed(x: Floats, power: int) -> tuple[Floats, Floats]:
    """Larger numbers, for which the series hold, and what the recurrence adds on the way there."""
    x = x.astype(np.float64)
    added = np.zeros_like(x)
    while (small := x < _RECURSE_BELOW).any():
        added[small] += x[small] ** -power
        x = np.where(small, x + 1, x)
    return x, added


def _regularized(t: Floats, freedom: Floats) -> Floats:
    """The regularized incomplete beta function of freedom / 2 and 1 / 2, at freedom / (freedom + t²)."""
    a, b, x = freedom / 2, np.full_like(t, 0.5), freedom / (freedom + t * t)
    near_one = x > (a + 1) / (a + b + 2)
    y = t * t / (freedom + t * t)  # 1 - x would lose the digits of a small t
    a, b = np.where(near_one, b, a), np.where(near_one, a, b)
    x, y = np.where(near_one, y, x), np.where(near_one, x, y)
    with np.errstate(divide="ignore"):
        ahead = np.exp(_log_gamma(a + b) - _log_gamma(a) - _log_gamma(b) + a * np.log(x) + b * np.log(y)) / a
    found = np.where(x > 0, ahead * _continued_fraction(a, b, x), 0.0)
    return np.clip(np.where(near_one, 1 - found, found), 0.0, 1.0)


def _log_gamma(x: Floats) -> Floats:
    return np.array([math.lgamma(each) for each in x.tolist()])


def _continued_fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Lentz's evaluation of the continued fraction of the incomplete beta function."""
    c, d = np.ones_like(x), 1 / _nonzero(1 - (a + b) * x / (a + 1))
    found = d.copy()
    for term in range(1, _TERMS):
        for factor in (
            term * (b - term) * x / ((a + 2 * term - 1) * (a + 2 * term)),
            -(a + term) * (a + b + term) * x / ((a + 2 * term) * (a + 2 * term + 1)),
        ):
            d = 1 / _nonzero(1 + factor * d)
            c = _nonzero(1 + factor / c)
            found *= c * d
        if (np.abs(c * d - 1) < 1e-14).all():
            break
    return found


def _nonzero(x: Floats) -> Floats:
    return np.where(np.abs(x) < _SMALLEST, _SMALLEST, x)


BEFORE, AFTER = 0, 1
"""The groups that are compared. Runs of groups from 2 on only tell how much runs of the same code differ."""

SMALLEST_SPREAD = 0.003
"""So much, as a share, a row's time differs from run to run at the least: memory lies elsewhere, the clock steps."""

FEWEST_ROWS = 10
"""The median of fewer rows is too much the row's own time to be taken off it."""

OUTLYING = 0.01
"""A row whose spread is so improbable beside that of the others is judged by its own spread alone."""


@dataclass(frozen=True, eq=False)
class Differences:
    """How rows differ between two groups of runs: the log of after / before, its standard error and freedom, p and q.

    What a row lacks for a verdict is NaN. `shift` is the log ratio of the median row.
    """

    log_ratio: Floats
    error: Floats
    freedom: Floats
    p: Floats
    q: Floats
    shift: float


def run_shifts(values: Floats) -> Floats:
    """How much slower each run was as a whole, as a log: the median over the rows that all runs have.

    >>> run_shifts(np.log([[1.0, 2.0]] * 20)).round(3).tolist()
    [-0.347, 0.347]
    """
    common = values[np.isfinite(values).all(axis=1)]
    if len(common) < FEWEST_ROWS:
        return np.zeros(values.shape[1])
    return np.asarray(np.median(common - common.mean(axis=1, keepdims=True), axis=0))


def differences(values: Floats, group: Indices, shifts: Floats) -> Differences:
    """Test the rows of a table of log times, a column for each run; NaN where a row did not run.

    Each run is a single observation, however many steps it has: steps of a run resemble each other, so that tests of
    steps call noise a difference. `shifts` are taken off the runs. The variance of a row between runs of a group is
    moderated by that of the rows that take a like time, as limma does (Smyth, 2004), since a few runs tell little.

    >>> noise = np.random.default_rng(1).normal(0, 0.02, (50, 6))
    >>> noise[0, 3:] += np.log(1.5)
    >>> found = differences(noise, np.array([0, 0, 0, 1, 1, 1]), run_shifts(noise))
    >>> (found.q < 0.05).nonzero()[0].tolist(), np.exp(found.log_ratio[0]).round(1).item()
    ([0], 1.5)
    """
    values = values - shifts
    means, counts, squares, freedom = _summed(values, group)
    log_ratio = means[:, AFTER] - means[:, BEFORE]
    level = np.nanmean(means[:, :2], axis=1) if len(means) else np.zeros(0)
    variance, freedom = _moderated(squares, freedom, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(variance * (1 / counts[:, BEFORE] + 1 / counts[:, AFTER]))
        p = two_sided(log_ratio / error, freedom)
    shift = float(np.mean(shifts[group == AFTER]) - np.mean(shifts[group == BEFORE]))
    return Differences(log_ratio, error, freedom, p, q_values(p), shift)


def q_values(p: Floats) -> Floats:
    """The false discovery rate at which each row is called different, by Benjamini and Hochberg; NaN stays NaN.

    >>> q_values(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    q = np.full_like(p, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    raised = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum.accumulate(raised[::-1])[::-1]
    return q


def _summed(values: Floats, group: Indices) -> tuple[Floats, Floats, Floats, Floats]:
    """By row: the means and counts of each group, and the squares and degrees of freedom within all groups."""
    groups = max(int(group.max(initial=AFTER)) + 1, 2)
    means, counts = np.full((2, len(values), groups), np.nan)
    squares, freedom = np.zeros((2, len(values)))
    for each in range(groups):
        own = values[:, group == each]
        known = np.isfinite(own)
        count = known.sum(axis=1)
        total = np.where(known, own, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means[:, each] = total / count
        squares += np.where(known, own - means[:, each : each + 1], 0.0).__pow__(2).sum(axis=1)
        counts[:, each] = count
        freedom += np.maximum(count - 1, 0)
    return means, counts, squares, freedom


def _moderated(squares: Floats, freedom: Floats, level: Floats) -> tuple[Floats, Floats]:
    """The variance of each row between runs, and its degrees of freedom, helped by rows of a like level."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(freedom > 0, squares / freedom, np.nan) + SMALLEST_SPREAD**2
    usable = np.flatnonzero(np.isfinite(own) & np.isfinite(level))
    if len(usable) < FEWEST_ROWS:
        return own, freedom
    half = freedom[usable] / 2
    # Of log variances, what their own degrees of freedom say is taken off: what is left is by how much rows differ.
    logs = np.log(own[usable]) - digamma(half) + np.log(half)
    trend = _smoothed(logs, level[usable])
    deviations = (logs - trend) ** 2
    # By how much rows differ is estimated from few: the most that it may well be claims least.
    beyond = np.mean(deviations) + np.std(deviations) / np.sqrt(len(usable)) - np.mean(trigamma(half))
    if beyond > 0:
        half_prior = inverse_trigamma(float(beyond))
        prior_freedom = np.full(len(usable), 2 * half_prior)
        prior = np.exp(trend + digamma(np.array([half_prior])) - np.log(half_prior))
    else:
        prior_freedom, prior = np.full(len(usable), 1e9), np.exp(trend)
    variance, found = own.copy(), freedom.copy()
    together = prior_freedom + freedom[usable]
    variance[usable] = (prior_freedom * prior + freedom[usable] * own[usable]) / together
    found[usable] = together
    return variance, found


def _smoothed(values: Floats, along: Floats) -> Floats:
    """The mean of each value and its neighbours in an order, a quarter of all values at most."""
    order = np.argsort(along, kind="stable")
    reach = min(max(len(values) // 8, FEWEST_ROWS), len(values))
    sums = np.concatenate([[0.0], np.cumsum(values[order])])
    low = np.maximum(np.arange(len(values)) - reach, 0)
    high = np.minimum(np.arange(len(values)) + reach + 1, len(values))
    found = np.empty_like(values)
    found[order] = (sums[high] - sums[low]) / (high - low)
    return found
