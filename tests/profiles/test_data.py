"""What is kept of results: the few asked for last, and fewer of those that are large."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widget.profiles import data
from tfprof_widget.profiles.data import FEWEST, RECENT, ResultCache


@pytest.mark.parametrize(
    ("size", "kept"),
    [(1_000, RECENT), (data.MOST_BYTES // 10, 10), (data.MOST_BYTES // 2, FEWEST), (data.MOST_BYTES, FEWEST)],
)
def test_large_results_are_fewer(size: int, kept: int) -> None:
    """Zeros that nobody reads take no memory."""
    held = ResultCache()
    for number in range(100):
        held.recent(number, lambda: {"column": np.zeros(size, np.int8)})
    assert list(held._recent) == list(range(100 - kept, 100))


def test_what_results_share_counts_once() -> None:
    held, shared = ResultCache(), np.zeros(data.MOST_BYTES // 2, np.int8)
    for number in range(100):
        held.recent(number, lambda: {"column": shared})
    assert len(held._recent) == RECENT


def test_columns_that_a_result_gets_later_count() -> None:
    held = ResultCache()
    results = [held.recent(number, lambda: dict[str, object]()) for number in range(RECENT)]
    results[0]["column"] = np.zeros(data.MOST_BYTES + 1, np.int8)
    held.recent(0, dict)  # asked for again, so it is the latest
    held.recent("one more", dict)
    assert len(held._recent) == FEWEST
    assert 0 in held._recent
