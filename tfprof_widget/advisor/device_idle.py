"""Finds stretches of a step in which a device does nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import Steady
from tfprof_widget.intervals import Intervals
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags

ACCELERATOR_GAP_NANOS = 100_000
"""Shorter ones are those in which the host launches kernels, one by one."""

HOST_GAP_NANOS = 1_000_000
"""Shorter ones are those in which threads are woken, or the system gives the processor to others."""

HIGH = 0.2
"""Steps could be over in four fifths of the time, which can be felt."""


def device_idle(profile: Profile) -> Iterator[Finding]:
    """A finding an accelerator that long gaps leave idle; where there is none, one if no op at all runs.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(device_idle(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    streams = np.unique(steady.device[steady.is_on_stream]).tolist()
    for code in streams:
        device = profile.nodes.devices[code]
        yield from _found(steady, steady.device == code, device.partition("/stream")[0], ACCELERATOR_GAP_NANOS)
    if not streams and not profile.misses_accelerator_stream:
        yield from _found(steady, np.ones(len(steady.node), np.bool_), "the host", HOST_GAP_NANOS)


def _found(steady: Steady, rows: Flags, device: str, least: int) -> Iterator[Finding]:
    gaps = steady.wall.without(steady.during(rows)).at_least(least)
    if steady.of_wall(gaps.length) < HIGH:
        return
    yield Finding(
        f"For {steady.shown(gaps.length)} of {steady.shown(steady.wall.length)} ({steady.of_wall(gaps.length):.0%}) "
        f"of the steps nothing runs on {device}.",
        Evidence("timeline", steady.options, _around(steady, gaps, rows)),
        "Look at what ends where the longest gap begins and what starts where it ends: Python between them "
        "(tf.py_function, callbacks), a wait for input or for another device, or a lock.",
    )


def _around(steady: Steady, gaps: Intervals, rows: Flags) -> tuple[str, ...]:
    """The nodes before and after the longest gap, which are in view where it is."""
    longest = int((gaps.end - gaps.start).argmax())
    start, end = steady.start, steady.end
    before = np.flatnonzero(rows & (end <= gaps.start[longest]))
    after = np.flatnonzero(rows & (start >= gaps.end[longest]))
    found = [before[end[before].argmax()]] if len(before) else []
    found += [after[start[after].argmin()]] if len(after) else []
    return tuple(dict.fromkeys(steady.profile.nodes.names[steady.node[row]] for row in found))
