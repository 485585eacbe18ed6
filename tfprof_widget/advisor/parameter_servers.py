"""Finds parameter servers of which one has more to hold or to do than the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import MOST_SELECTED, WORTHWHILE, Steady
from tfprof_widget.output.numbers import count
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers

UNBALANCED = 1.25
"""All workers wait for the server with the most: with this many times the mean, a quarter longer than need be."""

FEWEST_PARAMETERS = 100_000
"""Less than a megabyte travels in no time."""

_SERVER = re.compile(r".*/job:ps(?:/replica:\d+)?/task:\d+")
_FIX = (
    "Spread the variables by their size: tf.compat.v1.train.replica_device_setter with a "
    "GreedyLoadBalancingStrategy and byte_size_load_fn, or split the largest with a partitioner."
)


def parameter_servers(profile: Profile) -> Iterator[Finding]:
    """A finding if one parameter server holds many more parameters, and one if it works much longer.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(parameter_servers(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    held = _Loads.of(profile, profile.nodes.parameters)
    if held.are_unbalanced and held.most >= FEWEST_PARAMETERS:
        yield Finding(
            f"Parameter server {held.largest} holds {count(held.most)} parameters, and the {len(held.loads)} servers "
            f"{count(round(held.mean))} on average.",
            held.evidence("params"),
            _FIX,
        )
    worked = _Loads.of(profile, steady.nanos)
    if worked.are_unbalanced and steady.of_wall(worked.most) >= WORTHWHILE:
        yield Finding(
            f"Parameter server {worked.largest} works for {steady.shown(worked.most)} a step, and the "
            f"{len(worked.loads)} servers for {steady.shown(round(worked.mean))} on average.",
            worked.evidence("micros"),
            _FIX,
        )


@dataclass(frozen=True)
class _Loads:
    """What each server has of something that nodes have."""

    profile: Profile
    values: Integers
    loads: dict[str, int]

    @classmethod
    def of(cls, profile: Profile, values: Integers) -> _Loads:
        loads: dict[str, int] = {}
        for device in profile.nodes.devices:
            server = _SERVER.match(device)
            if server is not None:
                loads[server[0]] = int(values[_is_on(profile, server[0])].sum())
        return cls(profile, values, loads)

    @property
    def largest(self) -> str:
        return max(self.loads, key=self.loads.__getitem__)

    @property
    def most(self) -> int:
        return max(self.loads.values())

    @property
    def mean(self) -> float:
        return sum(self.loads.values()) / len(self.loads)

    @property
    def are_unbalanced(self) -> bool:
        return len(self.loads) > 1 and self.most >= UNBALANCED * self.mean

    def evidence(self, measure: str) -> Evidence:
        """The nodes of the server with the most; the device of a node is among its types."""
        values = np.where(_is_on(self.profile, self.largest), self.values, 0)
        rows = np.argsort(-values, kind="stable")[:MOST_SELECTED]
        return Evidence(
            "scope",
            {
                "account_type_regexes": [re.escape(self.largest) + "/.*"],
                "order_by": measure,
                "select": [measure, "device"],
            },
            tuple(self.profile.nodes.names[row] for row in rows.tolist() if values[row]),
        )


def _is_on(profile: Profile, server: str) -> Flags:
    nodes = profile.nodes
    return np.array([*(device.startswith(f"{server}/") for device in nodes.devices), False], np.bool_)[nodes.device]
