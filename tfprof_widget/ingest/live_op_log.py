"""Builds for a live tf.Graph what an op log says: code traces, trainable variables and float operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tfprof_widget.errors import told, warn_user
from tfprof_widget.ingest.op_log import OpLogColumns, Stacks
from tfprof_widget.ingest.tf_flops import read_flops
from tfprof_widget.ingest.tf_graph import LiveGraph, read_trainable_variables
from tfprof_widget.ingest.tf_shapes import OutputShapes
from tfprof_widget.ingest.tf_traces import read_traces
from tfprof_widget.options import TRAINABLE_VARIABLES
from tfprof_widget.tables import ABSENT

Part = TypeVar("Part")


@dataclass(frozen=True)
class Reading:
    """How live graphs are read: who is told what is missing, and which ops of a graph were made by code that is kept.

    >>> Reading().kept("a graph")
    ()
    """

    note: Callable[[str], None] = warn_user
    kept: Callable[[Any], Sequence[range]] = lambda graph: ()


READING = Reading()


def live_op_log(
    graph: LiveGraph,
    completed: Mapping[str, OutputShapes],
    stacks: Stacks,
    reading: Reading = READING,
) -> OpLogColumns:
    """The op log of a tf.Graph; `completed` are shapes that the runs have filled in.

    What TensorFlow does not give is noted, and the rest is there.
    """

    def read(what: str, reader: Callable[[], Part], nothing: Part) -> Part:
        try:
            return reader()
        except Exception as error:  # of TensorFlow's, or of formulas registered with it
            reading.note(f"{what} of a graph are missing, for they could not be read ({told(error)})")
            return nothing

    no_variables: tuple[str, ...] = ()
    variables = read("the trainable variables", lambda: read_trainable_variables(graph.graph), no_variables)
    return OpLogColumns(
        types={name: [TRAINABLE_VARIABLES] for name in variables},
        float_ops=read("the float operations that TensorFlow counts", lambda: read_flops(graph, completed), {}),
        stack=read("the lines of code", lambda: _stacks(graph, stacks, reading), {}),
    )


def _stacks(graph: LiveGraph, stacks: Stacks, reading: Reading) -> dict[str, int]:
    traces = read_traces(graph.operations, reading.note, reading.kept(graph.graph))
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
