"""A View: the rows that one of tfprof's views shows under some options, computed and then never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Indices, Integers

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.messages import GraphNodeProto, MultiGraphNodeProto


@dataclass(frozen=True, eq=False)
class View:
    """The shown rows in order, as columns.

    `parent` is the row above a row (-1 for none) and `depth` the number of rows above it. `own` and
    `total` hold a column a measure; `grand_total` is the root's. Divide times by `time_scale` to get
    microseconds, all else by `scale`. `members` gives the graph nodes that a row stands for.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, order_by="micros")
    >>> len(view), view.names[:2]
    (8, ('_TFProfRoot', 'gradients'))
    """

    profile: Profile
    view: str
    options: Options
    names: tuple[str, ...]
    parent: Integers
    depth: Integers
    node: Indices
    accounted: Flags
    own: Mapping[str, Integers]
    total: Mapping[str, Integers]
    definitions: Integers
    hidden: Integers
    grand_total: Mapping[str, int]
    scale: int
    time_scale: int
    member_start: Integers
    members: Indices

    def __len__(self) -> int:
        return len(self.names)

    def members_of(self, row: int) -> Indices:
        """The graph nodes that a row stands for, in byte order of their names."""
        return np.sort(self.members[self.member_start[row] : self.member_start[row + 1]])

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame: names, depth, parent row, own and total values.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros").to_dataframe()[["name", "micros"]].head(1).values.tolist()
        [['MatMul', 313.2]]
        """
        from tfprof_widget.output.frame import view_frame

        return view_frame(self)

    def text(self) -> str:
        """What tfprof prints for this view: help on the columns, then the rows."""
        from tfprof_widget.output.text import report

        return report(self)

    def proto(self) -> GraphNodeProto | MultiGraphNodeProto:
        """The rows as tfprof's result message: GraphNodeProto for scope and graph view, else MultiGraphNodeProto."""
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
