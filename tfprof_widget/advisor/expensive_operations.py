"""Names the ops that take the most time: by op type, by graph node and by line of code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileWarning
from tfprof_widget.options import Options
from tfprof_widget.output.numbers import time
from tfprof_widget.profiles import Profile

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
        yield from _op_types(_view(profile, "op", max_depth=MOST, min_micros=1))
        yield from _graph_nodes(_view(profile, "scope", min_micros=100))
    else:
        _warn("op types or graph nodes", "run metadata", "give that of a step")
    if profile.has_traces:
        yield from _lines(_view(profile, "code", min_micros=1))
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


def _op_types(view: View) -> Iterator[str]:
    whole = int(view.grand_total["micros"][0]) + 1e-10  # as native, where it decides how exact halves are rounded
    lines = []
    for row, name in enumerate(view.names[:MOST]):
        share = 100.0 * int(view.own["micros"][row]) / whole
        lines.append(f"top {row + 1} operation type: {name}, {_times(view.own, row)} ({share:.2f}%)")
    if lines:
        yield "\n".join(lines)


def _graph_nodes(view: View) -> Iterator[str]:
    lines = [
        f"top {place} graph node: {view.names[row]}, {_times(view.own, row)}"
        for place, row in enumerate(_below(view, 0)[:MOST], 1)
    ]
    if lines:
        yield "\n".join(lines)


def _lines(view: View) -> Iterator[str]:
    """The costliest calls from the first frame that has several, for those above it are of libraries mostly."""
    row = 0
    while len(below := _below(view, row)) == 1:
        row = below[0]
    if below:
        yield "\n".join(_calls(view, below, 0))


def _calls(view: View, rows: Sequence[int], depth: int) -> Iterator[str]:
    for row in rows[:MOST]:
        if view.total["micros"][row] < LEAST_MICROS_OF_A_LINE:
            continue
        yield f"{'  ' * depth}{view.names[row]}, {_times(view.total, row)}"
        below = _below(view, row)
        if len(below) > 1 and depth < DEEPEST:
            yield from _calls(view, below, depth + 1)


def _below(view: View, row: int) -> list[int]:
    found: list[int] = np.flatnonzero(view.parent == row).tolist()
    return found


def _times(columns: Any, row: int) -> str:
    cpu, accelerator, both = (
        time(int(columns[measure][row])) for measure in ("cpu_micros", "accelerator_micros", "micros")
    )
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {both}"
