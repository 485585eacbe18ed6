"""The chart of scopes: a rectangle for each scope, as wide as its share of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfprof_widget.charts.chart import ChartContent, ChartKind, Subject, category_colours
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import fixed, grouped, short, visible
from tfprof_widget.profiles.options import Options

if TYPE_CHECKING:
    import altair

LEVELS = 4
LEVEL_HEIGHT = 22
# What is narrower is merged with its neighbours.
NARROWEST = 0.01
_COLOURS = _DULL = 5
# What is compared; a rate does not add up.
_MEASURES = {"time": "micros", "memory": "bytes", "count": "runs", "rate": "float_ops"}
_UNITS = {"micros": "µs", "bytes": "B", "runs": "runs", "float_ops": "FLOP"}
TITLES = {
    "time": "Scopes by time",
    "memory": "Scopes by bytes requested",
    "count": "Scopes by runs",
    "rate": "Scopes by float operations",
}


def _content(subject: Subject) -> ChartContent:
    metric = subject.metric if subject.view.profile.steps else "count"
    rows = scope_rows(_scope_view(subject.view), metric)
    if not rows:
        raise ProfileError(f"there is no chart of scopes, for none has any {_UNITS[_MEASURES[metric]]}")
    levels = 1 + max(row["depth"] for row in rows)
    return ChartContent("scopes", {"scopes": rows}, levels * LEVEL_HEIGHT, TITLES[metric])


def _scope_view(view: ViewData) -> ViewData:
    """The view whose totals are drawn: the scope view itself, else that of all that is accounted."""
    if view.view == "scope":
        return view
    names = ("step", "run_name_regexes", "timing", "account_type_regexes")
    options = {name: getattr(view.options, name) for name in names}
    return evaluate(view.profile, "scope", Options.of(**options, max_depth=LEVELS))


def scope_rows(view: ViewData, metric: str) -> list[dict[str, Any]]:
    """The rectangles of a scope view, the largest scopes first.

    >>> from tfprof_widget.demo import demo_profile
    >>> [row["label"] for row in scope_rows(demo_profile().view("scope"), "time")][:2]
    ['all · 320.8 µs', 'gradients']
    """
    measure = _MEASURES[metric]
    totals, unit = view.total[measure].tolist(), view.unit(measure)
    whole = totals[0] if totals else 0
    if whole <= 0:
        return []
    wide = _wide_scopes(view, totals, whole * NARROWEST)

    def row(value: int, **others: Any) -> dict[str, Any]:
        exact = f"{grouped(value / unit)} {_UNITS[measure]}"
        return {**others, "exact": exact, "share": f"{fixed(100 * value / whole, 1)} %", "opacity": 1}

    def divided(above: int, start: float, depth: int) -> Iterator[dict[str, Any]]:
        below, x0 = wide.get(above, _Below()), start
        for child in sorted(below.children, key=lambda each: -totals[each]):
            x1 = x0 + totals[child] / whole
            name = view.names[child]
            label = name.rpartition("/")[2]
            place = {"x0": x0, "x1": x1, "depth": depth}
            yield row(totals[child], name=visible(name), label=visible(label), **place, category=colour_of(label))
            yield from divided(child, x0, depth + 1)
            x0 = x1
        x1 = x0 + below.narrow_total / whole
        if x1 - x0 >= NARROWEST:
            merged = {"name": f"{below.narrow} smaller scopes", "label": "…", "depth": depth}
            yield row(below.narrow_total, **merged, x0=x0, x1=x1, category=_DULL)

    label = f"all · {short(measure, whole / unit)}"
    first = row(whole, name=ROOT_NAME, label=label, x0=0, x1=1, depth=0, category=_DULL)
    return [first, *divided(0, 0.0, 1)]


@dataclass
class _Below:
    """The rows right below a row: those that are drawn, and how many are too narrow and what they come to."""

    children: list[int] = field(default_factory=list)
    narrow: int = 0
    narrow_total: int = 0


def _wide_scopes(view: ViewData, totals: list[int], least: float) -> dict[int, _Below]:
    """What is right below each row, down to the deepest level."""
    end, places = view.forest.tree.end, view.places.tolist()
    wide: dict[int, _Below] = {}
    above = [0]
    passed = 0
    for row in range(1, len(places)):
        place = places[row]
        # A row is followed by what is below it: that is passed by where the row is narrow, or the deepest drawn.
        if 0 < passed <= place < end[passed]:
            continue
        while len(above) > 1 and not places[above[-1]] <= place < end[places[above[-1]]]:
            above.pop()
        below = wide.setdefault(above[-1], _Below())
        is_wide = totals[row] >= least
        if is_wide:
            below.children.append(row)
        else:
            below.narrow += 1
            below.narrow_total += totals[row]
        if is_wide and len(above) < LEVELS - 1:
            above.append(row)
        else:
            passed = place
    return wide


def colour_of(label: str) -> int:
    """The colour of a name: the same wherever it stands.

    >>> colour_of("layer1"), colour_of("layer2")
    (1, 2)
    """
    units = label.encode("utf-16-le", "surrogatepass")
    found = 7
    for place in range(0, len(units), 2):
        found = (found * 31 + int.from_bytes(units[place : place + 2], "little")) % 65_521
    return found % _COLOURS


def _drawn(*, alone: bool) -> altair.LayerChart:
    """An icicle: the whole at the top, and each scope below the one that contains it."""
    import altair as alt

    percents = alt.Axis(
        domain=False,
        ticks=False,
        grid=False,
        tickCount=5,
        labelExpr="format(100 * datum.value, '.0f') + ' %'",
        aria=False,
    )
    base = alt.Chart(alt.NamedData("scopes"), height=LEVELS * LEVEL_HEIGHT).encode(
        x=alt.X("x0:Q", title=None, axis=percents if alone else None, scale=alt.Scale(domain=[0, 1], nice=False)),
        y=alt.Y("depth:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0)),
        opacity=alt.Opacity("opacity:Q", scale=None),
    )
    if not alone:
        base = base.encode(
            tooltip=[
                alt.Tooltip("name:N", title="scope"),
                alt.Tooltip("exact:N", title="total"),
                alt.Tooltip("share:N", title="of the whole"),
            ]
        )
    colours = category_colours()
    areas = base.mark_rect(stroke="var(--surface)", strokeWidth=1, fillOpacity=0.62, aria=False).encode(
        x2="x1:Q",
        color=alt.Color("category:N", scale=alt.Scale(domain=list(range(len(colours))), range=colours), legend=None),
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


SCOPES = ChartKind(
    "scopes",
    _content,
    alone={"scopes": lambda: _drawn(alone=True)},
    on_page={"scopes": lambda: _drawn(alone=False)},
)
