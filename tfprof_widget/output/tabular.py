"""Writes a view as a DataFrame or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.analysis.account.roofline import roof_of, roofline_table, told_roof
from tfprof_widget.analysis.device_steps import device_steps
from tfprof_widget.analysis.machines import Machine
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.engine.tree import Contracted
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO, Floats, Integers
from tfprof_widget.lib.errors import warn_user
from tfprof_widget.lib.text import cut_in_the_middle, visible
from tfprof_widget.output.cells import device_name
from tfprof_widget.output.excerpt import short_name, short_value
from tfprof_widget.output.text import counted_rows, said_left_out
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import Accelerator, KernelRuns
from tfprof_widget.profiles.options import OPTIONS, PASSES, Options

if TYPE_CHECKING:
    import pandas


def view_frame(view: ViewData) -> pandas.DataFrame:
    """The rows of the view; `parent` is the position of the row above, times are in microseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> frame = view_frame(demo_profile().view("scope", max_depth=2, order_by="micros"))
    >>> frame[["name", "total_micros"]].head(2).values.tolist()
    [['_TFProfRoot', 320.802], ['gradients', 145.228]]
    """
    import pandas

    if view.view == "layers":
        return _layers_frame(view)
    columns: dict[str, Any] = {"name": list(view.names), "depth": view.depth, "parent": view.parent}
    columns |= _of_nodes(view)
    columns["accounted"] = view.accounted
    for measure in MEASURES:
        unit = view.unit(measure)
        columns[measure] = _in_units(view.own[measure], unit)
        columns[f"total_{measure}"] = _in_units(view.total[measure], unit)
    columns["definitions"] = view.total["definitions"]
    columns["hidden_ops"] = view.total["hidden"]
    return pandas.DataFrame(columns)


def _layers_frame(view: ViewData) -> pandas.DataFrame:
    """The layers, a row each and none for the root: what belongs to a layer itself, which adds up, and its totals."""
    import pandas

    whole = max(int(view.own["micros"].sum()), 1)
    named = {"params": "parameters"}
    measures = (*PASSES, "micros", "params", "float_ops", "bytes", "runs")
    columns: dict[str, Any] = {"name": list(view.names), "type": layer_types(view)}
    for measure in measures:
        columns[named.get(measure, measure)] = _in_units(view.own[measure], view.unit(measure))
        if measure == "micros":
            columns["share"] = view.own["micros"] / whole
    columns |= _rates(view, view.own)
    columns |= {"depth": view.depth, "parent": view.parent - 1}
    for measure in measures:
        columns[f"total_{named.get(measure, measure)}"] = _in_units(view.total[measure], view.unit(measure))
    columns |= {f"total_{name}": values for name, values in _rates(view, view.total).items()}
    return pandas.DataFrame(columns).iloc[1:].reset_index(drop=True)


def _rates(view: ViewData, sums: Mapping[str, Integers]) -> dict[str, Floats]:
    """How fast rows compute, and as a part of the most that their machine can; missing where that is not known."""
    seconds = sums["micros"] / (1e6 * view.unit("micros"))
    float_ops = sums["float_ops"] / view.unit("float_ops")
    missing = np.full(len(view), np.nan)
    rate = np.divide(float_ops, seconds, out=missing.copy(), where=(seconds > 0) & (float_ops > 0))
    roof = roof_of(view.profile).roof
    return {"gflops": rate / 1e9, "of_peak": rate / roof.float_ops if roof is not None else missing}


def layer_types(view: ViewData) -> list[str]:
    """The class of each row of a layers view, empty for what is no layer.

    >>> from tfprof_widget.demo import demo_profile
    >>> layer_types(demo_profile().view("layers"))[:2]
    ['', 'scope']
    """
    tree, types = view.forest.tree, ("", *node_layers(view.profile).types)
    places = tree.places[view.places] if isinstance(tree, Contracted) else view.places
    return [types[place] for place in places.tolist()]


def allocators_frame(profile: ProfileData) -> pandas.DataFrame:
    """The allocators of a profile, a row each.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(allocators_frame(demo_profile()))
    0
    """
    import pandas

    rows = [(each.name, each.device, each.peak_bytes, each.capacity_bytes) for each in profile.allocator_peaks]
    return pandas.DataFrame(rows, columns=["allocator", "device", "peak_bytes", "capacity_bytes"])


def devices_frame(profile: ProfileData) -> pandas.DataFrame:
    """The accelerators of a profile, a row each.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(devices_frame(demo_profile()))
    0
    """
    import pandas

    names = ["device", *(each.name for each in fields(Accelerator) if each.name != "name")]
    return pandas.DataFrame([tuple(vars(each).values()) for each in profile.accelerators], columns=names)


def device_steps_frame(profile: ProfileData) -> pandas.DataFrame:
    """What each accelerator did in each step, a row each; times are in microseconds.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(device_steps_frame(demo_profile()))
    0
    """
    import pandas

    names = profile.step_names
    rows = [
        (profile.steps[each.step], names[each.step], profile.workers_of_steps[each.step], each.device, *each.micros)
        for each in device_steps(profile)
    ]
    parts = ["step_micros", "compute_micros", "collectives_micros", "copies_micros", "idle_micros"]
    return pandas.DataFrame(rows, columns=["step", "step_name", "worker", "device", *parts])


def device_kernels_frame(profile: ProfileData) -> pandas.DataFrame:
    """The kernels of each node, a row for each way in which one was launched on a stream; the costliest first.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(device_kernels_frame(demo_profile()))
    0
    """
    import pandas

    columns = {name: [getattr(kernel, name) for kernel in profile.kernel_runs] for name in KernelRuns._fields}
    nanos, launches, delay = (np.array(columns.pop(name), np.int64) for name in ("nanos", "launches", "delay_nanos"))
    frame = pandas.DataFrame(columns).assign(
        micros=nanos / NANOS_A_MICRO,
        launch_delay_micros=np.where(launches > 0, delay / np.maximum(launches, 1) / NANOS_A_MICRO, np.nan),
    )
    return frame.sort_values("micros", ascending=False, kind="stable", ignore_index=True)


def roofline_frame(profile: ProfileData, machine: Machine | None, by: str, options: Options) -> pandas.DataFrame:
    """What ops, layers or types of ops compute and move, a row each; `attrs["roof"]` says what they are compared with.

    >>> from tfprof_widget.analysis.machines import Band, Machine
    >>> from tfprof_widget.demo import demo_profile
    >>> machine = Machine("float32", Band(1e11, 1e11, 1e11), Band(1e10, 1e10, 1e10), {}, 2**26, 3, 1.0, 0.0)
    >>> roofline_frame(demo_profile(), machine, "layer", Options.of()).attrs["roof"]
    'CPU, float32: 100 GFLOP/s, 10 GB/s'
    """
    import pandas

    columns, known = roofline_table(profile, machine, by, options)
    frame = pandas.DataFrame(columns)
    told = told_roof(known.roof) if known.roof is not None else ""
    frame.attrs["roof"] = "; ".join(filter(None, (told, known.reason)))
    if known.roof is None:
        warn_user(f"roofline: of_peak, of_bandwidth and bound are missing: {known.reason}")
    return frame


def _of_nodes(view: ViewData) -> dict[str, list[str]]:
    nodes, rows = view.profile.nodes, view.node.tolist()
    ops = [nodes.ops[nodes.op[node]] if node != ABSENT else "" for node in rows]
    devices = [device_name(view.profile, node) if node != ABSENT else "" for node in rows]
    if view.view == "op":
        ops = list(view.names)
    return {"op": ops, "device": devices}


def _in_units(values: Any, unit: int) -> Any:
    return values if unit == 1 else values / np.float64(unit)


MOST_ROWS = 100
# Longer names are cut in the middle: LaTeX breaks none, and would print them over the numbers.
MOST_LETTERS = 44
# pandoc takes the dashes below the heads for the widths of columns.
_NAME_DASHES, _NUMBER_DASHES = 36, 15
# The characters that mean something in Markdown, HTML or LaTeX, or that let GitHub make a link.
_SPECIAL = re.compile(r"[\\`*_{}\[\]()<>#+!|~$&^-]|:(?=//)|\bw(?=ww\.)")
_MEASURE_OF = {"occurrence": "runs"}


def markdown(view: ViewData, title: str, lines: Sequence[str]) -> str:
    """The rows as a Markdown document; Markdown and HTML in names have no effect.

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
    | :------------------------------------ | ---------------: | ---------------: |
    | MatMul | 123.2&nbsp;µs | 320.8&nbsp;µs |
    """
    measures = [name for name in map(_measure, view.options.select) if name in MEASURES]
    rows = range(min(len(view), MOST_ROWS))
    shown = f", the first {len(rows)}" if len(rows) < len(view) else ""
    about = f"View {view.view}; {escaped(_in_force(view))}. {counted_rows(len(view))}{shown}."
    about = f"{about} {escaped(said_left_out(view))}".rstrip()
    return "\n".join([f"# {escaped(title)}", "", *_paragraphs(lines), about, "", markdown_table(view, rows, measures)])


def markdown_table(view: ViewData, rows: Iterable[int], measures: Sequence[str]) -> str:
    """Some rows and measures of a view as a Markdown table: own value and total of the first measure, one of others.

    That is the own value in op view, else the total: with more columns there is no room for any on paper.

    >>> from tfprof_widget.demo import demo_profile
    >>> print(markdown_table(demo_profile().view("op"), [0], ["micros"]).splitlines()[0])
    | name | own time | cumulative time |
    """
    if view.view == "layers" and "micros" in measures:
        measures = (*measures[:1], *PASSES, *measures[1:])
    total = "cumulative" if view.view == "op" else "total"
    columns = [(measure, own) for measure in measures[:1] for own in (True, False)]
    heads = [f"{'own' if own else total} {_heading(measure)}" for measure, own in columns]
    columns += [(measure, view.view == "op") for measure in measures[1:]]
    heads += map(_heading, measures[1:])
    head = f"| {' | '.join(['name', *heads])} |"
    numbers = f" {'-' * _NUMBER_DASHES}: |"
    dashes = f"| :{'-' * _NAME_DASHES} |{numbers * len(heads)}"
    lines = [f"| {' | '.join([_name(view, row), *_cells(view, columns, row)])} |" for row in rows]
    return "\n".join([head, dashes, *lines, ""])


def escaped(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> escaped("a_b|<c>")
    'a\\\\_b\\\\|\\\\<c\\\\>'
    """
    return _SPECIAL.sub(_harmless, visible(text))


