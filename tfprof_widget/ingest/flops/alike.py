"""Finds executions that count alike, because all nodes had the same shapes, and adds up counts by node and step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.join import count_as_runs, nodes_of_kernels_only
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileTables

MOST_ROUNDS = 1000
"""The rounds of a loop that are told apart; later ones count as the last of these."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Alike:
    """Executions in which all nodes had the same shapes, with the steps and nodes that they are of.

    `telling` are the executions that tell these shapes, at most one for each node. `otherwise` are the nodes that are
    defined otherwise in these steps than in the profile's graphs. Executions of nodes that took in the same shapes in
    all steps are left out, unless these nodes are defined otherwise.
    """

    executions: Integers
    steps: Integers
    nodes: Integers
    telling: Integers
    otherwise: Sequence[Any]


class CountedRuns:
    """The executions of a profile that count as runs of their nodes.

    >>> from tfprof_widget.demo import demo_profile
    >>> runs = CountedRuns(demo_profile())
    >>> len(runs.executions), list(runs.alike())
    (30, [])
    """

    def __init__(self, tables: ProfileTables) -> None:
        executions, nodes = tables.executions, tables.nodes
        is_kernels_only = nodes_of_kernels_only(executions, nodes.devices, nodes.device)
        self.executions = np.flatnonzero(count_as_runs(executions, nodes.devices, is_kernels_only))
        self._tables = tables

    @cached_property
    def _node(self) -> Indices:
        return self._tables.executions.node[self.executions]

    @cached_property
    def _step(self) -> Indices:
        return self._tables.executions.step[self.executions]

    @cached_property
    def _in_order(self) -> Integers:
        """The places of the runs by step, node and start."""
        start = self._tables.executions.start_nanos[self.executions]
        return np.lexsort((start, self._node, self._step))

    @cached_property
    def _shape(self) -> NDArray[np.uint64]:
        """A hash of the shapes of each run, of inputs and outputs; 0 if none are known."""
        executions, outputs = self._tables.executions, self._tables.outputs
        hashes = executions.input_shapes.astype(np.uint64)
        known = np.flatnonzero(outputs.shape != ABSENT)
        told = (outputs.slot[known].astype(np.uint64) << np.uint64(32)) + outputs.shape[known].astype(np.uint64) + 1
        np.add.at(hashes, outputs.execution[known], (told ^ told >> np.uint64(29)) * _MULTIPLIER)
        return hashes[self.executions]

    @cached_property
    def _varies(self) -> Flags:
        """Whether each node had several shapes."""
        least = np.full(len(self._tables.nodes), np.iinfo(np.uint64).max)
        most = np.zeros(len(self._tables.nodes), np.uint64)
        known = np.flatnonzero(self._shape)
        np.minimum.at(least, self._node[known], self._shape[known])
        np.maximum.at(most, self._node[known], self._shape[known])
        return least < most

    @cached_property
    def _first_telling(self) -> Integers:
        """The place of the first run of each node whose shapes are known, or else of any run."""
        found = np.zeros(len(self._tables.nodes), np.int64)
        backwards = self._in_order[::-1]
        known = backwards[self._shape[backwards] > 0]
        found[self._node[backwards]] = backwards
        found[self._node[known]] = known
        return found

    def alike(self) -> Iterator[Alike]:
        """The runs put together by the shapes of all nodes; nothing if each node had one shape and one definition."""
        graphs = self._tables.other_graphs
        graph = graphs.of_steps(len(self._tables.steps))
        if not self._varies.any() and (graph == ABSENT).all():
            return
        found: dict[tuple[int, bytes], list[tuple[Integers, Integers, Integers]]] = {}
        ends = np.flatnonzero(np.diff(self._step[self._in_order])) + 1
        for places in np.split(self._in_order, ends):
            group = int(graph[self._step[places[0]]])
            for telling, here in self._rounds(places):
                signature = self._node[telling].tobytes() + self._shape[telling].tobytes()
                found.setdefault((group, signature), []).append((telling, here, places))
        for (group, _), parts in found.items():
            otherwise = [node for each in graphs.graphs[group] for node in each.node] if group != ABSENT else []
            here = np.concatenate([each for _, each, _ in parts])
            here = here[self._may_differ(otherwise)[self._node[here]]]
            if not len(here):
                continue
            ran = np.unique(self._node[np.concatenate([each for *_, each in parts])])
            telling = np.concatenate([parts[0][0], self._first_telling[ran[~self._varies[ran]]]])
            yield Alike(
                executions=self.executions[here],
                steps=np.unique(self._step[here]),
                nodes=np.unique(self._node[here]),
                telling=self.executions[telling],
                otherwise=otherwise,
            )

    def _may_differ(self, otherwise: Sequence[Any]) -> Flags:
        """Whether each node may take other than it did first: what it takes in tells that it does not."""
        executions = self._tables.executions
        is_told = np.zeros(len(self._tables.nodes), np.bool_)
        is_told[executions.node[executions.input_shapes > 0]] = True
        found: Flags = self._varies | ~is_told
        names = {node.name for node in otherwise}
        for row in np.flatnonzero(~found).tolist() if names else ():
            name = self._tables.nodes.names[row]
            found[row] = name in names or name.rpartition("/")[0] in names  # of a kernel of another type
        return found

    def _rounds(self, places: Integers) -> Iterator[tuple[Integers, Integers]]:
        """The runs in one step, parted by the rounds of loops if nodes have other shapes from round to round.

        With each part go the runs that tell the shapes of nodes of which they vary.
        """
        first = np.flatnonzero(np.diff(self._node[places], prepend=ABSENT))
        count = np.diff(first, append=len(places))
        number = np.arange(len(places)) - np.repeat(first, count)  # of each run among those of its node
        shape = self._shape[places]
        is_unlike = np.minimum.reduceat(shape, first) != np.maximum.reduceat(shape, first)
        varies = self._varies[self._node[places[first]]]
        rounds = min(int(count[varies & is_unlike].max(initial=1)), MOST_ROUNDS)
        for each in range(rounds):
            telling = places[first[varies] + np.minimum(each, count[varies] - 1)]
            yield telling, places[number == each if each < rounds - 1 else number >= each]

    def added_up(self, of_one: Integers, known: Integers) -> tuple[Integers, Integers | None]:
        """What each node took when it ran first, and what it took in each row of the step totals.

        `of_one` is what each execution took, and `known` is for nodes that never ran. None if the sums are too large.
        """
        executions, totals = self.executions[self._in_order], self._tables.step_totals
        if float(of_one[executions].sum(dtype=np.float64)) >= LARGEST_INTEGER / 2:
            return known, None
        node, step = self._node[self._in_order].astype(np.int64), self._step[self._in_order]
        first = known.copy()
        ran, place = np.unique(node, return_index=True)
        first[ran] = of_one[executions[place]]
        count = len(self._tables.steps)
        row = np.searchsorted(totals.node.astype(np.int64) * count + totals.step, node * count + step)
        sums = np.zeros(len(totals.node), np.int64)
        np.add.at(sums, row, of_one[executions])
        return first, sums
