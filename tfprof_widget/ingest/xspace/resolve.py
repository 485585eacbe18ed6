"""Finds the nodes of a trace's executions, and so makes runs of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tfprof_widget.ingest.parts.names import (
    CALL,
    CALLS,
    DATA_SCOPE,
    EAGER_SCOPE,
    FOLDED_TRANSPOSE,
    HOST,
    ExecutedNames,
    iterator_node,
    may_be_node,
    python_name,
    waits_for_others,
    works_ahead,
)
from tfprof_widget.ingest.parts.nodes import FunctionGraphs, NodeTable, Shapes
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.stacks import StacksOfSteps
from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.accelerators import ACCELERATOR, STREAMS
from tfprof_widget.ingest.xspace.executions import named_transfers, tensor_sizes
from tfprof_widget.ingest.xspace.reader import MEMORY, KernelOp, Label, TraceTable, read_input_shapes
from tfprof_widget.lib.arrays import ABSENT, Integers
from tfprof_widget.profiles.accelerators import KernelRuns
from tfprof_widget.profiles.data import FIRST, PARTIAL
from tfprof_widget.profiles.devices import INPUT_THREADS
from tfprof_widget.profiles.tables import ExecutedKernel

_ON_STREAMS = frozenset({"kernel", "symbol"})


@dataclass(frozen=True)
class XSpaceRuns:
    """The executions of each step, and for each node the type of its kernel and the shapes of its inputs.

    The shapes are all that a node ran with, each with the steps in which most of its executions had them.

    A node that ran kernels of two types in two functions becomes two nodes; `variants` has the original of the second.
    `placed` has the devices of nodes with kernels, and `kernels` what is told of their ops.
    """

    runs: list[tuple[int, RunTable]]
    ops: dict[str, str]
    variants: dict[str, str]
    input_shapes: dict[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)
    kernels: dict[str, KernelOp] = field(default_factory=dict)
    kernel_runs: list[KernelRuns] = field(default_factory=list)


def resolved_runs(
    columns: TraceTable, names: ExecutedNames | None = None, ops: Mapping[str, str] | None = None
) -> XSpaceRuns:
    """The executions by step and node.

    `names` are the names of nodes, and `ops` their types in other traces; an execution without a name there is named by
    layer. Iterators of `tf.data` and their ops are in the scope `tf.data`, and ops that Python ran one by one in the
    scope `eager`.
    """
    nodes = _Nodes(names or ExecutedNames(), dict(ops or {}))
    found = nodes.of(_as_first_run(columns))
    named = [found[label] for label in columns.labels]
    devices = [nodes.device(label, node) for label, node in zip(columns.labels, named, strict=True)]
    is_kept = np.array([node is not None for node in named], np.bool_)
    rows = np.flatnonzero(is_kept[columns.label]) if len(is_kept) else np.zeros(0, np.int64)
    rows = rows[np.argsort(columns.step[rows], kind="stable")]
    numbers, first = np.unique(columns.step[rows], return_index=True)
    ends = [*first[1:].tolist(), len(rows)]
    texts = [node or "" for node in named]
    tables = _StepSlices(columns)
    runs = [
        (number, tables.run(rows[start:end], texts, devices))
        for number, start, end in zip(numbers.tolist(), first.tolist(), ends[: len(first)], strict=True)
    ]
    shapes = {
        node: columns.input_shapes[label.name, label.op]
        for label, node in zip(columns.labels, named, strict=True)
        if node is not None and (label.name, label.op) in columns.input_shapes and FOLDED_TRANSPOSE not in label.name
    }
    kernels = {
        node: columns.kernels[label.name, label.op]
        for label, node in zip(columns.labels, named, strict=True)
        if node is not None and label.kind in _ON_STREAMS
    }
    kernel_runs = list(_kernel_runs(columns, texts))
    return XSpaceRuns(runs, nodes.ops, nodes.variants, shapes, nodes.placed, kernels, kernel_runs)


def _kernel_runs(columns: TraceTable, nodes: Sequence[str]) -> Iterator[KernelRuns]:
    """The kernels of each node, those of one stream that were launched alike together; `nodes` are those of labels."""
    row, launch, delay = columns.launches.T
    keys = np.stack([columns.label[row], columns.thread[row], launch])
    found, of = np.unique(keys, axis=1, return_inverse=True)
    of = of.reshape(-1)
    sums = np.zeros((4, found.shape[1]), np.int64)  # in the order of the fields
    for added, values in zip(sums, (1, columns.duration[row], delay >= 0, np.maximum(delay, 0)), strict=True):
        np.add.at(added, of, values)
    for (label, stream, code), told in zip(found.T.tolist(), sums.T.tolist(), strict=True):
        device = ACCELERATOR.format(columns.labels[label].device)
        yield KernelRuns(nodes[label], device, stream, *columns.launched[code], *told)


def is_compiled(label: Label) -> bool:
    """Whether this is a function that XLA compiled: it is executed as an op with the function's name.

    >>> is_compiled(Label("op", "__inference_f_1", "__inference_f_1", "__inference_f_1"))
    True
    """
    return label.kind != "symbol" and label.name == label.op and label.op.startswith("__")


def _as_first_run(columns: TraceTable) -> list[Label]:
    """The labels in the order in which they first ran, whatever the thread; the first one keeps the plain name."""
    first = np.full(len(columns.labels), np.iinfo(np.int64).max)
    np.minimum.at(first, columns.label, columns.start)
    return [columns.labels[place] for place in np.argsort(first, kind="stable").tolist()]


@dataclass
class _Nodes:
    """Finds the nodes of labels."""

    names: ExecutedNames
    ops: dict[str, str]
    variants: dict[str, str] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)

    def of(self, labels: list[Label]) -> dict[Label, str | None]:
        """The node of each label, None if it has none; kernels tell on which device ops of the host are placed."""
        found: dict[Label, str | None] = {}
        for label in labels:
            if label.kind in _ON_STREAMS:
                node = found[label] = self._typed(self._kernel(label), self._op(label))
                self.placed[node] = ACCELERATOR.format(label.device)
        for label in labels:
            if label not in found:
                written = self._host(label)
                found[label] = None if written is None else self._typed(written, self._op(label))
        return found

    def device(self, label: Label, node: str | None) -> str:
        """The device of an execution."""
        if label.kind in _ON_STREAMS:
            return STREAMS.format(label.device)
        if label.kind == "iterator" and (waits_for_others(label.op) or works_ahead(label.name)):
            return INPUT_THREADS
        if label.device:
            return ACCELERATOR.format(label.device)
        return self.placed.get(node or "", HOST)

    def _kernel(self, label: Label) -> str:
        if label.kind == "symbol":
            return label.name
        return self._known(label) or self._unknown(label)

    def _unknown(self, label: Label) -> str:
        return python_name(label.op) if is_compiled(label) else self.names.unknown(label.name)

    def _known(self, label: Label) -> str | None:
        of_step = self.names.node(label.function, label.name)
        if of_step is not None and label.kind != "data op":
            return of_step
        return self.names.data_node(label.name) or of_step  # either's threads may help the other

    def _host(self, label: Label) -> str | None:
        if label.kind == "iterator":
            return iterator_node(label.name)
        if label.kind == "eager run":
            return f"{EAGER_SCOPE}/{label.name}"
        known = self._known(label)
        if known is not None or label.kind == "eager part":
            return known
        unknown = self._unknown(label)
        return f"{DATA_SCOPE}/{unknown}" if label.kind == "data op" else unknown

    def _op(self, label: Label) -> str:
        return CALL if is_compiled(label) else label.op

    def _typed(self, node: str, op: str) -> str:
        """The node with this name and type."""
        if self.ops.setdefault(node, op) == op:
            return node
        variant = f"{node}/{op}"
        self.variants[variant] = node
        return self._typed(variant, op)


class _StepSlices:
    """The memory of all executions, from which the memory of one step is taken."""

    def __init__(self, columns: TraceTable) -> None:
        self.columns = columns
        self.memory = np.zeros((len(MEMORY), len(columns.label)), np.int64)
        self.memory[:, columns.memory[:, 0]] = columns.memory[:, 1:].T
        self.place = np.full(len(columns.label), ABSENT, np.int64)

    def run(self, rows: Integers, nodes: list[str], devices: list[str]) -> RunTable:
        """The columns of these executions; `nodes` and `devices` are those of all labels."""
        columns = self.columns
        label = columns.label[rows]
        known = tuple(dict.fromkeys(devices[code] for code in dict.fromkeys(label.tolist())))
        code_of = np.array([known.index(device) if device in known else ABSENT for device in devices], np.int64)
        names = NodeNames()
        return RunTable.of(
            node_names=names,
            node=names.codes(nodes[code] for code in label.tolist()),
            devices=known,
            device=code_of[label],
            values={
                "start_nanos": columns.start[rows],
                "duration_nanos": columns.duration[rows],
                "thread": columns.thread[rows],
                **{name: of_all[rows] for name, of_all in zip(MEMORY, self.memory, strict=True)},
            },
            allocations=self._allocations(rows),
        )

    def _allocations(self, rows: Integers) -> dict[str, np.ndarray]:
        """The allocations of these executions, which are numbered anew."""
        self.place[rows] = np.arange(len(rows))
        execution = self.place[self.columns.allocations[:, 0]]
        self.place[rows] = ABSENT
        table = self.columns.allocations[execution >= 0]
        return {
            "execution": execution[execution >= 0],
            "micros": table[:, 1],
            "bytes": table[:, 2],
            "on_accelerator": table[:, 3].astype(np.bool_),
        }


@dataclass(frozen=True)
class ResolvedTraces:
    """The content of traces, by the nodes of one graph; `ops` are those with kernels."""

    runs: list[tuple[int, RunTable]] = field(default_factory=list)
    step_names: dict[int, str] = field(default_factory=dict)
    transfers: list[tuple[int, Transfer]] = field(default_factory=list)
    kernels: dict[str, ExecutedKernel] = field(default_factory=dict)
    ops: dict[str, KernelOp] = field(default_factory=dict)
    compiled: dict[str, frozenset[str]] = field(default_factory=dict)
    stacks_of_steps: list[StacksOfSteps] = field(default_factory=list)
    kernel_runs: list[KernelRuns] = field(default_factory=list)


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


def _costs_of_kinds(traces: Iterable[TraceTable]) -> dict[str, float]:
    """What the steps of each name cost together: each as its quickest, for others may have been held up."""
    costs: defaultdict[str, list[float]] = defaultdict(list)
    for trace in traces:
        numbers, place = np.unique(trace.step, return_inverse=True)
        for number, nanos in zip(numbers.tolist(), np.bincount(place, _worked(trace)).tolist(), strict=True):
            costs[trace.step_names.get(number, "")].append(nanos)
    return {name: min(of_steps) * len(of_steps) for name, of_steps in costs.items()}


def resolve(traces: Sequence[TraceTable], graphs: FunctionGraphs, columns: NodeTable, shapes: Shapes) -> ResolvedTraces:
    """Find the node of each execution in the traces; nodes that the graph lacks are added to `columns`."""
    found = ResolvedTraces()
    executed_names = ExecutedNames(graphs.nodes, graphs.layers, graphs.data)
    sizes = partial(tensor_sizes, columns=columns, shapes=shapes.known, graph=graphs.definition)
    ops: dict[str, str] = {}
    variants: dict[str, str] = {}
    executed: dict[str, None] = {}
    told: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for trace in traces:
        named = resolved_runs(trace, executed_names, ops)
        variants |= named.variants
        for node, known in named.kernels.items():
            op = found.ops.setdefault(node, KernelOp(known.stack))
            op.runs += known.runs
            op.float_ops += known.float_ops
        columns.placed.update(named.placed)
        found.runs.extend(named.runs)
        found.kernel_runs.extend(named.kernel_runs)
        found.transfers.extend(named_transfers(trace.exchanges, executed_names, sizes))
        for node, seen in named.input_shapes.items():
            is_mixed = variants.get(node, node) in graphs.mixed
            for written, steps in seen.items():
                kinds = Counter(trace.step_names.get(step, "") for step in steps)
                told[node].update({("" if is_mixed else written, kind): times for kind, times in kinds.items()})
        found.step_names.update(trace.step_names)
        ops = named.ops
        executed.update(dict.fromkeys(label.op for label in trace.labels if is_compiled(label)))
    costs = _costs_of_kinds(traces)
    found.kernels.update({node: _kernel(ops[node], shapes, costs) for node, shapes in told.items()})
    found.compiled.update(_compiled(graphs, executed, ops))
    _take_executed(columns, ops, variants)
    stack, forward = graphs.op_log.stack, graphs.op_log.forward
    stack.update({name: stack[node] for name, node in variants.items() if node in stack})
    forward.update({name: forward[node] for name, node in variants.items() if node in forward})
    found.stacks_of_steps.extend(_stacks_of_steps(traces, graphs, variants))
    return found


def _stacks_of_steps(
    traces: Iterable[TraceTable], graphs: FunctionGraphs, variants: Mapping[str, str]
) -> Iterator[StacksOfSteps]:
    """For the steps of each name the nodes that their functions made elsewhere than the op log says.

    If several functions of a step have a node, it is where the costliest made it.
    """
    if not any(graphs.elsewhere.values()):
        return
    cost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    steps: defaultdict[str, set[int]] = defaultdict(set)
    for trace in traces:
        functions = list(dict.fromkeys(label.function for label in trace.labels))
        place = {name: code for code, name in enumerate(functions)}
        function = np.array([place[label.function] for label in trace.labels], np.int64)[trace.label]
        for number in np.unique(trace.step).tolist():
            rows = np.flatnonzero(trace.step == number)
            nanos = np.bincount(function[rows], _worked(trace)[rows])
            name = trace.step_names.get(number, "")
            cost[name].update(dict(zip(functions, nanos.tolist(), strict=False)))
            steps[name].add(number)
    for name, costs in cost.items():
        places: dict[str, tuple[int, str]] = {}
        met: set[str] = set()
        for called, _ in costs.most_common():
            own = graphs.elsewhere.get(called, {})
            places.update({node: place for node, place in own.items() if node not in met})
            met.update(graphs.nodes.get(called, {}).values())
        places |= {variant: places[node] for variant, node in variants.items() if node in places}
        yield StacksOfSteps(frozenset(steps[name]), places)


def _compiled(graphs: FunctionGraphs, executed: Iterable[str], ops: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The executed functions that XLA compiled, each with the nodes of its ops."""
    nodes = {name: graphs.nodes.get(name, {name: python_name(name)}) for name in executed}
    called = {of_function[name]: frozenset(of_function.values()) for name, of_function in nodes.items()}
    found = {node: within - {node} for node, within in (graphs.compiled | called).items()}
    return {node: within for node, within in found.items() if ops.get(node) in CALLS}


COMPARABLE = 1 / 3
"""Kinds of steps that cost at least so much of what the costliest costs are told apart by how often they ran."""


def _kernel(op: str, told: Counter[tuple[str, str]], costs: Mapping[str, float]) -> ExecutedKernel:
    """The kernel of a node with the shapes of its inputs that it had in most steps of the kind that stands for it.

    First runs stand for a node only if nothing else ran it, and cheap kinds only if no other kind did. Of several
    shapes the first are taken: the last batch may be smaller.
    """
    kinds = {kind for _, kind in told}
    steady = {kind for kind in kinds if not kind.endswith((*FIRST, PARTIAL))} or kinds
    least = COMPARABLE * max(costs.get(kind, 0.0) for kind in steady)
    times = Counter({kind: 0 for kind in sorted(steady) if costs.get(kind, 0.0) >= least})
    for (_, kind), count in told.items():
        if kind in times:
            times[kind] += count
    ((most, _),) = times.most_common(1)
    of_kind = {written: count for (written, kind), count in told.items() if kind == most}
    return ExecutedKernel(op, input_shapes=read_input_shapes(max(of_kind, key=lambda each: of_kind[each])))


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
