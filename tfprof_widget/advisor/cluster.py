"""Finds what holds a cluster up: a task that the others wait for, a slow link, and transfers that nothing hides."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.cluster.routes import LinkSummary
from tfprof_widget.cluster.summary import ClusterSummary, summary
from tfprof_widget.output.numbers import memory, time
from tfprof_widget.profiles import Profile

SLOW_LINK = 3
"""How many times as fast the usual link is as one that is slow: less is a matter of what else goes on."""

FEWEST_BYTES = 100_000
"""What is smaller tells of the delay of a link, not of its rate."""

_NANOS_A_SECOND = 10**9
_EVIDENCE = Evidence("workers")


def cluster(profile: Profile) -> Iterator[Finding]:
    """A finding for a straggler, one for the slowest link and one for the task that transfers hold up most.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(cluster(demo_profile()))
    []
    """
    found = summary(profile, Steady.of(profile).steps.tolist())
    if found is None or not found.wall_nanos:
        return
    if found.straggler is not None:
        yield Finding(
            found.straggler.text,
            _EVIDENCE,
            "Give it as much work as its like have; if it has, look for what else runs on its machine.",
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
            f"What goes from {slowest.source} to {slowest.target} travels at {_shown(_rate(slowest))}, and on the "
            f"usual link at {_shown(usual)}: it takes {_time(slowest.transfer_nanos)} of a step of "
            f"{_time(found.wall_nanos)}.",
            _EVIDENCE,
            "Look at the network between the two, or at how busy the source is, which has to copy what it sends; "
            "or place what they exchange elsewhere.",
        )


def _held_up(found: ClusterSummary) -> Iterator[Finding]:
    """The task for which most time passes while tensors are on their way to it and it does nothing else."""
    bare = {task.task: round(task.transfer_nanos * (1 - (task.overlap or 0))) for task in found.tasks}
    task = max(found.tasks, key=lambda task: bare[task.task])
    if bare[task.task] >= WORTHWHILE * found.wall_nanos:
        yield Finding(
            f"Tensors are on their way to {task.task} for {_time(task.transfer_nanos)} of a step of "
            f"{_time(found.wall_nanos)}, and for {_time(bare[task.task])} of that it computes nothing.",
            _EVIDENCE,
            "Send less, such as half precision or larger batches for the same variables, or earlier: let it begin with "
            "what needs none of these tensors.",
        )


def _rate(link: LinkSummary) -> float:
    return link.bytes * _NANOS_A_SECOND / link.transfer_nanos


def _shown(rate: float) -> str:
    return f"{memory(round(rate))} a second"


def _time(nanos: int) -> str:
    return time(nanos, 1000)
