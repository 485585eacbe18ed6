"""Writes the overview as HTML, without scripts and ids: the sentence, and the cell and a step as stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tfprof_widget.analysis.overview.contents import Overview, Part
from tfprof_widget.lib.text import visible, written_seconds

# As in js/src/styles/overview.css for a light page; names on them are white or, on the others, black.
_COLOURS = {
    "forward": "#2f74c0",
    "steps": "#2f74c0",
    "backward": "#1f4f8f",
    "update": "#23796a",
    "input": "#ad3f6c",
    "python": "#99601a",
    "transfers": "#a04a34",
    "tfprof": "#6d5bb0",
    "first": "#5d6876",
    "tracing": "#5d6876",
}
_REST = "#c3cad2"
_STYLE = """
.tfprof-glance { max-width: 1100px; font: 12px/16px system-ui, -apple-system, "Segoe UI", sans-serif }
.tfprof-glance h3 { margin: 8px 0; font-size: 15px; font-weight: 400; line-height: 22px; overflow-wrap: anywhere }
.tfprof-glance ol { display: flex; flex-wrap: wrap; gap: 1px; margin: 2px 0 10px; padding: 0; list-style: none }
.tfprof-glance li { flex: 1 1 auto; box-sizing: border-box; margin: 0; padding: 3px 6px; font-size: 11px;
  overflow-wrap: anywhere; print-color-adjust: exact }
"""


def glance(shown: Overview) -> str:
    """The sentence and the two bars; a part is as wide as its share, and at least as its name.

    >>> from tfprof_widget.analysis.overview.contents import overview
    >>> from tfprof_widget.demo import demo_profile
    >>> html = glance(overview(demo_profile()))
    >>> html[html.index("<h3>"):][:26], html.count("<li"), "backward, 143.4 µs, 39 %" in html
    ('<h3>A step takes 365.1 µs,', 4, True)
    """
    steps = f"<p>Steps: {escape(' · '.join(shown.steps.facts))}</p>" if shown.steps.facts else ""
    return (
        f'<div class="tfprof-glance" translate="no"><style>{_STYLE}</style><h3>{escape(visible(shown.sentence))}</h3>'
        f"{_bar('The cell', shown.cell)}{_bar('A step', shown.step)}{steps}</div>"
    )


def _bar(label: str, parts: Sequence[Part]) -> str:
    if not parts:
        return ""
    whole = written_seconds(sum(part.nanos for part in parts) / 1e9)
    return f'{label}: <b>{whole}</b><ol aria-label="{label.lower()}">{"".join(map(_item, parts))}</ol>'


def _item(part: Part) -> str:
    colour = _COLOURS.get(part.key, _REST)
    on = "#ffffff" if part.key in _COLOURS else "#10161d"
    text = f"{part.name}, {written_seconds(part.nanos / 1e9)}, {part.share} %"
    title = f' title="{escape(visible(part.detail))}"' if part.detail else ""
    style = f"flex-grow:{part.share};background:{colour};color:{on}"
    return f'<li style="{style}"{title}>{escape(text)}</li>'
