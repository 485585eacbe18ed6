"""Writes what profiles take by their size: a table, and a picture that can be read on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import altair
import vl_convert

from tests.bench.scaling import MOST_MEMORY, MOST_SECONDS, Scale
from tests.bench.target import amount

BEGIN, END = "<!-- figures, by make bench -->\n", "<!-- end of figures -->"
HEAD = (
    "| nodes | executions | loading | peak | columns | peak / columns | first view | slowest view after |",
    "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | :--- |",
)
GREY = "#7f8b99"
COLOURS = {
    "loading": "#4a8ad6",
    "first scope view": "#c78a43",
    "slowest view after": "#3f9d87",
    "peak while loading": "#4a8ad6",
    "columns": "#3f9d87",
}
WIDTH, HEIGHT = 330, 260


def write(scales: Sequence[Scale], docs: Path) -> None:
    """Write `scaling.svg`, and the table into `scaling.md`."""
    page = docs / "scaling.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page}: there is no {BEGIN!r} and {END!r}, for the table to come between")
    (docs / "scaling.svg").write_text(f"{chart(scales)}\n", encoding="utf-8")
    page.write_text(f"{before}{begin}{table(scales)}\n{end}{after}", encoding="utf-8")


def table(scales: Iterable[Scale]) -> str:
    """A Markdown table of the figures.

    >>> print(table([Scale(1000, 50, 20_000, 0.25, 0.06, {"order": 0.001, "step": 0.002}, 4_000_000, 10_000_000)]))
    | nodes | executions | loading | peak | columns | peak / columns | first view | slowest view after |
    | ---: | ---: | ---: | ---: | ---: | ---: | ---: | :--- |
    | 1,000 | 20,000 | 250 ms | 10.0 MB | 4.00 MB | 2.50 | 60.0 ms | 2.00 ms (other step) |
    """
    return "\n".join([*HEAD, *map(_row, scales)])


def _row(scale: Scale) -> str:
    slowest = scale.slowest_change
    cells = [
        f"{scale.nodes:,}",
        f"{scale.executions:,}",
        amount(scale.load_seconds, "s"),
        amount(scale.peak_bytes, "B"),
        amount(scale.column_bytes, "B"),
        f"{scale.peak_bytes / scale.column_bytes:.2f}",
        amount(scale.first_view_seconds, "s"),
        f"{amount(scale.changed_view_seconds[slowest], 's')} (other {slowest})",
    ]
    return f"| {' | '.join(cells)} |"


def chart(scales: Sequence[Scale]) -> str:
    """The times and the memory as an SVG."""
    times = _panel(list(_times(scales)), "seconds", "Seconds", MOST_SECONDS)
    memory = _panel(list(_memory(scales)), "megabytes", "Megabytes", None)
    most = altair.Chart(
        _data({"nodes": each.nodes, "megabytes": MOST_MEMORY * each.column_bytes / 1e6} for each in scales)
    )
    memory += most.mark_line(color=GREY, strokeDash=[6, 3], strokeWidth=1).encode(x="nodes:Q", y="megabytes:Q")
    panels = (
        altair.hconcat(times, memory)
        .resolve_scale(color="independent")
        .configure(background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=GREY, titleColor=GREY, domainColor=GREY, tickColor=GREY, gridColor=GREY, gridOpacity=0.2
        )
        .configure_legend(labelColor=GREY, title=None, orient="top", symbolStrokeWidth=3)
    )
    svg: str = vl_convert.vegalite_to_svg(panels.to_dict())
    return svg


def _times(scales: Sequence[Scale]) -> Iterator[dict[str, Any]]:
    for scale in scales:
        yield {"nodes": scale.nodes, "what": "loading", "seconds": scale.load_seconds}
        yield {"nodes": scale.nodes, "what": "first scope view", "seconds": scale.first_view_seconds}
        slowest = scale.changed_view_seconds[scale.slowest_change]
        yield {"nodes": scale.nodes, "what": "slowest view after", "seconds": slowest}


def _memory(scales: Sequence[Scale]) -> Iterator[dict[str, Any]]:
    for scale in scales:
        yield {"nodes": scale.nodes, "what": "peak while loading", "megabytes": scale.peak_bytes / 1e6}
        yield {"nodes": scale.nodes, "what": "columns", "megabytes": scale.column_bytes / 1e6}


def _panel(rows: list[dict[str, Any]], value: str, title: str, most: float | None) -> Any:
    """The rows as lines over the nodes, both axes in powers of ten, beside dotted lines of what is linear."""
    kinds = list(dict.fromkeys(row["what"] for row in rows))
    x = altair.X(
        "nodes:Q", scale=altair.Scale(type="log", nice=False), axis=altair.Axis(title="Nodes", format="~s", tickCount=4)
    )
    y = altair.Y(f"{value}:Q", scale=altair.Scale(type="log"), axis=altair.Axis(title=title, format="~g", tickCount=6))
    colour = altair.Color("what:N", scale=altair.Scale(domain=kinds, range=[COLOURS[kind] for kind in kinds]))
    measured = altair.Chart(_data(rows)).encode(x, y, colour)
    linear = altair.Chart(_data(_linear(rows, value))).encode(x, y, altair.Detail("what:N"))
    layers = [
        linear.mark_line(color=GREY, strokeDash=[2, 3], strokeWidth=1),
        measured.mark_line(strokeWidth=2),
        measured.mark_point(filled=True, size=40, opacity=1),
    ]
    if most is not None:
        bound = altair.Chart(_data([{value: most}])).encode(y)
        layers.append(bound.mark_rule(color=GREY, strokeDash=[6, 3]))
    return altair.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _data(rows: Iterable[dict[str, Any]]) -> altair.InlineData:
    return altair.InlineData(values=list(rows))


def _linear(rows: list[dict[str, Any]], value: str) -> Iterator[dict[str, Any]]:
    """From the smallest of each kind on: as many times as much as there are nodes."""
    for kind in dict.fromkeys(row["what"] for row in rows):
        of_kind = [row for row in rows if row["what"] == kind]
        for row in (of_kind[0], of_kind[-1]):
            yield {**row, value: of_kind[0][value] * row["nodes"] / of_kind[0]["nodes"]}
