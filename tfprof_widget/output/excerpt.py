"""Chooses the rows and columns of a view that matter most, for tables that have little room."""

from __future__ import annotations

from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.text import short


def costliest_rows(view: ViewData, most: int) -> list[int]:
    """The rows with the largest values of the main measure, in their order; rows of nothing are left out.

    A row of a tree comes with the rows above it. Without a measure, these are the first rows.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", order_by="micros")
    >>> [view.names[row] for row in costliest_rows(view, 3)]
    ['_TFProfRoot', 'gradients', 'gradients/layer1']
    """
    measure = main_measure(view)
    if measure is None:
        return list(range(min(most, len(view))))
    values = (view.own if view.view == "op" else view.total)[measure].tolist()
    parents = view.parent.tolist()
    chosen: set[int] = set()
    # Of equal values the first row comes first, which is above the others.
    for row in sorted(range(len(values)), key=lambda each: -values[each]):
        if len(chosen) == most or values[row] <= 0:
            break
        if parents[row] < 0 or parents[row] in chosen:
            chosen.add(row)
    return sorted(chosen)


def main_measure(view: ViewData) -> str | None:
    """The measure that rows are ordered by if it has values, else the first selected that has some.

    >>> from tfprof_widget.demo import demo_profile
    >>> main_measure(demo_profile().view("op", order_by="bytes")), main_measure(demo_profile().view("op"))
    ('bytes', 'micros')
    """
    ordered = view.options.order_by
    first = [ordered] if ordered in MEASURES else []
    return next((each for each in (*first, *shown_measures(view)) if view.grand_total[each].any()), None)


def shown_measures(view: ViewData) -> list[str]:
    """The selected measures that have any values, the main one first.

    >>> from tfprof_widget.demo import demo_profile
    >>> shown_measures(demo_profile().view("op", order_by="bytes", select=["micros", "bytes", "peak_bytes"]))
    ['bytes', 'micros', 'peak_bytes']
    """
    selected = ["runs" if column == "occurrence" else column for column in view.options.select]
    found = [each for each in dict.fromkeys(selected) if each in MEASURES and view.grand_total[each].any()]
    return sorted(found, key=lambda each: each != view.options.order_by)


def short_value(view: ViewData, measure: str, row: int, *, own: bool) -> str:
    """The own value or the total of a row, as the widget writes it; a dash for nothing.

    >>> from tfprof_widget.demo import demo_profile
    >>> short_value(demo_profile().view("op", order_by="micros"), "micros", 0, own=True)
    '123.2 µs'
    """
    value = int((view.own if own else view.total)[measure][row])
    return short(measure, value / view.unit(measure)) if value else "\u2013"


def short_name(view: ViewData, row: int) -> str:
    """The name of a row that stands below the row above it: in scope view its last part; the root is all.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", order_by="micros")
    >>> [short_name(view, row) for row in range(3)]
    ['all', 'gradients', 'layer1']
    """
    name, parent = view.names[row], int(view.parent[row])
    if name == ROOT_NAME and parent < 0:
        return "all"
    return name.removeprefix(f"{view.names[parent]}/") if view.view == "scope" and parent > 0 else name
