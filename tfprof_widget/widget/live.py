"""Shows how a capture stands while it runs: a widget that is only told, and the HTML that a notebook keeps of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

import anywidget
import traitlets

from tfprof_widget.analysis.advisor.overview import cell_parts
from tfprof_widget.lib.text import visible, written_seconds
from tfprof_widget.output.html import GLANCE_STYLE, as_html, stacked_bar
from tfprof_widget.profiles.live import LiveState
from tfprof_widget.widget.traits import shared_assets, widget_code

_PHASES = {
    "starting": "nothing has run yet",
    "first runs": "first runs: functions are built and compiled",
    "running": "running",
    "reading": "reading what was recorded",
    "done": "done",
}
_BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 100
"""So many of the last steps are in the text that stays."""


class LiveWidget(anywidget.AnyWidget):
    """The view below a running cell; it asks Python for nothing, for Python has no time to answer.

    >>> widget = LiveWidget("In[7]")
    >>> widget.tell(LiveState(phase="running", steps=3))
    >>> widget.state["steps"]
    3
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _kind = traitlets.Unicode("live").tag(sync=True)
    _id = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    state: Any = traitlets.Dict().tag(sync=True)
    _assets = anywidget.WidgetTrait().tag(sync=True)

    def __init__(self, title: str) -> None:
        while _finished():
            _finished().pop().close()
        super().__init__(_esm=widget_code(), _assets=shared_assets(), _id=uuid.uuid4().hex, title=title)

    def finish(self) -> None:
        """Let the page forget this when there is another one: JupyterLab has not taken it off the page yet."""
        _finished().append(self)

    def tell(self, state: LiveState) -> None:
        """Show how it stands now."""
        self.state = live_to_browser(state)

    def kept_html(self, state: LiveState) -> str:
        """What a notebook keeps of it, which steps aside while the view itself is on the page."""
        return f'<div data-tfprof="{escape(self._id)}">{live_html(state, self.title)}</div>'


@cache
def _finished() -> list[LiveWidget]:
    return []


def live_to_browser(state: LiveState) -> Mapping[str, Any]:
    """What js/src/data/live.ts reads.

    >>> live_to_browser(LiveState(phase="running", steps=4, parts={"steps": 0.5}))["parts"]
    [['steps', '4 steps', 500000000, 100, '']]
    """
    parts = [list(vars(part).values()) for part in cell_parts(state.parts, state.steps)]
    return {**state.to_json(), "parts": parts, "told": _PHASES[state.phase]}


def live_html(state: LiveState, title: str = "") -> str:
    """How a capture stood when it was last heard of, as HTML for readers without scripts.

    >>> live_html(LiveState("train.py", "running", 2.0, runs=4, steps=4, step_seconds=0.5))[:30]
    '<div class="tfprof-glance" tra'
    """
    head = f"<h3>{as_html(f'{title or state.what} · ' if title or state.what else '')}{escape(sentence(state))}</h3>"
    strip = f"<p>The last steps: {spark(state.strip)}</p>" if len(state.strip) > 1 else ""
    costs = "".join(f"<li>{as_html(op)}: {written_seconds(seconds)}</li>" for op, seconds in state.costliest)
    ops = f"<p>Costliest op types in a step, so far:</p><ul>{costs}</ul>" if costs else ""
    return (
        f'<div class="tfprof-glance" translate="no"><style>{GLANCE_STYLE}'
        ".tfprof-glance ul { display: flex; flex-wrap: wrap; gap: 0 16px; margin: 0; padding: 0; list-style: none } "
        f".tfprof-glance li {{ flex: 0 1 auto }} .tfprof-glance ol li {{ flex: 1 1 auto }}</style>{head}"
        f"{stacked_bar('The cell so far', cell_parts(state.parts, state.steps))}{strip}{ops}</div>"
    )


def sentence(state: LiveState) -> str:
    """How a capture stands, in a line.

    >>> sentence(LiveState("a", "running", 12.5, runs=312, traced=14, kind="loss", steps=312, step_seconds=0.0125))
    'running for 12.5 s: 312 steps of loss, 12.5 ms each lately, 14 of 312 runs traced'
    """
    told = [f"{state.steps:,} steps of {visible(state.kind)}"] if state.steps else []
    if told and state.step_seconds:
        at_first = f" ({written_seconds(state.first_seconds)} at first)" if state.first_seconds else ""
        told[-1] += f", {written_seconds(state.step_seconds)} each lately{at_first}"
    if state.runs:
        told.append(f"{state.traced:,} of {state.runs:,} runs traced")
    phase = {"running": "running for", "done": "done after"}.get(state.phase, f"{_PHASES[state.phase]}, after")
    return f"{phase} {written_seconds(state.seconds)}{': ' if told else ''}{', '.join(told)}"


def spark(steps: tuple[float, ...]) -> str:
    """The last steps as a strip of characters, the highest for the longest of them.

    >>> spark((0.1, 0.2, 0.8))
    '▂▃█'
    """
    last = steps[-MOST_BARS:]
    most = max(last, default=0.0) or 1.0
    return "".join(_BARS[min(int(len(_BARS) * each / most), len(_BARS) - 1)] for each in last)
