"""Writes a view as a DataFrame or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.analysis.device_steps import device_steps
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.arrays import ABSENT, NANOS_A_MICRO
from tfprof_widget.lib.text import visible, writer
from tfprof_widget.output.cells import device_name
from tfprof_widget.output.text import counted_rows, said_left_out
from tfprof_widget.profiles.accelerators import Accelerator, KernelRuns
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import OPTIONS

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

    columns = {each.name: [getattr(kernel, each.name) for kernel in profile.kernel_runs] for each in fields(KernelRuns)}
    nanos, launches, delay = (np.array(columns.pop(name), np.int64) for name in ("nanos", "launches", "delay_nanos"))
    frame = pandas.DataFrame(columns).assign(
        micros=nanos / NANOS_A_MICRO,
        launch_delay_micros=np.where(launches > 0, delay / np.maximum(launches, 1) / NANOS_A_MICRO, np.nan),
    )
    return frame.sort_values("micros", ascending=False, kind="stable", ignore_index=True)


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
    about = f"{about} {escaped(said_left_out(view))}".rstrip()
    return "\n".join([f"# {escaped(title)}", "", *_paragraphs(lines), about, "", *rows, ""])


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
    return {"micros": "time", "bytes": "memory", "float_ops": "float ops"}.get(measure, measure.replace("_", " "))


def _name(view: ViewData, row: int) -> str:
    return "&emsp;" * min(int(view.depth[row]), 24) + escaped(view.names[row])


def _cells(view: ViewData, measures: Sequence[str], row: int) -> list[str]:
    return [
        writer(measure)(int(values[measure][row]), view.unit(measure))
        for measure in measures
        for values in (view.own, view.total)
    ]


def _in_force(view: ViewData) -> str:
    """The options that differ from their defaults."""
    values = {option.name: (getattr(view.options, option.name), option.default) for option in OPTIONS}
    return ", ".join(f"{name} {_written(value)}" for name, (value, usual) in values.items() if value != usual)


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
