"""Finds what slows a cluster down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from tfprof_widget.analysis.advisor.finding import Evidence, Finding
from tfprof_widget.analysis.cluster.routes import LinkSummary
from tfprof_widget.analysis.cluster.summary import ClusterSummary, summary
from tfprof_widget.analysis.steady import MOST_SELECTED, WORTHWHILE, SteadySteps
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.lib.text import written_bytes, written_count, written_time
from tfprof_widget.profiles.data import ProfileData

SLOW_LINK = 3
"""A link is slow if the usual link is so many times as fast; smaller differences come from other work."""

FEWEST_BYTES = 100_000
"""Smaller transfers show the delay of a link, and not its rate."""

_NANOS_A_SECOND = 10**9
_EVIDENCE = Evidence("workers")


def cluster(profile: ProfileData) -> Iterator[Finding]:
    """A finding for a straggler, one for the slowest link and one for the task that transfers hold up most."""
    found = summary(profile, SteadySteps.of(profile).steps.tolist())
    if found is None or not found.wall_nanos:
        return
    if found.straggler is not None:
        yield Finding(
            found.straggler.text,
            _EVIDENCE,
            "Give it no more work than the other tasks of its job have; if it has no more, look for what else runs on "
            "its machine.",
        )
    yield from _slow_link(found)
    yield from _held_up(found)


def _slow_link(found: ClusterSummary) -> Iterator[Finding]:
    large = [link for link in found.links if link.bytes >= FEWEST_BYTES * max(link.count, 1) and link.transfer_nanos]
    if len(large) < 2:
        return
    slowest, usual = min(large, key=_rate), median(_rate(link) for link in large)
    if _rate(slowest) * SLOW_LINK <= usual and slowest.transfer_nanos >= WORTHWHILE * found.wall_nanos:
        yield Finding(
            f"Data from {slowest.source} to {slowest.target} travels at {_shown(_rate(slowest))}, and on the "
            f"usual link at {_shown(usual)}: it takes {_time(slowest.transfer_nanos)} of a step of "
            f"{_time(found.wall_nanos)}.",
            _EVIDENCE,
            "Look at the network between the two tasks, and at how busy the source is, which has to copy the tensors "
            "that it sends; or place the variables or ops so that the two exchange less.",
        )


def _held_up(found: ClusterSummary) -> Iterator[Finding]:
    """The task that spends most time doing nothing while tensors are on their way to it."""
    bare = {task.task: round(task.transfer_nanos * (1 - (task.overlap or 0))) for task in found.tasks}
    task = max(found.tasks, key=lambda task: bare[task.task])
    if bare[task.task] >= WORTHWHILE * found.wall_nanos:
        yield Finding(
            f"Tensors are on their way to {task.task} for {_time(task.transfer_nanos)} of a step of "
            f"{_time(found.wall_nanos)}, and for {_time(bare[task.task])} of that it computes nothing.",
            _EVIDENCE,
            "Send less (half precision, or larger batches for the same variables), or send earlier; or let the task "
            "begin with ops that need none of these tensors.",
        )


def _rate(link: LinkSummary) -> float:
    return link.bytes * _NANOS_A_SECOND / link.transfer_nanos


def _shown(rate: float) -> str:
    return f"{written_bytes(round(rate))} a second"


def _time(nanos: int) -> str:
    return written_time(nanos, 1000)


UNBALANCED = 1.25
"""Servers are unbalanced if the largest load is so many times the mean: all workers wait a quarter too long for it."""

FEWEST_PARAMETERS = 100_000
"""Fewer parameters are less than a megabyte, which takes almost no time to send."""

_SERVER = re.compile(r".*/job:ps(?:/replica:\d+)?/task:\d+")
_FIX = (
    "Spread the variables by their size: tf.compat.v1.train.replica_device_setter with a "
    "GreedyLoadBalancingStrategy and byte_size_load_fn, or split the largest with a partitioner."
)


def parameter_servers(profile: ProfileData) -> Iterator[Finding]:
    """A finding if one parameter server holds many more parameters, and one if it works much longer."""
    steady = SteadySteps.of(profile)
    held = _Loads.of(profile, profile.nodes.parameters)
    if held.are_unbalanced and held.most >= FEWEST_PARAMETERS:
        yield Finding(
            f"Parameter server {held.largest} holds {written_count(held.most)} parameters, and the "
            f"{len(held.loads)} servers "
            f"{written_count(round(held.mean))} on average.",
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
    """The load of each server by some measure of nodes."""

    profile: ProfileData
    values: Integers
    loads: dict[str, int]

    @classmethod
    def of(cls, profile: ProfileData, values: Integers) -> _Loads:
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
        """The nodes of the server with the largest load, chosen by type: the device of a node is one of its types."""
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


def _is_on(profile: ProfileData, server: str) -> Flags:
    nodes = profile.nodes
    return np.array([*(device.startswith(f"{server}/") for device in nodes.devices), False], np.bool_)[nodes.device]
