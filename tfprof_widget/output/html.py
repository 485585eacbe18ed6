"""Writes a view as an HTML table, and the overview as stacked bars: without scripts and ids, for notebooks and mail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tfprof_widget.analysis.advisor.overview import Overview, Part
from tfprof_widget.engine.measures import MEASURES, TIMES
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.text import short, short_count, visible, visible_lines, written_seconds
from tfprof_widget.output.cells import ShapeCount, devices, input_shapes, joined, shapes_by_count, type_names
from tfprof_widget.output.excerpt import costliest_rows, main_measure, short_name, short_value, shown_measures
from tfprof_widget.output.rows import columns
from tfprof_widget.output.text import counted_rows, said_lacking, said_left_out, why_empty

MOST_ROWS = 200
MOST_INDENTED = 24

_NAMES = {
    "micros": "time",
    "accelerator_micros": "accelerator",
    "cpu_micros": "cpu",
    "bytes": "requested",
    "peak_bytes": "peak",
    "residual_bytes": "residual",
    "output_bytes": "output",
    "params": "parameters",
    "float_ops": "float ops",
    "op_types": "op types",
    "input_shapes": "input shapes",
}
_COUNTS = {"occurrence": "defined", "num_hidden_ops": "hidden ops"}

# JupyterLab has styles for tables too: each selector here is at least as specific as JupyterLab's, and comes later.
_STYLE = """
.tfprof-view { overflow-x: auto; max-width: 100% }
.tfprof-view table { border-collapse: collapse; border: 0; margin: 0; color: inherit; background: transparent;
  font: 12px/16px system-ui, -apple-system, "Segoe UI", sans-serif; font-variant-numeric: tabular-nums }
.tfprof-view caption { caption-side: top; text-align: left; padding: 4px 8px; color: inherit; white-space: nowrap }
.tfprof-view thead tr, .tfprof-view tbody tr:nth-child(n) { background: transparent; border: 0 }
.tfprof-view tbody tr:nth-child(n):hover { background: rgba(128, 128, 128, .12) }
.tfprof-view tr > :nth-child(n) { padding: 3px 8px; border: 0; border-bottom: 1px solid rgba(128, 128, 128, .2);
  color: inherit; background-color: transparent; text-align: right; vertical-align: top; white-space: nowrap }
.tfprof-view tr > .text { text-align: left; white-space: pre-line }
.tfprof-view tr > .name { position: relative; text-align: left; max-width: 36em;
  overflow: hidden; text-overflow: ellipsis }
.tfprof-view thead th { font-weight: 600 }
.tfprof-view thead tr > .group { text-align: center }
.tfprof-view tbody th { font-weight: 400 }
.tfprof-view tr > .bar { min-width: 10em; background: linear-gradient(90deg, rgba(58, 128, 220, .6) var(--own),
  rgba(58, 128, 220, .3) var(--own) var(--total), rgba(128, 128, 128, .08) var(--total)) 0 2px / 100% 18px no-repeat }
