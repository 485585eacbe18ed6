"""A view as a Markdown document: how it was measured, the options in force, and the first rows as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.engine.view import View
from tfprof_widget.options import OPTIONS
from tfprof_widget.output import numbers
from tfprof_widget.output.text import counted_rows
from tfprof_widget.visible import visible

MOST_ROWS = 100
# Of Markdown, of HTML, of LaTeX, and of what GitHub makes links of.
_ACTED_ON = re.compile(r"[\\`*_{}\[\]()<>#+!|~$&^-]|:(?=//)|\bw(?=ww\.)")
_MEASURE_OF = {"occurrence": "runs"}


def markdown(view: View, title: str, lines: Sequence[str]) -> str:
    """The document; names are written so that no Markdown or HTML in them takes effect.

    >>> from tfprof_widget.demo import demo_profile
    >>> text = markdown(demo_profile().view("op", order_by="micros", select=["micros"]), "A *step*", ["traced once"])
    >>> print("\\n".join(text.splitlines()[:9]))
    # A \\*step\\*
    <BLANKLINE>
    traced once
    <BLANKLINE>
    View op; order\\_by micros. 27 rows.
    <BLANKLINE>
    | name | own time | cumulative time |
    | :--- | ---: | ---: |
    | MatMul | 123.19us | 320.80us |
    """
    measures = [name for name in map(_measure, view.options.select) if name in MEASURES]
    count = min(len(view), MOST_ROWS)
    parts = ("own", "cumulative" if view.view == "op" else "total")
    heads = [f"{part} {_heading(measure)}" for measure in measures for part in parts]
    rows = [f"| {' | '.join(['name', *heads])} |", f"| :--- |{' ---: |' * len(heads)}"]
    rows += [f"| {' | '.join([_name(view, row), *_cells(view, measures, row)])} |" for row in range(count)]
    shown = f", the first {count}" if count < len(view) else ""
    about = f"View {view.view}; {escaped(_in_force(view))}. {counted_rows(len(view))}{shown}."
    return "\n".join([f"# {escaped(title)}", "", *_paragraphs(lines), about, "", *rows, ""])


def escaped(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> escaped("a_b|<c>")
    'a\\\\_b\\\\|\\\\<c\\\\>'
    """
    return _ACTED_ON.sub(_harmless, visible(text))


def _harmless(found: re.Match[str]) -> str:
    """Mathematics and links are looked for before, or in spite of, backslashes: their characters are numbered."""
    return f"&#{ord(found[0])};" if found[0] in "\\$:w" else f"\\{found[0]}"


def _paragraphs(lines: Sequence[str]) -> list[str]:
    return [part for line in lines if line for part in (line, "")]


def _measure(column: str) -> str:
    return _MEASURE_OF.get(column, column)


def _heading(measure: str) -> str:
    return {"micros": "time", "bytes": "memory", "float_ops": "float ops"}.get(measure, measure.replace("_", " "))


def _name(view: View, row: int) -> str:
    return "&emsp;" * min(int(view.depth[row]), 24) + escaped(view.names[row])


def _cells(view: View, measures: Sequence[str], row: int) -> list[str]:
    return [
        numbers.writer(measure)(int(values[measure][row]), view.unit(measure))
        for measure in measures
        for values in (view.own, view.total)
    ]


def _in_force(view: View) -> str:
    """The options that differ from their defaults."""
    values = {option.name: (getattr(view.options, option.name), option.default) for option in OPTIONS}
    return ", ".join(f"{name} {_written(value)}" for name, (value, usual) in values.items() if value != usual)


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
