"""Divides the wall time of a cell into its parts, each nanosecond into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.cell import CELL_PARTS

NOTHING = Intervals.of(np.zeros(0, np.int64), np.zeros(0, np.int64))

# Where several go on at once, as in several threads, an instant belongs to the first of these.
BY_RANK = ("steps", "tracing", "first", "tfprof", "input")


@dataclass(frozen=True)
class CellSpans:
    """When what went on in a cell, in nanoseconds since it was entered.

    Its block ran from `opened` to `closing`, and tfprof was done with it at `left`. `spans` has the stretches of
    BY_RANK. What is known by its sum only, and lies in no stretch, is in `sums`: the many short times in which hooks
    held the cell up, and what came after the last stretch that was kept. What ran after `lost` is not known, if that
    is not None.
    """

    opened: int
    closing: int
    left: int
    spans: Mapping[str, Intervals] = field(default_factory=dict)
    sums: Mapping[str, int] = field(default_factory=dict)
    lost: int | None = None


@dataclass(frozen=True)
class DividedCell:
    """The time of each part of a cell, and the stretches of the block in which it went on.

    The stretches of `python` also have what is known by its sum only.
    """

    parts: Mapping[str, int]
    spans: Mapping[str, Intervals]

    def part_at(self, moments: Integers) -> Integers:
        """The place in CELL_PARTS of what went on at each moment."""
        found = np.full(len(moments), CELL_PARTS.index("other"))
        for part, spans in self.spans.items():
            found[spans.covers(moments)] = CELL_PARTS.index(part)
        return found

    def time_for(self, part: str, moments: Integers) -> Integers:
        """The time of a part that each moment stands for, in ascending order: that since the one before it.

        The last one stands for the rest, too.

        >>> divided = divide(CellSpans(0, 90, 90, {"steps": Intervals.of(np.array([30]), np.array([50]))}))
        >>> divided.time_for("python", np.array([20, 60])).tolist()
        [20, 50]
        """
        spans = self.spans[part]
        before = np.concatenate([[0], np.cumsum(spans.end - spans.start)])
        place = np.searchsorted(spans.start, moments, "right") - 1
        passed = before[place] + np.minimum(moments, spans.end[place]) - spans.start[place]
        if not len(passed):
            return passed
        passed[-1] = spans.length
        # What is known by its sum only is taken off evenly.
        passed = (passed * (self.parts[part] / max(spans.length, 1))).astype(np.int64)
        passed[-1] = self.parts[part]
        return np.diff(passed, prepend=0)


def divide(cell: CellSpans) -> DividedCell:
    """The parts of a cell.

    >>> steps, first = (Intervals.of(np.array([start]), np.array([end])) for start, end in ((40, 60), (10, 50)))
    >>> divided = divide(CellSpans(5, 80, 100, {"steps": steps, "first": first}, {"tfprof": 3}))
    >>> {part: nanos for part, nanos in divided.parts.items() if nanos}
    {'steps': 20, 'first': 30, 'tfprof': 28, 'python': 22}
    """
    block = _stretch(cell.opened, cell.closing)
    free, found = block, {}
    for part in BY_RANK:
        left = free.without(cell.spans.get(part, NOTHING))
        found[part], free = free.without(left), left
    unknown = NOTHING if cell.lost is None else _stretch(cell.lost, cell.closing)
    found["other"], found["python"] = free.without(free.without(unknown)), free.without(unknown)
    parts = {part: spans.length for part, spans in found.items()}
    for part, nanos in cell.sums.items():
        taken = min(nanos, parts["python"])
        parts["python"] -= taken
        parts[part] += taken
    parts["tfprof"] += cell.opened + cell.left - cell.closing
    return DividedCell(parts, found)


def _stretch(start: int, end: int) -> Intervals:
    return Intervals.of(np.array([start]), np.array([max(start, end)]))


def together(spans: Sequence[Intervals]) -> Intervals:
    """The stretches of all of these as one.

    >>> together([NOTHING, Intervals.of(np.array([1]), np.array([3]))]).drawn()
    '1-3'
    """
    return Intervals.of(np.concatenate([each.start for each in spans]), np.concatenate([each.end for each in spans]))
