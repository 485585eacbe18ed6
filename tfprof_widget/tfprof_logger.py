"""Writes the op log of a live tf.Graph, as native tfprof does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfprof_widget.ingest.live.graph import (
    LiveGraph,
    completed_output_shapes,
    default_graph,
    is_tf_graph,
    read_tf_graph,
    read_trainable_variables,
)
from tfprof_widget.ingest.live.op_log import read_flops
from tfprof_widget.ingest.live.stacks import read_traces
from tfprof_widget.ingest.run_metadata import RunDetails, read_run
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import CodeDef, OpLogEntry, OpLogProto, as_message, as_sealed
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.urls import joined
from tfprof_widget.model_analyzer import _has_content
from tfprof_widget.profiles.options import TRAINABLE_VARIABLES
from tfprof_widget.profiles.tables import CodeStacks

REGISTERED_FLOP_STATS = "flops"
"""The name under which TensorFlow registers the formulas of float operations."""


def merge_default_with_oplog(
    graph: Any, op_log: Any = None, run_meta: Any = None, add_trace: bool = True, add_trainable_var: bool = True
) -> OpLogProto:
    """The op log that native tfprof writes for the graph; shapes that FLOPs need are completed from `run_meta`.

    What `op_log` says of a node takes precedence. The strings of `op_log`, which native drops, are kept. Without a
    `graph`, it is that of the default graph, or empty if there is none.

    >>> merge_default_with_oplog("graph.pb")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: merge_default_with_oplog: graph is no tf.Graph but str; ...
    """
    if graph is None and default_graph() is None:
        return OpLogProto()
    live = read_tf_graph(_graph_to_log(graph, "merge_default_with_oplog"))
    completed = {}
    if _has_content(run_meta):
        details = RunDetails(keeps_shapes=True)
        read_run(as_sealed(run_meta, "RunMetadata", "run_meta"), details)
        completed = completed_output_shapes(live, details.shapes)
    traces = read_traces(live.operations if add_trace else ())
    entries = _given(op_log, len(traces.strings))
    merged = {entry.name: entry for entry in entries.log_entries}
    trainable = read_trainable_variables(live.graph) if add_trainable_var else ()
    for entry in _logged(live, read_flops(live, completed), traces, trainable):
        if entry.name in merged:
            _merge(merged[entry.name], entry)
        else:
            merged[entry.name] = entry
    return OpLogProto(
        log_entries=merged.values(),
        id_to_string={**entries.id_to_string, **dict(enumerate(traces.strings))},
    )


def _given(op_log: Any, first: int) -> OpLogProto:
    """A copy of the user's op log, with its strings numbered from `first` on."""
    copy = OpLogProto()
    if op_log is None:
        return copy
    copy.MergeFromString(as_message(op_log, "OpLogProto", "op_log").SerializeToString())
    numbers = {old: first + place for place, old in enumerate(sorted(copy.id_to_string))}
    renumbered = {numbers[old]: text for old, text in copy.id_to_string.items()}
    copy.ClearField("id_to_string")
    copy.id_to_string.update(renumbered)
    for entry in copy.log_entries:
        for trace in entry.code_def.traces if entry.HasField("code_def") else ():
            trace.file_id = numbers.get(trace.file_id, 0)
            trace.function_id = numbers.get(trace.function_id, 0)
            trace.line_id = numbers.get(trace.line_id, 0)
    return copy


def _logged(
    live: LiveGraph, float_ops: Mapping[str, int], traces: CodeStacks, trainable: Iterable[str]
) -> Iterable[OpLogEntry]:
    """An entry for each node that has something to log, in the order of the graph; variables come last."""
    codes = _codes(traces)
    logged: dict[str, OpLogEntry] = {}
    of_node: Sequence[int] = traces.stack.tolist() or [ABSENT] * len(live.operations)
    for operation, stack in zip(live.operations, of_node, strict=True):
        name = operation.name
        if stack != ABSENT:
            logged[name] = OpLogEntry(name=name, float_ops=float_ops.get(name, 0), code_def=codes[stack])
        elif name in float_ops or len(traces.stack):
            logged[name] = OpLogEntry(name=name, float_ops=float_ops.get(name, 0))
    for name in trainable:
        logged.setdefault(name, OpLogEntry(name=name)).types.append(TRAINABLE_VARIABLES)
    return logged.values()


def _codes(traces: CodeStacks) -> list[CodeDef]:
    """A message for each distinct stack."""
    columns = (traces.file, traces.line, traces.function, traces.source, traces.function_line)
    fields = ("file_id", "lineno", "function_id", "line_id", "func_start_line")
    frames = [
        CodeDef.Trace(**dict(zip(fields, frame, strict=True)))
        for frame in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return [
        CodeDef(traces=[frames[frame] for frame in traces.stacks[stack].tolist()])
        for stack in range(len(traces.stacks))
    ]


def _merge(given: OpLogEntry, logged: OpLogEntry) -> None:
    given.types.extend(logged.types)
    given.float_ops = given.float_ops or logged.float_ops
    if not given.code_def.traces and logged.HasField("code_def"):
        given.code_def.CopyFrom(logged.code_def)


OP_LOG_NAME = "tfprof_log"


def write_op_log(
    graph: Any, log_dir: str | os.PathLike[str], op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Write the op log of a tf.Graph to `tfprof_log` in a directory, so that a profile can be made elsewhere.

    It has the stack that made each node, unless `add_trace` is false; float operations, with shapes completed from
    `run_meta`; trainable variables; and what `op_log` says, such as types of your own. Without a `graph`, the default
    graph is written.

    >>> write_op_log("graph.pb", "/tmp")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: write_op_log: graph is no tf.Graph but str; ...
    """

    written = merge_default_with_oplog(_graph_to_log(graph, "write_op_log"), op_log, run_meta, add_trace)
    write_whole(joined(log_dir, OP_LOG_NAME), written.SerializeToString())


def _graph_to_log(graph: Any, function: str) -> Any:
    """The graph, or the default graph if it is None; `function` is named where it is no tf.Graph."""
    graph = graph if graph is not None else default_graph()
    if not is_tf_graph(graph):
        raise ProfileError(
            f"{function}: graph is no tf.Graph but {type(graph).__name__}; give a tf.Graph, such as session.graph: "
            "a file has no stacks and variables"
        )
    return graph
