"""Student's t and the gamma function's derivatives, by their closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tfprof_widget.analysis.comparing.statistics import digamma, inverse_trigamma, quantile, trigamma, two_sided
from tfprof_widget.lib.arrays import Floats

T = np.array([0.001, 0.5, 1.0, 3.0, 10.0, 100.0])
EULER = 0.5772156649015329


@pytest.mark.parametrize(
    ("freedom", "closed"),
    [
        (1, lambda t: 1 - 2 * np.arctan(t) / math.pi),
        (2, lambda t: 1 - t / np.sqrt(2 + t * t)),
        (4, lambda t: 1 - t / np.sqrt(4 + t * t) * (1 + 2 / (4 + t * t))),
        (math.inf, lambda t: np.array([math.erfc(each / math.sqrt(2)) for each in t.tolist()])),
    ],
)
def test_the_distribution(freedom: float, closed: Callable[[Floats], Floats]) -> None:
    found = two_sided(T, np.full(len(T), freedom))
    np.testing.assert_allclose(found, closed(T), rtol=1e-7, atol=1e-14)


def test_what_is_no_number_stays_none() -> None:
    found = two_sided(np.array([math.nan, math.inf, 1.0]), np.array([3.0, 3.0, 0.0]))
    assert math.isnan(found[0])
    assert found[1] == 0
    assert math.isnan(found[2])


# As printed in every table of the distribution, for 5 % on both sides together.
@pytest.mark.parametrize(
    ("freedom", "critical"), [(1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042), (math.inf, 1.960)]
)
def test_quantiles(freedom: float, critical: float) -> None:
    assert quantile(0.05, freedom) == pytest.approx(critical, abs=5e-4)


def test_derivatives_of_the_gamma_function() -> None:
    np.testing.assert_allclose(digamma(np.array([1.0, 0.5])), [-EULER, -EULER - 2 * math.log(2)], rtol=1e-12)
    np.testing.assert_allclose(trigamma(np.array([1.0, 0.5])), [math.pi**2 / 6, math.pi**2 / 2], rtol=1e-12)
    assert inverse_trigamma(math.pi**2 / 2) == pytest.approx(0.5)
