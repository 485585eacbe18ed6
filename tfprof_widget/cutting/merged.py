"""The tables of nodes, step totals and traces of a cut profile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tfprof_widget.cutting.rows import Rows
from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.tables import ABSENT, STEP_SUMS, Flags, Indices, Integers, Lists, Nodes, StepTotals, Traces


def merged_nodes(nodes: Nodes, rows: Rows, graph: Tree) -> Nodes:
    """A node a row; one that stands for several has their op, device and types, their sums, and no shapes."""
    parameters = np.zeros(len(rows), np.int64)
    np.add.at(parameters, rows.of_node, nodes.parameters)
    inputs, ports = _inputs(nodes, rows, graph)
    return replace(
        nodes,
        names=rows.names,
        op=nodes.op[rows.first],
        types=_chosen(nodes.types, rows.first),
        device=nodes.device[rows.first],
        shape=np.where(rows.is_kept, nodes.shape[rows.first], ABSENT).astype(np.int32),
        output_shapes=_chosen(nodes.output_shapes, rows.first, rows.is_kept),
        inputs=inputs,
        input_ports=ports,
        parameters=parameters,
        float_ops=rows.float_ops,
        identity=np.argsort(np.argsort(nodes.identity[rows.first])).astype(np.int32),
    )


def merged_totals(totals: StepTotals, rows: Rows, steps: int) -> StepTotals:
    """The sums of each row in each step in which one of its nodes was seen."""
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
    return StepTotals(row.astype(np.int32), step.astype(np.int32), start_micros=first, end_micros=last, **sums)


def merged_traces(traces: Traces, rows: Rows, forward: Indices) -> Traces:
    """The stack of each row; `forward` are gradients' forward nodes, as `forward_nodes` has them."""
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


def _chosen(lists: Lists, which: Integers, filled: Flags | None = None) -> Lists:
    """Some of the lists, of which those not to be filled are empty."""
    length = np.diff(lists.start)[which]
    if filled is not None:
        length = np.where(filled, length, 0)
    start = prefix_sums(length)
    position = np.repeat(lists.start[which] - start[:-1], length) + np.arange(start[-1])
    return Lists(start, lists.values[position])


def _inputs(nodes: Nodes, rows: Rows, graph: Tree) -> tuple[Lists, Indices]:
    """The inputs of each row, so that the graph view of the rows reaches what that of the nodes does.

    A row is below that from which its first node was reached. A kept node has its own inputs; of the
    rows that stand for several only those below it, for with all there would be cycles, and those are not in the view.
    """
    above = _rows_above(rows, graph)
    lists = _chosen(nodes.inputs, rows.first, rows.is_kept)
    ports = _chosen(Lists(nodes.inputs.start, nodes.input_ports), rows.first, rows.is_kept).values
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


def _rows_above(rows: Rows, graph: Tree) -> Integers:
    """The row from whose node the first node of each row is reached in the graph view, ABSENT where there is none."""
    above = np.full(len(rows), ABSENT, np.int64)
    reached, first = np.unique(rows.of_node[graph.rows], return_index=True)
    parent = graph.parent[first + 1]  # the root, which is no node, is the first place
    is_inner = parent > 0
    above[reached[is_inner]] = rows.of_node[graph.rows[parent[is_inner] - 1]]
    return above
