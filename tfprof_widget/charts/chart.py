"""Defines what a chart is made of, its colours and fonts, and the axes and frames that charts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tfprof_widget.engine.view import ViewData

if TYPE_CHECKING:
    import altair

Row = Mapping[str, Any]
Spec = dict[str, Any]

# The colours of js/src/styles/base.css and overview.css, for charts that stand alone; op colours also mark kinds and
# devices, and those from forward on are parts of a cell and of a step.
THEMES: Mapping[str, Mapping[str, str]] = {
    "light": {
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
        "--transfer": "#b0533c",
        "--groove": "#f0f2f4",
        "--forward": "#2f74c0",
        "--backward": "#1f4f8f",
        "--update": "#23796a",
        "--input": "#ad3f6c",
        "--python": "#99601a",
        "--transfers": "#a04a34",
        "--tfprof": "#6d5bb0",
        "--first": "#5d6876",
        "--rest": "#c3cad2",
        "--on-part": "#ffffff",
    },
    "dark": {
        "--text": "#e6e9ed",
        "--dim": "#98a2ae",
        "--surface": "#15181d",
        "--line": "#2b313a",
        "--accent": "#6cb0ff",
        "--own": "#3f82cf",
        "--op-product": "#5a9be6",
        "--op-gradient": "#63bcab",
        "--op-elementwise": "#d9a05c",
        "--op-layout": "#a393dd",
        "--op-input": "#d983aa",
        "--op-other": "#8d99a8",
        "--transfer": "#e08a72",
        "--groove": "#1f242b",
        "--forward": "#5f9fe8",
        "--backward": "#3f82cf",
        "--update": "#63bcab",
        "--input": "#e07ba3",
        "--python": "#d9a05c",
        "--transfers": "#e08a72",
        "--tfprof": "#a393dd",
        "--first": "#8b96a5",
        "--rest": "#59626f",
        "--on-part": "#10161d",
    },
}
CATEGORIES = tuple(name for name in THEMES["light"] if name.startswith("--op-"))
PAGE_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
# Every system has one of these, and they are equally wide.
FONT = 'Arial, Helvetica, "Liberation Sans", sans-serif'
# The width of a letter, for what has to be known before anything is drawn: rather too wide, as DejaVu Sans is.
LETTER = 6.4
# The margin around a chart that stands alone; on the page a chart has none.
MARGIN = 12


@dataclass(frozen=True, eq=False)
class Subject:
    """What charts are drawn of: the view that is shown, by a metric, and what a caption says of the result.

    `width` is that of the whole picture in pixels, of which there are 96 to an inch. Of the timeline the `span` is
    drawn, in seconds from its left end, or all of it.
    """

    view: ViewData
    metric: str = "time"
    name: str = ""
    about: str = ""
    width: int = 624
    span: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class ChartContent:
    """What a specification is filled with: rows by the name of the data, the height of the plot, and signals.

    `notes` belong into the caption. It is drawn of the mean of the steps that are shown, or of each of them, or of what
    its title tells.
    """

    spec: str
    data: Mapping[str, Sequence[Row]]
    height: int
    title: str
    signals: Mapping[str, float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    of: Literal["mean", "each", "told"] = "mean"


@dataclass(frozen=True)
class ChartKind:
    """A chart by the name that users call it: its specifications, and what fills them.

    `on_page` and `alone` make the specifications by their names; the widget has no `on_page` of what it draws itself.
    `content` raises a ProfileError that says why there is no such chart.
    """

    name: str
    content: Callable[[Subject], ChartContent]
    alone: Mapping[str, Callable[[], altair.LayerChart | altair.Chart]]
    on_page: Mapping[str, Callable[[], altair.LayerChart | altair.Chart]] = field(default_factory=dict)


def specification(chart: altair.LayerChart | altair.Chart, *, alone: bool) -> Spec:
    """The specification of a chart within its frame, with names of CSS properties, `var(--own)`, for colours."""
    framed = _standing(chart) if alone else _on_page(chart)
    spec: Spec = (
        framed.configure_view(stroke=None)
        .configure_axis(labelColor="var(--dim)", labelFontSize=11, titleColor="var(--dim)", titleFontSize=11)
        .configure_legend(labelColor="var(--dim)", labelFontSize=11, labelLimit=0 if alone else 220)
        .configure_text(fontSize=11)
        .to_dict()
    )
    return spec


def _on_page(chart: altair.LayerChart | altair.Chart) -> altair.LayerChart | altair.Chart:
    """The chart as wide as its container, with a transparent background, in the widget's font."""
    import altair as alt

    framed: altair.LayerChart | altair.Chart = (
        chart.properties(width="container", background="transparent", padding=0)
        .properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
        .configure(font=PAGE_FONT)
    )
    return framed


