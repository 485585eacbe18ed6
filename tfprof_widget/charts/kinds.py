"""Lists all charts, and describes each as a whole: its specification with its rows, title and caption.

`python -m tfprof_widget.charts.kinds FILE` writes the specifications of all charts with altair, for the front end and
for `described`: so neither needs altair. To add a chart, write a module with a ChartKind, and add it to CHARTS here and
in js/src/export/pictures.ts, which makes the same rows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tfprof_widget.charts.advice import ADVICE
from tfprof_widget.charts.chart import (
    LETTER,
    MARGIN,
    THEMES,
    ChartContent,
    ChartKind,
    Spec,
    Subject,
    coloured,
    specification,
    wrapped,
)
from tfprof_widget.charts.costs import OP_TYPES
from tfprof_widget.charts.memory import MEMORY
from tfprof_widget.charts.overview import LAYERS, OVERVIEW
from tfprof_widget.charts.roofline import ROOFLINE
from tfprof_widget.charts.scopes import SCOPES
from tfprof_widget.charts.steps import STEPS
from tfprof_widget.charts.timeline import TIMELINE
from tfprof_widget.charts.workers import WORKERS
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.lib.static_files import static_bytes
from tfprof_widget.lib.text import visible
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import canonical, device_label
from tfprof_widget.profiles.options import METRICS, Options, one_of

CHARTS: Mapping[str, ChartKind] = {
    kind.name: kind for kind in (OVERVIEW, LAYERS, OP_TYPES, SCOPES, STEPS, MEMORY, TIMELINE, WORKERS, ROOFLINE, ADVICE)
}
# The size of a title's letters to that of a caption's.
TITLE_LETTER = 1.25
MOST_DEVICES = 4


def specifications() -> dict[str, Any]:
    """Every chart by name, without data, for a page and standing alone; and the colours of those that stand alone.

    >>> found = specifications()
    >>> sorted(found["page"]), sorted(found["themes"])
    (['costs', 'costs_by_processor', 'memory', 'roofline', 'scopes', 'steps', 'steps_by_kind'], ['dark', 'light'])
    """
    kinds = CHARTS.values()
    return {
        "page": {name: specification(make(), alone=False) for kind in kinds for name, make in kind.on_page.items()},
        "alone": {name: specification(make(), alone=True) for kind in kinds for name, make in kind.alone.items()},
        "themes": {name: dict(colours) for name, colours in THEMES.items()},
    }


def described(chart: str, subject: Subject, theme: str = "light", title: str | None = None) -> Spec:
    """The whole specification of a chart: rows, title, caption and colours; a ProfileError says why there is none.

    >>> from tfprof_widget.demo import demo_profile
    >>> spec = described("op types", Subject(demo_profile().view("op"), name="demo"))
    >>> spec["title"]["text"], spec["title"]["subtitle"][0], spec["width"]
    (['demo · Time by op type'], 'one step · CPU:0', 624)
    """
    one_of("chart", chart, tuple(CHARTS))
    one_of("theme", theme, tuple(THEMES))
    one_of("metric", subject.metric, METRICS)
    content = CHARTS[chart].content(subject)
    spec: Spec = coloured(_built()["alone"][content.spec], THEMES[theme])
    letters = (subject.width - 2 * MARGIN) / LETTER
    told = title if title is not None else " · ".join(filter(None, (visible(subject.name), content.title)))
    return spec | {
        "title": {
            **spec["title"],
            "text": wrapped(told, int(letters / TITLE_LETTER)),
            "subtitle": [line.removesuffix(" ·") for line in wrapped(caption(subject, content), int(letters))],
        },
        "width": subject.width,
        "height": content.height,
        "datasets": {name: list(rows) for name, rows in content.data.items()},
        **({"params": _filled(spec["params"], content)} if "params" in spec else {}),
    }


def caption(subject: Subject, content: ChartContent) -> str:
    """Of which steps a chart is, on which devices they ran, with which versions, and what else there is to say.

    >>> from tfprof_widget.demo import demo_profile
    >>> caption(Subject(demo_profile().view("op"), about="Python 3.12"), ChartContent("costs", {}, 0, ""))
    'one step · CPU:0 · Python 3.12'
    """
    view = subject.view
    measured = _measured(view.profile, view.options, content.of)
    parts = (measured, _devices(view.profile), visible(subject.about), *content.notes)
    return " · ".join(filter(None, parts))


def _measured(profile: ProfileData, options: Options, of: str) -> str:
    """Which steps are drawn, and whether their mean is, if the chart does not say so itself."""
    steps = chosen_steps(profile, options)
    if not steps:
        return "nothing was run"
    if of == "told":
        return ""
    names = {profile.step_names[step] for step in steps}
    name = f" of {visible(names.pop())}" if len(names) == 1 and names != {""} else ""
    if options.step >= 0:
        return f"step {options.step}{name}"
    if len(steps) == 1:
        return f"one step{name}"
    return f"{'mean of ' if of == 'mean' else ''}{len(steps):,} steps{name}"


def _devices(profile: ProfileData) -> str:
    devices = profile.nodes.devices
    found = [name for name, is_device in zip(devices, canonical(devices), strict=True) if is_device]
    labels = list(dict.fromkeys(visible(device_label(name, devices)) for name in found))
    more = len(labels) - MOST_DEVICES
    return ", ".join(labels[:MOST_DEVICES]) + (f" and {more} more devices" if more > 0 else "")


def _filled(params: list[dict[str, Any]], content: ChartContent) -> list[dict[str, Any]]:
    return [{**each, "value": content.signals.get(each["name"], each["value"])} for each in params]


@cache
def _built() -> dict[str, Any]:
    """The specifications as `make build` wrote them."""
    found: dict[str, Any] = json.loads(static_bytes("charts.json"))
    return found


def main() -> None:
    """Write the specifications into the file that the command line names."""
    Path(sys.argv[1]).write_text(json.dumps(specifications(), separators=(",", ":"), sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
