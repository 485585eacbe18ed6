"""The chart of steps: a bar for each, or for some neighbours, as long as the step took."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.charts.chart import (
    ChartContent,
    ChartKind,
    Subject,
    as_in_rows,
    category_colours,
    legend,
    quantities,
)
from tfprof_widget.charts.moments import nanos_in_step, on_clock, step_starts
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import visible, written_seconds
from tfprof_widget.profiles.data import ProfileData

if TYPE_CHECKING:
    import altair

TITLE = "Time by step"
# As many as can be told apart in a panel.
MOST_BARS = 120
# With the others they are the colours that there are.
MOST_KINDS = 5
UNCHOSEN_OPACITY = 0.35
_PAGE_HEIGHT, HEIGHT = 72, 160


def _content(subject: Subject) -> ChartContent:
    profile = subject.view.profile
    if len(profile.steps) < 2:
        raise ProfileError("there is no chart of steps, for there are no two steps to compare")
    rows = step_rows(profile, subject.view.options.step)
    several = len({row["kind"] for row in rows}) > 1
    return ChartContent("steps_by_kind" if several else "steps", {"steps": rows}, HEIGHT, TITLE, of="each")


def step_rows(profile: ProfileData, chosen: int = -1) -> list[dict[str, Any]]:
    """The bars of all steps; if one is chosen, the others fade.

    >>> from tfprof_widget.demo import demo_profile
    >>> [(row["step"], row["span"], row["work"]) for row in step_rows(demo_profile())]
    [('0', '365.1 µs', '320.8 µs')]
    """
    spans, work = (each.tolist() for each in _step_times(profile))
    kinds, steps = _kinds(profile), profile.steps
    width = -(-len(steps) // MOST_BARS)
    rows = []
    for start in range(0, len(steps), max(width, 1)):
        members = range(start, min(start + width, len(steps)))
        longest = max(members, key=lambda each: spans[each])
        worker = profile.step_workers[longest] if profile.step_workers else None
        alone = [str(steps[longest]), *([worker] if worker is not None else [])]
        several = len(members) > 1
        suffix = f" (step {steps[longest]}, the longest)" if several else ""
        rows.append(
            {
                "step": f"{steps[members[0]]}\u2013{steps[members[-1]]}" if several else visible(" ".join(alone)),
                "number": steps[longest],
                "kind": visible(kinds[longest]),
                "seconds": spans[longest] / 1e9,
                "span": f"{written_seconds(spans[longest] / 1e9)}{suffix}",
                "work": written_seconds(work[longest] / 1e9),
                "opacity": 1 if chosen < 0 or chosen in (steps[each] for each in members) else UNCHOSEN_OPACITY,
            }
        )
    return rows


def _step_times(profile: ProfileData) -> tuple[Integers, Integers]:
    """Nanoseconds by step: from first start to last end, or the op time where no starts are known; and the op time."""
    found, totals = on_clock(profile), profile.step_totals
    starts = nanos_in_step(found.executions, step_starts(found))
    timed = starts >= 0
    spans, work = np.zeros((2, len(profile.steps)), np.int64)
    np.maximum.at(spans, found.executions.step[timed], (starts + found.executions.duration_nanos)[timed])
    np.add.at(work, totals.step, totals.cpu_nanos + totals.accelerator_nanos)
    return np.where(spans > 0, spans, work), work


def _kinds(profile: ProfileData) -> list[str]:
    """Who ran each step, or where there is one process what ran in it; of many names the rarer ones are one."""
    names = profile.step_workers or profile.step_names
    counts = Counter(names)
    common = [name for name, _ in counts.most_common()]
    kept = set(common[:MOST_KINDS] if len(common) > MOST_KINDS + 1 else common)
    return [(name or "unnamed") if name in kept else "other runs" for name in names]


def _drawn(*, by_kind: bool, alone: bool) -> altair.Chart:
    """A bar for each step, in seconds."""
    import altair as alt

    chart: alt.Chart = (
        alt.Chart(alt.NamedData("steps"), height=_PAGE_HEIGHT, description="Time by step")
        .mark_bar(color="var(--own)", aria=False)
        .encode(
            x=alt.X(
                "step:O",
                title="step" if alone else None,
                axis=alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap="parity", aria=False),
                scale=alt.Scale(domain=as_in_rows("steps", "step"), paddingInner=0.15, paddingOuter=0),
            ),
            y=alt.Y("seconds:Q", title=None, axis=quantities("'s'", ticks=5 if alone else 3)),
            opacity=alt.Opacity("opacity:Q", scale=None),
        )
    )
    if not alone:
        chart = chart.encode(
            tooltip=[
                alt.Tooltip("step:N", title="step"),
                alt.Tooltip("kind:N", title="run"),
                alt.Tooltip("span:N", title="first start to last end"),
                alt.Tooltip("work:N", title="op time"),
            ]
        )
    if not by_kind:
        return chart
    kinds = alt.Scale(domain=as_in_rows("steps", "kind"), range=category_colours())
    coloured: alt.Chart = chart.encode(color=alt.Color("kind:N", scale=kinds, legend=legend()))
    return coloured


STEPS = ChartKind(
    "steps",
    _content,
    alone={
        "steps": lambda: _drawn(by_kind=False, alone=True),
        "steps_by_kind": lambda: _drawn(by_kind=True, alone=True),
    },
    on_page={
        "steps": lambda: _drawn(by_kind=False, alone=False),
        "steps_by_kind": lambda: _drawn(by_kind=True, alone=False),
    },
)
