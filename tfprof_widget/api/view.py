"""Defines View, with the methods by which users look at the rows of one of tfprof's views."""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING, Any

from tfprof_widget.engine.view import ViewData

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.api.profile import Profile
    from tfprof_widget.lib.messages import GraphNodeProto, MultiGraphNodeProto


class View(ViewData):
    """The rows of one of tfprof's views, with methods that make text, messages, tables and files of them.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, order_by="micros")
    >>> len(view), view.names[:2]
    (14, ('_TFProfRoot', 'gradients'))
    """

    profile: Profile

    @classmethod
    def of(cls, data: ViewData) -> View:
        """A View of the same rows."""
        return cls(**{column.name: getattr(data, column.name) for column in fields(ViewData)})

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame: names, depth, parent row, own and total values.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros").to_dataframe()[["name", "micros"]].head(1).values.tolist()
        [['MatMul', 123.195]]
        """
        from tfprof_widget.output.tabular import view_frame

        return view_frame(self)

    def text(self) -> str:
        """What tfprof prints for this view: help on the columns, then the rows."""
        from tfprof_widget.output.text import report

        return report(self)

    def proto(self) -> GraphNodeProto | MultiGraphNodeProto:
        """The rows as tfprof's message: a GraphNodeProto for scope and graph view, else a MultiGraphNodeProto."""
        from tfprof_widget.output.protos import view_proto

        return view_proto(self)

    def write_timeline(self, path: str | PathLike[str], *, epoch: bool = False) -> list[str]:
        """Write a timeline for chrome://tracing or Perfetto, and return the names of the files written.

        The timeline of the graph view shows when each op ran, that of scope and code view shows the tree. The file is
        `path`; if `{step}` stands in it, one file is written for each step. Times begin with 0; with `epoch` they are
        those of the clock, as in other logs of the machine.

        >>> import tempfile
        >>> from tfprof_widget.demo import demo_profile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     demo_profile().view("graph").write_timeline(f"{folder}/run_{{step}}.json")
        ['...run_0.json']
        """
        from tfprof_widget.output.destination import write_timeline

        return write_timeline(self, path, epoch=epoch)

    def write_pprof(self, path: str | PathLike[str]) -> None:
        """Write a code view for the `pprof` tool, gzipped, with the measures that are selected.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op").write_pprof("run.pb.gz")
        Traceback (most recent call last):
            ...
        ValueError: output pprof: the op view has no pprof output; choose the view code
        """
        from tfprof_widget.output.destination import write_pprof

        write_pprof(self, path)

    def __repr__(self) -> str:
        from tfprof_widget.output.text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from tfprof_widget.output.html import table

        return table(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
