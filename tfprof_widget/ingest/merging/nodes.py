"""Joins the nodes and stacks of several profiles by a fixed rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfprof_widget.ingest.merging.executions import MergedRecordings, recode, union_of
from tfprof_widget.ingest.parts.nodes import parameters_of, types_of
from tfprof_widget.lib.arrays import ABSENT, Indices, Integers
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.devices import canonical
from tfprof_widget.profiles.tables import CodeStacks, Executions, Lists, Nodes, OtherStacks

NOT_KNOWN = np.iinfo(np.int64).max
Item = tuple[int, ...]


def merged_nodes(
    profiles: Sequence[ProfileTables],
    names: tuple[str, ...],
    rows: Sequence[Indices],
    shapes: tuple[tuple[int, ...], ...],
    shape_codes: Sequence[Indices],
    devices: tuple[str, ...],
    found: MergedRecordings,
) -> Nodes:
    """The merged table of nodes, with one node for each name."""
    tables = [profile.nodes for profile in profiles]
    ops, op = _ops(tables, names, rows)
    shape = _smallest(
        [recode(table.shape, code).astype(np.int64) for table, code in zip(tables, shape_codes, strict=True)],
        rows,
        len(names),
    )
    # All devices that are some worker's own device of a node.
    node, device = _places(found.recorded.executions, devices).T
    own = _first_own(found.own_device, len(names))
    told = _told_devices(tables, rows, devices, len(names))
    only_told = np.flatnonzero((own == ABSENT) & (told != ABSENT))
    own[only_told] = told[only_told]
    placed = np.concatenate([node, only_told]), np.concatenate([device, own[only_told]])
    type_names, types = types_of(ops, op, devices, placed, _told_types(profiles, rows))
    inputs = _lists(
        [
            _items(table.inputs, recode(table.inputs.values, row), table.input_ports)
            for table, row in zip(tables, rows, strict=True)
        ],
        rows,
        len(names),
        _goodness_of_inputs,
    )
    output_shapes = _lists(
        [
            _items(table.output_shapes, recode(table.output_shapes.values, code))
            for table, code in zip(tables, shape_codes, strict=True)
        ],
        rows,
        len(names),
        _goodness_of_shapes,
    )
    known_shape = np.where(shape == NOT_KNOWN, ABSENT, shape).astype(np.int32)
    return Nodes(
        names=names,
        ops=ops,
        op=op,
        type_names=type_names,
        types=types,
        devices=devices,
        device=own,
        shapes=shapes,
        shape=known_shape,
        output_shapes=_column_of(output_shapes, 0)[0],
        inputs=_column_of(inputs, 0)[0],
        input_ports=_column_of(inputs, 1)[1],
        parameters=parameters_of(names, known_shape, shapes),
        float_ops=_most_float_ops(tables, rows, len(names), exact=True),
        identity=_identity(tables, names),
        native_float_ops=None
        if all(table.native_float_ops is None for table in tables)
        else _most_float_ops(tables, rows, len(names), exact=False),
    )


def _identity(tables: Sequence[Nodes], names: tuple[str, ...]) -> Indices:
    """The numbers of the nodes if all profiles agree on them, else numbers in the order of names."""
    first = tables[0].identity
    if all(table.names == names and np.array_equal(table.identity, first) for table in tables):
        return first
    return np.arange(len(names), dtype=np.int32)


def _ops(tables: Sequence[Nodes], names: tuple[str, ...], rows: Sequence[Indices]) -> tuple[tuple[str, ...], Indices]:
    """The op of each node; an op that equals the node's name is only used if no other is known."""
    ops, codes = union_of([table.ops for table in tables])
    columns = []
    for table, code in zip(tables, codes, strict=True):
        nameless = np.fromiter(
            (table.ops[op] == name for op, name in zip(table.op.tolist(), table.names, strict=True)),
            np.bool_,
            len(table),
        )
        columns.append(code[table.op].astype(np.int64) + nameless * len(ops))
    best = _smallest(columns, rows, len(names)) % max(len(ops), 1)
    used, op = np.unique(best, return_inverse=True)
    return tuple(ops[code] for code in used.tolist()), op.astype(np.int32)


def _smallest(columns: Sequence[Integers], rows: Sequence[Indices], count: int) -> Integers:
    """The smallest value that a table has for each node; ABSENT only if all tables have it."""
    best = np.full(count, NOT_KNOWN)
    for column, row in zip(columns, rows, strict=True):
        best[row] = np.minimum(best[row], np.where(column == ABSENT, NOT_KNOWN, column))
    return best


