"""Says in a sentence what takes the time of a cell: a finding, else a layer, else that nothing stands out."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tfprof_widget.analysis.account.budget import TimeBudget
from tfprof_widget.analysis.advisor.finding import Finding, share_of_whole
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.roles import GraphRoles
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.text import is_of_library, written_seconds
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

STANDS_OUT = 0.05
"""What a finding is about leads the overview from this share of the cell on."""

HEAVY = 2 / 3
"""A layer with this share of the op time is what a step is made of; smaller ones are told as the costliest only."""

FEWEST_LAYERS = 3
"""Of fewer layers one has most of the time anyway."""

REPEATED = 4
"""An op that runs so often in a step is in a loop."""

NEARLY_ALL = 0.95
"""What is left without something that has a larger share than this is no figure to promise."""

CELL_NAMES = {
    "tracing": "building functions",
    "first": "first steps",
    "steps": "steps",
    "python": "Python between steps",
    "input": "waiting for input",
    "tfprof": "tfprof",
    "other": "not accounted for",
}


def sentence_on(profile: ProfileData, budget: TimeBudget, leading: Finding | None) -> str:
    """What takes the time: what the leading finding says, or where none leads one layer, or that nothing stands out.

    >>> from tfprof_widget.analysis.account.budget import time_budget
    >>> from tfprof_widget.demo import demo_profile
    >>> sentence_on(demo_profile(), time_budget(demo_profile()), None)
    'A step takes 365.1 µs, and 84 % of its op time is in the layer layer1, made at train.py:10. To make ...
    """
    return _sentence(profile, budget) if leading is None else _of_finding(leading, profile, budget)


def _sentence(profile: ProfileData, budget: TimeBudget) -> str:
    """What takes the time where no finding leads: one layer, or that nothing stands out."""
    if not budget.step_seconds:
        return _without_steps(profile, budget)
    step = f"A step takes {written_seconds(budget.step_seconds)}"
    layer = _costliest_layer(profile)
    nothing = f"Nothing stands out. {_largest(budget)}{step}"
    if layer is None:
        return f"{nothing}."
    if layer.share >= HEAVY and layer.count >= FEWEST_LAYERS:
        return _of_layer(layer, step)
    most = f"{layer.name} has the largest part of its op time, {round(100 * layer.share)} %"
    return f"{nothing}; {most}."


def _largest(budget: TimeBudget) -> str:
    """The two parts that take most of the cell; empty if no cell was captured."""
    if not budget.cell_seconds:
        return ""
    found = sorted(budget.cell.items(), key=lambda each: -each[1])[:2]
    said = " and ".join(
        f"{round(100 * seconds / budget.cell_seconds)} % are {CELL_NAMES[part]}" for part, seconds in found if seconds
    )
    return f"Of the cell, {written_seconds(budget.cell_seconds)}, {said}. "


def _of_finding(finding: Finding, profile: ProfileData, budget: TimeBudget) -> str:
    share = share_of_whole(finding, profile)
    what, whole = ("the cell", budget.cell_seconds) if budget.cell_seconds else ("a step", budget.step_seconds)
    rest = f"{written_seconds(whole * (1 - share))} instead of {written_seconds(whole)}"
    gain = f" Without this {what} would take {rest}." if whole and share < NEARLY_ALL else ""
    return f"{finding.cause} {first_advice(finding.fix)}{gain}"


_CLAUSE_END = re.compile(r"; |\. ")


def first_advice(fix: str) -> str:
    """The first thing that a fix says to do, as a sentence.

    >>> first_advice("Save less often; or save weights only. That is smaller.")
    'Save less often.'
    """
    return _CLAUSE_END.split(fix, maxsplit=1)[0].rstrip(".") + "."


def _without_steps(profile: ProfileData, budget: TimeBudget) -> str:
    nodes = f"its graph has {len(profile.nodes):,} nodes"
    if not budget.cell_seconds:
        return f"No step was recorded, so nothing is known of times; {nodes}."
    return f"The cell took {written_seconds(budget.cell_seconds)}, and no step of it was recorded; {nodes}."


@dataclass(frozen=True)
class _CostlyLayer:
    """A layer, its share of the op time, of how many layers it is one, its line, and the ops that a loop in it runs."""

    name: str
    type: str
    share: float
    count: int
    line: CodeLine | None
    looped: int


def _of_layer(layer: _CostlyLayer, step: str) -> str:
    kind = f" ({layer.type})" if layer.type else ""
    where = f", made at {layer.line.place}" if layer.line is not None else ""
    said = f"{step}, and {round(100 * layer.share)} % of its op time is in the layer {layer.name}{kind}{where}."
    if layer.looped:
        return (
            f"{said} A loop in it runs {layer.looped:,} ops a step one after another. Unroll it, or let a layer do it "
            "that takes all steps of the sequence at once; no other layer counts for much."
        )
    rest = f"all others together take {round(100 * (1 - layer.share))} %"
    return f"{said} To make a step shorter, make that layer smaller: {rest}."


def _costliest_layer(profile: ProfileData) -> _CostlyLayer | None:
    """The layer with the largest part of the op time of steady steps; None if nothing is known of layers."""
    steady = SteadySteps.of(profile)
    layers = node_layers(profile)
    inside = layers.layer >= 0
    is_layer = np.array([bool(kind) for kind in layers.types], np.bool_)
    nanos = measures(profile, Options.of(**steady.options)).columns["micros"]  # of all ops, as in the table of layers
    total = int(nanos.sum())
    sums = np.zeros(len(layers.names), np.int64)
    np.add.at(sums, layers.layer[inside], nanos[inside])
    sums[~is_layer] = 0
    if not total or not sums.any():
        return None
    place = int(sums.argmax())
    own = layers.layer == place
    nodes = np.flatnonzero(own & (nanos > 0))
    runs = np.bincount(steady.node, minlength=len(own))[nodes] / max(len(steady.steps), 1)
    return _CostlyLayer(
        name=layers.names[place],
        type="" if layers.types[place] == "scope" else layers.types[place],
        share=int(sums[place]) / total,
        count=int(np.count_nonzero(sums)),
        line=_line_of(profile, nodes[np.argsort(-nanos[nodes], kind="stable")]),
        looped=round(runs[runs >= REPEATED].sum()),
    )


def _line_of(profile: ProfileData, nodes: Integers) -> CodeLine | None:
    """The user's innermost line that made one of some nodes, or its forward node: the first that is known."""
    traces, forward = profile.traces, GraphRoles.of(profile).forward
    for node in nodes.tolist():
        stack = int(traces.stack[forward.get(node, node)])
        for frame in reversed(traces.stacks[stack].tolist() if stack >= 0 else []):
            file = traces.strings[traces.file[frame]]
            if not is_of_library(file):
                return CodeLine(file, int(traces.line[frame]), traces.strings[traces.function[frame]])
    return None
