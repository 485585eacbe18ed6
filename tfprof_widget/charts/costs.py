"""The chart of costs by op type: adds the shown rows up, and draws a bar for each type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.charts.chart import (
    ChartContent,
    ChartKind,
    Subject,
    as_in_rows,
    legend,
    names_axis,
    names_signals,
    names_width,
    quantities,
)
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import fixed, grouped, short, short_units, visible

if TYPE_CHECKING:
    import altair

# At most so many op types have a bar of their own; the others share one.
MOST_BARS = 12
LEAST_SHOWN = 0.001

Numbers = NDArray[np.float64]

_UNITS = {
    "time": ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")),
    "memory": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "count": ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
    "rate": ((1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1e3, "kFLOP/s"), (1.0, "FLOP/s")),
}
_EXACT = {"time": "µs", "memory": "B", "count": "", "rate": "FLOP/s"}


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of each op type in the displayed rows; times are in microseconds, float ops are of nodes that ran.

    >>> from tfprof_widget.demo import demo_profile
    >>> costs = Costs.of(demo_profile().view("scope"))
    >>> costs.ops[int(costs.cpu.argmax())], float(costs.cpu.max())
    ('MatMul', 123.195)
    """

    ops: tuple[str, ...]
    nodes: Numbers
    cpu: Numbers
    accelerator: Numbers
    bytes: Numbers
    runs: Numbers
    float_ops: Numbers

    @classmethod
    def of(cls, view: ViewData) -> Costs:
        """Add up the own values of the displayed rows by the op type of their graph nodes."""
        tree, nodes = view.forest.tree, view.profile.nodes
        displayed = np.zeros(len(tree), np.int64)
        displayed[view.places] = 1
        weight = np.repeat(displayed, tree.row_count) * view.forest.weight
        row, found = tree.rows[weight > 0], weight[weight > 0]
        columns = measures(view.profile, view.options)

        # A node that never ran has float ops but no time: with it, the rate would be too high.
        ran = found * (columns.columns["runs"][row] > 0)

        def summed(measure: str, times: Integers = found) -> Numbers:
            sums = np.zeros(len(nodes.ops), np.int64)
            np.add.at(sums, nodes.op[row], columns.columns[measure][row] * times)
            return sums[kept] / columns.unit(measure)

        counts = np.bincount(nodes.op[row], minlength=len(nodes.ops))
        kept = np.flatnonzero(counts)
        return cls(
            ops=tuple(nodes.ops[op] for op in kept.tolist()),
            nodes=counts[kept].astype(np.float64),
            cpu=summed("cpu_micros"),
            accelerator=summed("accelerator_micros"),
            bytes=summed("bytes"),
            runs=summed("runs"),
            float_ops=summed("float_ops", ran),
        )

    def by(self, metric: str) -> Numbers:
        """The cost of each op type by time, memory, count or rate."""
        match metric:
            case "time":
                return self.cpu + self.accelerator
            case "memory":
                return self.bytes
            case "count":
                return self.runs if self.runs.any() else self.nodes
        return _rate(self.float_ops, self.by("time"))


def cost_rows(costs: Costs, metric: str) -> list[dict[str, Any]]:
    """The rows of the chart of costs: the costliest op types, and all others as one.

    >>> from tfprof_widget.demo import demo_profile
    >>> rows = cost_rows(Costs.of(demo_profile().view("op")), "time")
    >>> [(row["name"], row["label"]) for row in rows[:2]], rows[-1]["name"]
    ([('MatMul', '123.2 µs'), ('Relu', '91.9')], 'others (5 types)')
    """
    values = costs.by(metric)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 0]
    bars = [_bar(costs, metric, order[place : place + 1]) for place in range(min(len(order), MOST_BARS))]
    if len(order) > MOST_BARS:
        bars.append(_bar(costs, metric, order[MOST_BARS:]))
    whole = _size(costs, metric, order)
    largest = max((bar["total"] for bar in bars), default=0.0)
    divisor, unit = _unit(metric, largest)
    decimals = 2 if largest < 10 * divisor else 1
    shown = shown_names([bar["name"] for bar in bars])
    for place, bar in enumerate(bars):
        bar["shown"] = shown[place]
        bar["told"] = _told(metric, bar["total"])
        bar["label"] = _short(bar["total"] / divisor, decimals) + (f" {unit}" if unit and place == 0 else "")
        bar["share"] = "" if metric == "rate" else f"{fixed(100 * bar['total'] / whole, 1)} %"
    return [part for bar in bars for part in _parts(costs, metric, bar)]