def _most_float_ops(tables: Sequence[Nodes], rows: Sequence[Indices], count: int, *, exact: bool) -> Integers:
    most = np.zeros(count, np.int64)
    for table, row in zip(tables, rows, strict=True):
        most[row] = np.maximum(most[row], table.float_ops_in(exact=exact))
    return most


def _first_own(own_device: Indices, count: int) -> Indices:
    """The own device of each node for the first worker that ran it."""
    device = np.full(count, ABSENT, np.int32)
    for own in own_device[::-1]:
        device = np.where(own == ABSENT, device, own)
    return device


def _told_devices(tables: Sequence[Nodes], rows: Sequence[Indices], devices: tuple[str, ...], count: int) -> Indices:
    """The device that the first profile tells of each node, even if it recorded no execution there."""
    code = {device: place for place, device in enumerate(devices)}
    found = np.full(count, ABSENT, np.int32)
    for table, row in zip(tables[::-1], rows[::-1], strict=True):
        known = np.flatnonzero(table.device != ABSENT)
        found[row[known]] = [code[table.devices[place]] for place in table.device[known].tolist()]
    return found


def _told_types(profiles: Sequence[ProfileTables], rows: Sequence[Indices]) -> set[tuple[int, str]]:
    """The types of nodes besides op and device."""
    return {
        (int(row[node]), profile.nodes.type_names[code])
        for profile, row in zip(profiles, rows, strict=True)
        for node, code in _own_types(profile).tolist()
    }


def _own_types(profile: ProfileTables) -> Integers:
    """Pairs of a node and a type that is neither its op nor a device that it ran on."""
    nodes = profile.nodes
    node = np.repeat(np.arange(len(nodes)), np.diff(nodes.types.start))
    code = nodes.types.values.astype(np.int64)
    type_code = {name: code for code, name in enumerate(nodes.type_names)}
    op_type = np.array([type_code.get(name, ABSENT) for name in nodes.ops], np.int64)
    device_type = np.array([type_code.get(name, ABSENT) for name in nodes.devices], np.int64)
    of_op = code == op_type[nodes.op][node] if len(nodes) else np.zeros(0, np.bool_)
    places = _places(profile.executions, nodes.devices)
    width = max(len(nodes.type_names), 1)
    of_device = np.isin(node * width + code, places[:, 0] * width + device_type[places[:, 1]])
    return np.stack([node, code], 1)[~(of_op | of_device)]


def _places(executions: Executions, devices: tuple[str, ...]) -> Integers:
    """Pairs of a node and its own device, from the executions there."""
    own = canonical(devices)[executions.device]
    keys = np.unique(executions.node[own].astype(np.int64) * max(len(devices), 1) + executions.device[own])
    return np.stack(np.divmod(keys, max(len(devices), 1)), 1)


def _items(lists: Lists, *columns: Indices) -> tuple[Integers, Integers]:
    """The starts of the lists, and their items, each a tuple with one number for each column."""
    return lists.start, np.stack([column.astype(np.int64) for column in columns], 1)


def _lists(
    parts: Sequence[tuple[Integers, Integers]],
    rows: Sequence[Indices],
    count: int,
    goodness: Callable[[Sequence[Item]], Any],
) -> tuple[Integers, Integers]:
    """The best list for each node among those of the profiles."""
    first = parts[0]
    if all(len(row) == count for row in rows) and all(
        np.array_equal(start, first[0]) and np.array_equal(items, first[1]) for start, items in parts[1:]
    ):
        return first
    best: list[list[Item] | None] = [None] * count
    for (start, items), row in zip(parts, rows, strict=True):
        told = [tuple(item) for item in items.tolist()]
        for node, begin, end in zip(row.tolist(), start[:-1].tolist(), start[1:].tolist(), strict=True):
            own, known = told[begin:end], best[node]
            if known is None or (own != known and goodness(own) < goodness(known)):
                best[node] = own
    lists = [each or [] for each in best]
    start = np.zeros(count + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=start[1:])
    flat = [item for each in lists for item in each]
    return start, np.array(flat, np.int64).reshape(len(flat), first[1].shape[1])


def _goodness_of_inputs(items: Sequence[Item]) -> Any:
    return (-len(items), sum(row == ABSENT for row, _ in items), items)


def _goodness_of_shapes(items: Sequence[Item]) -> Any:
    return (-sum(shape != ABSENT for (shape,) in items), -len(items), items)


