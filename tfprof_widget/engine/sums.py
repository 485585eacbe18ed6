"""Own values and totals of the places of a tree, as differences of prefix sums."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.measures import Measures
from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.tables import Integers


@dataclass(frozen=True, eq=False)
class Sums:
    """The measures summed over a tree, each row of it counted `weight` times."""

    tree: Tree
    measures: Measures
    weight: Integers
    _prefix: dict[str, Integers] = field(default_factory=dict)

    def own(self, measure: str, places: NDArray[np.int64]) -> Integers:
        """The measure of the graph nodes of each place itself."""
        prefix, start = self.prefix(measure), self.tree.row_start
        result: Integers = prefix[start[places + 1]] - prefix[start[places]]
        return result

    def total(self, measure: str, places: NDArray[np.int64]) -> Integers:
        """The measure of all graph nodes in the subtree of each place."""
        prefix, start = self.prefix(measure), self.tree.row_start
        result: Integers = prefix[start[self.tree.end[places]]] - prefix[start[places]]
        return result

    def prefix(self, measure: str) -> Integers:
        """The sums of the measure over the first rows of the tree."""
        if measure not in self._prefix:
            values = self.measures.columns[measure][self.tree.rows]
            self._prefix[measure] = prefix_sums(values * self.weight)
        return self._prefix[measure]
