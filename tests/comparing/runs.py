"""Runs of cells, made up: what a capture would keep, with noise that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from tfprof_widget.lib.arrays import Floats
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.kept_run import GraphOps, KeptRun
from tfprof_widget.profiles.tables import Lists

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
FINGERPRINT = {"processor": "made up", "cores": "2", "tensorflow": "2.21.0"}


def ops_of(names: Sequence[str], types: Sequence[str] = ()) -> GraphOps:
    """Ops in a row, each of which takes the output of the one before it; types are the last parts of names."""
    told = list(types) or [name.rpartition("/")[2].partition("_")[0] for name in names]
    layers = [name.partition("/")[0] for name in names]
    kinds, known = ({each: place for place, each in enumerate(sorted(set(column)))} for column in (told, layers))
    count = len(names)
    return GraphOps(
        names=tuple(names),
        types=tuple(kinds),
        type=np.array([kinds[each] for each in told], np.int32),
        shapes=("",),
        shape=np.zeros(count, np.int32),
        lines=(CodeLine("/home/me/train.py", 7, "step", "x = layer(x)"),),
        line=np.zeros(count, np.int32),
        layers=tuple(known),
        layer=np.array([known[each] for each in layers], np.int32),
        inputs=Lists.of([[place - 1] if place else [] for place in range(count)]),
    )


class Maker:
    """Makes runs of a cell: ops of a median time, times that differ from run to run by shares that are known."""

    def __init__(
        self, count: int = 300, *, of_run: float = 0.02, of_op: float = 0.06, of_step: float = 0.05, seed: int = 0
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.of_run, self.of_op, self.of_step = of_run, of_op, of_step
        self.ops = ops_of([f"layer_{place // 10}/MatMul_{place % 10}" for place in range(count)])
        self.micros = np.exp(self.random.normal(3, 1, count))
        self._made = 0

    def run(
        self, *, factor: float = 1.0, ops: Mapping[int, float] | None = None, steps: int = 60, source: str = "fit()"
    ) -> KeptRun:
        """A run whose steps are a factor slower than usual, and some of whose ops are."""
        self._made += 1
        shift = self.random.normal(0, self.of_run)
        nanos: Floats = 1000 * self.micros * np.exp(shift + self.random.normal(0, self.of_op, len(self.micros)))
        for place, slower in (ops or {}).items():
            nanos[place] *= slower
        usual = factor * float(self.micros.sum()) / 1e6 * np.exp(shift)
        return KeptRun(
            label=f"In[{self._made}]",
            cell="a",
            source=source,
            taken=BEGAN + timedelta(seconds=self._made),
            fingerprint=FINGERPRINT,
            others_cores=0.1,
            step="train",
            step_seconds=usual * np.exp(self.random.normal(0, self.of_step, steps)),
            traced_seconds=usual * np.exp(self.random.normal(0, self.of_step, 8)),
            cell_seconds=usual * steps * np.exp(self.random.normal(0, self.of_run)),
            parts={"steps": usual * steps, "python": 0.1 * usual * steps},
            ops=self.ops,
            nanos=nanos * factor,
        )

    def runs(self, count: int, **changes: object) -> list[KeptRun]:
        """Several runs."""
        return [self.run(**changes) for _ in range(count)]  # type: ignore[arg-type]
