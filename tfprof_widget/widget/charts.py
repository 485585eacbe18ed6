"""Makes the Vega-Lite specifications of the charts with altair; the front end and `chart_of` add the data by name.

`python -m tfprof_widget.widget.charts FILE` writes all specifications for the front end. Colours are names of CSS
properties (`var(--own)`), which the front end and `chart_of` replace by the colours of the theme.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.output.costs import Costs, cost_rows
from tfprof_widget.profiles.options import METRICS

if TYPE_CHECKING:
    import altair

Spec = dict[str, Any]

# The light theme of js/src/styles/base.css, for charts that stand alone; op colours also mark kinds and devices.
LIGHT = {
    "--text": "#1f2328",
    "--dim": "#59636e",
    "--surface": "#ffffff",
    "--line": "#e3e7eb",
    "--accent": "#0b5cad",
    "--own": "#4a8ad6",
    "--op-product": "#4a8ad6",
    "--op-gradient": "#58a998",
    "--op-elementwise": "#c78a43",
    "--op-layout": "#8e7cc8",
    "--op-input": "#c86b94",
    "--op-other": "#7f8b99",
}
CATEGORIES = tuple(name for name in LIGHT if name.startswith("--op-"))
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
# The heights of a bar and of a level; the height of a chart is one of these times the number of bars or levels.
BAR_HEIGHT = 20
SCOPE_HEIGHT = 22
USUAL_BARS, USUAL_LEVELS = 12, 4
# The most letters of an op type's name, and the room for them.
NAME_LETTERS, NAME_WIDTH = 22, 160
# The room for a label, right of the longest bar.
LABEL_WIDTH = 62
# The margin around a chart that stands alone; on the page a chart has none.
MARGIN = 12
PROCESSORS = ("CPU", "accelerator")
TITLES = {
    "time": "Time by op type, a step",
    "memory": "Bytes requested by op type, a step",
    "count": "Runs by op type, a step",
    "rate": "Rate of float operations by op type",
}


def specifications() -> dict[str, Spec]:
    """Every chart by name, without data.

    >>> sorted(specifications())
    ['costs', 'costs_by_processor', 'memory', 'scopes', 'steps', 'steps_by_kind']
    """
    makers: dict[str, Callable[[], altair.LayerChart | altair.Chart]] = {
        "costs": lambda: _costs(by_processor=False),
        "costs_by_processor": lambda: _costs(by_processor=True),
        "scopes": _scopes,
        "steps": lambda: _steps(by_kind=False),
        "steps_by_kind": lambda: _steps(by_kind=True),
        "memory": _memory,
    }
    return {name: _framed(make()).to_dict() for name, make in makers.items()}


def chart_of(view: ViewData, metric: str = "time") -> altair.LayerChart:
    """The chart of what each op type costs in a view, with its data, as for `chart.save("ops.svg")`.

    >>> from tfprof_widget.demo import demo_profile
    >>> chart = chart_of(demo_profile().view("op"), "memory")
    >>> chart.to_dict()["title"]
    'Bytes requested by op type, a step'
    """
    if metric not in METRICS:
        raise value_error(f"metric {metric!r} is not known; choose from {', '.join(METRICS)}")
    try:
        import altair
    except ImportError:
        raise ProfileError("charts in Python need altair: run `pip install 'tfprof-widget[export]'`") from None
    rows = cost_rows(Costs.of(view), metric)
    by_processor = any(row["part"] == "accelerator" for row in rows)
    spec = _coloured(_framed(_costs(by_processor)).to_dict(), LIGHT)
    height = BAR_HEIGHT * max(1, len({row["name"] for row in rows}))
    title = TITLES[metric] if view.profile.steps else "Graph nodes by op type"
    spec |= {"datasets": {"costs": rows}, "title": title, "width": 420, "height": height}
    spec |= {"background": LIGHT["--surface"], "padding": MARGIN}
    return altair.LayerChart.from_dict(spec)


def _costs(by_processor: bool) -> altair.LayerChart:
    """A bar for each op type, with its value at the end; bars that are not selected have a lower opacity."""
    import altair as alt

    # Long names are cut in the middle: kernels of one kind begin alike and differ at the end.
    label = f"truncate(datum.label, {NAME_LETTERS}, 'center')"
    axis = alt.Axis(domain=False, ticks=False, labelExpr=label, labelLimit=NAME_WIDTH, labelPadding=6, aria=False)
    base = alt.Chart(alt.NamedData("costs"), height=USUAL_BARS * BAR_HEIGHT).encode(
        y=alt.Y("name:N", title=None, axis=axis, scale=alt.Scale(domain=_as_in_rows("costs", "name"))),
        tooltip=[
            alt.Tooltip("name:N", title="op type"),
            alt.Tooltip("exact:N", title="cost"),
            alt.Tooltip("share:N", title="of what is shown"),
            alt.Tooltip("nodes:N", title="graph nodes"),
            alt.Tooltip("runs:N", title="runs"),
        ],
    )
    length = alt.X(
        "value:Q",
        stack="zero",
        axis=None,
        scale=alt.Scale(range=[0, {"expr": f"max(1, width - {LABEL_WIDTH})"}]),
    )
    bars = base.mark_bar(height={"band": 0.74}, cornerRadius=2, color="var(--own)", aria=False).encode(
        x=length,
        opacity=alt.Opacity("opacity:Q", scale=None),
    )
    if by_processor:
        colours = alt.Scale(domain=list(PROCESSORS), range=["var(--own)", "var(--op-elementwise)"])
        bars = bars.encode(color=alt.Color("part:N", scale=colours, legend=_legend()))
    labels = base.mark_text(align="left", dx=4, color="var(--text)", aria=False).encode(x="total:Q", text="label:N")
    return alt.LayerChart(layer=[bars, labels], description="Cost by op type, the costliest first")


def _scopes() -> altair.LayerChart:
    """An icicle: a rectangle for each scope, as wide as its share of the whole, below the scope that contains it."""
    import altair as alt

    share = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(alt.NamedData("scopes"), height=USUAL_LEVELS * SCOPE_HEIGHT).encode(
        x=alt.X("x0:Q", axis=None, scale=share),
        y=alt.Y("depth:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0)),
        opacity=alt.Opacity("opacity:Q", scale=None),
        tooltip=[
            alt.Tooltip("name:N", title="scope"),
            alt.Tooltip("exact:N", title="total"),
            alt.Tooltip("share:N", title="of the whole"),
        ],
    )
    categories = alt.Scale(
        domain=list(range(len(CATEGORIES))),
        range=[f"var({name})" for name in CATEGORIES],
    )
    areas = base.mark_rect(stroke="var(--surface)", strokeWidth=1, fillOpacity=0.62, aria=False).encode(
        x2="x1:Q",
        color=alt.Color("category:N", scale=categories, legend=None),
    )
    width = "(datum.x1 - datum.x0) * width"
    names = base.mark_text(
        align="left",
        dx=5,
        color="var(--text)",
        limit={"expr": f"max(1, {width} - 8)"},
        aria=False,
    ).encode(text=alt.condition(f"{width} > 28", "label:N", alt.value("")))
    return alt.LayerChart(layer=[areas, names], description="Scopes by their share of the whole")


def _steps(by_kind: bool) -> altair.Chart:
    """A bar for each step, in seconds."""
    import altair as alt

    chart: alt.Chart = (
        alt.Chart(alt.NamedData("steps"), height=72, description="Time by step")
        .mark_bar(color="var(--own)", aria=False)
        .encode(
            x=alt.X(
                "step:O",
                title=None,
                axis=alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap="parity", aria=False),
                scale=alt.Scale(domain=_as_in_rows("steps", "step"), paddingInner=0.15, paddingOuter=0),
            ),
            y=alt.Y("seconds:Q", title=None, axis=_quantities("s", ticks=3)),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=[
                alt.Tooltip("step:N", title="step"),
                alt.Tooltip("kind:N", title="run"),
                alt.Tooltip("span:N", title="first start to last end"),
                alt.Tooltip("work:N", title="op time"),
            ],
        )
    )
    if not by_kind:
        return chart
    kinds = alt.Scale(domain=_as_in_rows("steps", "kind"), range=[f"var({name})" for name in CATEGORIES])
    coloured: alt.Chart = chart.encode(color=alt.Color("kind:N", scale=kinds, legend=_legend()))
    return coloured


def _memory() -> altair.LayerChart:
    """Bytes over time by device, with a vertical line at the peak of each device."""
    import altair as alt

    devices = alt.Color(
        "device:N",
        scale=alt.Scale(domain=_as_in_rows("memory", "device"), range=[f"var({name})" for name in CATEGORIES]),
        legend=_legend(),
    )
    time = alt.X("seconds:Q", title=None, axis=_quantities("s", ticks=8), scale=alt.Scale(nice=False))
    size = alt.Y("bytes:Q", title=None, axis=_quantities("B", ticks=5))
    tooltip = [
        alt.Tooltip("device:N", title="device"),
        alt.Tooltip("when:N", title="time"),
        alt.Tooltip("exact:N", title="held"),
    ]
    held = alt.Chart(alt.NamedData("memory"), height=200).encode(x=time, y=size, color=devices)
    areas = held.mark_area(interpolate="step-after", opacity=0.25, line={"strokeWidth": 1.5}, aria=False).encode(
        y=alt.Y("bytes:Q", title=None, stack=None, axis=_quantities("B", ticks=5))
    )
    stretches = held.mark_rect(opacity=0, aria=False).encode(x2="until:Q", y2=alt.datum(0), tooltip=tooltip)
    peaks = alt.Chart(alt.NamedData("peaks")).encode(x=time)
    rules = peaks.mark_rule(strokeDash=[3, 3], strokeWidth=1.5, aria=False).encode(
        color=devices,
        tooltip=tooltip,
    )
    labels = peaks.mark_text(
        align={"expr": "scale('x', datum.seconds) > width / 2 ? 'right' : 'left'"},
        dx={"expr": "scale('x', datum.seconds) > width / 2 ? -5 : 5"},
        color="var(--text)",
        baseline="bottom",
        aria=False,
    ).encode(y="bytes:Q", text="label:N")
    return alt.LayerChart(layer=[areas, rules, labels, stretches], description="Memory held over time by device")


def _as_in_rows(data: str, field: str) -> dict[str, str]:
    """The domain of a discrete scale: the values of a field in the order of the rows.

    By default Vega keeps the old order of values that it has shown before, even if the new rows are in another order.
    """
    return {"expr": f"pluck(data('{data}'), '{field}')"}


def _legend() -> altair.Legend:
    import altair as alt

    return alt.Legend(
        orient="top", title=None, symbolType="square", symbolSize=80, symbolOpacity=1, offset=4, aria=False
    )


def _quantities(unit: str, ticks: int) -> altair.Axis:
    """An axis of quantities with SI prefixes."""
    import altair as alt

    return alt.Axis(
        domain=False,
        ticks=False,
        tickCount=ticks,
        labelExpr=f"replace(format(datum.value, '~s'), regexp('([^0-9]?)$'), ' $1') + '{unit}'",
        gridColor="var(--line)",
        aria=False,
    )


def _framed(chart: altair.LayerChart | altair.Chart) -> altair.LayerChart | altair.Chart:
    """The chart as wide as its container, with a transparent background, in the widget's font and colours."""
    import altair as alt

    framed: altair.LayerChart | altair.Chart = (
        chart.properties(width="container", background="transparent", padding=0)
        .properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(labelColor="var(--dim)", labelFontSize=11, titleColor="var(--dim)", titleFontSize=11)
        .configure_legend(labelColor="var(--dim)", labelFontSize=11, labelLimit=220)
        .configure_text(fontSize=11)
        .configure_title(color="var(--text)", fontSize=12, anchor="start", offset=8)
    )
    return framed


def _coloured(value: Any, colours: dict[str, str]) -> Any:
    """A specification with each `var(--name)` replaced by the colour of that name."""
    if isinstance(value, dict):
        return {key: _coloured(each, colours) for key, each in value.items()}
    if isinstance(value, list):
        return [_coloured(each, colours) for each in value]
    if isinstance(value, str) and value.startswith("var("):
        return colours[value.removeprefix("var(").removesuffix(")")]
    return value


def main() -> None:
    """Write the specifications into the file that the command line names."""
    Path(sys.argv[1]).write_text(json.dumps(specifications(), separators=(",", ":"), sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