def _harmless(found: re.Match[str]) -> str:
    """The character, escaped: as a numeric entity where math or a link is found even behind a backslash."""
    return f"&#{ord(found[0])};" if found[0] in "\\$:w" else f"\\{found[0]}"


def _paragraphs(lines: Sequence[str]) -> list[str]:
    return [part for line in lines if line for part in (line, "")]


def _measure(column: str) -> str:
    return _MEASURE_OF.get(column, column)


def _heading(measure: str) -> str:
    if measure in PASSES:
        return measure.removesuffix("_micros")
    return {"micros": "time", "bytes": "memory", "float_ops": "float ops"}.get(measure, measure.replace("_", " "))


def _name(view: ViewData, row: int) -> str:
    name = cut_in_the_middle(short_name(view, row), MOST_LETTERS)
    # Of all wide blanks LaTeX knows this one.
    return "&nbsp;" * 3 * min(int(view.depth[row]), 24) + escaped(name)


def _cells(view: ViewData, columns: Sequence[tuple[str, bool]], row: int) -> list[str]:
    """The values, each on one line with its unit."""
    return [short_value(view, measure, row, own=own).replace(" ", "&nbsp;") for measure, own in columns]


def _in_force(view: ViewData) -> str:
    """The options that differ from their defaults."""
    values = {option.name: (getattr(view.options, option.name), option.default) for option in OPTIONS}
    return ", ".join(f"{name} {_written(value)}" for name, (value, usual) in values.items() if value != usual)


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