def _standing(chart: altair.LayerChart | altair.Chart) -> altair.LayerChart | altair.Chart:
    """The chart with a title, a caption below that, a margin and a surface of its own."""
    import altair as alt

    title = alt.TitleParams(text=[""], subtitle=[""], anchor="start", frame="bounds")
    framed: altair.LayerChart | altair.Chart = (
        chart.properties(title=title, width=0, height=100, background="var(--surface)", padding=MARGIN)
        .properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
        .configure(font=FONT)
        .configure_title(
            color="var(--text)",
            fontSize=13,
            offset=10,
            subtitleColor="var(--dim)",
            subtitleFontSize=11,
            subtitlePadding=4,
        )
    )
    return framed


def coloured(value: Any, colours: Mapping[str, str]) -> Any:
    """A specification with each `var(--name)` replaced by the colour of that name.

    >>> coloured({"mark": {"color": "var(--own)"}}, THEMES["light"])
    {'mark': {'color': '#4a8ad6'}}
    """
    if isinstance(value, Mapping):
        return {key: coloured(each, colours) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [coloured(each, colours) for each in value]
    if isinstance(value, str) and value.startswith("var("):
        return colours[value.removeprefix("var(").removesuffix(")")]
    return value


def as_in_rows(data: str, field: str) -> dict[str, str]:
    """The domain of a discrete scale: the values of a field in the order of the rows.

    By default Vega keeps the old order of values that it has shown before, even if the new rows are in another order.
    """
    return {"expr": f"pluck(data('{data}'), '{field}')"}


def category_colours() -> list[str]:
    """The colours of op types, kinds and devices."""
    return [f"var({name})" for name in CATEGORIES]


def legend() -> altair.Legend:
    """A legend above the plot, without a title."""
    import altair as alt

    return alt.Legend(
        orient="top", title=None, symbolType="square", symbolSize=80, symbolOpacity=1, offset=4, aria=False
    )


def names_axis() -> altair.Axis:
    """The names of rows where a chart stands alone: a column at the left edge, as wide as the signal `names` says.

    Names begin at the left, so that in a wider font they lose nothing; long ones are cut in the middle, for kernels of
    one kind begin alike and differ at the end.
    """
    import altair as alt

    return alt.Axis(
        domain=False,
        ticks=False,
        labelAlign="left",
        labelPadding={"expr": "names"},
        labelExpr="truncate(datum.label, letters, 'center')",
        labelLimit=0,
        aria=False,
        labelColor="var(--text)",
    )


def names_signals() -> list[Any]:
    """The signals of `names_axis`."""
    import altair as alt

    return [alt.param(name="names", value=0), alt.param(name="letters", value=0)]


def names_width(names: Sequence[str], width: int) -> dict[str, float | str]:
    """The values of these signals: names get two fifths of the picture at most.

    >>> names_width(["MatMul", "Relu"], 624)
    {'names': 48, 'letters': 39}
    """
    letters = int(0.4 * width / LETTER)
    longest = max((len(name) for name in names), default=0)
    return {"names": int(LETTER * min(longest, letters)) + 10, "letters": letters}


def quantities(unit: str, ticks: int, value: str = "datum.value", *, has_grid: bool = True) -> altair.Axis:
    """An axis of quantities with SI prefixes; `unit` is an expression."""
    import altair as alt

    return alt.Axis(
        domain=False,
        ticks=False,
        tickCount=ticks,
        labelExpr=f"{value} == 0 ? '0' : trim(replace(format({value}, '~s'), regexp('([^0-9]?)$'), ' $1') + {unit})",
        grid=has_grid,
        gridColor="var(--line)",
        aria=False,
    )


def wrapped(text: str, letters: int) -> list[str]:
    """A text in lines of at most so many letters, broken at blanks; longer words stay whole.

    >>> wrapped("one and two", 7)
    ['one and', 'two']
    """
    lines = [""]
    for word in filter(None, text.split(" ")):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines
