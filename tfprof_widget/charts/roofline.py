"""The chart of the roofline: what rows compute for each byte that they move, and how fast, below the machine's roof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.analysis.account.roofline import (
    KnownRoof,
    Rates,
    Roof,
    rates_of_view,
    roof_of,
    step_nanos,
    told_roof,
)
from tfprof_widget.charts.chart import ChartContent, ChartKind, Subject, legend
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import short_units, visible, written_percent, written_seconds

if TYPE_CHECKING:
    import altair

TITLE = "Roofline"
HEIGHT = 260
MOST_DOTS = 200
"""The costliest rows that have a dot."""

LEAST_PART = 0.001
"""A row that takes less of the time than this has none: the axes would reach far for what does not matter."""

MOST_NAMES = 8
LEAST_NAMED = 0.02
"""A row that takes less of the time than this has no name beside its dot."""

LEAST_TOLD = 0.005
"""Less of the time than this is not told to have no dot."""

UNKNOWN = "not known"
KINDS = {"compute": "--own", "memory": "--op-elementwise", "overhead": "--op-gradient", UNKNOWN: "--op-other"}
SHAPES = ("circle", "square", "triangle-up", "diamond")
LEAST_SIZE, MOST_SIZE = 36.0, 420.0
NEAR = (0.2, 0.07)
"""Names of dots that are nearer to each other than this, in parts of the width and height, would lie on each other."""


def _content(subject: Subject) -> ChartContent:
    found = roofline_data(subject)
    return ChartContent("roofline", found.data, HEIGHT, TITLE, notes=found.notes)


@dataclass(frozen=True)
class RooflineData:
    """The rows of the chart, and what is said of them in its head."""

    data: dict[str, list[dict[str, Any]]]
    notes: tuple[str, ...]


def roofline_data(subject: Subject) -> RooflineData:
    """The dots of the rows of a view, and the roof above them as far as it is known.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = roofline_data(Subject(demo_profile().view("op", order_by="micros")))
    >>> [(each["label"], round(each["intensity"], 1)) for each in found.data["dots"]][:2]
    [('MatMul', 18.4), ('', 20.2)]
    """
    view, rates = subject.view, rates_of_view(subject.view)
    known = roof_of(view.profile)
    whole = float(rates.seconds.sum())
    least = LEAST_PART * whole
    order = [row for row in np.argsort(-rates.seconds, kind="stable").tolist() if rates.seconds[row] >= least]
    shown = [row for row in order if _has_dot(rates, row)][:MOST_DOTS]
    if not shown:
        raise ProfileError("there is no roofline, for no row that is shown has a time, float operations and bytes")
    bounds, intensity, rate = rates.bounds(known.roof), rates.intensity, rates.rate
    dots: list[dict[str, Any]] = [
        {
            "name": visible(view.names[row]),
            "label": "",
            "align": "left",
            "intensity": float(intensity[row]),
            "rate": float(rate[row]),
            "size": LEAST_SIZE + (MOST_SIZE - LEAST_SIZE) * float(rates.seconds[row]) / whole,
            "bound": bounds[row] or UNKNOWN,
            "opacity": 1,
        }
        for row in shown
    ]
    corners = _corners(dots, known.roof)
    for place in _named(dots, corners, [float(rates.seconds[row]) / whole for row in shown]):
        dots[place]["label"] = visible(view.names[shown[place]].rpartition("/")[2])
    middle = math.sqrt(corners[0]["intensity"] * corners[1]["intensity"])
    for dot in dots:  # names reach to where there is more room
        dot["align"] = "right" if dot["intensity"] > middle else "left"
    data = {
        "dots": dots,
        "frame": corners,
        "roof": _roof(known.roof, corners),
        "band": _band(known.roof, corners),
        "bounds": [{"bound": each} for each in KINDS if any(dot["bound"] == each for dot in dots)],
    }
    return RooflineData(data, tuple(_notes(subject, rates, known)))


def _has_dot(rates: Rates, row: int) -> bool:
    """A logarithm has no place for nothing."""
    return bool(min(rates.seconds[row], rates.float_ops[row], rates.bytes[row]) > 0)


def _corners(dots: Sequence[dict[str, Any]], roof: Roof | None) -> list[dict[str, Any]]:
    """The ends of both axes, which are powers of ten: all dots are within, and of the roof the ridge."""
    across = [dot["intensity"] for dot in dots] + ([roof.ridge] if roof else [])
    up = [dot["rate"] for dot in dots] + ([2 * roof.float_ops] if roof else [])
    left, right = 10.0 ** math.floor(math.log10(min(across) / 2)), 10.0 ** math.ceil(math.log10(2 * max(across)))
    low, high = 10.0 ** math.floor(math.log10(min(up))), 10.0 ** math.ceil(math.log10(max(up)))
    return [{"intensity": left, "rate": low}, {"intensity": right, "rate": high}]


def _named(dots: Sequence[dict[str, Any]], corners: Sequence[dict[str, Any]], parts: Sequence[float]) -> list[int]:
    """The places of the dots that have their names beside them: the costliest for which there is room."""
    across, up = ([math.log10(corner[axis]) for corner in corners] for axis in ("intensity", "rate"))
    named: dict[int, tuple[float, float]] = {}
    for place, (dot, part) in enumerate(zip(dots, parts, strict=True)):
        at = math.log10(dot["intensity"]) / (across[1] - across[0]), math.log10(dot["rate"]) / (up[1] - up[0])
        is_free = all(abs(at[0] - x) >= NEAR[0] or abs(at[1] - y) >= NEAR[1] for x, y in named.values())
        if part >= LEAST_NAMED and is_free and len(named) < MOST_NAMES:
            named[place] = at
    return list(named)


def _roof(roof: Roof | None, corners: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The line: rising with the memory's rate up to the ridge, then flat; it begins where it comes into the picture."""
    if roof is None:
        return []
    left = max(corners[0]["intensity"], corners[0]["rate"] / roof.bytes)
    ends = (left, roof.ridge, corners[1]["intensity"])
    return [{"intensity": each, "rate": min(each * roof.bytes, roof.float_ops)} for each in ends]


def _band(roof: Roof | None, corners: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The area between the best and the median round."""
    if roof is None:
        return []
    low = corners[0]["rate"]
    left = max(corners[0]["intensity"], low / roof.bytes)
    usual_ridge = roof.usual_float_ops / roof.usual_bytes
    # Where one of the two lines bends, or leaves the picture, and at the ends.
    bends = {left, max(left, low / roof.usual_bytes), max(left, usual_ridge), roof.ridge, corners[1]["intensity"]}
    return [
        {
            "intensity": each,
            "rate": min(each * roof.bytes, roof.float_ops),
            "usual": max(min(each * roof.usual_bytes, roof.usual_float_ops), low),
        }
        for each in sorted(bends)
    ]


def _notes(subject: Subject, rates: Rates, known: KnownRoof) -> list[str]:
    """The roof, how much of it a step uses, and what has no dot; `rates` are those of all rows that are shown."""
    notes = [told_roof(known.roof)] if known.roof else []
    notes += [known.reason] if known.reason else []
    if known.roof is not None:
        notes += _utilisation(subject, rates, known.roof)
    whole = float(rates.seconds.sum())
    left_out = sum(float(rates.seconds[row]) for row in range(len(rates.seconds)) if not _has_dot(rates, row))
    if left_out >= LEAST_TOLD * whole:
        notes.append(f"{written_percent(left_out / whole, 0)} of the op time is of rows without FLOP or bytes")
    return notes


def _utilisation(subject: Subject, rates: Rates, roof: Roof) -> list[str]:
    """How much of the machine a step uses by the clock, and its ops while they run."""
    profile = subject.view.profile
    steps, nanos = chosen_steps(profile, subject.view.options), step_nanos(profile)
    seconds = float(np.mean([nanos[step] for step in steps])) / 1e9 if steps else 0.0
    float_ops, busy = float(rates.float_ops.sum()), float(rates.seconds.sum())
    if not (seconds and float_ops):
        return []
    by_clock, by_ops = float_ops / (seconds * roof.float_ops), float_ops / (busy * roof.float_ops)
    return [
        f"a step does {short_units(float_ops, 'FLOP')} in {written_seconds(seconds)}: {written_percent(by_clock)} of "
        f"what the machine can, {written_percent(by_ops)} by the time of its ops"
    ]


def _drawn() -> altair.LayerChart:
    """Both axes are logarithms, so that the roof is two straight lines."""
    import altair as alt

    def axis(label: str) -> altair.Axis:
        power = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6"
        return alt.Axis(
            domain=False,
            ticks=False,
            labelExpr=f"{power} ? {label} : ''",
            gridColor="var(--line)",
            gridOpacity={"expr": f"{power} ? 1 : 0.35"},
            titleFontWeight="normal",
            aria=False,
        )

    def logarithm() -> altair.Scale:
        return alt.Scale(type="log", nice=False)

    rate = "trim(replace(format(datum.value, '~s'), regexp('([^0-9.]?)$'), ' $1') + 'FLOP/s')"
    across = alt.X(
        "intensity:Q",
        title="FLOP for each byte of inputs and outputs",
        axis=axis("format(datum.value, datum.value < 1 ? ',' : '~s')"),
        scale=logarithm(),
    )
    up = alt.Y("rate:Q", title=None, axis=axis(rate), scale=logarithm())
    frame = alt.Chart(alt.NamedData("frame"), height=HEIGHT).mark_point(opacity=0, size=0, aria=False)
    band = alt.Chart(alt.NamedData("band")).mark_area(color="var(--accent)", opacity=0.14, aria=False)
    roof = alt.Chart(alt.NamedData("roof")).mark_line(color="var(--accent)", strokeWidth=1.5, aria=False)
    shown = legend()
    shown.values = {"expr": "pluck(data('bounds'), 'bound')"}
    shown.symbolType = alt.Undefined
    colours = alt.Scale(domain=[*KINDS], range=[f"var({name})" for name in KINDS.values()])
    dots = alt.Chart(alt.NamedData("dots")).encode(x=across, y=up)
    points = dots.mark_point(filled=True, stroke="var(--surface)", strokeWidth=1, aria=False).encode(
        size=alt.Size("size:Q", scale=None),
        opacity=alt.Opacity("opacity:Q", scale=None),
        color=alt.Color("bound:N", scale=colours, legend=shown),
        shape=alt.Shape("bound:N", scale=alt.Scale(domain=[*KINDS], range=list(SHAPES)), legend=shown),
    )
    beside: dict[str, Any] = {"align": {"expr": "datum.align"}, "dx": {"expr": "datum.align == 'left' ? 10 : -10"}}
    names = dots.mark_text(color="var(--text)", limit=140, aria=False, **beside).encode(text="label:N")
    listed = alt.Chart(alt.NamedData("bounds")).mark_point(opacity=0, size=0, aria=False)
    layers = [
        frame.encode(x=across, y=up),
        band.encode(x=across, y=up, y2="usual:Q"),
        roof.encode(x=across, y=up),
        points,
        names,
        listed,
    ]
    return alt.LayerChart(layer=layers, description="What is computed for each byte, and how fast")


ROOFLINE = ChartKind("roofline", _content, alone={"roofline": _drawn}, on_page={"roofline": _drawn})
