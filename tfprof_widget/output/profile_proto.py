"""A profile as the ProfileProto in which native tfprof stores one: what `serialize_to_string` gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tfprof_widget.ingest.definitions import node_definitions
from tfprof_widget.messages import CodeDef, ProfileNode, ProfileProto
from tfprof_widget.output.step_protos import fill_steps, step_numbers
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT, Lists, Nodes, Traces

_GPU = re.compile(r"gpu:\d+", re.ASCII)


def profile_proto(profile: Profile) -> ProfileProto:
    """The message whose bytes native tfprof gives for the same graph, steps and op log.

    An input that the graph lacks, which native dies of, is left out. Steps of several workers are numbered anew, for
    native knows no workers; whose they are it says besides.

    >>> from tfprof_widget.demo import demo_profile
    >>> message = profile_proto(demo_profile())
    >>> message.has_trace, list(message.steps)
    (True, [0])
    """
    traces = profile.traces
    message = ProfileProto(
        has_trace=profile.has_traces,
        miss_accelerator_stream=profile.misses_accelerator_stream,
        steps=step_numbers(profile),
        step_workers=profile.step_workers,
        worker_steps=profile.steps if profile.step_workers else (),
        id_to_string=dict(zip(traces.string_numbers.tolist(), traces.strings, strict=True)),
    )
    rows = [message.nodes[number] for number in profile.nodes.identity.tolist()]
    _describe(rows, profile.nodes)
    _fill_inputs(rows, profile.nodes)
    _fill_shapes(rows, profile.nodes)
    _fill_traces(rows, traces)
    _fill_attributes(rows, profile)
    fill_steps(rows, profile)
    return message


def _describe(rows: list[ProfileNode], nodes: Nodes) -> None:
    columns = (nodes.identity, nodes.op, nodes.device, nodes.float_ops)
    values = zip(nodes.names, _each(nodes.types), *(column.tolist() for column in columns), strict=True)
    for row, (name, types, number, op, device, float_ops) in zip(rows, values, strict=True):
        row.name, row.op, row.id, row.float_ops = name, nodes.ops[op], number, float_ops
        row.op_types.extend([nodes.type_names[code] for code in types])
        if device != ABSENT:
            row.canonical_device = nodes.devices[device]
            row.host_device = _GPU.sub("cpu:0", nodes.devices[device])


def _fill_inputs(rows: list[ProfileNode], nodes: Nodes) -> None:
    numbers = nodes.identity.tolist()
    for row, sources in zip(rows, _each(nodes.inputs), strict=True):
        for index, source in enumerate(sources):
            if source != ABSENT:
                row.inputs[index] = numbers[source]
                row.src_output_index[numbers[source]] = 0  # native takes no other output of a source


def _fill_shapes(rows: list[ProfileNode], nodes: Nodes) -> None:
    for row, shape, outputs in zip(rows, nodes.shape.tolist(), _each(nodes.output_shapes), strict=True):
        if shape != ABSENT:
            row.shape.extend(nodes.shapes[shape])
        for index, output in enumerate(outputs):
            row.output_shapes[index].int64_values.extend(nodes.shapes[output])


def _fill_traces(rows: list[ProfileNode], traces: Traces) -> None:
    """Each distinct stack is made once, and copied to the nodes that were created in it."""
    frames = list(_frames(traces))
    stacks = [CodeDef(traces=[frames[frame] for frame in stack]) for stack in _each(traces.stacks)]
    for row, stack in zip(rows, traces.stack.tolist(), strict=True):
        if stack != ABSENT:
            row.trace.CopyFrom(stacks[stack])


def _frames(traces: Traces) -> Iterator[CodeDef.Trace]:
    numbers = [*traces.string_numbers.tolist(), 0]  # the last one for ABSENT
    columns = (traces.file, traces.line, traces.function, traces.source, traces.function_line)
    for file, line, function, source, start in zip(*(column.tolist() for column in columns), strict=True):
        yield CodeDef.Trace(
            file_id=numbers[file],
            lineno=line,
            function_id=numbers[function],
            line_id=numbers[source],
            func_start_line=start,
        )


def _fill_attributes(rows: list[ProfileNode], profile: Profile) -> None:
    """No column holds the attributes: they come from the graphs themselves."""
    row_of = dict(zip(profile.nodes.names, rows, strict=True))
    for node in node_definitions(profile.graphs):
        row_of[node.name].attrs.MergeFrom(node.attr)


def _each(lists: Lists) -> Iterator[list[int]]:
    values: list[int] = lists.values.tolist()
    return (values[start:end] for start, end in pairwise(lists.start.tolist()))
