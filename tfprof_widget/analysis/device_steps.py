"""Measures what accelerators did in each step: compute, wait for collectives or for copies, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.analysis.steady import COLLECTIVE, SteadySteps
from tfprof_widget.lib.arrays import NANOS_A_MICRO, Flags, Indices, Integers
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.data import ProfileData


class DeviceStep(NamedTuple):
    """The nanoseconds of a step by what an accelerator did; `step` is an index of the profile's steps."""

    step: int
    device: str
    compute: int
    collectives: int
    copies: int
    idle: int

    @property
    def micros(self) -> tuple[float, ...]:
        """The step and its four parts in microseconds.

        >>> DeviceStep(0, "/device:gpu:0", 2000, 0, 1000, 500).micros
        (3.5, 2.0, 0.0, 1.0, 0.5)
        """
        parts = self.compute, self.collectives, self.copies, self.idle
        return tuple(nanos / NANOS_A_MICRO for nanos in (sum(parts), *parts))


def device_steps(profile: ProfileData) -> tuple[DeviceStep, ...]:
    """What each accelerator did in each of the steps in which any ran, in their order.

    What is behind the first of these takes no time of its own: compute, collectives, copies, idle.

    >>> from tfprof_widget.demo import demo_profile
    >>> device_steps(demo_profile())
    ()
    """
    return profile.cache.kept("device steps", lambda: tuple(_measured(profile)))


def _measured(profile: ProfileData) -> Iterator[DeviceStep]:
    every = SteadySteps(profile, np.arange(len(profile.steps)))
    if not every.is_on_stream.any():
        return
    step, own = profile.executions.step[every.rows], ~every.of_nodes(every.is_data)
    started, ended = _bounds(step[own], every.start[own], every.end[own], len(profile.steps))
    exchanges = every.of_ops_or_kernels(COLLECTIVE)
    moves = every.moves & ~exchanges
    times = every.start, every.end
    for code in np.unique(every.device[every.is_on_stream]).tolist():
        device = profile.nodes.devices[code].partition("/stream")[0]
        rows = every.device == code
        computed = _by_step(step, *times, rows & ~exchanges & ~moves)
        exchanged = _by_step(step, *times, rows & exchanges)
        columns: Iterable[tuple[Any, Any]] = zip((step, *times, rows & moves), every.copies_of(device), strict=True)
        copied = _by_step(*(np.concatenate(pair) for pair in columns))
        ran = np.unique(step[rows])
        for number in ran.tolist():
            left = [Intervals(started[number : number + 1], ended[number : number + 1])]
            for part in (computed, exchanged, copied):
                left.append(left[-1].without(part[number]) if number in part else left[-1])
            without_each = [each.length for each in left]
            compute, collectives, copying = (before - after for before, after in pairwise(without_each))
            yield DeviceStep(number, _placed(profile, device), compute, collectives, copying, without_each[-1])


def _bounds(step: Indices, start: Integers, end: Integers, count: int) -> tuple[Integers, Integers]:
    """When each step began and ended."""
    started, ended = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(started, step, start)
    np.maximum.at(ended, step, end)
    return started, ended


def _by_step(step: Indices, start: Integers, end: Integers, rows: Flags) -> dict[int, Intervals]:
    """The stretches of some rows in each step that has any of them."""
    chosen = np.flatnonzero(rows)
    chosen = chosen[np.argsort(step[chosen], kind="stable")]
    numbers, first = np.unique(step[chosen], return_index=True)
    groups = np.split(chosen, first[1:])
    return {
        number: Intervals.of(start[group], end[group]) for number, group in zip(numbers.tolist(), groups, strict=False)
    }


def _placed(profile: ProfileData, device: str) -> str:
    """The name of the device by which ops are placed on it, if it is of one task only."""
    known = {*profile.nodes.devices, *(each.name for each in profile.accelerators)}
    found = [each for each in known if each.endswith(device) and "/stream" not in each]
    return found[0] if len(found) == 1 else device
