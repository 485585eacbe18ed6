"""What each device held over time: counters from the allocations recorded, and from what accelerators report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.output.timeline.placed import Placed, Span
from tfprof_widget.output.timeline.trace_events import counter_event
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers

HELD = "memory held"
IN_USE = "allocator bytes in use"


def memory_events(profile: Profile, when: Placed, track: Integers) -> Iterator[str]:
    """The counters of all tracks: what was held in a step does not depend on which nodes are shown."""
    executions, allocations = profile.executions, profile.allocations
    step, place = executions.step[allocations.execution], track[allocations.execution]
    # As recorded where the clock, in microseconds, shows no difference.
    order = np.lexsort((allocations.micros, place, step))
    changes = np.flatnonzero(np.diff(step[order]) | np.diff(place[order])) + 1
    for rows in np.split(order, changes) if len(order) else ():
        span = when.spans.get(int(step[rows[0]]))
        if span is not None:
            at = allocations.micros[rows] * NANOS_A_MICRO + when.moved[allocations.execution[rows]]
            yield from _held(int(place[rows[0]]), span, at, allocations.bytes[rows])
    reported = np.flatnonzero(when.timed & executions.counts_memory & (executions.bytes_in_use > 0))
    end = when.start + when.duration
    for row in reported[np.argsort(end[reported], kind="stable")].tolist():
        yield counter_event(IN_USE, int(track[row]), int(end[row]), int(executions.bytes_in_use[row]))


def _held(process: int, span: Span, at: Integers, sizes: Integers) -> Iterator[str]:
    """What a device held in a step; what is released but was never allocated was held before."""
    held = np.cumsum(sizes)
    before = -min(0, int(held.min()))
    # The step's last releases may be later than its last op.
    at = np.clip(at, span.start, span.start + span.length)
    yield counter_event(HELD, process, span.start, before)
    for moment, amount in zip(at.tolist(), (held + before).tolist(), strict=True):
        yield counter_event(HELD, process, moment, amount)
