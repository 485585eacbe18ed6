"""Names what takes the most time as `expensive_operations` does, but exactly, in steady steps and by graph node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tfprof_widget.advisor.expensive_operations import MOST, op_types, times
from tfprof_widget.advisor.own_lines import own_lines
from tfprof_widget.advisor.steady import Steady
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.view import View
from tfprof_widget.options import Options
from tfprof_widget.profiles import Profile

SMALLEST_SHARE = 0.01
"""Lines of code that take less of the whole are left out; native leaves out those below a millisecond."""


def costliest(profile: Profile) -> Iterator[str]:
    """Reports on op types, graph nodes and lines of code, for a reader who can select what they name.

    Native tfprof calls a scope a graph node, and reports its own time, which is none.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(costliest(demo_profile()))[1].splitlines()[0]
    'top 1 graph node: gradients/layer1/MatMul_grad/MatMul_1, cpu: 110.95us, accelerator: 0ns, total: 110.95us (34.58%)'
    """
    if not profile.steps:
        return
    options = Steady.of(profile).options
    yield from op_types(_view(profile, "op", options))
    yield from _nodes(profile, options)
    if profile.has_traces:
        yield from _lines(_view(profile, "code", options))


def _nodes(profile: Profile, options: Any) -> Iterator[str]:
    costs = measures(profile, Options.of(**options))
    micros = costs.columns["micros"]
    told = []
    for place, row in enumerate(np.argsort(-micros, kind="stable")[:MOST].tolist(), 1):
        if micros[row]:
            taken = times(costs.columns, row, costs.time_scale)
            share = 100.0 * int(micros[row]) / int(micros.sum())
            told.append(f"top {place} graph node: {profile.nodes.names[row]}, {taken} ({share:.2f}%)")
    if told:
        yield "\n".join(told)


def _lines(code: View) -> Iterator[str]:
    """The user's own; native starts at the first frame that leads to several, which in a notebook is the kernel's."""
    lines, columns = own_lines(code)
    least = SMALLEST_SHARE * int(code.grand_total["micros"][0])
    told = [
        f"{line}, {times(columns, row, code.time_scale)}"
        for row, line in enumerate(lines[:MOST])
        if columns["micros"][row] >= least
    ]
    if told:
        yield "\n".join(told)


def _view(profile: Profile, view: str, options: Any) -> View:
    every_row = {"max_depth": max(Options.of().max_depth, len(profile.nodes.ops))}
    return evaluate(profile, view, Options.of(order_by="micros", **every_row, **options))
