"""Finds what traces tell of the nodes of one graph: runs, transfers, kernels and places in the code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tfprof_widget.ingest.parts.names import (
    CALLS,
    ExecutedNames,
    may_be_node,
    python_name,
)
from tfprof_widget.ingest.parts.nodes import FunctionGraphs, NodeTable, Shapes
from tfprof_widget.ingest.parts.runs import RunTable
from tfprof_widget.ingest.parts.stacks import StacksOfSteps
from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.exchanges import named_transfers, tensor_sizes
from tfprof_widget.ingest.xspace.named_runs import resolved_runs
from tfprof_widget.ingest.xspace.reader import KernelOp, TraceTable
from tfprof_widget.lib.arrays import Integers
from tfprof_widget.lib.messages import SealedGraph, SealedNode
from tfprof_widget.profiles.data import FIRST
from tfprof_widget.profiles.devices import KernelRuns
from tfprof_widget.profiles.tables import ExecutedKernel


@dataclass(frozen=True)
class ResolvedTraces:
    """The content of traces, by the nodes of one graph; `ops` are those with kernels, with their float operations.

    `graphs_of_steps` has, by step, the nodes that the functions of this step define otherwise than the one graph does.
    """

    runs: list[tuple[int, RunTable]] = field(default_factory=list)
    step_names: dict[int, str] = field(default_factory=dict)
    transfers: list[tuple[int, Transfer]] = field(default_factory=list)
    kernels: dict[str, ExecutedKernel] = field(default_factory=dict)
    ops: dict[str, KernelOp] = field(default_factory=dict)
    compiled: dict[str, frozenset[str]] = field(default_factory=dict)
    stacks_of_steps: list[StacksOfSteps] = field(default_factory=list)
    kernel_runs: list[KernelRuns] = field(default_factory=list)
    graphs_of_steps: dict[int, SealedGraph] = field(default_factory=dict)
    float_ops: Counter[tuple[str, int]] = field(default_factory=Counter)


def costs_of_functions(traces: Iterable[TraceTable]) -> dict[str, float]:
    """The op time in each function after its first run; waiting for input counts for nothing."""
    found: dict[str, float] = {}
    for trace in traces:
        first = [step for step, name in trace.step_names.items() if name.endswith(FIRST)]
        nanos = np.where(np.isin(trace.step, first), 0, _worked(trace))
        sums = np.bincount(trace.label, nanos, len(trace.labels))
        for label, cost in zip(trace.labels, sums.tolist(), strict=True):
            found[label.function] = found.get(label.function, 0.0) + cost
    return found


def _worked(trace: TraceTable) -> Integers:
    """The nanoseconds that each execution worked: none if it waited for input."""
    waits = np.array([label.op.startswith("IteratorGetNext") for label in trace.labels], np.bool_)
    return np.where(waits[trace.label], 0, trace.duration) if len(waits) else trace.duration


def resolve(
    traces: Sequence[TraceTable],
    graphs: FunctionGraphs,
    columns: NodeTable,
    shapes: Shapes,
    input_shapes: dict[str, int],
) -> ResolvedTraces:
    """Find the node of each execution in the traces; nodes that the graph lacks are added to `columns`.

    Executions refer to the shapes of their inputs by the indices in `input_shapes`, to which new ones are added.
    """
    found = ResolvedTraces()
    executed_names = ExecutedNames(graphs.nodes, graphs.layers, graphs.data)
    sizes = partial(tensor_sizes, columns=columns, shapes=shapes.known, graph=graphs.definition)
    ops: dict[str, str] = {}
    variants: dict[str, str] = {}
    executed: dict[str, None] = {}
    shaped: set[str] = set()
    for trace in traces:
        named = resolved_runs(trace, executed_names, ops, graphs.mixed, input_shapes)
        variants |= named.variants
        for node, known in named.kernels.items():
            op = found.ops.setdefault(node, KernelOp(known.stack))
            op.runs += known.runs
            op.float_ops += known.float_ops
        columns.placed.update(named.placed)
        found.runs.extend(named.runs)
        found.kernel_runs.extend(named.kernel_runs)
        found.transfers.extend(named_transfers(trace.exchanges, executed_names, sizes))
        found.float_ops.update(named.float_ops)
        shaped |= named.shaped
        found.step_names.update(trace.step_names)
        ops = named.ops
        executed.update(dict.fromkeys(label.op for label in trace.labels if label.is_compiled))
    found.kernels.update({node: ExecutedKernel(ops[node]) for node in sorted(shaped)})
    found.compiled.update(_compiled(graphs, executed, ops))
    _take_executed(columns, ops, variants)
    stack, forward = graphs.op_log.stack, graphs.op_log.forward
    stack.update({name: stack[node] for name, node in variants.items() if node in stack})
    forward.update({name: forward[node] for name, node in variants.items() if node in forward})
    found.stacks_of_steps.extend(_stacks_of_steps(traces, graphs, variants))
    found.graphs_of_steps.update(_graphs_of_steps(traces, graphs))
    return found


def _called(trace: TraceTable, amount: Integers) -> dict[int, Counter[str]]:
    """By step the functions that were called last before its executions, with the sum of an amount over these."""
    functions = list(dict.fromkeys(label.function for label in trace.labels))
    place = {name: code for code, name in enumerate(functions)}
    function = np.array([place[label.function] for label in trace.labels], np.int64)[trace.label]
    order = np.argsort(trace.start, kind="stable")
    keys, first, of = np.unique(
        (trace.step * np.int64(len(functions)) + function)[order], return_index=True, return_inverse=True
    )
    sums = np.bincount(of.reshape(-1), amount[order])
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in np.argsort(first).tolist():
        step, code = divmod(int(keys[row]), len(functions))
        found[step][functions[code]] = int(sums[row])
    return found


def _graphs_of_steps(traces: Iterable[TraceTable], graphs: FunctionGraphs) -> Iterator[tuple[int, SealedGraph]]:
    """By step the nodes that its functions define otherwise than the one graph.

    Of several functions that have a node, the one counts of which most ops ran. Steps of the same functions have the
    same graph.
    """
    made: dict[tuple[str, ...], SealedGraph] = {}
    for trace in traces if any(graphs.otherwise.values()) else ():
        is_own = np.array([label.name in graphs.nodes.get(label.function, {}) for label in trace.labels], np.int64)
        for step, called in _called(trace, is_own[trace.label]).items():
            ran = tuple(name for name, count in called.most_common() if count)
            if ran not in made:
                nodes: dict[str, SealedNode] = {}
                for name in reversed(ran):
                    own = dict.fromkeys(graphs.nodes.get(name, {}).values())
                    nodes = {node: each for node, each in nodes.items() if node not in own}
                    nodes |= {node.name: node for node in graphs.otherwise.get(name, ())}
                made[ran] = SealedGraph(node=nodes.values())
            if made[ran].node:
                yield step, made[ran]


def _stacks_of_steps(
    traces: Iterable[TraceTable], graphs: FunctionGraphs, variants: Mapping[str, str]
) -> Iterator[StacksOfSteps]:
    """For the steps of each name the nodes that their functions made elsewhere than the op log says.

    If several functions of a step have a node, it is where the costliest made it.
    """
    cost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    steps: defaultdict[str, set[int]] = defaultdict(set)
    for trace in traces if any(graphs.elsewhere.values()) else ():
        for number, called in _called(trace, _worked(trace)).items():
            name = trace.step_names.get(number, "")
            cost[name].update(called)
            steps[name].add(number)
    for name, costs in cost.items():
        places: dict[str, tuple[int, str]] = {}
        met: set[str] = set()
        for function, _ in costs.most_common():
            own = graphs.elsewhere.get(function, {})
            places.update({node: place for node, place in own.items() if node not in met})
            met.update(graphs.nodes.get(function, {}).values())
        places |= {variant: places[node] for variant, node in variants.items() if node in places}
        yield StacksOfSteps(frozenset(steps[name]), places)


def _compiled(graphs: FunctionGraphs, executed: Iterable[str], ops: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The executed functions that XLA compiled, each with the nodes of its ops."""
    nodes = {name: graphs.nodes.get(name, {name: python_name(name)}) for name in executed}
    called = {of_function[name]: frozenset(of_function.values()) for name, of_function in nodes.items()}
    found = {node: within - {node} for node, within in (graphs.compiled | called).items()}
    return {node: within for node, within in found.items() if ops.get(node) in CALLS}


def _take_executed(columns: NodeTable, ops: Mapping[str, str], variants: Mapping[str, str]) -> None:
    """Give nodes the type of their kernel, such as a fused one, and add nodes that no graph has."""
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
