"""Finds which nodes and executions had to wait for which others, by the edges of the graph as it was executed."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.ingest.parts.names import EAGER_SCOPE
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData

_SENT = re.compile(r"/_\d+")
"""Ends the name of what TensorFlow puts on an edge between two devices, behind the name of the node that sends."""


@dataclass(frozen=True, eq=False)
class NodeEdges:
    """Which executed node waits for which: a row an edge, each once; a source may be its own target, by a loop.

    Between the two are at most nodes that did not run, because they were fused, folded or taken out. `skipped` are
    these nodes, and `skipped_by` the executed nodes that wait for what is behind them. `ran` are the nodes that ran.

    >>> from tfprof_widget.demo import demo_profile
    >>> edges, names = NodeEdges.of(demo_profile()), demo_profile().nodes.names
    >>> [names[row] for row in edges.source[edges.target == names.index("layer1/Relu")].tolist()]
    ['_arg_images_0_0', 'layer1/b/read', 'layer1/w/read']
    """

    source: Integers
    target: Integers
    skipped: Integers
    skipped_by: Integers
    ran: Integers

    @classmethod
    def of(cls, profile: ProfileData) -> NodeEdges:
        """The edges between the nodes that ran, kept with the profile."""
        return profile.cache.kept("executed edges", lambda: _between_executed(profile))


def _between_executed(profile: ProfileData) -> NodeEdges:
    count = len(profile.nodes)
    target, source = _edges(profile)
    ran = _ran(profile)
    order = np.argsort(target, kind="stable")
    target, source = target[order], source[order]
    first = np.searchsorted(target, np.arange(count + 1))
    at = ran[target]
    waiting, reached = target[at], source[at]
    seen = _once(waiting * count + reached)
    new = seen
    while len(new):
        waiting, reached = new // count, new % count
        through = ~ran[reached]
        waiting, reached = waiting[through], reached[through]
        length = first[reached + 1] - first[reached]
        place = np.repeat(first[reached] - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
        new = _once(np.repeat(waiting, length) * count + source[place])
        new = new[~np.isin(new, seen, assume_unique=True, kind="sort")]
        seen = np.sort(np.concatenate([seen, new]))
    waiting, reached = (seen // count), seen % count
    is_edge = ran[reached]
    return NodeEdges(reached[is_edge], waiting[is_edge], reached[~is_edge], waiting[~is_edge], np.flatnonzero(ran))


def _once(keys: Integers) -> Integers:
    """The keys in order, each once. NumPy's `unique` hashes them, which takes seconds where many are a node apart."""
    found: Integers = np.sort(keys)
    is_new: Flags = np.diff(found, prepend=ABSENT) != 0
    return found[is_new]


def _ran(profile: ProfileData) -> Flags:
    """Whether each node ran as part of some step."""
    executions = profile.executions
    ran = np.zeros(len(profile.nodes), np.bool_)
    ran[executions.node[executions.start_nanos > 0]] = True
    return ran & in_steps(profile)


def in_steps(profile: ProfileData) -> Flags:
    """Whether each node is part of steps: `tf.data` works ahead of them, and Python runs eager ops around them.

    >>> from tfprof_widget.demo import demo_profile
    >>> bool(in_steps(demo_profile()).all())
    True
    """
    names = profile.nodes.names
    around = np.zeros(len(names), np.bool_)
    around[bisect_left(names, f"{EAGER_SCOPE}/") : bisect_left(names, f"{EAGER_SCOPE}0")] = True
    return ~(around | SteadySteps.of(profile).is_data)


def _edges(profile: ProfileData) -> tuple[Integers, Integers]:
    """The target and source of each edge: those of the graph, and those that labels of executions tell."""
    nodes = profile.nodes
    target = np.repeat(np.arange(len(nodes)), np.diff(nodes.inputs.start))
    source = nodes.inputs.values.astype(np.int64)
    row_of = {name: row for row, name in enumerate(nodes.names)}
    told: list[tuple[int, int]] = []
    for name, kernel in profile.kernels.items():
        of = row_of.get(name, ABSENT)
        told += [(of, _row(each, row_of)) for each in kernel.inputs]
    more = np.array(told, np.int64).reshape(-1, 2)
    target, source = np.append(target, more[:, 0]), np.append(source, more[:, 1])
    known = (target >= 0) & (source >= 0)
    return target[known], source[known]


def _row(executed: str, row_of: dict[str, int]) -> int:
    """The node of an input of a kernel, `name` or `name:port`, which may have been sent from another device."""
    name = executed.partition(":")[0]
    return row_of.get(name, row_of.get(_SENT.sub("", name), ABSENT))


def execution_edges(edges: NodeEdges, node: Indices, start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """The source and target of each edge between executions of a step, which are in order of their starts.

    Of nodes that ran equally often, the executions belong together one by one, as in the iterations of a loop; else,
    and where that cannot be, an execution waits for the last one of the source that had ended, or else begun, by then.

    >>> edges = NodeEdges(*(np.array(each, np.int32) for each in ([0, 1], [1, 0], [], [], [0, 1])))
    >>> node, start = np.array([0, 1, 0, 1]), np.array([0, 10, 20, 30])
    >>> [each.tolist() for each in execution_edges(edges, node, start, start + 5)]
    [[0, 1, 2], [1, 2, 3]]
    """
    count = len(node)
    order = np.lexsort((np.arange(count), node))
    by_node = node[order].astype(np.int64)
    place_of = by_node * (count + 1) + order
    size = int(max(by_node.max(initial=ABSENT), edges.source.max(initial=ABSENT), edges.target.max(initial=ABSENT))) + 2
    first = np.searchsorted(by_node, np.arange(size))
    times = np.diff(first)
    ran = (times[edges.source] > 0) & (times[edges.target] > 0)
    source, target = edges.source[ran].astype(np.int64), edges.target[ran].astype(np.int64)
    repeated = times[target]
    rank = np.arange(int(repeated.sum())) - np.repeat(np.cumsum(repeated) - repeated, repeated)
    source, target = np.repeat(source, repeated), np.repeat(target, repeated)
    waiting = order[first[target] + rank]
    earlier = np.searchsorted(place_of, source * (count + 1) + waiting) - 1
    has_earlier = earlier >= first[source]
    found = order[np.maximum(earlier, 0)]
    # The last one that began may still run, as another iteration does: then the one before, if that has ended.
    before = order[np.maximum(earlier - 1, 0)]
    is_early = (end[found] > start[waiting]) & (earlier > first[source]) & (end[before] <= start[waiting])
    found = np.where(is_early, before, found)
    alike = times[source] == times[target]
    paired = order[np.minimum(first[source] + rank, count - 1)]
    is_pair = alike & (start[paired] <= start[waiting]) & (paired != waiting) & (paired < waiting)
    found = np.where(is_pair, paired, found)
    kept = (is_pair | has_earlier) & (found != waiting)
    pairs = np.unique(waiting[kept] * count + found[kept])
    return pairs % count, pairs // count
