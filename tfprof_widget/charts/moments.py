"""Tells when things happened, counted from the start of their step, by one clock for all tasks."""

from __future__ import annotations

import numpy as np

from tfprof_widget.analysis.cluster.clocks import on_one_clock
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.tables import Executions, Transfers


def on_clock(profile: ProfileData) -> ProfileData:
    """The profile with all times by the clock of the first task.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(on_clock(demo_profile()).executions)
    30
    """
    return profile.cache.kept("on one clock", lambda: assemble(on_one_clock(profile)))


def step_starts(profile: ProfileData) -> Integers:
    """When the first execution or transfer of each step started, in nanoseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> int(step_starts(profile)[0]) == int(profile.executions.start_nanos.min())
    True
    """
    earliest = np.full(len(profile.steps), np.iinfo(np.int64).max)
    for table in (profile.executions, profile.transfers):
        timed = table.start_nanos > 0
        np.minimum.at(earliest, table.step[timed], table.start_nanos[timed])
    return earliest


def nanos_in_step(table: Executions | Transfers, starts: Integers) -> Integers:
    """When each row started, counted from the start of its step; -1 where that is not known.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> int(nanos_in_step(profile.executions, step_starts(profile)).min())
    0
    """
    return np.where(table.start_nanos > 0, table.start_nanos - starts[table.step], ABSENT)


def allocation_nanos(profile: ProfileData, starts: Integers) -> Integers:
    """When each allocation or release was, counted from the start of its step.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> len(allocation_nanos(profile, step_starts(profile))) == len(profile.allocations.bytes)
    True
    """
    allocations = profile.allocations
    return allocations.micros * NANOS_A_MICRO - starts[profile.executions.step[allocations.execution]]
