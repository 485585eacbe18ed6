"""The advice as a picture: what each checker found, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.runner import WORDS, advice_on
from tfprof_widget.charts.chart import LETTER, MARGIN, ChartContent, ChartKind, Subject, wrapped
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import respelled, visible

if TYPE_CHECKING:
    import altair

TITLE = "Advice"
LINE_HEIGHT = 16
# The room for a level of indentation.
INDENT = 7
MOST_LINES = 80


def _content(subject: Subject) -> ChartContent:
    letters = int((subject.width - 2 * MARGIN) / LETTER)
    lines = list(_lines(subject, letters))
    if not lines:
        raise ProfileError("there is no advice to draw, for the checkers found nothing")
    shown = lines[:MOST_LINES]
    rows = [{"line": place, **line} for place, line in enumerate(shown)]
    more = len(lines) - len(shown)
    return ChartContent(
        "advice",
        {tone: [row for row in rows if row["tone"] == tone] for tone in ("title", "cause", "fix")},
        LINE_HEIGHT * len(shown),
        TITLE,
        {"lines": len(shown)},
        (f"the first {len(shown)} of {len(lines)} lines",) if more else (),
        of="told",
    )


def _lines(subject: Subject, letters: int) -> Iterator[dict[str, Any]]:
    """The lines of all checkers that found something; what there is to change comes before what costs most."""
    reports = advice_on(subject.view.profile).reports
    told = sorted(
        ((name, found) for name, found in reports.items() if found), key=lambda each: isinstance(each[1][0], str)
    )
    for place, (name, found) in enumerate(told):
        if place:
            yield _line("", "title", 0)
        yield _line(WORDS[name].title, "title", 0)
        for report in found:
            yield from _finding(report, letters) if isinstance(report, Finding) else _report(report, letters)


def _finding(finding: Finding, letters: int) -> Iterator[dict[str, Any]]:
    yield from (_line(line, "cause", 0) for line in wrapped(visible(finding.cause), letters))
    yield from (_line(line, "fix", 0) for line in wrapped(visible(finding.fix), letters))


def _report(text: str, letters: int) -> Iterator[dict[str, Any]]:
    for each in filter(str.strip, respelled(text).split("\n")):
        indent = len(each) - len(each.lstrip())
        yield from (_line(line, "cause", indent) for line in wrapped(visible(each.strip()), letters - indent))


def _line(text: str, tone: str, indent: int) -> dict[str, Any]:
    return {"text": text, "tone": tone, "indent": indent * INDENT}


def _drawn() -> altair.LayerChart:
    import altair as alt

    place = alt.Y(
        "line:Q",
        axis=None,
        scale=alt.Scale(domain=[{"expr": "lines"}, 0], nice=False, zero=False),
    )
    left = alt.X("indent:Q", axis=None, scale=alt.Scale(domain=[0, {"expr": "width"}], nice=False, zero=False))

    def lines(tone: str, **how: Any) -> altair.Chart:
        base = alt.Chart(alt.NamedData(tone)).mark_text(align="left", baseline="top", aria=False, **how)
        written: altair.Chart = base.encode(x=left, y=place, text="text:N")
        return written

    layers = alt.LayerChart(
        layer=[
            lines("title", fontWeight="bold", color="var(--text)"),
            lines("cause", color="var(--text)"),
            lines("fix", color="var(--dim)"),
        ],
        description="What the checkers found",
    )
    return layers.add_params(alt.param(name="lines", value=1))


ADVICE = ChartKind("advice", _content, alone={"advice": _drawn})
