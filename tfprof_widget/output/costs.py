"""Adds the shown rows up by op type, and draws them as an image."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.text import fixed, grouped, visible

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
    for place, bar in enumerate(bars):
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


_ROW, _NAMES, _BARS, _LABELS = 20, 220, 300, 90
_STYLE = """text { font: 12px system-ui, sans-serif; fill: #59636e } rect { fill: #4a8ad6 }
@media (prefers-color-scheme: dark) { text { fill: #98a2ae } }"""
_LONGEST_NAME = 32


def cost_image(view: ViewData) -> str:
    """An image of the costliest op types by time; an empty text if no op took time.

    >>> from tfprof_widget.demo import demo_profile
    >>> cost_image(demo_profile().view("op"))[:56]
    '<img alt="Time by op type: MatMul 123.195 µs, Relu 91.87'
    """
    bars = _whole_bars(view)
    if not bars:
        return ""
    told = ", ".join(f"{bar['name']} {bar['exact']}" for bar in bars)
    size = f'width="{_NAMES + _BARS + _LABELS}" height="{_ROW * len(bars)}"'
    parts = "".join(_drawn(bar, place, bars[0]["total"]) for place, bar in enumerate(bars))
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>{parts}</svg>'
    encoded = base64.b64encode(drawing.encode()).decode()
    return f'<img alt="Time by op type: {escape(told)}" {size} src="data:image/svg+xml;base64,{encoded}">'


def _whole_bars(view: ViewData) -> list[Mapping[str, Any]]:
    """One row for each op type, with the total over all processors."""
    bars = {row["name"]: row for row in reversed(cost_rows(Costs.of(view), "time"))}
    return list(reversed(bars.values()))


def _drawn(bar: Mapping[str, Any], place: int, most: float) -> str:
    name = bar["name"] if len(bar["name"]) <= _LONGEST_NAME else bar["name"][: _LONGEST_NAME - 1] + "…"
    length = max(1, round(_BARS * min(1.0, bar["total"] / most)))
    top = _ROW * place
    return (
        f'<text x="{_NAMES - 8}" y="{top + 14}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{_NAMES}" y="{top + 3}" width="{length}" height="{_ROW - 6}" rx="2"/>'
        f'<text x="{_NAMES + length + 6}" y="{top + 14}">{escape(bar["label"])}</text>'
    )