def _bar(costs: Costs, metric: str, ops: NDArray[np.intp]) -> dict[str, Any]:
    name = visible(costs.ops[int(ops[0])]) if len(ops) == 1 else f"others ({len(ops)} types)"
    return {
        "name": name,
        "total": _size(costs, metric, ops),
        "nodes": grouped(_sum(costs.nodes[ops])),
        "runs": grouped(_sum(costs.runs[ops])),
        "opacity": 1,
        "ops": ops,
    }


def _parts(costs: Costs, metric: str, bar: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a bar: for time one for each processor, of which the first has the bar's label."""
    ops = bar.pop("ops")
    pieces = {"": bar["total"]}
    if metric == "time":
        pieces = {"CPU": _sum(costs.cpu[ops]), "accelerator": _sum(costs.accelerator[ops])}
    found = {part: value for part, value in pieces.items() if value > 0}
    for place, (part, value) in enumerate(found.items()):
        yield bar | {
            "part": part,
            "value": value,
            "label": bar["label"] if place == 0 else "",
            "told": bar["told"] if place == 0 else "",
            "exact": f"{grouped(value)} {_EXACT[metric]}".rstrip(),
        }


def _size(costs: Costs, metric: str, ops: NDArray[np.intp]) -> float:
    """What some op types cost together; their rate is the sum of float ops divided by the sum of times."""
    if metric == "rate":
        micros = _sum(costs.cpu[ops]) + _sum(costs.accelerator[ops])
        return _sum(costs.float_ops[ops]) * 1e6 / micros if micros > 0 else 0.0
    return _sum(costs.by(metric)[ops])


def _sum(values: Numbers) -> float:
    """The sum, added up in order: NumPy's own sum pairs values, so that its last digits are not the browser's."""
    return float(np.append(0.0, values).cumsum()[-1])


def _rate(float_ops: Numbers, micros: Numbers) -> Numbers:
    """Float operations a second."""
    rate: Numbers = np.divide(float_ops * 1e6, micros, out=np.zeros_like(micros), where=micros > 0)
    return rate


def _unit(metric: str, largest: float) -> tuple[float, str]:
    """The unit in which the largest value has at least one digit before the point."""
    return next((unit for unit in _UNITS[metric] if largest >= unit[0]), _UNITS[metric][-1])


def _short(value: float, decimals: int) -> str:
    """A value with so many decimals, or with so many significant digits if it is below one."""
    if value < LEAST_SHOWN:
        return f"<{LEAST_SHOWN}"
    if value < 1:
        decimals -= 1 + Decimal(value).adjusted()
    text = fixed(value, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _told(metric: str, value: float) -> str:
    """A value with its unit."""
    if metric == "rate":
        return short_units(value, "FLOP/s")
    return short({"time": "micros", "memory": "bytes", "count": "runs"}[metric], value)


# oneDNN's kernels, which TensorFlow puts in the place of its own, are named after these.
_KERNEL = re.compile(r"_Mkl(Native)?(?=.)")


def shown_names(names: list[str]) -> list[str]:
    """The names of op types without the marks of oneDNN's kernels, which only tell apart types of one name.

    >>> shown_names(["_MklNativeConv2D", "MatMul", "_MklMatMul"])
    ['Conv2D', 'MatMul', 'MatMul (_Mkl)']
    """
    short_names = [_KERNEL.sub("", name, count=1) if _KERNEL.match(name) else name for name in names]
    counts = Counter(short_names)
    return [
        each if counts[each] == 1 or name == each else f"{each} ({name.removesuffix(each)})"
        for name, each in zip(names, short_names, strict=True)
    ]


TITLES = {
    "time": "Time by op type",
    "memory": "Bytes requested by op type",
    "count": "Runs by op type",
    "rate": "FLOP rate by op type",
}
STATIC_TITLE = "Graph nodes by op type"
PROCESSORS = ("CPU", "accelerator")
BAR_HEIGHT = 20
# On the page: the usual number of bars, the most letters of a name, and the room for them.
_USUAL_BARS, _NAME_LETTERS, _NAME_WIDTH = 12, 22, 160
# The room for a label right of the longest bar: on the page, where the first has the unit alone, and where all have it.
_LABEL_WIDTH, _UNIT_LABEL_WIDTH = 62, 84
# The values of rows are in microseconds and the like.
_AXES: dict[str, tuple[float, str]] = {
    "time": (1e-6, "s"),
    "memory": (1.0, "B"),
    "count": (1.0, ""),
    "rate": (1.0, "FLOP/s"),
}


def _content(subject: Subject) -> ChartContent:
    is_static = not subject.view.profile.steps
    metric = "count" if is_static else subject.metric
    rows = cost_rows(Costs.of(subject.view), metric)
    if not rows:
        raise ProfileError("there is no chart of costs, for no shown row has a cost of its own")
    by_processor = any(row["part"] == "accelerator" for row in rows)
    bars = [row for row in rows if row["told"]]
    factor, suffix = _AXES[metric]
    return ChartContent(
        spec="costs_by_processor" if by_processor else "costs",
        data={"costs": rows},
        height=BAR_HEIGHT * len(bars),
        title=STATIC_TITLE if is_static else TITLES[metric],
        signals={**names_width([row["shown"] for row in bars], subject.width), "factor": factor, "suffix": suffix},
        notes=_notes(bars),
    )


def _notes(bars: list[dict[str, Any]]) -> tuple[str, ...]:
    """Which op types are oneDNN's kernels, for their names no longer tell."""
    kernels = [row["shown"] for row in bars if _KERNEL.match(row["name"]) and not row["shown"].endswith(")")]
    return (f"kernels of oneDNN (_Mkl…): {', '.join(kernels)}",) if kernels else ()


def _drawn(*, by_processor: bool, alone: bool) -> altair.LayerChart:
    """A bar for each op type, with its value at the end; bars that are not selected have a lower opacity."""
    import altair as alt

    # Long names are cut in the middle: kernels of one kind begin alike and differ at the end.
    label = f"truncate(datum.label, {_NAME_LETTERS}, 'center')"
    on_page = alt.Axis(domain=False, ticks=False, labelExpr=label, labelLimit=_NAME_WIDTH, labelPadding=6, aria=False)
    names = alt.Y(
        "shown:N",
        title=None,
        axis=names_axis() if alone else on_page,
        scale=alt.Scale(domain=as_in_rows("costs", "shown")),
    )
    base = alt.Chart(alt.NamedData("costs"), height=_USUAL_BARS * BAR_HEIGHT).encode(y=names)
    if not alone:
        base = base.encode(
            tooltip=[
                alt.Tooltip("name:N", title="op type"),
                alt.Tooltip("exact:N", title="cost"),
                alt.Tooltip("share:N", title="of what is shown"),
                alt.Tooltip("nodes:N", title="graph nodes"),
                alt.Tooltip("runs:N", title="runs"),
            ]
        )
    room = _UNIT_LABEL_WIDTH if alone else _LABEL_WIDTH
    length = alt.X(
        "value:Q",
        stack="zero",
        title=None,
        axis=quantities("suffix", ticks=6, value="datum.value * factor") if alone else None,
        scale=alt.Scale(range=[0, {"expr": f"max(1, width - {room})"}], nice=False),
    )
    bars = base.mark_bar(height={"band": 0.74}, cornerRadius=2, color="var(--own)", aria=False).encode(
        x=length,
        opacity=alt.Opacity("opacity:Q", scale=None),
    )
    if by_processor:
        colours = alt.Scale(domain=list(PROCESSORS), range=["var(--own)", "var(--op-elementwise)"])
        bars = bars.encode(color=alt.Color("part:N", scale=colours, legend=legend()))
    text = "told:N" if alone else "label:N"
    labels = base.mark_text(align="left", dx=4, color="var(--text)", aria=False).encode(x="total:Q", text=text)
    layers = alt.LayerChart(layer=[bars, labels], description="Cost by op type, the costliest first")
    if not alone:
        return layers
    return layers.add_params(*names_signals(), alt.param(name="factor", value=1), alt.param(name="suffix", value=""))


OP_TYPES = ChartKind(
    "op types",
    _content,
    alone={
        "costs": lambda: _drawn(by_processor=False, alone=True),
        "costs_by_processor": lambda: _drawn(by_processor=True, alone=True),
    },
    on_page={
        "costs": lambda: _drawn(by_processor=False, alone=False),
        "costs_by_processor": lambda: _drawn(by_processor=True, alone=False),
    },
)
