"""Finds steps that wait for tensors on their way between devices and hosts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.advisor.finding import Evidence, Finding
from tfprof_widget.advisor.steady import WORTHWHILE, Steady
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags

COPIES = r"(?i).*memcpy.*|Copy(Host)?"
WAITS = r"_(Host)?(Send|Recv)(V2)?|_?X[lL][aA](Send|Recv).*|Recv"


def transfers(profile: Profile) -> Iterator[Finding]:
    """A finding for copies, and one for sends and receives, that much of the steps wait for.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(transfers(demo_profile()))
    []
    """
    steady = Steady.of(profile)
    yield from _found(
        steady,
        steady.of_nodes(steady.ops(COPIES)) | _on_copying_lines(steady),
        "copies between host and device",
        "Keep tensors where they are used: place both ends of the copy on one device, feed by tf.data with "
        "tf.data.experimental.prefetch_to_device, and fetch results every so many steps only.",
    )
    yield from _found(
        steady,
        steady.of_nodes(steady.ops(WAITS)),
        "what sends and receives tensors between devices",
        "Send less, or earlier: put ops beside the variables that they read, spread or shard what one device "
        "sends to all, and let other work overlap with the wait.",
    )


def _found(steady: Steady, moves: Flags, what: str, fix: str) -> Iterator[Finding]:
    waited = steady.alone(moves) if moves.any() else 0
    if steady.of_wall(waited) >= WORTHWHILE:
        nodes = np.zeros(len(steady.profile.nodes), np.bool_)
        nodes[steady.node[moves]] = True
        yield Finding(
            f"Steps wait for {what}: for {steady.shown(waited)} of {steady.shown(steady.wall.length)} "
            f"({steady.of_wall(waited):.0%}) nothing else runs.",
            Evidence("timeline", steady.options, steady.costliest(nodes)),
            fix,
        )


def _on_copying_lines(steady: Steady) -> Flags:
    """The copies of an accelerator; its streams repeat what is on the line of its own that they have."""
    devices = steady.profile.nodes.devices
    on_line = steady.on_devices(np.array([device.endswith("/memcpy") for device in devices], np.bool_))
    if not on_line.any():
        return on_line
    repeated = steady.is_on_stream & np.isin(steady.start, steady.start[on_line])
    return on_line | (repeated & np.isin(steady.node, steady.node[on_line]))
