"""The overview and the layers as pictures: the sentence, the cell and a step in parts, the steps, and the layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.overview import Overview, Part, overview
from tfprof_widget.analysis.advisor.runner import advice_on
from tfprof_widget.charts.chart import LETTER, MARGIN, ChartContent, ChartKind, Subject, wrapped
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import cut_in_the_middle, fixed, short, visible
from tfprof_widget.output.tabular import layer_types
from tfprof_widget.profiles.options import PASSES

if TYPE_CHECKING:
    import altair

TITLES = {"overview": "Overview", "layers": "Layers by pass"}
LINE, BAR, STRIP, GAP = 16, 22, 48, 10
"""The heights of a line, of a bar, and of the strip of steps, and the gap between two parts of the picture."""

LABEL, TIME, SHARE = 64, 72, 56
"""The widths of the names of bars, and of the columns of times and shares."""

NAMES = 0.34
"""The share of the picture's width that the names of layers get."""

MOST_LAYERS = 12
HIGHEST = 2.2
"""A step that takes more times the median than this is cut off, as on the page."""

PARTS = ("forward", "backward", "update", "input", "python", "transfers", "tfprof", "first", "rest", "groove")
COLOURS = {"steps": "forward", "tracing": "first"}
"""The parts whose colours have the names of others; what is not among PARTS is the rest."""

TONES = ("bold", "text", "dim", "on", "right", "dim_right")


@dataclass(eq=False)
class _Drawing:
    """What is drawn so far, in pixels from the upper left corner: boxes in the colours of parts, and texts."""

    width: float
    top: float = 0.0
    boxes: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {tone: [] for tone in TONES})

    def box(self, x: float, width: float, y: float, height: float, part: str) -> None:
        colour = COLOURS.get(part, part)
        colour = colour if colour in PARTS else "rest"
        self.boxes.append({"x": x, "x2": x + width, "y": y, "y2": y + height, "part": colour})

    def text(self, x: float, y: float, text: str, tone: str = "text") -> None:
        self.texts[tone].append({"x": x, "y": y, "text": text})

    def lines(self, text: str, tone: str = "text") -> None:
        """A text in as many lines as it needs."""
        for line in wrapped(visible(text), int(self.width / LETTER)):
            self.text(0, self.top, line, tone)
            self.top += LINE

    def keys(self, told: Sequence[tuple[str, str]], left: float) -> None:
        """Parts with their colours, side by side, in as many lines as they need."""
        x = left
        for part, text in told:
            width = LETTER * (len(text) + 4)
            if x > left and x + width > self.width:
                x, self.top = left, self.top + LINE
            self.box(x, 8, self.top + 2, 8, part)
            self.text(x + 12, self.top, text, "dim")
            x += width
        self.top += LINE

    def content(self, kind: str, of: Any) -> ChartContent:
        data = {"boxes": self.boxes, **self.texts}
        return ChartContent("drawing", data, round(self.top), TITLES[kind], {"down": round(self.top)}, of=of)


def _overview(subject: Subject) -> ChartContent:
    profile = subject.view.profile
    reports = [report for found in advice_on(profile).reports.values() for report in found]
    shown = overview(profile, [report for report in reports if isinstance(report, Finding)])
    drawing = _Drawing(subject.width - 2 * MARGIN)
    drawing.lines(shown.sentence)
    for label, parts in (("the cell", shown.cell), ("a step", shown.step)):
        if parts:
            drawing.top += GAP
            _bar(drawing, label, parts)
    _strip(drawing, shown)
    if profile.steps:
        drawing.top += GAP
        _layers(drawing, subject)
    return drawing.content("overview", "told")


def _bar(drawing: _Drawing, label: str, parts: Sequence[Part]) -> None:
    """The parts end to end; what does not fit into its part stands below."""
    whole = sum(part.nanos for part in parts)
    room, x, top = drawing.width - LABEL - TIME, float(LABEL), drawing.top
    drawing.text(0, top + 5, label, "dim")
    drawing.text(drawing.width, top + 5, short("micros", whole / 1000), "right")
    below = []
    for part in parts:
        width, told = room * part.nanos / whole, _told(part)
        drawing.box(x, width, top, BAR, part.key)
        if width >= LETTER * (len(told) + 1) and COLOURS.get(part.key, part.key) in PARTS:
            drawing.text(x + 5, top + 5, told, "on")
        else:
            below.append((part.key, told))
        x += width
    drawing.top += BAR + 4
    if below:
        drawing.keys(below, LABEL)


def _told(part: Part) -> str:
    return f"{part.name}, {short('micros', part.nanos / 1000)}, {part.share} %"


