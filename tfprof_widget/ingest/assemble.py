"""Assembles the columns that were read of graphs, runs and op logs into one Profile, by tfprof's rules."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.executions import join_runs
from tfprof_widget.ingest.graph_def import GraphColumns
from tfprof_widget.ingest.op_log import OpLogColumns, Stacks
from tfprof_widget.ingest.run_columns import RunColumns
from tfprof_widget.ingest.step_totals import add_up
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Indices, Integers, Lists, Nodes, Traces

LARGEST_PORT = 2**31 - 1
# Each scope has the whole name up to it, so that one name of many levels becomes as many long names.
MOST_SCOPE_CHARACTERS = 2**26
COMMON_LEVELS = 100


def assemble(
    columns: GraphColumns,
    runs: Sequence[tuple[int, RunColumns]],
    step_names: Mapping[int, str],
    op_logs: Sequence[OpLogColumns],
    shapes: Sequence[tuple[int, ...]],
    stacks: Stacks,
    graphs: tuple[Any, ...],
    *,
    misses_accelerator_stream: bool,
) -> Profile:
    """One profile of the nodes, the runs and the op logs; a node that only runs know is among `columns` already."""
    _check_levels(columns.names)
    order = sorted(range(len(columns.names)), key=columns.names.__getitem__)
    row_of = {columns.names[index]: row for row, index in enumerate(order)}
    joined = join_runs(runs, row_of)
    return Profile(
        nodes=_nodes(columns, order, row_of, op_logs, shapes, joined.devices, joined.node_device),
        steps=joined.steps,
        step_names=tuple(step_names.get(step, "") for step in joined.steps),
        executions=joined.recorded.executions,
        outputs=joined.recorded.outputs,
        allocations=joined.recorded.allocations,
        step_totals=add_up(joined.recorded.executions, joined.devices),
        traces=_traces(row_of, op_logs, stacks),
        graphs=graphs,
        misses_accelerator_stream=misses_accelerator_stream,
        runs=joined.runs,
    )


def _check_levels(names: Sequence[str]) -> None:
    """Refuse names so deep that their scopes would take all memory; what few levels graphs have costs nothing."""
    deepest, characters = "", 0
    for name in names:
        levels = name.count("/")
        if levels > COMMON_LEVELS:
            deepest = max(deepest, name, key=len)
            characters += levels * len(name) // 2
    if characters > MOST_SCOPE_CHARACTERS:
        raise ProfileError(
            f"graph: the names of its scopes would take {characters:,} characters, as nodes are up to "
            f"{deepest.count('/'):,} levels deep ({deepest[:60]!r}…); it is damaged, or its nodes need shorter names"
        )


def _nodes(
    columns: GraphColumns,
    order: list[int],
    row_of: Mapping[str, int],
    op_logs: Sequence[OpLogColumns],
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
        output_shapes=_lists([columns.output_shapes[index] for index in order]),
        inputs=inputs,
        input_ports=ports,
        parameters=parameters_of(names, shape, shapes),
        float_ops=_float_ops(row_of, op_logs),
        identity=np.array(order, np.int32),
    )


def _lists(lists: Sequence[Sequence[int]]) -> Lists:
    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=start[1:])
    return Lists(start, np.fromiter(chain.from_iterable(lists), np.int32, int(start[-1])))


def _inputs(inputs: list[list[str]], row_of: Mapping[str, int]) -> tuple[Lists, Indices]:
    """The sources of each node's inputs, and the outputs of them that are taken.

    An input is `name`, `name:port` or, for a control input, `^name`.
    """
    start = np.zeros(len(inputs) + 1, np.int64)
    np.cumsum([len(each) for each in inputs], out=start[1:])
    written = list(chain.from_iterable(inputs))
    rows = np.fromiter(map(row_of.get, written, repeat(ABSENT)), np.int32, len(written))
    ports = np.zeros(len(written), np.int32)
    for position in np.flatnonzero(rows == ABSENT).tolist():  # most inputs are plain names
        name, _, port = written[position].partition(":")
        rows[position] = row_of.get(name.removeprefix("^"), ABSENT)
        ports[position] = _port(port)
    return Lists(start, rows), ports


def _port(written: str) -> int:
    """The output that is meant; no node has more of them than fit the column, whatever damaged input says."""
    if not written.isdecimal():
        return 0
    return int(written) if len(written) < len(str(LARGEST_PORT)) else LARGEST_PORT


def _types(
    row_of: Mapping[str, int],
    ops: tuple[str, ...],
    op: Indices,
    devices: tuple[str, ...],
    device: Indices,
    op_logs: Sequence[OpLogColumns],
) -> tuple[tuple[str, ...], Lists]:
    """Each node's types: its op, its device and those of the op log; a dictionary in byte order and sets over it."""
    own = [
        (row_of[name], type_name)
        for op_log in op_logs
        for name, given in op_log.types.items()
        if name in row_of
        for type_name in given
    ]
    placed = np.flatnonzero(device >= 0)
    return types_of(ops, op, devices, (placed, device[placed]), own)


