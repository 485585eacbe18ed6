"""The rows of the cut profile: for each node the row that it goes to, and for each row its name and members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfprof_widget.cutting.plan import Plan
from tfprof_widget.engine.tree import Tree
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows sorted by name; `of_node` is the row of each node, `first` the first node of each row."""

    names: tuple[str, ...]
    of_node: Integers
    first: Integers
    count: Integers
    is_kept: Flags
    float_ops: Integers

    def __len__(self) -> int:
        return len(self.names)


def rows_of(profile: Profile, tree: Tree, plan: Plan) -> Rows:
    """The rows of a plan. A group of one node is that node, and so stays under its own name."""
    group, float_ops = _evenly_split(plan, profile)
    count = np.bincount(group)
    first = np.full(len(count), len(group), np.int64)
    np.minimum.at(first, group, np.arange(len(group)))
    alone = np.bincount(plan.group)[plan.group[first]] == 1
    place = plan.place[plan.group[first]].tolist()
    names = [profile.nodes.names[node] if one else "" for node, one in zip(first.tolist(), alone.tolist(), strict=True)]
    taken = set(names)
    for each in np.flatnonzero(~alone).tolist():
        scope = tree.names[place[each]] if place[each] else ""
        op = profile.nodes.ops[profile.nodes.op[first[each]]]
        names[each] = _free(scope, f"{count[each]:,} more {op.replace('/', '|')}", taken)
        taken.add(names[each])
    order = sorted(range(len(names)), key=names.__getitem__)
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    sorted_names = tuple([names[each] for each in order])
    return Rows(sorted_names, row[group], first[order], count[order], alone[order], float_ops[order])


def put_together(scope: str, what: str) -> str:
    """The name of a row that stands for several nodes; TensorFlow allows neither blanks nor brackets in those of nodes.

    >>> put_together("tower_1/left", "1,234 more MatMul")
    'tower_1/left/(1,234 more MatMul)'
    """
    return f"{scope}/({what})" if scope else f"({what})"


def _free(scope: str, what: str, taken: set[str]) -> str:
    """Such a name that no other row has: rows of one op type differ by device or code, or in when they ran."""
    name, number = put_together(scope, what), 2
    while name in taken:
        name, number = put_together(scope, f"{what}, {number}"), number + 1
    return name


def _evenly_split(plan: Plan, profile: Profile) -> tuple[Integers, Integers]:
    """The group of each node and the float operations of each group, of which those where they do not divide are two.

    Float operations are those of one execution times the runs. All nodes of a group ran alike, so their sum is
    exact where each has the mean; where that is no whole number, some have the one below it, the others the one above.
    """
    ran = np.zeros(plan.groups, np.bool_)
    ran[plan.group[profile.step_totals.node]] = True
    sums, count = np.zeros(plan.groups, np.int64), np.bincount(plan.group, minlength=plan.groups)
    np.add.at(sums, plan.group, profile.nodes.float_ops)
    whole, rest = np.divmod(sums, np.where(ran, count, 1))
    order = np.argsort(plan.group, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order)) - (np.cumsum(count) - count)[plan.group[order]]
    is_above = position < rest[plan.group]
    group = plan.group.copy()
    group[is_above] = (np.cumsum(rest > 0) - 1 + plan.groups)[plan.group[is_above]]
    return group, np.concatenate([whole, whole[rest > 0] + 1])
