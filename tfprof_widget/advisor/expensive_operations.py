"""Names the ops that take the most time: by op type, by graph node and by line of code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileWarning
from tfprof_widget.options import Options
from tfprof_widget.output.numbers import time
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers

MOST = 3
DEEPEST = 3
LEAST_MICROS_OF_A_LINE = 1000


def expensive_operations(profile: Profile) -> Iterator[str]:
    """A report a view: the costliest op types, graph nodes and, where there are traces, lines of code.

    >>> from tfprof_widget.demo import demo_profile
    >>> next(expensive_operations(demo_profile())).splitlines()[0]
    'top 1 operation type: MatMul, cpu: ...us, accelerator: 0us, total: ...us (...%)'
    """
    if profile.steps:
        yield from op_types(_view(profile, "op", max_depth=MOST, min_micros=1))
        yield from _graph_nodes(_view(profile, "scope", min_micros=100))
    else:
        _warn("op types or graph nodes", "run metadata", "give that of a step")
    if profile.has_traces:
        yield from lines(_view(profile, "code", min_micros=1), LEAST_MICROS_OF_A_LINE)
    else:
        _warn("lines of code", "code traces", "give an op_log with traces, or the tf.Graph itself")


def _view(profile: Profile, view: str, **options: Any) -> View:
    return evaluate(profile, view, Options.of(order_by="micros", timing="tfprof", **options))


def _warn(rows: str, lacking: str, way_out: str) -> None:
    warnings.warn(
        f"ExpensiveOperationChecker: it can name no {rows}, as there are no {lacking}; {way_out}",
        ProfileWarning,
        stacklevel=6,
    )


def op_types(view: View) -> Iterator[str]:
    """A report on the first rows of an op view, each with its share of the whole."""
    whole = int(view.grand_total["micros"][0]) + 1e-10  # as native, where it decides how exact halves are rounded
    told = []
    for row, name in enumerate(view.names[:MOST]):
        share = 100.0 * int(view.own["micros"][row]) / whole
        told.append(f"top {row + 1} operation type: {name}, {_times(view, view.own, row)} ({share:.2f}%)")
    if told:
        yield "\n".join(told)


def _graph_nodes(view: View) -> Iterator[str]:
    told = [
        f"top {place} graph node: {view.names[row]}, {_times(view, view.own, row)}"
        for place, row in enumerate(_below(view, 0)[:MOST], 1)
    ]
    if told:
        yield "\n".join(told)


def lines(view: View, least: int) -> Iterator[str]:
    """The costliest calls from the first frame that has several, for those above it are of libraries mostly.

    Calls that take less than `least`, in units of the view, are left out.
    """
    row = 0
    while len(below := _below(view, row)) == 1:
        row = below[0]
    if below:
        yield "\n".join(_calls(view, below, 0, least))


def _calls(view: View, rows: Sequence[int], depth: int, least: int) -> Iterator[str]:
    for row in rows[:MOST]:
        if view.total["micros"][row] < least:
            continue
        yield f"{'  ' * depth}{view.names[row]}, {_times(view, view.total, row)}"
        below = _below(view, row)
        if len(below) > 1 and depth < DEEPEST:
            yield from _calls(view, below, depth + 1, least)


def _below(view: View, row: int) -> list[int]:
    found: list[int] = np.flatnonzero(view.parent == row).tolist()
    return found


def _times(view: View, columns: Mapping[str, Integers], row: int) -> str:
    return times(columns, row, view.time_scale)


def times(columns: Mapping[str, Integers], row: int, scale: int) -> str:
    """What a row took, as the reports have it, of times in `1 / scale` microseconds.

    >>> columns = {"micros": 30, "accelerator_micros": 10, "cpu_micros": 20}
    >>> times({name: np.array([value]) for name, value in columns.items()}, 0, 1)
    'cpu: 20us, accelerator: 10us, total: 30us'
    """
    cpu, accelerator, both = (
        time(int(columns[measure][row]), scale) for measure in ("cpu_micros", "accelerator_micros", "micros")
    )
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {both}"
