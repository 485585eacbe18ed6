"""Makes the tables, runs stages over them, and makes the profile; no other module makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any

import numpy as np

from tfprof_widget.ingest.join import add_up, join_runs
from tfprof_widget.ingest.parts.nodes import NodeTable, parameters_of, types_of
from tfprof_widget.ingest.parts.runs import RunTable
from tfprof_widget.ingest.parts.stacks import NodeDetails, StackBuilder, StacksOfSteps, code_stacks, other_stacks
from tfprof_widget.ingest.parts.transfers import TransferRows
from tfprof_widget.lib.arrays import ABSENT, Indices, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import SealedGraph
from tfprof_widget.profiles.data import ProfileData, ProfileTables, table_values
from tfprof_widget.profiles.tables import Lists, Nodes, OtherGraphs, StepTotals

LARGEST_PORT = 2**31 - 1
# The name of a scope is the whole path to it, so one node name with many levels makes as many long scope names.
MOST_SCOPE_CHARACTERS = 2**26
COMMON_LEVELS = 100


Stage = Callable[[ProfileTables], ProfileTables]
"""A function that changes tables before a profile is made of them."""


def assemble(tables: ProfileTables, *stages: Stage) -> ProfileData:
    """Run the stages and make a profile of the last tables; without stages, a profile is returned as it is.

    >>> from tfprof_widget.demo import demo_profile
    >>> assemble(demo_profile(), lambda tables: tables.having(step_names=("train",))).step_names
    ('train',)
    """
    for stage in stages:
        tables = stage(tables)
    return tables if isinstance(tables, ProfileData) else ProfileData(**table_values(tables))


def tables_of(
    columns: NodeTable,
    runs: Sequence[tuple[int, RunTable]],
    step_names: Mapping[int, str],
    op_logs: Sequence[NodeDetails],
    shapes: Sequence[tuple[int, ...]],
    stacks: StackBuilder,
    transfers: TransferRows,
    stacks_of_steps: Sequence[StacksOfSteps] = (),
    graphs_of_steps: Mapping[int, SealedGraph] = MappingProxyType({}),
    float_ops: Mapping[tuple[str, int], int] = MappingProxyType({}),
    **others: Any,
) -> ProfileTables:
    """The tables of nodes, runs and op logs; `columns` also has the nodes that are in runs only.

    `graphs_of_steps` has, by step, nodes that are defined otherwise there; `float_ops` those of a node in a step.
    """
    _check_levels(columns.names)
    order = sorted(range(len(columns.names)), key=columns.names.__getitem__)
    row_of = {columns.names[index]: row for row, index in enumerate(order)}
    joined = join_runs(runs, row_of, columns.placed)
    nodes = _nodes(columns, order, row_of, op_logs, shapes, joined.devices, joined.node_device)
    traces = code_stacks(row_of, op_logs, stacks)
    totals = add_up(joined.recorded.executions, joined.devices, joined.node_device)
    return ProfileTables(
        nodes=nodes,
        steps=joined.steps,
        step_names=tuple(step_names.get(step, "") for step in joined.steps),
        executions=joined.recorded.executions,
        outputs=joined.recorded.outputs,
        allocations=joined.recorded.allocations,
        step_totals=_with_float_ops(totals, nodes, joined.steps, float_ops),
        traces=traces,
        other_stacks=other_stacks(row_of, joined.steps, traces, stacks_of_steps),
        other_graphs=_other_graphs(joined.steps, graphs_of_steps),
        transfers=transfers.joined(nodes.names, joined.steps),
        runs=joined.runs,
        **others,
    )


def _with_float_ops(
    totals: StepTotals, nodes: Nodes, steps: tuple[int, ...], float_ops: Mapping[tuple[str, int], int]
) -> StepTotals:
    """The totals with the float operations of nodes in steps, as far as they are told by step."""
    if not float_ops:
        return totals
    values = totals.float_ops_of(nodes)
    for row, (node, step) in enumerate(zip(totals.node.tolist(), totals.step.tolist(), strict=True)):
        values[row] = float_ops.get((nodes.names[node], steps[step]), values[row])
    return totals.with_float_ops(values, nodes)


def _other_graphs(steps: tuple[int, ...], graphs: Mapping[int, SealedGraph]) -> OtherGraphs:
    distinct = {id(graph): graph for graph in graphs.values()}
    code = {each: place for place, each in enumerate(distinct)}
    group = [code.get(id(graphs.get(step)), ABSENT) for step in steps]
    return OtherGraphs(np.array(group, np.int32), tuple((graph,) for graph in distinct.values()))


def _check_levels(names: Sequence[str]) -> None:
    """Refuse names with so many levels that their scopes would take all memory; names with few levels do not count."""
    deepest, characters = "", 0
    for name in names:
        levels = name.count("/")
        if levels > COMMON_LEVELS:
            deepest = max(deepest, name, key=len)
            characters += levels * len(name) // 2
    if characters > MOST_SCOPE_CHARACTERS:
        raise ProfileError(
            f"graph: the names of its scopes would take {characters:,} characters, as nodes are up to "
            f"{deepest.count('/'):,} levels deep ({deepest[:60]!r}…); "
            "the graph is damaged, or its nodes need shorter names"
        )


def _nodes(
    columns: NodeTable,
    order: list[int],
    row_of: Mapping[str, int],
    op_logs: Sequence[NodeDetails],
    shapes: Sequence[tuple[int, ...]],
    devices: tuple[str, ...],
    device: Indices,
) -> Nodes:
    inputs, ports = _inputs([columns.inputs[index] for index in order], row_of)
    ops = tuple(sorted(set(columns.ops)))
    op_code = {op: code for code, op in enumerate(ops)}
    op = np.array([op_code[columns.ops[index]] for index in order], np.int32)
    shape = np.array([columns.shape[index] for index in order], np.int32)
    type_names, types = _types(row_of, ops, op, devices, device, op_logs)
    names = tuple(columns.names[index] for index in order)
    return Nodes(
        names=names,
        ops=ops,
        op=op,
        type_names=type_names,
        types=types,
        devices=devices,
        device=device,
        shapes=tuple(shapes),
        shape=shape,
        output_shapes=Lists.of([columns.output_shapes[index] for index in order]),
        inputs=inputs,
        input_ports=ports,
        parameters=parameters_of(names, shape, shapes),
        float_ops=_float_ops(row_of, op_logs),
        identity=np.array(order, np.int32),
    )


def _inputs(inputs: list[list[str]], row_of: Mapping[str, int]) -> tuple[Lists, Indices]:
    """The source of each input of each node, and which output of the source the input takes.

    An input is `name`, `name:port` or, for a control input, `^name`, which takes no output.
    """
    start = np.zeros(len(inputs) + 1, np.int64)
    np.cumsum([len(each) for each in inputs], out=start[1:])
    written = list(chain.from_iterable(inputs))
    rows = np.fromiter(map(row_of.get, written, repeat(ABSENT)), np.int32, len(written))
    ports = np.zeros(len(written), np.int32)
    for position in np.flatnonzero(rows == ABSENT).tolist():  # most inputs are plain names
        name, _, port = written[position].partition(":")
        rows[position] = row_of.get(name.removeprefix("^"), ABSENT)
        ports[position] = ABSENT if name.startswith("^") else _port(port)
    return Lists(start, rows), ports


def _port(written: str) -> int:
    """The number of an output; no node has more outputs than 32 bits can count, so larger numbers are damage."""
    if not written.isdecimal():
        return 0
    return int(written) if len(written) < len(str(LARGEST_PORT)) else LARGEST_PORT


def _types(
    row_of: Mapping[str, int],
    ops: tuple[str, ...],
    op: Indices,
    devices: tuple[str, ...],
    device: Indices,
    op_logs: Sequence[NodeDetails],
) -> tuple[tuple[str, ...], Lists]:
    """The types of each node: its op, its device and those of the op log, as sets of indices into a sorted list."""
    own = [
        (row_of[name], type_name)
        for op_log in op_logs
        for name, given in op_log.types.items()
        if name in row_of
        for type_name in given
    ]
    placed = np.flatnonzero(device >= 0)
    return types_of(ops, op, devices, (placed, device[placed]), own)


def _float_ops(row_of: Mapping[str, int], op_logs: Sequence[NodeDetails]) -> Integers:
    counts = np.zeros(len(row_of), np.int64)
    for op_log in op_logs:
        for name, count in op_log.float_ops.items():
            if name in row_of:
                counts[row_of[name]] = count
    return counts
