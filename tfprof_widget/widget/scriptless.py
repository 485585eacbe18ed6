"""Shows a result to readers without scripts: head line, overview, chart and rows, as HTML, Markdown, text and PNG."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from typing import Any

from tfprof_widget.charts.chart import FONT, LETTER, MARGIN, THEMES, ChartContent, Spec, Subject
from tfprof_widget.charts.kinds import CHARTS, described
from tfprof_widget.charts.pictures import (
    FEW_COLOURS,
    WIDTH_INCHES,
    can_draw,
    compact_svg,
    picture_size,
    pixels,
    png,
    svg,
)
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import cut_in_the_middle, fixed, visible
from tfprof_widget.output.compared import comparison_html
from tfprof_widget.output.excerpt import costliest_rows, main_measure, short_value, shown_measures
from tfprof_widget.output.html import as_html, brief_table, glance
from tfprof_widget.output.tabular import escaped, markdown_table
from tfprof_widget.profiles.options import OPTIONS, VIEWS, Options
from tfprof_widget.widget.shown import Shown

MOST_ROWS, FEW_ROWS = 20, 10
MOST_COLUMNS = 100
# For who reads a notebook that is not trusted, or on a page that runs no scripts; the opener takes it away.
HINT = (
    "Sliders, timeline and all tabs are in this result, too: they appear where scripts may run, as in a trusted "
    "notebook (in Jupyter: File, Trust Notebook) or in the notebook exported as HTML."
)


def chart_of(
    shown: Shown,
    values: Mapping[str, Any],
    chart: str = "op types",
    *,
    theme: str = "light",
    width: float = WIDTH_INCHES,
    title: str | None = None,
    span: tuple[float, float] | None = None,
) -> Spec:
    """The specification of a chart of what the traits show, as it stands alone in a report.

    >>> from tfprof_widget.demo import demo_profile
    >>> shown = Shown.of_profile(demo_profile(), title="demo")
    >>> chart_of(shown, {"view": "op", **shown.options}, "scopes")["title"]["text"]
    ['demo · Scopes by time']
    """
    return described(chart, _subject(shown, values, pixels(width), span), theme, title)


def _subject(shown: Shown, values: Mapping[str, Any], width: int, span: tuple[float, float] | None = None) -> Subject:
    view, _ = static_view(shown, values)
    return Subject(view, values.get("metric", "time"), values.get("title", shown.title), shown.about, width, span)


def static_view(shown: Shown, values: Mapping[str, Any]) -> tuple[ViewData, str]:
    """The view that the traits ask for, for the overview that of layers; or the scope view, and why not the other.

    >>> from tfprof_widget.demo import demo_profile
    >>> view, reason = static_view(Shown.of_profile(demo_profile()), {"view": "op", "show_name_regexes": ["["]})
    >>> view.view, reason[:18]
    ('scope', 'show_name_regexes:')
    """
    profile = shown.graphs[values.get("graph", 0)].profile
    options = {option.name: values[option.name] for option in OPTIONS if option.name in values}
    try:
        if values["view"] == "overview":
            return evaluate(profile, "layers", Options.of(**{**options, "order_by": "name"})), ""
        return evaluate(profile, values["view"] if values["view"] in VIEWS else "scope", Options.of(**options)), ""
    except (ProfileError, ValueError) as error:
        return evaluate(profile, "scope", Options.of()), str(error)


def head_line(shown: Shown, values: Mapping[str, Any]) -> str:
    """How the result was measured.

    >>> from tfprof_widget.demo import demo_profile
    >>> head_line(Shown.of_profile(demo_profile()), {"view": "op"})[:30]
    'nodes 81 · steps 1 · execution'
    """
    view, _ = static_view(shown, values)
    facts = shown.graphs[values.get("graph", 0)].facts_of(view.options)
    return " · ".join([*map(str, facts), shown.about])


def static_html(shown: Shown, values: Mapping[str, Any], hint: str = HINT) -> str:
    """The result as HTML, for hosts that take scripts and styles away; of a comparison without a graph, that.

    >>> from tfprof_widget.demo import demo_profile
    >>> static_html(Shown.of_profile(demo_profile(), title="demo"), {"view": "op"})[:13]
    '<h2>demo</h2>'
    """
    if not shown.graphs:
        return comparison_html(shown.history.given) if shown.history and shown.history.given else ""
    view, reason = static_view(shown, values)
    graph = shown.graphs[values.get("graph", 0)]
    lines = "".join(f"<p>{as_html(line)}</p>" for line in (head_line(shown, values), *graph.notes, reason) if line)
    costs = f"{glance(graph.overview)}{_image(shown, values)}{brief_table(view, MOST_ROWS)}"
    return f"<h2>{as_html(shown.title or 'tfprof')}</h2>{lines}{costs}<p>{hint}</p>"


def mime_bundle(shown: Shown, values: Mapping[str, Any], html: str) -> tuple[dict[str, str], dict[str, Any]]:
    """A result as hosts of notebooks show and export it, beside `html`; and how large the picture is to be shown.

    >>> from tfprof_widget.demo import demo_profile
    >>> data, sizes = mime_bundle(Shown.of_profile(demo_profile()), {"view": "op"}, "<p>")
    >>> sorted(data)
    ['image/png', 'text/html', 'text/markdown', 'text/plain']
    """
    if not shown.graphs:
        return {"text/html": html, "text/plain": shown.title}, {}
    data = {"text/html": html, "text/markdown": short_markdown(shown, values), "text/plain": short_text(shown, values)}
    spec = _drawable(shown, values)
    try:
        picture = png(spec, FEW_COLOURS) if spec is not None else b""
    except ProfileError:  # vl-convert's own trouble is not the result's
        picture = b""
    if not picture:
        return data, {}
    return data | {"image/png": base64.b64encode(picture).decode()}, {"image/png": picture_size(picture)}


def short_text(shown: Shown, values: Mapping[str, Any]) -> str:
    """The head line and the costliest rows, in at most 100 columns.

    >>> from tfprof_widget.demo import demo_profile
    >>> print(short_text(Shown.of_profile(demo_profile()), {"view": "op", "order_by": "micros"}).splitlines()[-1])
        651 ns    0.2 %  ReluGrad
    """
    if not shown.graphs:
        return shown.title
    view, _ = static_view(shown, values)
    head = textwrap.wrap(visible(f"{shown.title or 'tfprof'} · {head_line(shown, values)}"), MOST_COLUMNS)
    measure = main_measure(view)
    whole = int(view.grand_total[measure][0]) if measure else 0
    lines = []
    for row in costliest_rows(view, FEW_ROWS):
        figures = ""
        if measure:
            value = int((view.own if view.view == "op" else view.total)[measure][row])
            written = short_value(view, measure, row, own=view.view == "op")
            figures = f"{written:>10} {fixed(100 * value / whole, 1):>6} %  "
        indent = "  " * min(int(view.depth[row]), 20)
        name = visible("all" if int(view.parent[row]) < 0 and view.view != "op" else view.names[row])
        lines.append(f"{figures}{indent}{cut_in_the_middle(name, MOST_COLUMNS - len(figures) - len(indent))}")
    return "\n".join([*head, "", *lines])


def short_markdown(shown: Shown, values: Mapping[str, Any]) -> str:
    """The head line and the costliest rows as Markdown.

    >>> from tfprof_widget.demo import demo_profile
    >>> short_markdown(Shown.of_profile(demo_profile(), title="demo"), {"view": "op"})[:8]
    '**demo**'
    """
    view, _ = static_view(shown, values)
    head = f"**{escaped(shown.title or 'tfprof')}** {escaped(head_line(shown, values))}"
    return f"{head}\n\n{markdown_table(view, costliest_rows(view, FEW_ROWS), shown_measures(view)[:2])}"


# The charts of tabs that have one of their own.
_OF_TABS = {
    "overview": "overview",
    "layers": "layers",
    "timeline": "timeline",
    "memory": "memory",
    "workers": "workers",
}


def _drawable(shown: Shown, values: Mapping[str, Any], beside: str = "") -> Spec | None:
    """The chart of the tab that is shown, else of the costs; None without vl-convert, or if there is none.

    It is to stand beside the chart of the tab `beside`, and so not to repeat it.
    """
    if not can_draw():
        return None
    tab = values.get("view", "")
    for chart in (_OF_TABS.get(tab, "") if tab != beside else "", "op types"):
        if chart:
            try:
                return chart_of(shown, values, chart)
            except ProfileError:
                continue  # as of memory, if none was recorded
    return None


def _image(shown: Shown, values: Mapping[str, Any]) -> str:
    """The picture within a page, on a surface of its own: so it can be read on any."""
    try:
        drawing, told = _drawing(shown, values)
    except ProfileError:  # there is nothing to draw
        return ""
    source = f"data:image/svg+xml;base64,{base64.b64encode(compact_svg(drawing).encode()).decode()}"
    return f'<p><img alt="{escape(told)}" style="max-width: 100%" src="{source}"></p>'


def _drawing(shown: Shown, values: Mapping[str, Any]) -> tuple[str, str]:
    """The chart as SVG, and in words."""
    spec = _drawable(shown, values, beside="overview")  # of which the page has the sentence and the bars as HTML
    if spec is not None:
        with suppress(ProfileError):  # vl-convert's own trouble is not the result's
            return svg(spec), ". ".join([*spec["title"]["text"], *spec["title"]["subtitle"]])
    content = CHARTS["op types"].content(_subject(shown, values, pixels(WIDTH_INCHES)))
    return plain_bars(content), content.title


_BARS, _LABELS, _ROW = 300, 90, 20


def plain_bars(content: ChartContent) -> str:
    """The chart of costs as simple SVG, for where vl-convert is not installed.

    >>> from tfprof_widget.demo import demo_profile
    >>> plain_bars(CHARTS["op types"].content(Subject(demo_profile().view("op"))))[:4]
    '<svg'
    """
    colours = THEMES["light"]
    bars = [row for row in content.data["costs"] if row["told"]]
    left = MARGIN + int(LETTER * max(len(row["shown"]) for row in bars)) + 10
    most = max(row["total"] for row in bars)
    parts, top = (
        [f'<text x="{MARGIN}" y="{MARGIN + 12}" font-weight="bold">{escape(content.title)}</text>'],
        MARGIN + 24,
    )
    for row in bars:
        length = max(1, round(_BARS * row["total"] / most))
        parts.append(
            f'<text x="{MARGIN}" y="{top + 14}">{escape(row["shown"])}</text>'
            f'<rect x="{left}" y="{top + 3}" width="{length}" height="{_ROW - 6}" fill="{colours["--own"]}"/>'
            f'<text x="{left + length + 6}" y="{top + 14}">{escape(row["told"])}</text>'
        )
        top += _ROW
    size = f'width="{left + _BARS + _LABELS}" height="{top + MARGIN}"'
    surface = f'<rect width="100%" height="100%" fill="{colours["--surface"]}"/>'
    font = f"font-family='{FONT}' font-size='11' fill='{colours['--text']}'"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{surface}<g {font}>{"".join(parts)}</g></svg>'
