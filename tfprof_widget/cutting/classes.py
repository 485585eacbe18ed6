"""Which nodes may be put together: those that no view but that of the graph could tell apart but by their names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.code import forward_name
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Flags, Indices, Integers

Hashes = NDArray[np.uint64]


class Precision(NamedTuple):
    """What is the same for all nodes put together beside op, types and device: the code, and the runs in each step."""

    code: bool
    runs: bool


EXACT = Precision(code=True, runs=True)
# Tried in turn: where nearly every node has a stack of its own, or ran in steps of its own, nothing would fit.
PRECISIONS = (EXACT, Precision(code=False, runs=True), Precision(code=False, runs=False))


def node_classes(profile: Profile, in_tree: Flags, forward: Indices, precision: Precision) -> Integers:
    """A number for each node; nodes of the same number have the same op, types, device, code and runs in each step.

    Means over steps then add up, whatever steps are chosen. `in_tree` are the nodes that the graph view reaches and
    `forward` those that gradients belong to.
    """
    nodes = profile.nodes
    columns: list[NDArray[Any]] = [
        nodes.op,
        nodes.device,
        _types(profile),
        in_tree.astype(np.int64),
    ]
    if precision.code:
        columns += [*_code(profile, forward)]
    columns.append(_runs(profile) if precision.runs else _has_run(profile))
    return _combined(columns)


def forward_nodes(profile: Profile) -> Indices:
    """The forward node of each gradient as the code view has it, ABSENT for one without, -2 for what is no gradient."""
    names, traces = profile.nodes.names, profile.traces
    forward = np.full(len(names), -2, np.int32)
    wanted = {
        row: after for row, name in enumerate(names) if "_grad/" in name and (after := forward_name(name)) is not None
    }
    row_of = {name: row for row, name in enumerate(names)} if wanted else {}
    for row, name in wanted.items():
        forward[row] = row_of.get(name, ABSENT)
    for row, node in traces.forward.items():
        forward[row] = node
    # A gradient has no place below another gradient's.
    below = forward >= 0
    below[below] = forward[forward[below]] != -2
    forward[below] = ABSENT
    return forward


def _code(profile: Profile, forward: Indices) -> tuple[Integers, Integers]:
    """Where a node is in the code view: the stack, and whether it is there as a gradient."""
    stack = profile.traces.stack.astype(np.int64)
    is_gradient = forward != -2
    placed = np.where(stack >= 0, np.where(is_gradient & (forward < 0), ABSENT, stack[np.maximum(forward, 0)]), ABSENT)
    return np.where(is_gradient, placed, stack), is_gradient.astype(np.int64)


def _types(profile: Profile) -> Hashes:
    """A number for the set of a node's types."""
    types = profile.nodes.types
    owner = np.repeat(np.arange(len(types)), np.diff(types.start))
    return _hashed(owner, types.values, np.ones(len(owner), np.uint64), len(types))


def _runs(profile: Profile) -> Hashes:
    """A number for the steps in which a node was seen, and how often it ran in each if it has float operations."""
    totals, nodes = profile.step_totals, profile.nodes
    counts = np.where(nodes.float_ops[totals.node] != 0, totals.run_count + 1, 1)
    return _hashed(totals.node, totals.step, counts.astype(np.uint64), len(nodes))


def _has_run(profile: Profile) -> Flags:
    seen = np.zeros(len(profile.nodes), np.bool_)
    seen[profile.step_totals.node] = True
    return seen


def _hashed(owner: NDArray[np.integer], member: NDArray[np.integer], count: Hashes, owners: int) -> Hashes:
    """A number of 64 bits for each owner's members with their counts; different ones meet once in 2**64 pairs."""
    random = np.random.default_rng(20)
    factors = random.integers(0, 2**64, int(member.max(initial=0)) + 1, np.uint64) | np.uint64(1)
    sums = np.zeros(owners, np.uint64)
    np.add.at(sums, owner, factors[member] * count)
    return sums


def _combined(columns: list[NDArray[Any]]) -> Integers:
    """A number for each distinct row of some columns."""
    combined = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        if count * len(values) >= 2**62:
            distinct, combined = np.unique(combined, return_inverse=True)
            count = len(distinct)
        combined = combined * len(values) + index
        count *= len(values)
    distinct, found = np.unique(combined, return_inverse=True)
    return found.astype(np.int64)
