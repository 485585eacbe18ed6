"""Defines what is kept of a run of a cell, so that it can be compared with other runs when its profile is gone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from tfprof_widget.lib.arrays import Floats, Indices
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.tables import Lists


@dataclass(frozen=True, eq=False)
class GraphOps:
    """The ops of a graph in the order in which they were made, with all that tells which op of another graph each is.

    `type`, `shape`, `layer` and `line` are indices into `types`, `shapes`, `layers` and `lines`, ABSENT where a line is
    not known. A shape is that of all outputs in words, empty if it is not known. `inputs` are rows of this table,
    ABSENT for others.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    type: Indices
    shapes: tuple[str, ...]
    shape: Indices
    lines: tuple[CodeLine, ...]
    line: Indices
    layers: tuple[str, ...]
    layer: Indices
    inputs: Lists

    def __len__(self) -> int:
        return len(self.names)

    def same_as(self, other: GraphOps) -> bool:
        """Whether these are the ops of the same graph, by their names, types, shapes and lines.

        >>> from tfprof_widget.demo import demo_profile
        >>> from tfprof_widget.analysis.comparing.keeping import kept_run
        >>> kept_run(demo_profile()).ops.same_as(kept_run(demo_profile()).ops)
        True
        """
        texts = ("names", "types", "shapes", "lines", "layers")
        columns = ((own, getattr(other, name)) for name, own in vars(self).items() if isinstance(own, np.ndarray))
        return self is other or (
            all(getattr(self, name) == getattr(other, name) for name in texts)
            and all(np.array_equal(own, others) for own, others in columns)
            and np.array_equal(self.inputs.start, other.inputs.start)
            and np.array_equal(self.inputs.values, other.inputs.values)
        )

    @property
    def bytes(self) -> int:
        """Roughly what this takes in memory."""
        texts = (*self.names, *self.types, *self.shapes, *self.layers, *(each.source for each in self.lines))
        columns = (self.type, self.shape, self.line, self.layer, self.inputs.start, self.inputs.values)
        return sum(57 + len(each) for each in texts) + sum(each.nbytes for each in columns)


def _no_ops() -> GraphOps:
    index = np.zeros(0, np.int32)
    return GraphOps((), (), index, (), index, (), index, (), index, Lists(np.zeros(1, np.int64), index))


@dataclass(frozen=True, eq=False)
class KeptRun:
    """A run of a cell: how long its steps and ops took, and in which surroundings.

    `label` names the run, as `In[7]` does, and `cell` the cell that ran, as the front end names it; `source` is its
    text. `step` is the name of the steps that do most of the work. `step_seconds` are the wall times of those that were
    not traced, in order, and `traced_seconds` of those that were. Of the time of the whole cell, `parts` has what each
    part took. `nanos` is what each op took in a usual step, NaN if it did not run. `fingerprint` says in words what a
    time depends on beside the code, and `others_cores` how many cores other processes kept busy, NaN if not known.
    """

    name: str = ""
    label: str = ""
    cell: str = ""
    source: str = ""
    taken: datetime | None = None
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    others_cores: float = math.nan
    step: str = ""
    step_seconds: Floats = field(default_factory=lambda: np.zeros(0))
    traced_seconds: Floats = field(default_factory=lambda: np.zeros(0))
    cell_seconds: float = math.nan
    parts: Mapping[str, float] = field(default_factory=dict)
    ops: GraphOps = field(default_factory=_no_ops)
    nanos: Floats = field(default_factory=lambda: np.zeros(0))

    def told(self, *, fingerprint: Mapping[str, str], **others: Any) -> KeptRun:
        """The same with what is known besides; a fingerprint is added to what the profile itself tells.

        >>> KeptRun(fingerprint={"devices": "CPU:0"}).told(fingerprint={"cores": "2"}, label="In[7]").fingerprint
        {'cores': '2', 'devices': 'CPU:0'}
        """
        return replace(self, fingerprint={**fingerprint, **self.fingerprint}, **others)

    @property
    def title(self) -> str:
        """What to call the run: its label, else its name, else when it was taken.

        >>> KeptRun(label="In[7]").title, KeptRun(name="wide").title, KeptRun().title
        ('In[7]', 'wide', 'a run')
        """
        return self.label or self.name or (f"{self.taken:%Y-%m-%d %H:%M:%S}" if self.taken else "a run")

    @property
    def bytes(self) -> int:
        """Roughly what this takes in memory, without the ops, which runs of the same graph share."""
        return self.step_seconds.nbytes + self.traced_seconds.nbytes + self.nanos.nbytes + len(self.source) + 2000