def types_of(
    ops: tuple[str, ...],
    op: Indices,
    devices: tuple[str, ...],
    places: tuple[NDArray[np.integer], NDArray[np.integer]],
    own: Collection[tuple[int, str]],
) -> tuple[tuple[str, ...], Lists]:
    """A dictionary of types in byte order, and each node's set: its op, its `places` on devices, and its `own`.

    >>> device = np.array([0])
    >>> names, types = types_of(("Add",), np.array([0, 0]), ("/cpu:0",), (np.array([1]), device), [(0, "mine")])
    >>> [[names[code] for code in types[node]] for node in range(2)]
    [['Add', 'mine'], ['/cpu:0', 'Add']]
    """
    node, device = places
    used_devices = {devices[code] for code in np.unique(device).tolist()}
    names = tuple(sorted({*ops, *used_devices, *(type_name for _, type_name in own)}))
    code_of = {name: code for code, name in enumerate(names)}
    op_codes = np.array([code_of[name] for name in ops], np.int64)
    device_codes = np.array([code_of.get(name, ABSENT) for name in devices], np.int64)
    rows = np.concatenate([np.arange(len(op)), node, [row for row, _ in own]]).astype(np.int64)
    codes = np.concatenate([op_codes[op], device_codes[device], [code_of[name] for _, name in own]])
    pairs = np.unique(rows * len(names) + codes.astype(np.int64))
    start = np.searchsorted(pairs, np.arange(len(op) + 1) * len(names))
    return names, Lists(start, (pairs % max(len(names), 1)).astype(np.int32))


def parameters_of(names: tuple[str, ...], shape: Indices, shapes: Sequence[tuple[int, ...]]) -> Integers:
    """How many parameters each node has: the product of its shape, 0 where that is not known in full."""
    sizes = [math.prod(known) if known and min(known) >= 0 else 0 for known in shapes]
    used = set(shape.tolist()) - {ABSENT}
    too_large = {code for code in used if sizes[code] > LARGEST_INTEGER}
    if too_large:
        row = next(row for row, code in enumerate(shape.tolist()) if code in too_large)
        raise ProfileError(
            f"graph: node {names[row]!r} has the shape {'x'.join(map(str, shapes[shape[row]]))}, whose product "
            "is more than 2**63 - 1 parameters; the graph is damaged"
        )
    counts = np.array([size if code in used else 0 for code, size in enumerate(sizes)] + [0], np.int64)
    parameters: Integers = counts[shape]
    return parameters


def _float_ops(row_of: Mapping[str, int], op_logs: Sequence[OpLogColumns]) -> Integers:
    counts = np.zeros(len(row_of), np.int64)
    for op_log in op_logs:
        for name, count in op_log.float_ops.items():
            if name in row_of:
                counts[row_of[name]] = count
    return counts


def _traces(row_of: Mapping[str, int], op_logs: Sequence[OpLogColumns], stacks: Stacks) -> Traces:
    """The stacks of the nodes; the first op log that has a node's trace counts."""
    stack = np.full(len(row_of), ABSENT, np.int32)
    for op_log in reversed(op_logs):
        for name, found in op_log.stack.items():
            if name in row_of:
                stack[row_of[name]] = found
    numbers = [number for number, _ in stacks.strings]
    if len(set(numbers)) < len(numbers):  # op logs that number their strings differently
        numbers = list(range(len(numbers)))
    frames = np.array(list(stacks.frames), np.int64).reshape(-1, 5).astype(np.int32)
    return Traces(
        strings=tuple(text for _, text in stacks.strings),
        string_numbers=np.array(numbers, np.int64),
        file=frames[:, 0],
        line=frames[:, 1],
        function=frames[:, 2],
        source=frames[:, 3],
        function_line=frames[:, 4],
        stacks=_lists(list(stacks.stacks)),
        stack=stack,
        forward={
            row_of[name]: row_of[of]
            for op_log in op_logs
            for name, of in op_log.forward.items()
            if name in row_of and of in row_of
        },
        live=frozenset(stacks.live),
    )
