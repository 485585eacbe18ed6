"""Adds up own values and totals of the places of a tree by prefix sums, and orders the places by them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tfprof_widget.engine.account import Forest
from tfprof_widget.engine.measures import Measures
from tfprof_widget.engine.order import ordered
from tfprof_widget.engine.tree import prefix_sums
from tfprof_widget.lib.arrays import Integers, check_sum
from tfprof_widget.profiles.options import PASSES


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums over a forest for one choice of steps and clock; each column is made when it is first asked for.

    >>> from tfprof_widget.engine.tree import Tree
    >>> tree = Tree("abc", np.array([-1, 0, 1]), np.array([1, 0]), np.array([0, 0, 1, 2]))
    >>> forest = Forest(tree, np.ones(3, bool), np.array([1, 1]))
    >>> sums = Sums(forest, Measures({"runs": np.array([5, 7])}, 1, 1))
    >>> sums.own("runs").tolist(), sums.total("runs").tolist()
    ([0, 7, 5], [12, 12, 5])
    """

    forest: Forest
    measures: Measures
    _made: dict[tuple[str, str], Integers] = field(default_factory=dict)

    def own(self, measure: str) -> Integers:
        """The measure of the graph nodes of each place itself."""
        key = ("own", measure)
        if key not in self._made:
            prefix, start = self._prefix(measure), self.forest.tree.row_start
            self._made[key] = prefix[start[1:]] - prefix[start[:-1]]
        return self._made[key]

    def total(self, measure: str) -> Integers:
        """The measure of all graph nodes in the subtree of each place."""
        key = ("total", measure)
        if key not in self._made:
            tree, prefix = self.forest.tree, self._prefix(measure)
            self._made[key] = prefix[tree.row_start[tree.end]] - prefix[tree.row_start[:-1]]
        return self._made[key]

    def order(self, order_by: str, view: str) -> Integers:
        """All places in the order to show them."""
        tree, made = self.forest.tree, ("order", order_by)
        if made not in self._made:
            key = self.key(order_by, view)
            is_by_name = key is tree.name_rank  # the order by name is the same in every step
            self._made[made] = tree.by_name if is_by_name else ordered(tree.parent.astype(np.int64), tree.size, key)
        return self._made[made]

    def key(self, order_by: str, view: str) -> Integers:
        """The key by which siblings are sorted, ascending."""
        tree = self.forest.tree
        if measure := self.ordering(order_by):
            return -self.total(measure)
        if order_by == "occurrence" and view == "code":
            return -tree.row_count
        return tree.name_rank

    def ordering(self, order_by: str) -> str:
        """The measure that rows are ordered by: the time where passes are not told apart; empty if it is none."""
        if order_by in self.measures.columns:
            return order_by
        return "micros" if order_by in PASSES else ""

    def _prefix(self, measure: str) -> Integers:
        key = ("prefix", measure)
        if key not in self._made:
            values = self.measures.columns[measure][self.forest.tree.rows]
            most = int(self.forest.weight.max(initial=1))
            if most > 1:
                check_sum(measure, values, factor=most)
            self._made[key] = prefix_sums(values * self.forest.weight)
        return self._made[key]
