"""Makes the tables of a cut profile, with the exact totals of the whole one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tfprof_widget.analysis.cluster.clocks import aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData, ProfileTables, lists_taken, rows_taken
from tfprof_widget.profiles.program import MovedBytes, NodeLayers
from tfprof_widget.profiles.tables import (
    STEP_SUMS,
    Allocations,
    CodeStacks,
    Executions,
    Lists,
    Nodes,
    Outputs,
    StepTotals,
    Transfers,
)
from tfprof_widget.widget.cut_plan import Limits, Plan


@dataclass(frozen=True, eq=False)
class CutRows:
    """The nodes of a cut profile, sorted by name: each stands for one node (`is_kept`) or for several.

    `of_node` is the row of each node of the whole profile, `first` the first node of each row.
    """

    names: tuple[str, ...]
    of_node: Integers
    first: Integers
    count: Integers
    is_kept: Flags
    float_ops: Integers

    def __len__(self) -> int:
        return len(self.names)


def rows_of(profile: ProfileData, tree: Tree, plan: Plan) -> CutRows:
    """The rows of a plan; the row of a group of one node has the node's name."""
    group, float_ops = _evenly_split(plan, profile)
    count = np.bincount(group)
    first = np.full(len(count), len(group), np.int64)
    np.minimum.at(first, group, np.arange(len(group)))
    alone = np.bincount(plan.group)[plan.group[first]] == 1
    place = plan.place[plan.group[first]].tolist()
    names = [profile.nodes.names[node] if one else "" for node, one in zip(first.tolist(), alone.tolist(), strict=True)]
    taken = set(names)
    for each in np.flatnonzero(~alone).tolist():
        scope = tree.names[place[each]] if place[each] else ""
        op = profile.nodes.ops[profile.nodes.op[first[each]]]
        names[each] = _free_name(scope, f"{count[each]:,} more {op.replace('/', '|')}", taken)
        taken.add(names[each])
    order = sorted(range(len(names)), key=names.__getitem__)
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    sorted_names = tuple([names[each] for each in order])
    return CutRows(sorted_names, row[group], first[order], count[order], alone[order], float_ops[order])


def merged_row_name(scope: str, what: str) -> str:
    """The name of a row that stands for several nodes; in TensorFlow, names of nodes have no blanks and brackets.

    >>> merged_row_name("tower_1/left", "1,234 more MatMul")
    'tower_1/left/(1,234 more MatMul)'
    """
    return f"{scope}/({what})" if scope else f"({what})"


def _free_name(scope: str, what: str, taken: set[str]) -> str:
    """A name that no other row has: rows of one op type in a scope may differ by device, code or steps."""
    name, number = merged_row_name(scope, what), 2
    while name in taken:
        name, number = merged_row_name(scope, f"{what}, {number}"), number + 1
    return name


def _evenly_split(plan: Plan, profile: ProfileData) -> tuple[Integers, Integers]:
    """The group of each node, and the float operations of each group for one execution of one node.

    A row costs these times its runs. All nodes of a group ran equally often, so the sum is exact if each node has the
    mean. Where the mean is no whole number, the group is split in two: some nodes have the whole number below the
    mean, the others the one above.
    """
    ran = np.zeros(plan.groups, np.bool_)
    ran[plan.group[profile.step_totals.node]] = True
    sums, count = np.zeros(plan.groups, np.int64), np.bincount(plan.group, minlength=plan.groups)
    np.add.at(sums, plan.group, profile.nodes.float_ops)
    whole, rest = np.divmod(sums, np.where(ran, count, 1))
    order = np.argsort(plan.group, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order)) - (np.cumsum(count) - count)[plan.group[order]]
    is_above = position < rest[plan.group]
    group = plan.group.copy()
    group[is_above] = (np.cumsum(rest > 0) - 1 + plan.groups)[plan.group[is_above]]
    return group, np.concatenate([whole, whole[rest > 0] + 1])


def merged_nodes(nodes: Nodes, rows: CutRows, graph: Tree) -> Nodes:
    """The table of nodes with a node for each row; one that stands for several has their sums, and no shapes."""
    parameters = np.zeros(len(rows), np.int64)
    np.add.at(parameters, rows.of_node, nodes.parameters)
    inputs, ports = _inputs(nodes, rows, graph)
    return replace(
        nodes,
        names=rows.names,
        op=nodes.op[rows.first],
        types=lists_taken(nodes.types, rows.first),
        device=nodes.device[rows.first],
        shape=np.where(rows.is_kept, nodes.shape[rows.first], ABSENT).astype(np.int32),
        output_shapes=lists_taken(nodes.output_shapes, rows.first, rows.is_kept),
        inputs=inputs,
        input_ports=ports,
        parameters=parameters,
        float_ops=rows.float_ops,
        native_float_ops=None,
        identity=np.argsort(np.argsort(nodes.identity[rows.first])).astype(np.int32),
    )


