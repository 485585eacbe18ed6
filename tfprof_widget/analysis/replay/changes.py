"""Finds what a what-if is about: the nodes that its keys name, and the factor of the time of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.replay.critical_path import stacks_of_nodes
from tfprof_widget.analysis.replay.dependencies import NodeEdges
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.matching import Names
from tfprof_widget.lib.arrays import ABSENT, Flags, Integers
from tfprof_widget.lib.errors import shortened, value_error
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.program import INPUT

INPUT_KEY, PYTHON_KEY = "input", "python"
FUSED = " + "
"""Parts the ops of a node that stands for several."""


@dataclass(frozen=True, eq=False)
class TimeFactors:
    """The factor of the time of each node, and those of what goes on between steps: Python, and its wait for input.

    With `with_between`, the change is about the time between steps, too.
    """

    node: NDArray[np.float64]
    python: float = 1.0
    input: float = 1.0
    with_between: bool = False


def time_factors(
    profile: ProfileData, changes: Mapping[str, float], *, has_between: bool, waits_between: bool = False
) -> TimeFactors:
    """The factors that changes mean; where several are about a node, it takes all of them.

    With `has_between`, the time between steps is known, and with `waits_between` some of it is a wait for input.

    >>> from tfprof_widget.demo import demo_profile
    >>> factors = time_factors(demo_profile(), {"layer:layer1": 0.5, "type:Relu": 0.5}, has_between=False)
    >>> float(factors.node[demo_profile().nodes.names.index("layer1/Relu")])
    0.25
    >>> time_factors(demo_profile(), {"layer1": 0.5}, has_between=False)
    Traceback (most recent call last):
        ...
    ValueError: no node that ran in a step is named 'layer1' as a whole; ...
    """
    if not isinstance(changes, Mapping):
        raise value_error(f"changes is {changes!r}, but must be a dict such as {{'layer:dense': 0.5}}")
    node = np.ones(len(profile.nodes))
    ran = np.zeros(len(profile.nodes), np.bool_)
    ran[NodeEdges.of(profile).ran] = True
    python = given = 1.0
    with_between = False
    for key, factor in changes.items():
        is_number = isinstance(factor, int | float | np.number) and not isinstance(factor, bool)
        if not is_number or not math.isfinite(factor) or factor < 0:
            raise value_error(f"the factor of {shortened(repr(key), 60)} is {factor!r}, but must be a number from 0 up")
        if key == PYTHON_KEY:
            if not has_between:
                raise value_error("'python' is the time between steps, of which only a captured cell with steps tells")
            python, with_between = python * factor, True
            continue
        chosen = _named(profile, key) & ran
        if key == INPUT_KEY and waits_between:
            given, with_between = given * factor, True
        elif not chosen.any():
            raise value_error(_why_none(profile, key))
        node[chosen] *= factor
    return TimeFactors(node, python, given, with_between)


def _why_none(profile: ProfileData, key: str) -> str:
    text = shortened(repr(key), 60)
    if key == INPUT_KEY:
        return "no op of the steps waits for 'input', and Python between them is only known of a captured cell"
    if _named(profile, key).any() and SteadySteps.of(profile).is_data[_named(profile, key)].all():
        return f"{text} names ops of tf.data, which work ahead of the steps; ask for 'input', the wait for them"
    kind, _, rest = key.partition(":")
    if kind in ("layer", "type", "line") and rest:
        return f"no node that ran in a step is of the {kind} {shortened(repr(rest), 60)}; see the views"
    return (
        f"no node that ran in a step is named {text} as a whole; a key is a regex such as '.*{shortened(key, 40)}.*', "
        "or 'layer:NAME', 'type:OP', 'line:FILE:N', 'input', 'python'"
    )


def _named(profile: ProfileData, key: str) -> Flags:
    """The nodes that a key is about; a node that was fused into another one counts as that."""
    kind, _, rest = key.partition(":")
    if key == INPUT_KEY:
        found: Flags = node_layers(profile).role == INPUT
        return found & ~SteadySteps.of(profile).is_data
    if kind == "layer" and rest:
        return _of_layer(profile, rest)
    if kind == "type" and rest:
        return _of_type(profile, rest)
    if kind == "line" and rest:
        return _of_line(profile, rest)
    found = Names(profile.nodes.names).matching("a key of what_if", [key])
    inner, kernels = fused_nodes(profile)
    found[kernels[found[inner]]] = True
    return found


def fused_nodes(profile: ProfileData) -> tuple[Integers, Integers]:
    """The nodes that ran as part of another one, and beside each the node whose fused kernel stands for it.

    >>> from tfprof_widget.demo import demo_profile
    >>> (inner, kernels), names = fused_nodes(demo_profile()), demo_profile().nodes.names
    >>> names[inner[1]], names[kernels[1]]
    ('layer1/BiasAdd', 'layer1/Relu')
    """
    edges = NodeEdges.of(profile)
    ops, names = profile.nodes.ops, profile.nodes.names
    is_fused = np.array([FUSED in op for op in ops], np.bool_)[profile.nodes.op]
    fused = {name for name, kernel in profile.kernels.items() if "Fused" in kernel.op}
    is_fused |= np.array([name in fused for name in names], np.bool_)
    inner = is_fused[edges.skipped_by]
    return edges.skipped[inner], edges.skipped_by[inner]


def _of_layer(profile: ProfileData, name: str) -> Flags:
    layers = node_layers(profile)
    chosen = np.array([each == name for each in layers.names], np.bool_)
    for row, above in enumerate(layers.parent.tolist()):  # in preorder: what is above comes first
        chosen[row] |= above != ABSENT and chosen[above]
    found: Flags = np.append(chosen, False)[layers.layer]
    return found


def _of_type(profile: ProfileData, op: str) -> Flags:
    nodes = profile.nodes
    found = np.array([op == each or op in each.split(FUSED) for each in nodes.ops], np.bool_)[nodes.op]
    kernels = {name for name, kernel in profile.kernels.items() if kernel.op == op}
    return found | np.array([name in kernels for name in nodes.names], np.bool_)


def _of_line(profile: ProfileData, place: str) -> Flags:
    """The nodes whose stack passes through a line of a file, which is named by the end of its path."""
    file, _, line = place.rpartition(":")
    if not file or not line.isdigit():
        raise value_error(f"{shortened(repr(f'line:{place}'), 60)} names no line; write it as 'line:train.py:7'")
    traces = profile.traces
    is_file = np.array([each == file or each.endswith(f"/{file}") for each in traces.strings], np.bool_)
    frames = np.flatnonzero(is_file[traces.file] & (traces.line == int(line))) if len(traces.line) else np.zeros(0)
    stacks = np.isin(traces.stacks.values, frames)
    through = np.zeros(len(traces.stacks) + 1, np.bool_)
    through[np.repeat(np.arange(len(traces.stacks)), np.diff(traces.stacks.start))[stacks]] = True
    found: Flags = through[stacks_of_nodes(profile)]
    return found