.tfprof-view .dim { opacity: .62 }
.tfprof-view .above { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
"""


def table(view: ViewData) -> str:
    """The first rows of a view as HTML, with bars in the column that the rows are ordered by.

    >>> from tfprof_widget.demo import demo_profile
    >>> table(demo_profile().view("op"))[:48]
    '<div class="tfprof-view" translate="no"><style>\\n'
    """
    rows = range(min(len(view), MOST_ROWS))
    shown = [_numbers(view, measure, rows, _compared(view)) for measure in _measures(view)]
    shown += [_counts(view, column, rows) for column in columns(view) if column in _COUNTS]
    shown += [_texts(view, column, rows) for column in columns(view) if column not in (*MEASURES, *_COUNTS)]
    return _table(view, rows, shown, _ASK_FOR_FEWER)


def brief_table(view: ViewData, most: int) -> str:
    """The costliest rows of a view as HTML, with measures that have values: the one that rows are ordered by first.

    Names are indented by blanks, for some hosts take styles away.

    >>> from tfprof_widget.demo import demo_profile
    >>> brief_table(demo_profile().view("scope", order_by="micros"), 2).count('scope="row"')
    2
    """
    rows = costliest_rows(view, most)
    shown = [_numbers(view, measure, rows, main_measure(view)) for measure in shown_measures(view)]
    return _table(view, rows, shown, "", is_brief=True)


def _table(view: ViewData, rows: Sequence[int], shown: Sequence[Column], more: str, *, is_brief: bool = False) -> str:
    head = "".join(column.heading for column in shown)
    below = "".join(column.subheading for column in shown)
    body = "".join(
        f"<tr>{_name(view, row, is_brief)}{''.join(column.cells[place] for column in shown)}</tr>"
        for place, row in enumerate(rows)
    )
    width = 1 + sum(column.width for column in shown)
    return (
        f'<div class="tfprof-view" translate="no"><style>{_STYLE}</style>'
        f'<table dir="ltr"><caption>{_title(view)}</caption>'
        f'<thead><tr><th scope="col" rowspan="2" class="name">name</th>{head}</tr><tr>{below}</tr></thead>'
        f"<tbody>{body}</tbody>{_foot(view, len(rows), width, more)}</table></div>"
    )


_ASK_FOR_FEWER = ": see .to_dataframe() or .text(), or ask for fewer, as with view(min_micros=…, max_depth=…)"


@dataclass(frozen=True)
class Column:
    """A column, or a pair of columns under one heading: the headings, and the cells of each row."""

    heading: str
    subheading: str
    width: int
    cells: Sequence[str]


def _measures(view: ViewData) -> list[str]:
    """The selected measures, the one that rows are ordered by first; time by processor if an accelerator took some."""
    chosen: list[str] = []
    for column in columns(view):
        if column == "micros" and view.grand_total["accelerator_micros"].any():
            chosen += TIMES
        elif column == "occurrence":
            chosen.append("runs")
        elif column in MEASURES:
            chosen.append(column)
    return sorted(chosen, key=lambda each: each != view.options.order_by)


def _numbers(view: ViewData, measure: str, rows: Sequence[int], compared: str | None) -> Column:
    """The column of a measure, with bars if it is the one by which rows are compared."""
    own, total = view.own[measure].tolist(), view.total[measure].tolist()
    counted = view.accounted.tolist()
    # A cumulative total is no cost of the row, so in op view the bar is the row's own.
    ends = own if view.view == "op" else total
    most = max(1, int(view.total[measure].max(initial=0))) if measure == compared else 0
    cells = []
    for row in rows:
        written, whole = (short_value(view, measure, row, own=own) for own in (True, False))
        first = _number(written, own[row]) if counted[row] else '<td class="dim">\u2013</td>'
        cells.append(first + _number(whole, total[row], _bar(own[row], ends[row], most) if most else ""))
    heading = f'<th scope="colgroup" colspan="2" class="group">{_NAMES.get(measure, measure)}</th>'
    # In op view, the total of a row adds this row and all rows after it.
    subheading = f'<th scope="col">own</th><th scope="col">{"cumulative" if view.view == "op" else "total"}</th>'
    return Column(heading, subheading, 2, cells)


def _compared(view: ViewData) -> str | None:
    """The measure whose totals get bars: the one that rows are ordered by if it is shown, else the first shown."""
    shown = _measures(view)
    return view.options.order_by if view.options.order_by in shown else next(iter(shown), None)


def _bar(own: int, total: int, most: int) -> str:
    ends = [100 * max(0, value) / most for value in (min(own, total), total)]
    return f' class="bar" style="--own:{ends[0]:.1f}%;--total:{ends[1]:.1f}%"'


def _number(written: str, value: int, attributes: str = "") -> str:
    return f"<td{attributes}>{written}</td>" if value else f'<td{attributes}><span class="dim">{written}</span></td>'


def _counts(view: ViewData, column: str, rows: Sequence[int]) -> Column:
    if column == "occurrence" and view.view in ("op", "code", "layers"):
        values = [len(view.members_of(row)) for row in rows]
    else:
        counts = view.total["definitions" if column == "occurrence" else "hidden"]
        values = [int(counts[row]) for row in rows]
    cells = [_number(f"{value:,}", value) for value in values]
    return Column(f'<th scope="col" rowspan="2">{_COUNTS[column]}</th>', "", 1, cells)


def _texts(view: ViewData, column: str, rows: Sequence[int]) -> Column:
    cells = [f'<td class="text dim">{as_html(_text(view, column, row))}</td>' for row in rows]
    return Column(f'<th scope="col" rowspan="2" class="text">{_NAMES.get(column, column)}</th>', "", 1, cells)


def _text(view: ViewData, column: str, row: int) -> str:
    node = int(view.node[row])
    members = [node] if node != ABSENT else view.members_of(row).tolist()
    match column:
        case "device":
            return "\n".join(filter(None, devices(view.profile, members)))
        case "op_types":
            return "\n".join(type_names(view.profile, members))
    if view.view == "op":
        return "\n".join(_shape_count(view, count) for count in shapes_by_count(view, row))
    shapes = input_shapes(view.profile, node, view.options.timing) if node != ABSENT else []
    return "\n".join(f"{index}: {joined(shape)}" for index, shape in enumerate(shapes))


def _shape_count(view: ViewData, count: ShapeCount) -> str:
    shapes = ", ".join(map(joined, count.shapes)) or "no inputs"
    return f"{shapes} · {short_count(count.runs / view.scale)} runs · {short('micros', count.micros / view.time_scale)}"


def as_html(text: str) -> str:
    """Text escaped for HTML content and attributes, with invisible characters written out.

    >>> as_html("a<b"), as_html("a\\u202eb")
    ('a&lt;b', 'a\\\\u202eb')
    """
    return escape(visible_lines(text))


def _name(view: ViewData, row: int, is_brief: bool) -> str:
    """The cell of a row's name. It shows the last part; the scope before it is for search, copy and screen readers."""
    name, parent = view.names[row], int(view.parent[row])
    above = f"{view.names[parent]}/" if view.view == "scope" and parent > 0 else ""
    if not name.startswith(above):
        above = ""
    shown, depth = _one_line(name[len(above) :]), min(int(view.depth[row]), MOST_INDENTED)
    if is_brief:
        shown = short_name(view, row)
        return f'<th scope="row" class="name" title="{_one_line(name)}">{"&emsp;" * depth}{_one_line(shown)}</th>'
    hidden = f'<span class="above">{_one_line(above)}</span>' if above else ""
    return (
        f'<th scope="row" class="name" style="padding-left:{8 + 14 * depth}px" title="{_one_line(name)}">'
        f"{hidden}{shown}</th>"
    )


def _one_line(text: str) -> str:
    return escape(visible(text))


def _title(view: ViewData) -> str:
    clock = "nanosecond clock" if view.options.timing == "exact" else "tfprof's clock of whole microseconds"
    count = len(chosen_steps(view.profile, view.options))
    if not count:
        measured = "nothing was run"
    elif view.options.step >= 0:
        measured = f"step {view.options.step}, {clock}"
    else:
        measured = f"mean of {count:,} steps, {clock}" if count > 1 else f"one step, {clock}"
    return f'<b>{view.view} view</b> <span class="dim">{counted_rows(len(view))} · {measured}</span>'


def _foot(view: ViewData, count: int, width: int, more: str) -> str:
    notes = []
    if len(view) > count:
        notes.append(f"{counted_rows(len(view) - count)} more{more}")
    if reason := why_empty(view) or said_lacking(view) or said_left_out(view):
        notes.append(reason)
    cells = "".join(f'<tr><td class="text" colspan="{width}">{as_html(each)}</td></tr>' for each in notes)
    return f"<tfoot>{cells}</tfoot>" if cells else ""


# As in js/src/styles/overview.css for a light page; names on them are white or, on the others, black.
_PART_COLOURS = {
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
_OTHER_COLOUR = "#c3cad2"
GLANCE_STYLE = """
.tfprof-glance { max-width: 1100px; font: 12px/16px system-ui, -apple-system, "Segoe UI", sans-serif }
.tfprof-glance h3 { margin: 8px 0; font-size: 15px; font-weight: 400; line-height: 22px; overflow-wrap: anywhere }
.tfprof-glance ol { display: flex; flex-wrap: wrap; gap: 1px; margin: 2px 0 10px; padding: 0; list-style: none }
.tfprof-glance li { flex: 1 1 auto; box-sizing: border-box; margin: 0; padding: 3px 6px; font-size: 11px;
  overflow-wrap: anywhere; print-color-adjust: exact }
"""


def glance(shown: Overview) -> str:
    """The sentence, the patch of what it tells, and the two bars; a part is as wide as its share, or its name.

    >>> from tfprof_widget.analysis.advisor.overview import overview
    >>> from tfprof_widget.demo import demo_profile
    >>> html = glance(overview(demo_profile()))
    >>> html[html.index("<h3>"):][:26], html.count("<li"), "backward, 143.4 µs, 39 %" in html
    ('<h3>A step takes 365.1 µs,', 4, True)
    """
    patch = shown.leading.patch if shown.leading is not None else None
    change = f"<pre>{escape(visible_lines(str(patch)))}</pre>" if patch is not None else ""
    steps = f"<p>Steps: {escape(' · '.join(shown.steps.facts))}</p>" if shown.steps.facts else ""
    return (
        f'<div class="tfprof-glance" translate="no"><style>{GLANCE_STYLE}</style>'
        f"<h3>{escape(visible(shown.sentence))}</h3>"
        f"{change}{stacked_bar('The cell', shown.cell)}{stacked_bar('A step', shown.step)}{steps}</div>"
    )


def stacked_bar(label: str, parts: Sequence[Part]) -> str:
    """A bar of parts as a list, with its whole; empty where there are none.

    >>> stacked_bar("The cell", [Part("steps", "steps", 1_500_000_000, 100)])[:25]
    'The cell: <b>1.50 s</b><o'
    """
    if not parts:
        return ""
    whole = written_seconds(sum(part.nanos for part in parts) / 1e9)
    return f'{label}: <b>{whole}</b><ol aria-label="{label.lower()}">{"".join(map(_bar_part, parts))}</ol>'


def _bar_part(part: Part) -> str:
    colour = _PART_COLOURS.get(part.key, _OTHER_COLOUR)
    on = "#ffffff" if part.key in _PART_COLOURS else "#10161d"
    text = f"{part.name}, {written_seconds(part.nanos / 1e9)}, {part.share} %"
    title = f' title="{escape(visible(part.detail))}"' if part.detail else ""
    style = f"flex-grow:{part.share};background:{colour};color:{on}"
    return f'<li style="{style}"{title}>{escape(text)}</li>'
