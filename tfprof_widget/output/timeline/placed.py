"""Where executions stand on the axis of a timeline: step after step, each from its first start on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfprof_widget.cluster.clocks import aligned_start_nanos
from tfprof_widget.ingest.step_totals import counted_micros
from tfprof_widget.integers import LARGEST_INTEGER, NANOS_A_MICRO
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Indices, Integers

# The part of the steps' mean length that is left free between two of them; how far apart they ran is not recorded.
SPACE = 0.04


@dataclass(frozen=True)
class Span:
    """The place of a step: it starts at `start`, which is `origin` on the clock of the run."""

    start: int
    length: int
    origin: int


@dataclass(frozen=True, eq=False)
class Placed:
    """Start and duration of each execution in nanoseconds; only those that are `timed` have a place.

    `moved` is by how much each was moved from where its task's clock had it.
    """

    timed: Flags
    start: Integers
    duration: Integers
    moved: Integers
    spans: Mapping[int, Span]


def placed(profile: Profile, steps: Sequence[int], timing: str) -> Placed:
    """The places of the executions of some steps, given by their indices; those of several tasks by one clock.

    >>> from tfprof_widget.demo import demo_profile
    >>> placed(demo_profile(), [0], "exact").spans[0].length
    365125
    """
    executions = profile.executions
    if timing == "exact":
        recorded, duration = executions.start_nanos, executions.duration_nanos
        start = aligned_start_nanos(profile)
    else:
        recorded, duration = executions.start_micros * NANOS_A_MICRO, counted_micros(executions) * NANOS_A_MICRO
        start = recorded
    timed = (executions.start_micros > 0) & np.isin(executions.step, steps)
    spans = _spans(executions.step[timed], start[timed], (start + duration)[timed], steps)
    shift = np.zeros(len(profile.steps), np.int64)
    for step, span in spans.items():
        shift[step] = span.start - span.origin
    start = start + shift[executions.step]
    return Placed(timed, start, duration, start - recorded, spans)


def _spans(step: Indices, start: Integers, end: Integers, steps: Sequence[int]) -> dict[int, Span]:
    """The places of the steps in which anything ran, one after another."""
    first, last = np.full(max(steps, default=-1) + 1, LARGEST_INTEGER), np.zeros(max(steps, default=-1) + 1, np.int64)
    np.minimum.at(first, step, start)
    np.maximum.at(last, step, end)
    lengths = {each: int(last[each] - first[each]) for each in steps if first[each] < LARGEST_INTEGER}
    space = math.ceil(SPACE * sum(lengths.values()) / max(len(lengths), 1))
    spans, reached = {}, 0
    for each, length in lengths.items():
        spans[each] = Span(reached, length, int(first[each]))
        reached += length + space
    return spans
