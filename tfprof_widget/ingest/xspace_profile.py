"""Makes one Profile of XSpaces and of the functions that ran while they were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.collector import collector_paused
from tfprof_widget.ingest.graph_def import GraphColumns, read_graph
from tfprof_widget.ingest.op_log import Stacks
from tfprof_widget.ingest.run_metadata import RunColumns, may_be_node
from tfprof_widget.ingest.shapes import Shapes
from tfprof_widget.ingest.tf_functions import NO_WORDS, Words, read_functions
from tfprof_widget.ingest.wire import as_sealed
from tfprof_widget.ingest.xspace import Step, read_xspace
from tfprof_widget.ingest.xspace_names import ExecutedNames
from tfprof_widget.profiles import Profile


@dataclass(frozen=True)
class Trace:
    """An XSpace (a message or its bytes) and the steps that it holds; a step is in one trace only."""

    xspace: Any
    steps: Sequence[Step] = ()


def profile_of_functions(
    functions: Iterable[tuple[str, Any]], traces: Iterable[Trace], words: Words = NO_WORDS
) -> tuple[Profile, int]:
    """The profile of what the traces hold, and how many events TensorFlow dropped.

    `functions` are the FuncGraphs by the runtime's names for them.

    >>> profile_of_functions([], [Trace(b"")])
    (Profile(0 nodes, 0 executions, 0 steps), 0)
    """
    shapes, stacks = Shapes(), Stacks()
    with collector_paused():
        graphs = read_functions(functions, stacks, words)
        sealed = as_sealed(graphs.definition, "GraphDef", "graph")
        columns = read_graph(sealed, shapes)
        runs: list[tuple[int, RunColumns]] = []
        ops: dict[str, str] = {}
        variants: dict[str, str] = {}
        names: dict[int, str] = {}
        dropped = 0
        for trace in traces:
            read = read_xspace(trace.xspace, trace.steps, ExecutedNames(graphs.nodes, graphs.layers), ops)
            runs += read.runs
            ops = read.ops
            variants |= read.variants
            dropped += read.dropped
            names.update({step.number: step.name for step in trace.steps})
        _take_executed(columns, ops, variants)
        stack, forward = graphs.op_log.stack, graphs.op_log.forward
        stack.update({name: stack[node] for name, node in variants.items() if node in stack})
        forward.update({name: forward[node] for name, node in variants.items() if node in forward})
        return assemble(columns, runs, names, [graphs.op_log], shapes.known, stacks, (sealed,)), dropped


def _take_executed(columns: GraphColumns, ops: Mapping[str, str], variants: Mapping[str, str]) -> None:
    """Give nodes the type of the kernel that ran for them, such as a fused one, and add those that no graph has."""
    row_of = {name: row for row, name in enumerate(columns.names)}
    for name, op in ops.items():
        row = row_of.get(name)
        if row is not None:
            columns.ops[row] = op
        elif may_be_node(name):
            columns.add(name, op)
            original = row_of.get(variants.get(name, ""))
            if original is not None:
                columns.inputs[-1] = columns.inputs[original]
                columns.output_shapes[-1] = columns.output_shapes[original]