def _strip(drawing: _Drawing, shown: Overview) -> None:
    bars = shown.steps.bars
    if not bars:
        return
    drawing.top += GAP
    drawing.lines(" · ".join(["Steps", *shown.steps.facts]), "dim")
    usual = sorted(nanos for _, _, nanos, _, _ in bars)[len(bars) // 2]
    top = min(HIGHEST * usual, max([1, *(most for *_, most, _ in bars)]))
    each = drawing.width / max(len(bars), 40)
    for place, (_, _, nanos, _, traced) in enumerate(bars):
        height = min(STRIP * nanos / top, STRIP)
        drawing.box(place * each, each * 0.85, drawing.top + STRIP - height, height, "steps")
        if traced >= 0:
            drawing.box(place * each, each * 0.85, drawing.top + STRIP + 2, 2, "first")
    drawing.top += STRIP + 6


def _layers(drawing: _Drawing, subject: Subject) -> None:
    """The costliest layers in the order of the model, each with the time of its passes."""
    view = evaluate(subject.view.profile, "layers", replace(subject.view.options, order_by="name"))
    unit, types = view.unit("micros"), layer_types(view)
    micros = view.total["micros"]
    costliest = sorted(range(1, len(view)), key=lambda row: -int(micros[row]))[:MOST_LAYERS]
    rows = [row for row in sorted(costliest) if micros[row]]
    if not rows:
        return
    passes = {row: [int(view.own[name][row]) for name in PASSES] for row in rows}
    most = max(1, *(sum(each) for each in passes.values()))
    whole = int(view.grand_total["micros"][0])
    drawing.keys([(name.removesuffix("_micros"), name.removesuffix("_micros")) for name in PASSES], 0)
    names = NAMES * drawing.width
    room = drawing.width - names - TIME - SHARE
    for row in rows:
        indent = 10 * (int(view.depth[row]) - 1)
        kind = f" {types[row]}" if types[row] not in ("", "scope") else ""
        name = cut_in_the_middle(f"{visible(view.names[row])}{visible(kind)}", int((names - indent) / LETTER) - 1)
        drawing.text(indent, drawing.top, name)
        drawing.box(names, room, drawing.top, 11, "groove")
        x = names
        for part, value in zip(PASSES, passes[row], strict=True):
            if value:
                drawing.box(x, room * value / most, drawing.top, 11, part.removesuffix("_micros"))
            x += room * value / most
        drawing.text(drawing.width - SHARE, drawing.top, short("micros", int(micros[row]) / unit), "right")
        drawing.text(drawing.width, drawing.top, f"{fixed(100 * int(micros[row]) / whole, 1)} %", "dim_right")
        drawing.top += LINE + 2


def _layers_alone(subject: Subject) -> ChartContent:
    drawing = _Drawing(subject.width - 2 * MARGIN)
    if subject.view.profile.steps:
        _layers(drawing, subject)
    if not drawing.boxes:
        raise ProfileError("there are no layers to draw: none ran")
    return drawing.content("layers", "mean")


def _drawn() -> altair.LayerChart:
    import altair as alt

    def across(name: str) -> alt.X:
        return alt.X(name, axis=None, scale=alt.Scale(domain=[0, {"expr": "width"}], nice=False, zero=False))

    def down(name: str) -> alt.Y:
        return alt.Y(name, axis=None, scale=alt.Scale(domain=[{"expr": "down"}, 0], nice=False, zero=False))

    colours = alt.Scale(domain=list(PARTS), range=[f"var(--{part})" for part in PARTS])
    boxes = (
        alt.Chart(alt.NamedData("boxes"))
        .mark_rect(aria=False)
        .encode(
            x=across("x:Q"), x2="x2:Q", y=down("y:Q"), y2="y2:Q", color=alt.Color("part:N", scale=colours, legend=None)
        )
    )

    def written(tone: str, **how: Any) -> altair.Chart:
        base = alt.Chart(alt.NamedData(tone)).mark_text(baseline="top", aria=False, **{"align": "left", **how})
        texts: altair.Chart = base.encode(x=across("x:Q"), y=down("y:Q"), text="text:N")
        return texts

    layers = alt.LayerChart(
        layer=[
            boxes,
            written("bold", fontWeight="bold", color="var(--text)"),
            written("text", color="var(--text)"),
            written("dim", color="var(--dim)"),
            written("on", color="var(--on-part)"),
            written("right", align="right", color="var(--text)"),
            written("dim_right", align="right", color="var(--dim)"),
        ],
        description="What takes the time",
    )
    return layers.add_params(alt.param(name="down", value=1))


OVERVIEW = ChartKind("overview", _overview, alone={"drawing": _drawn})
LAYERS = ChartKind("layers", _layers_alone, alone={"drawing": _drawn})
