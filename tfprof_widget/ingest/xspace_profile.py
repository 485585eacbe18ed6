"""Makes one Profile of XSpaces and of the functions that ran while they were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.collector import collector_paused
from tfprof_widget.ingest.devices import misses_streams
from tfprof_widget.ingest.executed_kernels import read_input_shapes
from tfprof_widget.ingest.graph_def import GraphColumns, read_graph
from tfprof_widget.ingest.live_op_log import READING, Reading
from tfprof_widget.ingest.op_log import Stacks
from tfprof_widget.ingest.run_columns import RunColumns
from tfprof_widget.ingest.run_metadata import may_be_node
from tfprof_widget.ingest.shapes import Shapes
from tfprof_widget.ingest.tensor_sizes import tensor_sizes
from tfprof_widget.ingest.tf_functions import CALLS, NO_WORDS, FunctionGraphs, Words, read_functions
from tfprof_widget.ingest.transfers import TransferRows
from tfprof_widget.ingest.wire import as_sealed
from tfprof_widget.ingest.xspace_columns import XSpaceColumns
from tfprof_widget.ingest.xspace_names import ExecutedNames, function_label
from tfprof_widget.ingest.xspace_runs import XSpaceRuns, is_compiled, named_runs
from tfprof_widget.ingest.xspace_transfers import named_transfers
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Kernel


def profile_of_functions(
    functions: Iterable[tuple[str, Any]],
    traces: Iterable[XSpaceColumns],
    words: Words = NO_WORDS,
    reading: Reading = READING,
) -> tuple[Profile, int]:
    """The profile of what the traces hold, and how many events TensorFlow dropped.

    `functions` are the FuncGraphs by the runtime's names for them; a step is in one trace only. What cannot be read of
    a function is noted.

    >>> from tfprof_widget.ingest.xspace import read_xspace
    >>> profile_of_functions([], [read_xspace(b"")])
    (Profile(0 nodes, 0 executions, 0 steps), 0)
    """
    shapes, stacks = Shapes(), Stacks()
    with collector_paused():
        graphs = read_functions(functions, stacks, words, reading)
        sealed = as_sealed(graphs.definition, "GraphDef", "graph")
        columns = read_graph(sealed, shapes)
        runs: list[tuple[int, RunColumns]] = []
        ops: dict[str, str] = {}
        variants: dict[str, str] = {}
        kernels: dict[str, Kernel] = {}
        names: dict[int, str] = {}
        executed: dict[str, None] = {}
        dropped = 0
        transfers = TransferRows()
        executed_names = ExecutedNames(graphs.nodes, graphs.layers)
        sizes = partial(tensor_sizes, columns=columns, shapes=shapes.known, graph=sealed)
        for trace in traces:
            named = named_runs(trace, executed_names, ops)
            for step, transfer in named_transfers(trace.exchanges, executed_names, sizes):
                transfers.add(step, [transfer])
            runs += named.runs
            ops = named.ops
            variants |= named.variants
            kernels = _kernels(named) | kernels
            dropped += trace.dropped
            names.update(trace.step_names)
            executed.update(dict.fromkeys(label.op for label in trace.labels if is_compiled(label)))
        _take_executed(columns, ops, variants)
        stack, forward = graphs.op_log.stack, graphs.op_log.forward
        stack.update({name: stack[node] for name, node in variants.items() if node in stack})
        forward.update({name: forward[node] for name, node in variants.items() if node in forward})
        misses = any(misses_streams(run.devices) for _, run in runs)
        profile = assemble(
            *(columns, runs, names, [graphs.op_log], shapes.known, stacks, (sealed,)), misses_accelerator_stream=misses
        )
        moved = transfers.joined(profile.nodes.names, profile.steps)
        compiled = _compiled(graphs, executed, ops)
        return replace(profile, kernels=kernels, compiled=compiled, transfers=moved), dropped


def _compiled(graphs: FunctionGraphs, executed: Iterable[str], ops: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The functions that XLA compiled, of those that were executed, each with the nodes of its ops."""
    nodes = {name: graphs.nodes.get(name, {name: function_label(name)}) for name in executed}
    called = {of_function[name]: frozenset(of_function.values()) for name, of_function in nodes.items()}
    found = {node: within - {node} for node, within in (graphs.compiled | called).items()}
    return {node: within for node, within in found.items() if ops.get(node) in CALLS}


def _kernels(named: XSpaceRuns) -> dict[str, Kernel]:
    """What ran for each node, with the shapes that it took in."""
    told = {written: read_input_shapes(written) for written in set(named.input_shapes.values())}
    return {node: Kernel(named.ops[node], input_shapes=told[written]) for node, written in named.input_shapes.items()}


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
