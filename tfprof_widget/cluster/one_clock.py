"""Puts all that a cluster's tasks recorded on the clock of the first one."""

from __future__ import annotations

from dataclasses import replace

from tfprof_widget.cluster.clocks import aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.memory import Memory
from tfprof_widget.profiles import Profile


def on_one_clock(profile: Profile) -> Profile:
    """The profile with the starts of its executions, transfers and allocations by one clock.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> on_one_clock(profile) is profile
    True
    """
    if aligned_start_nanos(profile) is profile.executions.start_nanos:
        return profile
    return profile.memory.kept("on one clock", lambda: _aligned(profile))


def _aligned(profile: Profile) -> Profile:
    executions, allocations = profile.executions, profile.allocations
    start = aligned_start_nanos(profile)
    later = (start - executions.start_nanos)[allocations.execution] // NANOS_A_MICRO
    return replace(
        profile,
        executions=replace(executions, start_nanos=start),
        transfers=replace(profile.transfers, start_nanos=aligned_transfer_nanos(profile)),
        allocations=replace(allocations, micros=allocations.micros + later),
        memory=Memory(),
    )
