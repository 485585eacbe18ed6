"""Tests of many rows at once which of them differ between two groups of runs: moderated t statistics of log times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.comparing.student import digamma, inverse_trigamma, trigamma, two_sided
from tfprof_widget.lib.arrays import Floats, Indices

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
