"""Which nodes stay by themselves, and with which the others are put together: the most that the limits allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.cutting.limits import Limits
from tfprof_widget.cutting.shares import Shares
from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.tables import Flags, Indices, Integers

# The part of the places kept that may be what is wanted, if something is.
PART_WANTED = 0.75
# How close to the limits the search comes before it is content.
CONTENT = 0.97


@dataclass(frozen=True, eq=False)
class Plan:
    """For each node its group, in which it is alone where it stays; for each group the place that it is at or under."""

    group: Integers
    groups: int
    is_kept: Flags
    place: Indices


@dataclass(frozen=True, eq=False)
class Candidates:
    """The places of a scope tree in three orders, and what may be put together; none is before the one that it is in.

    `by_share` has the costliest scopes in front, `by_largest` those of the costliest single nodes.
    """

    tree: Tree
    by_share: Integers
    by_largest: Integers
    wanted: Integers
    node_class: Integers
    steps_seen: Integers

    @classmethod
    def of(cls, tree: Tree, shares: Shares, wanted: Flags, node_class: Integers, steps_seen: Integers) -> Candidates:
        """Scopes of the same cost go from the root down, and nodes in the order of the tree."""
        by_share = np.lexsort((tree.depth, -shares.whole))
        by_largest = np.argsort(-shares.largest, kind="stable")
        below = prefix_sums(wanted[tree.rows])
        has_wanted = below[tree.row_start[tree.end]] > below[tree.row_start[:-1]]
        return cls(tree, by_share, by_largest, by_share[has_wanted[by_share]], node_class, steps_seen)

    def plan(self, places: int) -> Plan:
        """Keep so many places, and put the nodes of all others together by class under the next kept place above."""
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
        """The plan that keeps most and is within the limits, or the smallest there is."""
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
            if used > CONTENT:
                break
        return best

    def used(self, plan: Plan, limits: Limits) -> float:
        """The part of the limits that a plan takes, of the table that is fullest."""
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
