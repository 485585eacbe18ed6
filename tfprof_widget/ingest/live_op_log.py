"""Builds for a live tf.Graph what an op log says: code traces, trainable variables and float operations."""

from __future__ import annotations

from collections.abc import Mapping

from tfprof_widget.ingest.op_log import OpLogColumns, Stacks
from tfprof_widget.ingest.tf_flops import read_flops
from tfprof_widget.ingest.tf_graph import LiveGraph, read_trainable_variables
from tfprof_widget.ingest.tf_shapes import OutputShapes
from tfprof_widget.ingest.tf_traces import read_traces
from tfprof_widget.options import TRAINABLE_VARIABLES
from tfprof_widget.tables import ABSENT


def live_op_log(graph: LiveGraph, completed: Mapping[str, OutputShapes], stacks: Stacks) -> OpLogColumns:
    """The op log of a tf.Graph; `completed` are shapes that the runs have filled in."""
    return OpLogColumns(
        types={name: [TRAINABLE_VARIABLES] for name in read_trainable_variables(graph.graph)},
        float_ops=read_flops(graph, completed),
        stack=_stacks(graph, stacks),
    )


def _stacks(graph: LiveGraph, stacks: Stacks) -> dict[str, int]:
    traces = read_traces(graph.operations)
    strings = [stacks.string(number, text) for number, text in enumerate(traces.strings)]
    frames = [
        stacks.frame((strings[file], line, strings[function], strings[source], start))
        for file, line, function, source, start in zip(
            traces.file.tolist(),
            traces.line.tolist(),
            traces.function.tolist(),
            traces.source.tolist(),
            traces.function_line.tolist(),
            strict=True,
        )
    ]
    stacks.live.update(frames)
    known = [
        stacks.stack(tuple(frames[frame] for frame in traces.stacks[stack].tolist()))
        for stack in range(len(traces.stacks))
    ]
    names = [operation.name for operation in graph.operations]
    return {name: known[stack] for name, stack in zip(names, traces.stack.tolist(), strict=True) if stack != ABSENT}