def merged_totals(profile: ProfileData, nodes: Nodes, rows: CutRows) -> StepTotals:
    """The sums of each row in each step in which one of its nodes was seen; `nodes` has the rows."""
    totals, steps = profile.step_totals, len(profile.steps)
    key = rows.of_node[totals.node] * steps + totals.step
    is_there = np.zeros(len(rows) * steps, np.bool_)
    is_there[key] = True
    keys = np.flatnonzero(is_there)
    slot = (np.cumsum(is_there) - 1)[key]
    sums = {name: _summed(getattr(totals, name), slot, len(keys)) for name in STEP_SUMS}
    started = np.flatnonzero(totals.start_micros > 0)
    first = np.full(len(keys), LARGEST_INTEGER)
    np.minimum.at(first, slot[started], totals.start_micros[started])
    first[first == LARGEST_INTEGER] = 0
    last = np.zeros(len(keys), np.int64)
    np.maximum.at(last, slot, totals.end_micros)
    row, step = np.divmod(keys, max(steps, 1))
    found = StepTotals(row.astype(np.int32), step.astype(np.int32), start_micros=first, end_micros=last, **sums)
    if totals.float_ops is None:
        return found
    return found.with_float_ops(_summed(totals.float_ops, slot, len(keys)), nodes)


def merged_layers(layers: NodeLayers, rows: CutRows) -> NodeLayers:
    """The layer and role of each row; where its nodes are in several layers, it is in none."""
    least, most = np.full(len(rows), LARGEST_INTEGER), np.full(len(rows), ABSENT)
    np.minimum.at(least, rows.of_node, layers.layer)
    np.maximum.at(most, rows.of_node, layers.layer)
    names, types, parent = layers.names, layers.types, layers.parent
    several = least != most
    if several.any():
        names, types, parent = (*names, SEVERAL_LAYERS), (*types, ""), np.append(parent, np.int32(ABSENT))
    layer = np.where(several, len(names) - 1, most).astype(np.int32)
    return NodeLayers(names, types, parent, layer, layers.role[rows.first])


def merged_moved(moved: MovedBytes, profile: ProfileData, rows: CutRows) -> MovedBytes:
    """What a run of each row moves in the mean of its nodes; all work of a row is known if that of all nodes is."""
    runs = np.zeros(len(rows.of_node), np.int64)
    np.add.at(runs, profile.step_totals.node, profile.step_totals.run_count)
    bytes_of_row, runs_of_row = np.zeros((2, len(rows)))
    np.add.at(bytes_of_row, rows.of_node, moved.of_one_run * runs.astype(np.float64))
    np.add.at(runs_of_row, rows.of_node, runs)
    is_known = np.ones(len(rows), np.bool_)
    np.logical_and.at(is_known, rows.of_node, moved.is_known | (runs == 0))
    return MovedBytes(np.rint(bytes_of_row / np.maximum(runs_of_row, 1)).astype(np.int64), is_known)


SEVERAL_LAYERS = "nodes of several layers"


def merged_traces(traces: CodeStacks, rows: CutRows, forward: Indices) -> CodeStacks:
    """The stack of each row; `forward` is what `forward_nodes` gives."""
    gradients = np.flatnonzero(forward >= 0)
    after = dict(zip(rows.of_node[gradients].tolist(), rows.of_node[forward[gradients]].tolist(), strict=True))
    lost = (forward == ABSENT)[rows.first] & ~rows.is_kept
    stack = np.where(lost, ABSENT, traces.stack[rows.first]).astype(np.int32)
    return replace(traces, stack=stack, forward=after)


def _summed(values: Integers, slot: Integers, slots: int) -> Integers:
    sums = np.zeros(slots, np.int64)
    if values.any():
        np.add.at(sums, slot, values)
    return sums


def _inputs(nodes: Nodes, rows: CutRows, graph: Tree) -> tuple[Lists, Indices]:
    """The inputs of each row, so that the graph view shows the rows whose nodes it showed, and no others.

    The graph view puts a row below the row from which it reached the first node. A kept node has its own inputs, but
    of the rows that stand for several nodes only those below it: with all of them there would be cycles, which the
    view leaves out. A row that the view did not reach becomes its own input: that cycle keeps it out of the view.
    """
    above = _rows_above(rows, graph)
    lists = lists_taken(nodes.inputs, rows.first, rows.is_kept)
    ports = lists_taken(Lists(nodes.inputs.start, nodes.input_ports), rows.first, rows.is_kept).values
    taker = np.repeat(np.arange(len(rows)), np.diff(lists.start))
    source = np.where(lists.values >= 0, rows.of_node[lists.values], ABSENT)
    source[~rows.is_kept[source] & (above[source] != taker)] = ABSENT
    reached = rows.of_node[graph.rows]
    order = np.sort(np.unique(reached, return_index=True)[1])
    below = reached[order]
    below = below[above[below] >= 0]
    below = below[~rows.is_kept[above[below]]]
    unreached = np.setdiff1d(np.arange(len(rows)), reached)
    added = np.concatenate([below, unreached])
    owner = np.concatenate([taker, above[below], unreached])
    by_owner = np.argsort(owner, kind="stable")
    values = np.concatenate([source, added])[by_owner].astype(np.int32)
    port = np.concatenate([ports, np.zeros(len(added), np.int32)])[by_owner].astype(np.int32)
    return Lists(prefix_sums(np.bincount(owner, minlength=len(rows))), values), port


