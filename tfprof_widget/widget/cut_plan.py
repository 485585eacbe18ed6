"""Chooses which nodes stay when a profile is cut: the costliest ones, and those that the browser asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.matching import Names
from tfprof_widget.engine.tree import Tree, above, prefix_sums
from tfprof_widget.lib.arrays import Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import EVERYTHING
from tfprof_widget.profiles.tables import StepTotals


@dataclass(frozen=True)
class Limits:
    """The most rows that each table may have; docs/big-profiles.md has the measurements behind the numbers.

    >>> BROWSER.nodes, BROWSER.step_totals
    (100000, 400000)
    """

    nodes: int
    step_totals: int
    executions: int
    allocations: int
    transfers: int = 100_000


BROWSER = Limits(nodes=100_000, step_totals=400_000, executions=200_000, allocations=200_000)


@dataclass(frozen=True)
class Wanted:
    """What the browser asks to keep, if it fits: executions of a step, and nodes by scope and op type or by regexes.

    `scope=None` matches nothing; `scope=""` is the root. `op=""` matches every op type.

    >>> Wanted.of({"scope": "tower_1", "op": "MatMul"}).scope, Wanted().is_anything
    ('tower_1', False)
    """

    step: int = -1
    scope: str | None = None
    op: str = ""
    show_name_regexes: tuple[str, ...] = EVERYTHING
    start_name_regexes: tuple[str, ...] = EVERYTHING

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Wanted:
        """Read the request of js/src/views/cut_graph.tsx; values of the wrong type are ignored."""
        step, scope, op = asked.get("step"), asked.get("scope"), asked.get("op")
        return cls(
            step if isinstance(step, int) else -1,
            scope if isinstance(scope, str) else None,
            op if isinstance(op, str) else "",
            _regexes(asked.get("show_name_regexes")),
            _regexes(asked.get("start_name_regexes")),
        )

    @property
    def is_anything(self) -> bool:
        """Whether the browser asks for some of the nodes."""
        return self.scope is not None or self.has_regexes

    @property
    def has_regexes(self) -> bool:
        """Whether the browser asks for nodes by regexes."""
        return any(each not in (EVERYTHING, ()) for each in (self.show_name_regexes, self.start_name_regexes))


def _regexes(asked: Any) -> tuple[str, ...]:
    return tuple(map(str, asked)) if isinstance(asked, list | tuple) else EVERYTHING


# Shares are integers out of this whole, so that rounding cannot make a scope's share less than its node's.
PARTS = 2**40


@dataclass(frozen=True, eq=False)
class Shares:
    """For each place of a scope tree: the share of all nodes at and below it, and the largest share of one node."""

    whole: Integers
    largest: Integers


def place_shares(profile: ProfileData, tree: Tree) -> Shares:
    """The shares of all places of a scope tree, where PARTS is the whole.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.engine.evaluate import view_tree
    >>> profile = demo_profile()
    >>> shares = place_shares(profile, view_tree(profile, "scope"))
    >>> bool((shares.largest <= shares.whole).all()) and int(shares.whole[0]) <= PARTS
    True
    """
    share = _shares(profile)[tree.rows]
    sums = prefix_sums(share)
    largest = np.zeros(len(tree), np.int64)
    np.maximum.at(largest, np.repeat(np.arange(len(tree)), tree.row_count), share)
    for depth in range(int(tree.depth.max(initial=0)), 0, -1):
        places = np.flatnonzero(tree.depth == depth)
        np.maximum.at(largest, tree.parent[places], largest[places])
    return Shares(sums[tree.row_start[tree.end]] - sums[tree.row_start[:-1]], largest)


def _shares(profile: ProfileData) -> Integers:
    """The share of each node: one half by time, the other half by the mean of its other costs."""
    time, *others = [
        values / whole if (whole := float(values.sum())) > 0 else None for values in map(np.abs, _costs(profile))
    ]
    known = [each for each in others if each is not None]
    halves = [each for each in (time, np.mean(known, axis=0) if known else None) if each is not None]
    share = np.mean(halves, axis=0) if halves else np.zeros(len(profile.nodes))
    return (share * PARTS).astype(np.int64)


def _costs(profile: ProfileData) -> list[NDArray[np.float64]]:
    """The time of each node, then its other costs; rounded floats are enough to rank nodes."""
    totals, nodes = profile.step_totals, profile.nodes
    in_steps = _summed(totals, totals.float_ops_of(nodes), len(nodes))
    time = _summed(totals, totals.accelerator_nanos, len(nodes)) + _summed(totals, totals.cpu_nanos, len(nodes))
    taken = (totals.requested_bytes, totals.peak_bytes, totals.residual_bytes, totals.output_bytes)
    return [
        time,
        *(_summed(totals, each, len(nodes)) for each in taken),
        np.where(in_steps > 0, in_steps, nodes.float_ops),
        nodes.parameters.astype(np.float64),
    ]


def _summed(totals: StepTotals, values: Integers, count: int) -> NDArray[np.float64]:
    sums = np.zeros(count)
    if values.any():
        np.add.at(sums, totals.node, values.astype(np.float64))
    return sums


# The share of the kept places that may go to what the browser asks for.
PART_WANTED = 0.75
# The search ends when a plan takes this share of the limits.
FULL_ENOUGH = 0.97


@dataclass(frozen=True, eq=False)
class Plan:
    """The group of each node, and the place of each group; a kept node is alone in a group at its own place."""

    group: Integers
    groups: int
    is_kept: Flags
    place: Indices


@dataclass(frozen=True, eq=False)
class Candidates:
    """The places of a scope tree in three orders, each place after its parent; and the class and steps of each node.

    `by_share` has the costliest scopes in front, `by_largest` the scopes of the costliest single nodes; `wanted` has
    only the places that the browser asks for, the costliest in front.
    """

    tree: Tree
    by_share: Integers
    by_largest: Integers
    wanted: Integers
    node_class: Integers
    steps_seen: Integers

    @classmethod
    def of(cls, tree: Tree, shares: Shares, wanted: Flags, node_class: Integers, steps_seen: Integers) -> Candidates:
        """Sort the places; scopes of the same cost go from the root down, and nodes in the order of the tree."""
        by_share = np.lexsort((tree.depth, -shares.whole))
        by_largest = np.argsort(-shares.largest, kind="stable")
        below = prefix_sums(wanted[tree.rows])
        has_wanted = below[tree.row_start[tree.end]] > below[tree.row_start[:-1]]
        return cls(tree, by_share, by_largest, by_share[has_wanted[by_share]], node_class, steps_seen)

    def plan(self, places: int) -> Plan:
        """Keep this many places; group the nodes of all others by class under the nearest kept place above them."""
        tree = self.tree
        first = self.wanted[: int(places * PART_WANTED)]
        half = (places - len(first)) // 2
        kept = np.zeros(len(tree), np.bool_)
        kept[0] = True
        for order in (first, self.by_share[:half], self.by_largest[:half]):
            kept[order] = True
        topmost = ~kept & kept[np.maximum(tree.parent, 0)]
        above = np.concatenate([[0], tree.parent[topmost]])[np.cumsum(topmost)]
        place_of = np.empty(len(self.node_class), np.int64)
        is_kept = np.empty(len(self.node_class), np.bool_)
        single = np.repeat(np.arange(len(tree)), tree.row_count)
        is_kept[tree.rows] = kept[single]
        place_of[tree.rows] = np.where(kept[single], single, above[single])
        return _grouped(place_of, is_kept, self.node_class)

    def largest(self, limits: Limits) -> Plan:
        """The plan that keeps the most places within the limits; if none fits, the plan that keeps only the root."""
        least, most = 0, 2 * min(len(self.tree), 4 * limits.nodes) + 1
        best = self.plan(0)
        while most - least > 1:
            middle = (least + most) // 2
            tried = self.plan(middle)
            used = self.used(tried, limits)
            if used > 1:
                most = middle
                continue
            least, best = middle, tried
            if used > FULL_ENOUGH:
                break
        return best

    def used(self, plan: Plan, limits: Limits) -> float:
        """How full the fullest table is, as a share of its limit; a plan with more than 1 does not fit."""
        first = np.zeros(plan.groups, np.int64)
        first[plan.group] = self.steps_seen
        return max(plan.groups / limits.nodes, float(first.sum()) / max(limits.step_totals, 1))


def _grouped(place: Integers, is_kept: Flags, node_class: Integers) -> Plan:
    """Number the kept nodes first, in their order, and then the groups of the others."""
    kept, others = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    group = np.empty(len(place), np.int64)
    group[kept] = np.arange(len(kept))
    classes = int(node_class.max(initial=0)) + 1
    keys, index = np.unique(place[others] * classes + node_class[others], return_inverse=True)
    group[others] = len(kept) + index
    under = np.concatenate([place[kept], keys // classes]).astype(np.int32)
    return Plan(group, len(kept) + len(keys), is_kept, under)


def wanted_nodes(profile: ProfileData, tree: Tree, wanted: Wanted) -> Flags:
    """The nodes that the browser asks for: those of the op type in the scope, and those that match the regexes.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.engine.evaluate import view_tree
    >>> demo = demo_profile()
    >>> flags = wanted_nodes(demo, view_tree(demo, "scope"), Wanted(scope="layer1", op="MatMul"))
    >>> [demo.nodes.names[node] for node in np.flatnonzero(flags)]
    ['layer1/MatMul']
    """
    return _in_scope(profile, tree, wanted) | _matching(profile, tree, wanted)


def _in_scope(profile: ProfileData, tree: Tree, wanted: Wanted) -> Flags:
    if wanted.scope is None:
        return np.zeros(len(profile.nodes), np.bool_)
    found = np.ones(len(profile.nodes), np.bool_)
    if wanted.scope:
        found = _nodes_of(tree, _within(tree, np.array([name == wanted.scope for name in tree.names])))
    if wanted.op:
        found &= np.array([op == wanted.op for op in profile.nodes.ops])[profile.nodes.op]
    return found


def _matching(profile: ProfileData, tree: Tree, wanted: Wanted) -> Flags:
    if not wanted.has_regexes:
        return np.zeros(len(profile.nodes), np.bool_)
    names = profile.cache.kept("wanted names", lambda: Names(tree.names))
    places = names.matching("show_name_regexes", wanted.show_name_regexes)
    if wanted.start_name_regexes not in (EVERYTHING, ()):
        places &= _within(tree, names.matching("start_name_regexes", wanted.start_name_regexes))
    return _nodes_of(tree, places)


def _within(tree: Tree, marked: Flags) -> Flags:
    """The marked places and all below them."""
    return marked | (above(tree.end, marked) > 0)


def _nodes_of(tree: Tree, places: Flags) -> Flags:
    """The nodes at the marked places."""
    found = np.zeros(len(tree.rows), np.bool_)
    found[tree.rows] = np.repeat(places, tree.row_count)
    return found
