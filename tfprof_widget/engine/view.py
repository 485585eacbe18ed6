"""A View: the rows that one of tfprof's views shows under some options, computed and then never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.engine.tree import Tree
from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Indices, Integers

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.messages import GraphNodeProto, MultiGraphNodeProto


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


@dataclass(frozen=True, eq=False)
class View:
    """The shown rows in order, as columns.

    `parent` is the row above a row (-1 for none) and `depth` the number of rows above it. `own` and
    `total` hold a column a measure, `total` also "definitions", the graph nodes that a total counts,
    and "hidden", those of them that are accounted and not shown. `grand_total` is the root's. Divide
    times by `time_scale` to get microseconds, all else but the last two by `scale`.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, order_by="micros")
    >>> len(view), view.names[:2]
    (20, ('_TFProfRoot', 'gradients'))
    """

    profile: Profile
    view: str
    options: Options
    tree: Tree
    places: Integers
    parent: Integers
    depth: Integers
    accounted: Flags
    weight: Integers
    own: Mapping[str, Integers]
    total: Mapping[str, Integers]
    grand_total: Mapping[str, Integers]
    scale: int
    time_scale: int

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each row."""
        names = self.tree.names
        return tuple([names[place] for place in self.places.tolist()])

    @cached_property
    def node(self) -> Indices:
        """The graph node of each row of scope and graph view, -1 for a row that stands for none or for several."""
        return self.tree.single[self.places]

    def members_of(self, row: int) -> Indices:
        """The graph nodes that a row itself counts, in byte order of their names."""
        place = int(self.places[row])
        span = slice(int(self.tree.row_start[place]), int(self.tree.row_start[place + 1]))
        return np.sort(self.tree.rows[span][self.weight[span] > 0])

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame: names, depth, parent row, own and total values.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros").to_dataframe()[["name", "micros"]].head(1).values.tolist()
        [['MatMul', 123.19]]
        """
        from tfprof_widget.output.frame import view_frame

        return view_frame(self)

    def text(self) -> str:
        """What tfprof prints for this view: help on the columns, then the rows."""
        from tfprof_widget.output.text import report

        return report(self)

    def proto(self) -> GraphNodeProto | MultiGraphNodeProto:
        """The rows as tfprof's message: a GraphNodeProto for scope and graph view, else a MultiGraphNodeProto."""
        from tfprof_widget.output.protos import view_proto

        return view_proto(self)

    def __repr__(self) -> str:
        from tfprof_widget.output.text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from tfprof_widget.output.html import table

        return table(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