def _rows_above(rows: CutRows, graph: Tree) -> Integers:
    """For each row, the row from which the graph view reaches its first node; ABSENT if there is none."""
    above = np.full(len(rows), ABSENT, np.int64)
    reached, first = np.unique(rows.of_node[graph.rows], return_index=True)
    parent = graph.parent[first + 1]  # the root, which is no node, is the first place
    is_inner = parent > 0
    above[reached[is_inner]] = rows.of_node[graph.rows[parent[is_inner] - 1]]
    return above


OfNodes = TypeVar("OfNodes", Executions, Transfers)
OfExecutions = TypeVar("OfExecutions", Allocations, Outputs)


def kept_executions(profile: ProfileData, limits: Limits, step: int) -> Integers:
    """The executions to keep, in their order: those of the wanted step, else of as many steps as fit.

    >>> from tfprof_widget.demo import demo_profile
    >>> demo = demo_profile()
    >>> len(kept_executions(demo, Limits(100, 100, 10, 10), -1)), len(demo.executions)
    (10, 30)
    """
    executions = profile.executions
    if len(executions) <= limits.executions:
        return np.arange(len(executions))
    room = limits.executions
    chosen: list[Integers] = []
    counts = np.bincount(executions.step, minlength=len(profile.steps))
    for each in _in_turn(profile.steps, step):
        if room >= counts[each]:
            chosen.append(np.flatnonzero(executions.step == each))
        elif not chosen:
            chosen.append(_longest(executions.duration_nanos, np.flatnonzero(executions.step == each), room))
        else:
            break
        room -= len(chosen[-1])
    return np.sort(np.concatenate(chosen))


def kept_allocations(profile: ProfileData, executions: Integers, limits: Limits) -> Integers:
    """The allocations that the kept executions made, the largest if there are too many."""
    is_kept = np.zeros(len(profile.executions), np.bool_)
    is_kept[executions] = True
    allocations = profile.allocations
    found = np.flatnonzero(is_kept[allocations.execution])
    if len(found) > limits.allocations:
        size = np.abs(allocations.bytes[found])
        found = np.sort(found[np.argpartition(-size, limits.allocations)[: limits.allocations]])
    return found


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The rows of each table that are kept, in their order."""

    executions: Integers
    allocations: Integers
    transfers: Integers

    @classmethod
    def of(cls, profile: ProfileData, limits: Limits, step: int) -> KeptRows:
        """Choose the rows within the limits: those of the wanted step, else of the first steps."""
        executions = kept_executions(profile, limits, step)
        allocations = kept_allocations(profile, executions, limits)
        transfers = _longest(profile.transfers.duration_nanos, np.arange(len(profile.transfers)), limits.transfers)
        return cls(executions, allocations, np.sort(transfers))

    def is_all(self, profile: ProfileData) -> bool:
        """Whether nothing is left out."""
        all_of_them = len(profile.executions), len(profile.allocations.bytes), len(profile.transfers)
        return all_of_them == (len(self.executions), len(self.allocations), len(self.transfers))


def recorded(profile: ProfileData, small: ProfileTables, rows: CutRows | None, kept: KeptRows) -> ProfileTables:
    """The small tables with the kept executions and transfers of the whole profile, by one clock.

    With `rows`, executions and transfers are those of the rows that stand for their nodes.
    """
    executions = kept.executions
    new = np.full(len(profile.executions), -1, np.int32)
    new[executions] = np.arange(len(executions))
    outputs = np.flatnonzero(new[profile.outputs.execution] >= 0)
    aligned = replace(profile.executions, start_nanos=aligned_start_nanos(profile))
    transfers = replace(profile.transfers, start_nanos=aligned_transfer_nanos(profile))
    return small.having(
        executions=_of_rows(rows_taken(aligned, executions), rows),
        outputs=_of_kept(rows_taken(profile.outputs, outputs), new),
        allocations=_of_kept(rows_taken(profile.allocations, kept.allocations), new),
        transfers=_of_rows(rows_taken(transfers, kept.transfers), rows),
        one_clock=True,
    )


def _in_turn(steps: tuple[int, ...], wanted: int) -> list[int]:
    """The indices of the steps that have the wanted number; if none has, those of all steps."""
    found = [index for index, number in enumerate(steps) if number == wanted]
    return found or list(range(len(steps)))


def _longest(nanos: Integers, found: Integers, room: int) -> Integers:
    if len(found) <= room:
        return found
    return found[np.argpartition(-nanos[found], room)[:room]]


def _of_kept(table: OfExecutions, new: Indices) -> OfExecutions:
    return replace(table, execution=new[table.execution])


def _of_rows(table: OfNodes, rows: CutRows | None) -> OfNodes:
    """The table with the row of each node in place of the node."""
    if rows is None:
        return table
    return replace(table, node=np.where(table.node >= 0, rows.of_node[table.node], ABSENT).astype(np.int32))