def _column_of(lists: tuple[Integers, Integers], column: int) -> tuple[Lists, Indices]:
    values = lists[1][:, column].astype(np.int32)
    return Lists(lists[0], values), values


# A frame by its content: file, line, function, source and the function's line.
Frame = tuple[str, int, str, str, int]
Stack = tuple[Frame, ...]


def merged_traces(
    profiles: Sequence[ProfileTables], rows: Sequence[Indices], count: int, steps: Sequence[Indices]
) -> tuple[CodeStacks, OtherStacks]:
    """Each distinct frame and stack once; if profiles differ in a node's stack, the first in order counts.

    `steps` has the merged step of each step; nodes have their other stacks in these steps.
    """
    frames = [_frames(profile.traces) for profile in profiles]
    stacks = [_stacks(profile.traces, own) for profile, own in zip(profiles, frames, strict=True)]
    all_frames, frame_codes = union_of(frames)
    all_stacks, stack_codes = union_of(stacks)
    stack = np.full(count, len(all_stacks), np.int64)
    forward: dict[int, int] = {}
    live: set[int] = set()
    for profile, row, stack_code, frame_code in zip(profiles, rows, stack_codes, frame_codes, strict=True):
        told = profile.traces.stack
        known = np.flatnonzero(told >= 0)
        stack[row[known]] = np.minimum(stack[row[known]], stack_code[told[known]])
        for node, of in profile.traces.forward.items():
            forward[int(row[node])] = min(int(row[of]), forward.get(int(row[node]), count))
        live |= set(frame_code[sorted(profile.traces.live)].tolist())
    strings = tuple(sorted({text for file, _, function, source, _ in all_frames for text in (file, function, source)}))
    text_code = {text: code for code, text in enumerate(strings)}
    frame_place = {frame: place for place, frame in enumerate(all_frames)}
    start = np.zeros(len(all_stacks) + 1, np.int64)
    np.cumsum([len(each) for each in all_stacks], out=start[1:])
    merged = CodeStacks(
        strings=strings,
        string_numbers=np.arange(len(strings), dtype=np.int64),
        file=_column([text_code[frame[0]] for frame in all_frames]),
        line=_column([frame[1] for frame in all_frames]),
        function=_column([text_code[frame[2]] for frame in all_frames]),
        source=_column([text_code[frame[3]] for frame in all_frames]),
        function_line=_column([frame[4] for frame in all_frames]),
        stacks=Lists(start, _column([frame_place[frame] for each in all_stacks for frame in each])),
        stack=np.where(stack == len(all_stacks), ABSENT, stack).astype(np.int32),
        forward=dict(sorted(forward.items())),
        live=frozenset(live),
    )
    return merged, _merged_others(profiles, rows, steps, merged, stack_codes)


def _merged_others(
    profiles: Sequence[ProfileTables],
    rows: Sequence[Indices],
    steps: Sequence[Indices],
    merged: CodeStacks,
    stack_codes: Sequence[Indices],
) -> OtherStacks:
    """The other stacks of all profiles; a step that several profiles have is as in the last one that has others."""
    group = np.full(1 + max((int(each.max(initial=ABSENT)) for each in steps), default=ABSENT), ABSENT)
    of_groups: list[CodeStacks] = []
    for profile, row, step, code in zip(profiles, rows, steps, stack_codes, strict=True):
        others = profile.other_stacks
        known = np.flatnonzero(others.group != ABSENT)
        group[step[known]] = others.group[known] + len(of_groups)
        columns = {
            "node": row[others.node],
            "stack": recode(others.stack, code),
            "forward": recode(others.forward, row),
        }
        of_groups += replace(others, **columns).all_given_to(merged)
    return OtherStacks.beside(merged, group.tolist(), of_groups)


def _frames(traces: CodeStacks) -> list[Frame]:
    strings = traces.strings
    columns = (traces.file, traces.line, traces.function, traces.source, traces.function_line)
    return [
        (strings[file], line, strings[function], strings[source], function_line)
        for file, line, function, source, function_line in zip(*(each.tolist() for each in columns), strict=True)
    ]


def _stacks(traces: CodeStacks, frames: Sequence[Frame]) -> list[Stack]:
    return [tuple(frames[place] for place in traces.stacks[index].tolist()) for index in range(len(traces.stacks))]


def _column(values: Sequence[int]) -> Indices:
    return np.array(values, np.int32)
