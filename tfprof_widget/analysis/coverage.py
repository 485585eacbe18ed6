"""Reports for which share of the measured time float operations are known, and which op types lack a formula."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.engine.account import accounted
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.ingest.flops.counting import Counter, Outcome
from tfprof_widget.ingest.flops.fused import rows_of_types
from tfprof_widget.ingest.flops.products import MULTIPLY_ACCUMULATES
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

if TYPE_CHECKING:
    import pandas

_MOST_LISTED = 10
_SAID = {"formula": "no formula", "shapes": "shapes not known", "count": "not counted in the op log"}
_LACKS = {Outcome.COUNTED: "", Outcome.NO_FORMULA: "formula", Outcome.NO_SHAPE: "shapes"}


@dataclass(frozen=True)
class OpTypeCoverage:
    """The nodes of one op type: their number and time, and the number and time of those with known float operations.

    `lacks` is empty, or says what is missing: "formula", "shapes", or "count" if an op log was given and has no count.
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
    """For how much of the op time float operations are known, by op type; the op type that takes longest comes first.

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
        """The op types with a formula, but with nodes whose shapes are not known."""
        return tuple(each.op for each in self.op_types if each.lacks == "shapes")

    def text(self) -> str:
        """The report in a few lines.

        >>> print(FlopsCoverage((OpTypeCoverage("CTCLoss", 2, 30.0, 0, 0.0, 0, "formula"),)).text())
        float operations are known for 0.0% of the op time
        no formula: CTCLoss (100.0%)
        """
        what = "op time" if self.micros else "nodes"
        lines = [f"float operations are known for {self.share:.1%} of the {what}"]
        for lacks, said in _SAID.items():
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
        """The share of the whole time (or of all nodes) that this op type takes without known float operations."""
        if self.micros:
            return (each.micros - each.counted_micros) / self.micros
        return (each.nodes - each.counted_nodes) / max(sum(other.nodes for other in self.op_types), 1)


def flops_coverage(profile: ProfileData | ViewData, **options: Any) -> FlopsCoverage:
    """For how much of the op time float operations are known, in a profile or in the nodes and steps of a view.

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
    of_one = nodes.float_ops_in(exact=options.timing == "exact")
    counter = Counter(profile, multiply_accumulates=_has_multiply_accumulates(profile))
    rows = np.flatnonzero(accounted(profile, options) & ((micros > 0) if micros.any() else True)).tolist()
    by_op: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        lacks = "" if of_one[row] or float_ops[row] else _lacks(counter, row)
        by_op.setdefault(nodes.ops[nodes.op[row]], []).append((row, lacks))
    op_types = [_of_type(op, members, micros, float_ops) for op, members in by_op.items()]
    return FlopsCoverage(tuple(sorted(op_types, key=lambda each: (-each.micros, each.op))))


def _lacks(counter: Counter, row: int) -> str:
    """What is missing to count a node's float operations; empty if its op does none."""
    float_ops, outcome = counter.count(row)
    return "count" if float_ops else _LACKS[outcome]


def _has_multiply_accumulates(profile: ProfileData) -> bool:
    """Whether a profile counts multiply-accumulates, which only products have."""
    nodes, counter = profile.nodes, Counter(profile, multiply_accumulates=True)
    products = (row for row in rows_of_types(profile, MULTIPLY_ACCUMULATES) if nodes.float_ops[row])
    return any(int(nodes.float_ops[row]) == counter.count(row).float_ops for row in islice(products, 1))


def _of_type(op: str, members: list[tuple[int, str]], micros: Any, float_ops: Any) -> OpTypeCoverage:
    rows = [row for row, _ in members]
    counted = [row for row, lacks in members if not lacks]
    missing = {lacks for _, lacks in members}
    lacks = next((each for each in _SAID if each in missing), "")
    return OpTypeCoverage(
        op=op,
        nodes=len(rows),
        micros=float(micros[rows].sum()),
        counted_nodes=len(counted),
        counted_micros=float(micros[counted].sum()),
        float_ops=int(float_ops[rows].sum()),
        lacks=lacks,
    )
