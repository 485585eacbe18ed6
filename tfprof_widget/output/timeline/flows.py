"""Which executions hand data to one on another device: the arrows of a timeline."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from tfprof_widget.output.timeline.placed import Placed
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers


def flows(profile: Profile, when: Placed, shown: Flags) -> Iterator[tuple[int, int]]:
    """Pairs of executions, the source first: of each input's executions the last that had started by then.

    Only between shown executions on their nodes' own devices, where ops are placed.
    """
    executions = profile.executions
    rows = np.flatnonzero(shown & (executions.device == profile.nodes.device[executions.node]))
    rows = rows[np.lexsort((when.start[rows], executions.node[rows]))]
    # The executions of node `i` are `rows[first[i]:first[i + 1]]`.
    first = np.searchsorted(executions.node[rows], np.arange(len(profile.nodes) + 1))
    for consumer, source in _crossing_edges(profile).tolist():
        sources = rows[first[source] : first[source + 1]]
        starts = when.start[sources].tolist()
        for row in rows[first[consumer] : first[consumer + 1]].tolist():
            position = bisect_right(starts, int(when.start[row])) - 1
            if position >= 0 and executions.step[sources[position]] == executions.step[row]:
                yield int(sources[position]), row


def _crossing_edges(profile: Profile) -> Integers:
    """The consumer and the source of each edge between devices, once."""
    nodes = profile.nodes
    consumer = np.repeat(np.arange(len(nodes)), np.diff(nodes.inputs.start))
    source = nodes.inputs.values.astype(np.int64)
    placed = (source >= 0) & (nodes.device[consumer] >= 0) & (nodes.device[source] >= 0)
    crossing = placed & (nodes.device[consumer] != nodes.device[source])
    return np.unique(np.stack([consumer[crossing], source[crossing]], axis=1), axis=0)
