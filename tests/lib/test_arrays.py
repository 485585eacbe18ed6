"""Sums that fit 64 bits, just fit, and do not."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widget.lib.arrays import check_sum
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
