"""Reports for which share of the measured time float operations are known, and which op types lack a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.engine.account import accounted
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.ingest.flops.counting import Counter, Outcome
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

if TYPE_CHECKING:
    import pandas

_MOST_LISTED = 10


@dataclass(frozen=True)
class OpTypeCoverage:
    """The nodes of one op type: their number and time, and for how much of both float operations are known.

    `lacks` is empty, or says what is missing: "formula" or "shapes".
    """

    op: str
    nodes: int
    micros: float
    counted_nodes: int
    counted_micros: float
    float_ops: int
    lacks: str


@dataclass(frozen=True)
class FlopsCoverage:
    """How far float operations are known, by op type; the op type that takes longest comes first.

    >>> from tfprof_widget.demo import demo_profile
    >>> flops_coverage(demo_profile()).op_types[0].op
    'MatMul'
    """

    op_types: tuple[OpTypeCoverage, ...]

    @property
    def micros(self) -> float:
        """The summed time of all ops."""
        return sum(each.micros for each in self.op_types)

    @property
    def share(self) -> float:
        """The share of the time for which float operations are known, 0 or more; of the nodes if none ran."""
        if self.micros:
            return sum(each.counted_micros for each in self.op_types) / self.micros
        nodes = sum(each.nodes for each in self.op_types)
        return sum(each.counted_nodes for each in self.op_types) / nodes if nodes else 0.0

    @property
    def without_formula(self) -> tuple[str, ...]:
        """The op types that lack a formula, the one that takes longest first."""
        return tuple(each.op for each in self.op_types if each.lacks == "formula")

    @property
    def without_shapes(self) -> tuple[str, ...]:
        """The op types with a formula of which the shapes of some nodes are not known."""
        return tuple(each.op for each in self.op_types if each.lacks == "shapes")

    def text(self) -> str:
        """The report in a few lines.

        >>> print(FlopsCoverage((OpTypeCoverage("CTCLoss", 2, 30.0, 0, 0.0, 0, "formula"),)).text())
        float operations are known for 0.0% of the op time
        no formula: CTCLoss (100.0%)
        """
        what = "op time" if self.micros else "nodes"
        lines = [f"float operations are known for {self.share:.1%} of the {what}"]
        for lacks, said in (("formula", "no formula"), ("shapes", "shapes not known")):
            missing = [each for each in self.op_types if each.lacks == lacks]
            listed = ", ".join(f"{each.op} ({self._missed(each):.1%})" for each in missing[:_MOST_LISTED])
            more = f", and {len(missing) - _MOST_LISTED} more" if len(missing) > _MOST_LISTED else ""
            if missing:
                lines.append(f"{said}: {listed}{more}")
        return "\n".join(lines)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row for each op type.

        >>> FlopsCoverage((OpTypeCoverage("CTCLoss", 2, 30.0, 0, 0.0, 0, "formula"),)).to_dataframe()["lacks"].tolist()
        ['formula']
        """
        from pandas import DataFrame

        names = list(OpTypeCoverage.__dataclass_fields__)
        return DataFrame([[getattr(each, name) for name in names] for each in self.op_types], columns=names)

    def __str__(self) -> str:
        return self.text()

    def _missed(self, each: OpTypeCoverage) -> float:
        """The part that an op type has in the time, or the nodes, without known float operations."""
        if self.micros:
            return (each.micros - each.counted_micros) / self.micros
        return (each.nodes - each.counted_nodes) / max(sum(other.nodes for other in self.op_types), 1)


def flops_coverage(profile: ProfileData | ViewData, **options: Any) -> FlopsCoverage:
    """How far float operations are known, in a profile or in the nodes and steps that a view counts.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> flops_coverage(profile, step=0) == flops_coverage(profile.view("op", step=0))
    True
    """
    if isinstance(profile, ViewData):
        return _coverage(profile.profile, profile.options if not options else Options.of(**options))
    return _coverage(profile, Options.of(**options))


def _coverage(profile: ProfileData, options: Options) -> FlopsCoverage:
    costs = measures(profile, options)
    nodes, micros = profile.nodes, costs.columns["micros"] / costs.unit("micros")
    float_ops = costs.columns["float_ops"] // costs.unit("float_ops")
    counter = Counter(profile)
    rows = np.flatnonzero(accounted(profile, options) & ((micros > 0) if micros.any() else True)).tolist()
    outcomes = [Outcome.COUNTED if nodes.float_ops[row] else counter.count(row).outcome for row in rows]
    by_op: dict[str, list[tuple[int, Outcome]]] = {}
    for row, outcome in zip(rows, outcomes, strict=True):
        by_op.setdefault(counter.reader.op(row), []).append((row, outcome))
    op_types = [_of_type(op, members, micros, float_ops) for op, members in by_op.items()]
    return FlopsCoverage(tuple(sorted(op_types, key=lambda each: (-each.micros, each.op))))


def _of_type(op: str, members: list[tuple[int, Outcome]], micros: Any, float_ops: Any) -> OpTypeCoverage:
    rows = [row for row, _ in members]
    counted = [row for row, outcome in members if outcome is Outcome.COUNTED]
    missing = {outcome for _, outcome in members} - {Outcome.COUNTED}
    lacks = "formula" if Outcome.NO_FORMULA in missing else "shapes" if missing else ""
    return OpTypeCoverage(
        op=op,
        nodes=len(rows),
        micros=float(micros[rows].sum()),
        counted_nodes=len(counted),
        counted_micros=float(micros[counted].sum()),
        float_ops=int(float_ops[rows].sum()),
        lacks=lacks,
    )
