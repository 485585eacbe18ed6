"""The order of rows, against sorting each family of siblings by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.test_tree import parents
from tfprof_widget.engine.order import ordered
from tfprof_widget.engine.tree import subtree_end


def sorted_families(parent: list[int], key: list[int], row: int = 0) -> list[int]:
    found = [row]
    for child in sorted((each for each, above in enumerate(parent) if above == row), key=key.__getitem__):
        found += sorted_families(parent, key, child)
    return found


@given(parents(), st.data())
def test_siblings_by_key_each_with_its_own_after_it(parent: list[int], data: st.DataObject) -> None:
    keys = st.integers(-3, 3) | st.integers(-(2**62), 2**62)
    key = data.draw(st.lists(keys, min_size=len(parent), max_size=len(parent)))
    size = subtree_end(np.array(parent)) - np.arange(len(parent))
    assert ordered(np.array(parent), size, np.array(key)).tolist() == sorted_families(parent, key)


@pytest.mark.parametrize("largest", [5, 2**61])
def test_ties_stay_as_they_were(largest: int) -> None:
    # root -> a(5) b(5) c(largest) d(5)
    order = ordered(np.array([-1, 0, 0, 0, 0]), np.array([5, 1, 1, 1, 1]), np.array([0, 5, 5, largest, 5]))
    assert order.tolist() == ([0, 1, 2, 3, 4] if largest == 5 else [0, 1, 2, 4, 3])


def test_keys_may_be_as_far_apart_as_integers_get() -> None:
    order = ordered(np.array([-1, 0, 0]), np.array([3, 1, 1]), np.array([0, 2**63 - 1, -(2**63)]))
    assert order.tolist() == [0, 2, 1]


def test_parents_and_keys_that_no_one_number_holds_are_sorted_as_pairs() -> None:
    # root -> a -> b, c: the largest parent times the span of the keys is beyond 2**63.
    order = ordered(np.array([-1, 0, 1, 1]), np.array([4, 3, 1, 1]), np.array([0, 0, 2**62 - 2, 0]))
    assert order.tolist() == [0, 1, 3, 2]


def test_keys_that_are_far_below_zero_are_compared_by_their_differences() -> None:
    lowest = -(2**62) - 7
    assert ordered(np.array([-1, 0, 0]), np.array([3, 1, 1]), np.array([lowest, lowest, lowest + 9])).tolist() == [
        0,
        1,
        2,
    ]
