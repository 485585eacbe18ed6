"""What a profile takes of a RunMetadata: read without the graph, on whatever machine, and small enough to travel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tfprof_widget.ingest.run_columns import NodeNames, RunColumns
from tfprof_widget.ingest.run_metadata import read_run
from tfprof_widget.ingest.shapes import Shapes
from tfprof_widget.ingest.transfers import Transfer, read_transfers
from tfprof_widget.messages import SealedRun


@dataclass(frozen=True, eq=False)
class ReadRun:
    """The columns of a run, with the shapes that its outputs index, and its transfers."""

    columns: RunColumns
    shapes: tuple[tuple[int, ...], ...]
    transfers: tuple[Transfer, ...]

    @classmethod
    def of(cls, run: SealedRun) -> ReadRun:
        """What is read of a RunMetadata.

        >>> run = SealedRun()
        >>> _ = run.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add(node_name="a")
        >>> ReadRun.of(run).columns.names
        ['a']
        """
        shapes = Shapes()
        columns = read_run(run, shapes)
        return cls(columns, tuple(shapes.known), tuple(read_transfers(run)))

    def over(self, names: NodeNames) -> ReadRun:
        """The same with another dictionary of names, which is made to have all that run here."""
        return replace(self, columns=self.columns.over(names))

    def columns_over(self, names: NodeNames, shapes: Shapes) -> RunColumns:
        """The columns with other dictionaries, which are made to have all that is here."""
        codes = np.array([shapes.index(shape) for shape in self.shapes], np.int64)
        return self.columns.over(names).with_shapes(codes)
