"""Student's t distribution and what fitting variances needs of the gamma function, for arrays.

SciPy has all of this, but it is ten times the size of this package and its dependencies' code, for these few functions.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tfprof_widget.lib.arrays import Floats

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
