"""Lays slices out in lanes without overlap: each in the first lane that is free when it starts."""

from __future__ import annotations

import heapq

import numpy as np

from tfprof_widget.tables import Integers


def first_free_lanes(start: Integers, duration: Integers) -> Integers:
    """The lane of each slice; of slices that start together the longer comes first.

    >>> first_free_lanes(np.array([0, 1, 3, 5]), np.array([3, 9, 2, 1])).tolist()
    [0, 1, 0, 0]
    """
    lanes = np.zeros(len(start), np.int64)
    order = np.lexsort((-duration, start))
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for row, begin, end in zip(order.tolist(), start[order].tolist(), (start + duration)[order].tolist(), strict=True):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        # Lanes are taken in turn, so that with none free the next is as many as are busy.
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, lane))
        lanes[row] = lane
    return lanes
