"""Whether a step changed, on made up times: how often the answer is wrong, and that it is the same from either side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tfprof_widget.analysis.comparing.change import (
    BORDERLINE,
    NO_TIMES,
    ONE_RUN_EACH,
    TOO_WIDE,
    TWO_RUNS,
    Change,
    change,
    median_interval,
    paired_change,
)
from tfprof_widget.lib.arrays import Floats

TRIALS = 400
CALLED = ("slower", "faster")


def steps(random: np.random.Generator, count: int, likeness: float = 0.3) -> Floats:
    """Times of steps around 1, of which each resembles the one before, with outliers."""
    fresh = random.standard_t(3, count)
    found = np.empty(count)
    found[0] = fresh[0]
    for place in range(1, count):
        found[place] = likeness * found[place - 1] + math.sqrt(1 - likeness**2) * fresh[place]
    return np.exp(0.1 * found)


def runs(random: np.random.Generator, count: int, of_run: float) -> list[Floats]:
    return [np.exp(random.normal(0, of_run)) * steps(random, 40) for _ in range(count)]


@pytest.mark.parametrize(("before", "after"), [(4, 4), (8, 8), (3, 5)])
@pytest.mark.parametrize("of_run", [0.005, 0.03])
def test_runs_of_the_same_code(before: int, after: int, of_run: float) -> None:
    random = np.random.default_rng(before)
    found = [change(runs(random, before, of_run), runs(random, after, of_run)) for _ in range(TRIALS)]
    assert np.mean([each.verdict in CALLED for each in found]) <= 0.05
    assert 0.93 <= np.mean([each.low <= 1 <= each.high for each in found]) <= 0.975


def test_two_single_runs_are_judged_by_their_steps() -> None:
    random = np.random.default_rng(6)
    found = [change([steps(random, 60)], [steps(random, 60)]) for _ in range(TRIALS // 4)]
    assert np.mean([each.low <= 1 <= each.high for each in found]) >= 0.9
    assert {each.reason for each in found if each.verdict in CALLED} <= {TWO_RUNS}
    assert np.mean([each.verdict in CALLED for each in found]) <= 0.05


def test_a_step_that_is_a_tenth_slower_is_found() -> None:
    random = np.random.default_rng(7)
    found = []
    for _ in range(TRIALS // 2):
        after = [1.1 * each for each in runs(random, 5, 0.01)]
        found.append(change(runs(random, 5, 0.01), after).verdict == "slower")
    assert np.mean(found) >= 0.95


def test_roles_swapped() -> None:
    random = np.random.default_rng(8)
    before, after = runs(random, 4, 0.02), [1.3 * each for each in runs(random, 4, 0.02)]
    there, back = change(before, after), change(after, before)
    assert (there.verdict, back.verdict) == ("slower", "faster")
    assert (1 / back.ratio, 1 / back.high, 1 / back.low) == pytest.approx((there.ratio, there.low, there.high))
    interval = there.text().partition("became ")[2].partition(" slower")[0]
    assert f"became {interval} faster" in back.text()


@pytest.mark.parametrize(
    ("found", "verdict", "reason"),
    [
        (lambda: change([[1.0]], [[2.0]]), "cannot tell", ONE_RUN_EACH),
        (lambda: change([], [[2.0]]), "cannot tell", NO_TIMES),
        (lambda: change([[1.0], [1.6]], [[1.0], [0.6]]), "cannot tell", TOO_WIDE),
        (lambda: change([[1.0]] * 4, [[1.0]] * 4), "no difference seen", ""),
        (lambda: change([[1.0], [1.04]] * 2, [[1.042], [1.082]] * 2), "cannot tell", BORDERLINE),
    ],
)
def test_what_cannot_be_told(found: Callable[[], Change], verdict: str, reason: str) -> None:
    assert (found().verdict, found().reason) == (verdict, reason)


def test_no_difference_comes_with_the_smallest_that_would_have_been_seen() -> None:
    random = np.random.default_rng(9)
    found = change(runs(random, 5, 0.02), runs(random, 5, 0.02))
    assert found.verdict == "no difference seen"
    assert 1.02 < found.smallest < 1.15
    assert "% would have been" in found.text()
    seen = [
        change(runs(random, 5, 0.02), [found.smallest * each for each in runs(random, 5, 0.02)]).verdict == "slower"
        for _ in range(100)
    ]
    assert np.mean(seen) >= 0.6


def test_other_runs_tell_the_spread_of_two_single_ones() -> None:
    random = np.random.default_rng(10)
    others = [runs(random, 6, 0.05)]
    one, other = [steps(random, 300)], [1.08 * steps(random, 300)]
    assert change(one, other).verdict == "slower"
    assert change(one, other, others).verdict == "cannot tell"


def test_pairs_are_surer_than_runs_by_themselves() -> None:
    random = np.random.default_rng(11)
    drift = random.normal(0, 0.2, 12)
    before, after = drift + random.normal(0, 0.01, 12), drift + 0.05 + random.normal(0, 0.01, 12)
    assert paired_change(after - before, before, after).verdict == "slower"
    assert change([[each] for each in np.exp(before)], [[each] for each in np.exp(after)]).verdict == "cannot tell"


def test_an_answer_that_is_looked_for_often_needs_more() -> None:
    ratios = np.log([1.03, 1.05, 1.04, 1.06])
    assert paired_change(ratios, ratios, ratios).verdict == "slower"
    assert paired_change(ratios, ratios, ratios, looks=8).verdict == "cannot tell"


def test_the_interval_of_a_run_holds_its_median() -> None:
    random = np.random.default_rng(12)
    found = [median_interval(steps(random, 60)) for _ in range(100)]
    assert np.mean([low <= 1 <= high for _, low, high in found]) >= 0.9


def test_runs_that_differ_beyond_measure_tell_nothing() -> None:
    logs = np.array([0.0, 600.0, -600.0])
    found = paired_change(logs, logs, 2 * logs)
    assert found.verdict == "cannot tell"
    assert math.isfinite(found.high)
