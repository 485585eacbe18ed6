"""The chart of workers: what each accelerator or task did in a step, or the op time of each of several workers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.analysis.cluster.summary import summary
from tfprof_widget.analysis.comparison import worker_order
from tfprof_widget.analysis.device_steps import device_steps
from tfprof_widget.charts.chart import (
    ChartContent,
    ChartKind,
    Subject,
    as_in_rows,
    legend,
    names_axis,
    names_signals,
    names_width,
    quantities,
)
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import fixed, visible, written_seconds
from tfprof_widget.profiles.devices import device_label

if TYPE_CHECKING:
    import altair

TITLES = {
    "accelerators": "What each accelerator did in a step",
    "tasks": "What each task did in a step",
    "workers": "Op time of each worker in a step",
}
BAR_HEIGHT = 22
_LABEL_WIDTH = 84
# The parts of a bar, and their colours.
PARTS = {
    "compute": "--own",
    "busy": "--own",
    "op time": "--own",
    "collectives": "--op-layout",
    "copies": "--transfer",
    "idle": "--line",
}
Bar = tuple[str, dict[str, float]]


def _content(subject: Subject) -> ChartContent:
    sources = {"accelerators": _accelerators, "tasks": _tasks, "workers": _workers}
    title, found = next(((name, bars) for name, of in sources.items() if (bars := list(of(subject)))), ("", []))
    if not found:
        raise ProfileError("there is no chart of workers, for all that was recorded is one process's")
    rows = [row for bar in found for row in _rows(*bar, is_used=title != "workers")]
    parts = [part for part in PARTS if any(row["part"] == part for row in rows)]
    return ChartContent(
        "workers",
        {"workers": rows, "parts": [{"part": part} for part in parts]},
        BAR_HEIGHT * len(found),
        TITLES[title],
        names_width([name for name, _ in found], subject.width),
    )


def _rows(name: str, parts: dict[str, float], *, is_used: bool) -> Iterator[dict[str, Any]]:
    """A row for each part of a bar that is not 0; the first has the bar's label: how much of it is not idle."""
    total = sum(parts.values())
    told = written_seconds(total)
    if is_used and total:
        told = f"{fixed(100 * (1 - parts['idle'] / total), 0)} % of {told}"
    for place, (part, seconds) in enumerate((part, seconds) for part, seconds in parts.items() if seconds):
        yield {"name": name, "part": part, "seconds": seconds, "total": total, "told": "" if place else told}


def _accelerators(subject: Subject) -> Iterator[Bar]:
    """The means of the steps that are shown, those of one worker together."""
    profile = subject.view.profile
    chosen = set(chosen_steps(profile, subject.view.options))
    steps = [each for each in device_steps(profile) if each.step in chosen]
    names = sorted({each.device for each in device_steps(profile)})
    found: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for each in steps:
        worker = profile.step_workers[each.step] if profile.step_workers else ""
        found.setdefault((worker, each.device), []).append(each[2:])
    labels = {key: " · ".join(filter(None, (key[0], device_label(key[1], names)))) for key in found}
    counts = Counter(labels.values())
    order = sorted(labels.values(), key=worker_order)
    for key in sorted(found, key=lambda each: order.index(labels[each])):
        means = np.array(found[key], np.int64).sum(axis=0) / len(found[key]) / 1e9
        name = labels[key] if counts[labels[key]] == 1 else " ".join(key).strip()
        yield visible(name), dict(zip(("compute", "collectives", "copies", "idle"), means.tolist(), strict=True))


def _tasks(subject: Subject) -> Iterator[Bar]:
    found = summary(subject.view.profile)
    for task in found.tasks if found is not None else ():
        parts = {"busy": task.busy_nanos / 1e9, "idle": task.idle_nanos / 1e9}
        yield visible(device_label(task.task, ("/job:a/task:0", "/job:a/task:1"))), parts


def _workers(subject: Subject) -> Iterator[Bar]:
    """The steps of each worker that the options choose."""
    profile, options = subject.view.profile, subject.view.options
    workers = {profile.step_workers[step] for step in chosen_steps(profile, options)} if profile.step_workers else set()
    if len(workers) < 2:
        return
    for worker in sorted(workers, key=worker_order):
        found = measures(profile, replace(options, worker_regexes=(re.escape(worker),)))
        micros = int(found.columns["micros"].sum()) / found.unit("micros")
        yield visible(worker), {"op time": micros / 1e6}


def _drawn() -> altair.LayerChart:
    import altair as alt

    base = alt.Chart(alt.NamedData("workers"), height=BAR_HEIGHT).encode(
        y=alt.Y("name:N", title=None, axis=names_axis(), scale=alt.Scale(domain=as_in_rows("workers", "name")))
    )
    length = alt.X(
        "seconds:Q",
        stack="zero",
        title=None,
        axis=quantities("'s'", ticks=6),
        scale=alt.Scale(range=[0, {"expr": f"max(1, width - {_LABEL_WIDTH})"}], nice=False),
    )
    shown = legend()
    shown.values = as_in_rows("parts", "part")
    colours = alt.Scale(domain=list(PARTS), range=[f"var({name})" for name in PARTS.values()])
    order = f"indexof({list(PARTS)}, datum.part)"
    bars = (
        base.transform_calculate(rank=order)
        .mark_bar(height={"band": 0.74}, aria=False)
        .encode(x=length, color=alt.Color("part:N", scale=colours, legend=shown), order="rank:Q")
    )
    labels = base.mark_text(align="left", dx=4, color="var(--text)", aria=False).encode(x="total:Q", text="told:N")
    listed = alt.Chart(alt.NamedData("parts")).mark_point(opacity=0, size=0, aria=False)
    layers = alt.LayerChart(layer=[bars, labels, listed], description="What each worker did in a step")
    return layers.add_params(*names_signals())


WORKERS = ChartKind("workers", _content, alone={"workers": _drawn})
