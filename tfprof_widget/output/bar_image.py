"""The chart of op-type costs as an image inside of HTML, for readers that run no scripts and keep no styles."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from typing import Any

from tfprof_widget.engine.view import View
from tfprof_widget.output.costs import Costs, cost_rows

_ROW, _NAMES, _BARS, _LABELS = 20, 220, 300, 90
_STYLE = """text { font: 12px system-ui, sans-serif; fill: #59636e } rect { fill: #4a8ad6 }
@media (prefers-color-scheme: dark) { text { fill: #98a2ae } }"""
_LONGEST_NAME = 32


def cost_image(view: View) -> str:
    """An image of the costliest op types by time, or nothing where nothing took time.

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


def _whole_bars(view: View) -> list[Mapping[str, Any]]:
    """A row an op type, whatever it ran on."""
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
