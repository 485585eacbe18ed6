"""Holds the rows that one of tfprof's views shows under some options, computed and then never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tfprof_widget.engine.account import Forest
from tfprof_widget.engine.tree import nearest_above, subtree_sizes
from tfprof_widget.lib.arrays import Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options


@dataclass(frozen=True, eq=False)
class Columns(Mapping[str, Integers]):
    """Columns by name, each made from immutable data when it is first asked for.

    >>> columns = Columns(("one", "two"), lambda name: np.array([len(name)]))
    >>> list(columns), columns["two"].tolist()
    (['one', 'two'], [3])
    """

    names: tuple[str, ...]
    make: Callable[[str], Integers]
    _made: dict[str, Integers] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Integers:
        if name not in self.names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self.make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __reduce__(self) -> tuple[type[Columns], tuple[object, ...]]:
        """Pickle or copy the columns themselves: a function in another cannot be pickled."""
        made = dict(self)
        return Columns, (self.names, made.__getitem__, made)


@dataclass(frozen=True, eq=False)
class ViewData:
    """The shown rows in order, as columns.

    `places` are the rows' places in the tree of `forest`. `own` and `total` have a column for each measure. `total`
    also has "definitions", the graph nodes that a total counts, and "hidden", the accounted ones among them that are
    not shown. The first entry of a `grand_total` is the root's. Divide times by `time_scale` to get microseconds, and
    all other columns except "definitions" and "hidden" by `scale`.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, order_by="micros")
    >>> len(view), view.names[:2]
    (14, ('_TFProfRoot', 'gradients'))
    """

    profile: ProfileData
    view: str
    options: Options
    forest: Forest
    places: Integers
    own: Mapping[str, Integers]
    total: Mapping[str, Integers]
    grand_total: Mapping[str, Integers]
    scale: int
    time_scale: int

    def __len__(self) -> int:
        return len(self.places)

    def unit(self, measure: str) -> int:
        """How many units of a measure's column make one microsecond, byte, run, ..."""
        return self.time_scale if measure.endswith("micros") else self.scale

    @cached_property
    def parent(self) -> Integers:
        """The row above each row, -1 for none."""
        if self.view == "op":
            return np.full(len(self), -1, np.int64)
        rows = np.argsort(self.places)
        parent = nearest_above(subtree_sizes(self.forest.tree.end, self.places[rows]))
        above = np.full(len(self), -1, np.int64)
        above[rows[1:]] = rows[parent[1:]]
        return above

    @cached_property
    def depth(self) -> Integers:
        """The number of rows above each row."""
        depth = np.zeros(len(self), np.int64)
        parents = self.parent.tolist()
        levels = [0] * len(parents)
        for row, parent in enumerate(parents):
            levels[row] = levels[parent] + 1 if parent >= 0 else 0
        depth[:] = levels
        return depth

    @cached_property
    def accounted(self) -> Flags:
        """Whether a row counts itself; if not, it is shown only because of the rows below it."""
        return self.forest.accounted[self.places]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each row."""
        names = self.forest.tree.names
        return tuple([names[place] for place in self.places.tolist()])

    @cached_property
    def node(self) -> Indices:
        """The graph node of each row of scope and graph view, -1 for a row that stands for none or for several."""
        if self.view == "layers":
            return np.full(len(self), -1, np.int32)
        return self.forest.tree.single[self.places]

    def members_of(self, row: int) -> Indices:
        """The graph nodes that a row itself counts, in byte order of their names."""
        tree, place = self.forest.tree, int(self.places[row])
        return np.sort(tree.rows[tree.row_start[place] : tree.row_start[place + 1]])
