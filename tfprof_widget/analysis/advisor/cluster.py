"""Finds what slows a cluster down."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.advisor.finding import Evidence, Finding
from tfprof_widget.analysis.cluster.routes import SlowLink
from tfprof_widget.analysis.cluster.summary import ClusterSummary, HeldUpSummary, summary
from tfprof_widget.analysis.steady import MOST_SELECTED, WORTHWHILE, SteadySteps
from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.lib.text import short_count, short_units, written_seconds
from tfprof_widget.profiles.data import ProfileData

_EVIDENCE = Evidence("workers")


def cluster(profile: ProfileData) -> Iterator[Finding]:
    """A finding for a straggler, one for the slowest link and one for the task that transfers hold up most.

    Devices of one process share its processors and memory: they are no cluster.
    """
    found = summary(profile, SteadySteps.of(profile).steps.tolist())
    if found is None or not found.wall_nanos or len(found.tasks) < 2:
        return
    if found.straggler is not None:
        yield Finding(
            found.straggler.text,
            _EVIDENCE,
            "Give this task no more work than the other tasks of its job have. If it has no more work, look for other "
            "programs on its machine."
            if found.straggler.works_longer
            else "Look for what this task waits for before its ops start (tensors, its input, Python), and for other "
            "programs on its machine: it has no more work than the other tasks of its job.",
            of_step=found.straggler.nanos / found.wall_nanos,
        )
    if found.slow_link is not None:
        yield from _slow_link(found.slow_link, found)
    if found.held_up is not None:
        yield _held_up(found.held_up)


def _slow_link(slow: SlowLink, found: ClusterSummary) -> Iterator[Finding]:
    took = next(
        link.transfer_nanos
        for link in found.links
        if (link.source, link.target, link.kind) == (slow.source, slow.target, slow.kind)
    )
    if took >= WORTHWHILE * found.wall_nanos:
        yield Finding(
            f"Data from {slow.source} to {slow.target} travels at {_shown(slow.rate)} (median of {slow.steps} steps), "
            f"and at {_shown(slow.usual)} on the usual link; most rates are within a factor of {slow.factor:.1f}. "
            f"Sending it takes {_time(took)} of a step's {_time(found.wall_nanos)}.",
            _EVIDENCE,
            "Check the network between the two tasks, and how busy the sender is, which has to copy the tensors; or "
            "place the variables or ops so that the two tasks exchange less.",
            of_step=took / found.wall_nanos,
        )


def _held_up(held: HeldUpSummary) -> Finding:
    return Finding(
        f"No task computes for {_time(held.nanos)} of a step's {_time(held.wall_nanos)}, while tensors travel to "
        f"{held.task}.",
        _EVIDENCE,
        "Send less (half precision, or larger batches for the same variables), or send earlier; or let the task begin "
        "with ops that need none of these tensors.",
        of_step=held.nanos / max(held.wall_nanos, 1),
    )


def _shown(rate: float) -> str:
    return short_units(rate, "B/s")


def _time(nanos: int) -> str:
    return written_seconds(nanos / 1e9)


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
    held = _Loads.of(profile, profile.nodes.parameters, lambda nodes: int(profile.nodes.parameters[nodes].sum()))
    if held.are_unbalanced and held.most >= FEWEST_PARAMETERS:
        yield Finding(
            f"Parameter server {held.largest} holds {short_count(held.most)} parameters; the average of the "
            f"{len(held.loads)} servers is {short_count(round(held.mean))}.",
            held.evidence("params"),
            _FIX,
        )
    worked = _Loads.of(profile, steady.nanos, lambda nodes: steady.busy(steady.of_nodes(nodes)))
    if worked.are_unbalanced and steady.of_wall(worked.most) >= WORTHWHILE:
        yield Finding(
            f"Parameter server {worked.largest} works {steady.shown(worked.most)} a step; the average of the "
            f"{len(worked.loads)} servers is {steady.shown(round(worked.mean))}.",
            worked.evidence("micros"),
            _FIX,
        )


@dataclass(frozen=True)
class _Loads:
    """The load of each server, and the values of nodes that make it."""

    profile: ProfileData
    values: Integers
    loads: dict[str, int]

    @classmethod
    def of(cls, profile: ProfileData, values: Integers, load: Callable[[Flags], int]) -> _Loads:
        loads: dict[str, int] = {}
        for device in profile.nodes.devices:
            server = _SERVER.match(device)
            if server is not None:
                loads[server[0]] = load(_is_on(profile, server[0]))
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
