"""Tests of many ops at once, on noise whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widget.analysis.comparing.statistics import differences, q_values, run_shifts
from tfprof_widget.lib.arrays import Floats

OPS, TRIALS = 300, 150


def noise(random: np.random.Generator, runs: int, of_op: float = 0.06, of_run: float = 0.05) -> Floats:
    """Log times of ops in runs: each op differs from run to run, and each run as a whole."""
    return random.normal(0, of_op, (OPS, runs)) + random.normal(0, of_run, runs)


@pytest.mark.parametrize("runs", [4, 8])
def test_the_same_code_is_seldom_called_different(runs: int) -> None:
    random = np.random.default_rng(runs)
    group = np.repeat([0, 1], runs).astype(np.int32)
    tables = [noise(random, 2 * runs) for _ in range(TRIALS)]
    called = [(differences(table, group, run_shifts(table)).q < 0.05).any() for table in tables]
    assert np.mean(called) <= 0.05


@pytest.mark.parametrize(("slower", "share"), [(1.2, 0.6), (1.5, 0.95)])
def test_one_slower_op_among_300_is_found(slower: float, share: float) -> None:
    random = np.random.default_rng(1)
    group = np.repeat([0, 1], 5).astype(np.int32)
    found = []
    for _ in range(TRIALS):
        table = noise(random, 10)
        table[0, 5:] += np.log(slower)
        found.append(differences(table, group, run_shifts(table)).q[0] < 0.05)
    assert np.mean(found) >= share


def test_intervals_hold_what_is_true() -> None:
    random = np.random.default_rng(2)
    group = np.repeat([0, 1], 4).astype(np.int32)
    table = noise(random, 8)
    table[:30, 4:] += np.log(1.3)
    found = differences(table, group, run_shifts(table))
    truth = np.where(np.arange(OPS) < 30, np.log(1.3), 0.0)
    reach = 2.0 * found.error  # of some thirty degrees of freedom and more
    assert 0.92 <= np.mean(np.abs(found.log_ratio - truth) <= reach) <= 0.99


def test_other_runs_of_the_cell_tell_the_spread_for_one_against_one() -> None:
    random = np.random.default_rng(3)
    table = noise(random, 6, of_op=0.01)
    table[0, 1] += np.log(1.5)
    alone = differences(table[:, :2], np.array([0, 1], np.int32), np.zeros(2))
    assert np.isnan(alone.q).all()
    beside = differences(table, np.array([0, 1, 2, 2, 2, 2], np.int32), run_shifts(table))
    assert (beside.q < 0.05).nonzero()[0].tolist() == [0]


def test_an_op_that_ran_in_no_run_of_a_side_has_no_answer() -> None:
    table = noise(np.random.default_rng(4), 6)
    table[7, 3:] = np.nan
    found = differences(table, np.array([0, 0, 0, 1, 1, 1], np.int32), run_shifts(table))
    assert np.isnan(found.q[7])
    assert np.isfinite(np.delete(found.q, 7)).all()


def test_false_discovery_rates() -> None:
    """The example of Benjamini and Hochberg's paper (1995), whose first four of fifteen are called at 5 %."""
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.324,
        0.4262,
        0.5719,
        0.6528,
        0.759,
        1,
    ]
    assert (q_values(np.array(p)) < 0.05).nonzero()[0].tolist() == [0, 1, 2, 3]
