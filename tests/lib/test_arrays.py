"""Sums that fit 64 bits, just fit, and do not."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widget.lib.arrays import check_sum, distinct, numbered
from tfprof_widget.lib.errors import ProfileError


@pytest.mark.parametrize("values", [[2**62, 2**62], [2**63 - 1, 1], [-(2**63)], [-(2**62), -(2**62), 1]])
def test_sums_that_do_not_fit_64_bits_are_refused(values: list[int]) -> None:
    with pytest.raises(ProfileError, match=r"^bytes: the values add up to more than 2\*\*63 - 1"):
        check_sum("bytes", np.array(values))


@pytest.mark.parametrize("values", [[2**62, 2**62 - 1], [2**63 - 1], [-(2**63) + 1], [], [0, -1]])
def test_sums_that_just_fit_are_taken(values: list[int]) -> None:
    check_sum("bytes", np.array(values, np.int64))


def test_several_columns_are_one_sum() -> None:
    check_sum("bytes", np.array([2**61]), np.array([2**61]))
    with pytest.raises(ProfileError, match=r"^bytes: "):
        check_sum("bytes", np.array([2**62]), np.array([2**62]))


def test_a_factor_counts_each_value_so_often() -> None:
    check_sum("bytes", np.array([2**60]), factor=7)
    with pytest.raises(ProfileError, match=r"^bytes: "):
        check_sum("bytes", np.array([2**60]), factor=8)


@pytest.mark.parametrize("seed", range(12))
def test_combinations_are_numbered_as_numpy_numbers_rows(seed: int) -> None:
    """Also where the columns have so many values that their combinations could not be counted in 64 bits."""
    chosen = np.random.default_rng(seed)
    if seed:
        spread = [3, 2**62, 1, 1000, -(2**61), 2][: 1 + seed % 6]
        given = [chosen.integers(min(0, most), max(0, most), 40, endpoint=True) for most in spread]
    else:
        given = [np.arange(2**13, dtype=np.int64) * factor for factor in (7, -11, 1, 3, 5)]  # 13 bits each
    table = np.stack(given, axis=1)
    found, first, number = np.unique(table, axis=0, return_index=True, return_inverse=True)
    assert [each.tolist() for each in numbered(*given)] == [first.tolist(), number.reshape(-1).tolist()]
    assert table[first].tolist() == found.tolist()


@pytest.mark.parametrize("values", [[], [5], [0, 3, 0], [-1, 4], [2**62, 0, 2**62]])
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    found, place = distinct(np.array(values, np.int64))
    assert found.tolist() == sorted(set(values))
    assert found[place].tolist() == values
