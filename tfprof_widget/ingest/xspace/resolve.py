"""Finds what traces tell of the nodes of one graph: runs, transfers, kernels and places in the code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
    python_name,
    waits_for_others,
    works_ahead,
)
from tfprof_widget.ingest.parts.nodes import FunctionGraphs, NodeTable, Shapes
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.stacks import StacksOfSteps
from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.accelerators import ACCELERATOR, STREAMS
from tfprof_widget.ingest.xspace.exchanges import named_transfers, tensor_sizes
from tfprof_widget.ingest.xspace.reader import MEMORY, KernelOp, Label, TraceTable
from tfprof_widget.ingest.xspace.threads import ThreadNames
from tfprof_widget.lib.arrays import ABSENT, Integers, in_order
from tfprof_widget.lib.messages import SealedGraph, SealedNode
from tfprof_widget.profiles.data import FIRST
from tfprof_widget.profiles.devices import INPUT_THREADS, KernelRuns
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
    threads: ThreadNames,
) -> ResolvedTraces:
    """Find the node of each execution in the traces; nodes that the graph lacks are added to `columns`.

    Executions refer to the shapes of their inputs by the indices in `input_shapes`, to which new ones are added,
    and to threads by their numbers in `threads`.
    """
    found = ResolvedTraces()
    executed_names = ExecutedNames(graphs.nodes, graphs.layers, graphs.data)
    sizes = partial(tensor_sizes, columns=columns, shapes=shapes.known, graph=graphs.definition)
    ops: dict[str, str] = {}
    variants: dict[str, str] = {}
    executed: dict[str, None] = {}
    shaped: set[str] = set()
    for trace in traces:
        named = resolved_runs(trace, executed_names, ops, graphs.mixed, input_shapes, threads)
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
    columns.take_executed(ops, variants)
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


_ON_STREAMS = frozenset({"kernel", "symbol"})


@dataclass(frozen=True)
class XSpaceRuns:
    """The executions of each step, and for each node the type of its kernel.

    A node that ran kernels of two types in two functions becomes two nodes; `variants` has the original of the second.
    `shaped` are the nodes of which the shapes of inputs are known. `placed` has the devices of nodes with kernels, and
    `kernels` what is told of their ops; `float_ops` are those of the kernels of a node in a step.
    """

    runs: list[tuple[int, RunTable]]
    ops: dict[str, str]
    variants: dict[str, str]
    shaped: set[str] = field(default_factory=set)
    placed: dict[str, str] = field(default_factory=dict)
    kernels: dict[str, KernelOp] = field(default_factory=dict)
    kernel_runs: list[KernelRuns] = field(default_factory=list)
    float_ops: dict[tuple[str, int], int] = field(default_factory=dict)


def resolved_runs(
    columns: TraceTable,
    names: ExecutedNames | None = None,
    ops: Mapping[str, str] | None = None,
    mixed: Container[str] = (),
    known_shapes: dict[str, int] | None = None,
    threads: ThreadNames | None = None,
) -> XSpaceRuns:
    """The executions by step and node.

    `names` are the names of nodes, and `ops` their types in other traces; an execution without a name there is named by
    layer. Iterators of `tf.data` and their ops are in the scope `tf.data`, and ops that Python ran one by one in the
    scope `eager`. The shapes of inputs of nodes in `mixed` are left out; those of others are indices into
    `known_shapes`, to which new ones are added. Threads have their numbers in `threads`, but on streams.
    """
    nodes = _Nodes(names or ExecutedNames(), dict(ops or {}))
    found = nodes.of(_as_first_run(columns))
    named = [found[label] for label in columns.labels]
    devices = [nodes.device(label, node) for label, node in zip(columns.labels, named, strict=True)]
    is_kept = np.array([node is not None for node in named], np.bool_)
    rows = np.flatnonzero(is_kept[columns.label]) if len(is_kept) else np.zeros(0, np.int64)
    rows = rows[np.argsort(columns.step[rows], kind="stable")]
    numbers, first = np.unique(columns.step[rows], return_index=True)
    texts = [node or "" for node in named]
    is_shaped = [
        FOLDED_TRANSPOSE not in label.name and nodes.variants.get(node, node) not in mixed
        for label, node in zip(columns.labels, texts, strict=True)
    ]
    shapes = _shapes_of(columns, is_shaped, {"": 0} if known_shapes is None else known_shapes)
    streams = [code for code, label in enumerate(columns.labels) if label.kind in _ON_STREAMS]
    on_host = rows[np.isin(columns.label[rows], streams, invert=True)]
    thread = (threads or ThreadNames()).numbered(columns.threads, columns.thread, columns.start, on_host)
    tables = _StepSlices(columns, texts, devices, shapes, thread)
    parts = np.split(rows, first[1:])[: len(numbers)]
    runs = [(number, tables.run(number, part)) for number, part in zip(numbers.tolist(), parts, strict=True)]
    shaped = {texts[label] for label in np.unique(columns.label[rows][shapes[rows] > 0]).tolist()}
    kernels = {
        node: columns.kernels[label.name, label.op]
        for label, node in zip(columns.labels, named, strict=True)
        if node is not None and label.kind in _ON_STREAMS
    }
    kernel_runs = list(columns.kernel_runs(texts))
    float_ops = dict(columns.float_ops_told(texts))
    return XSpaceRuns(runs, nodes.ops, nodes.variants, shaped, nodes.placed, kernels, kernel_runs, float_ops)


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
        known = label.name if label.kind == "symbol" else self._known(label)
        return known or self._unknown(label)

    def _unknown(self, label: Label) -> str:
        return python_name(label.op) if label.is_compiled else self.names.unknown(label.name)

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
        scope = f"{DATA_SCOPE}/" if label.kind == "data op" else ""
        whole = self.names.whole(label.function, label.name, of_data=bool(scope))
        if whole is None:
            return scope + self._unknown(label)
        self.variants[part := f"{whole}/{label.op}"] = whole
        return part

    def _op(self, label: Label) -> str:
        return CALL if label.is_compiled else label.op

    def _typed(self, node: str, op: str) -> str:
        """The node with this name and type."""
        if self.ops.setdefault(node, op) == op:
            return node
        variant = f"{node}/{op}"
        self.variants[variant] = node
        return self._typed(variant, op)


def _shapes_of(columns: TraceTable, is_shaped: Sequence[bool], known: dict[str, int]) -> Integers:
    """The shapes that each execution took in, as indices into the known ones; 0 for labels that are not shaped."""
    codes = np.array([known.setdefault(each, len(known)) for each in columns.input_shapes], np.int64)
    return np.where(np.array(is_shaped, np.bool_)[columns.label], codes[columns.input_shape], 0)


class _StepSlices:
    """The executions of all steps, of which those of one step are taken; `nodes` and `devices` are those of labels."""

    def __init__(
        self, columns: TraceTable, nodes: Sequence[str], devices: Sequence[str], shapes: Integers, thread: Integers
    ) -> None:
        self.columns, self.nodes, self.input_shapes, self.thread = columns, nodes, shapes, thread
        known = {device: code for code, device in enumerate(dict.fromkeys(devices))}
        self.devices, self.device = list(known), np.array([known[device] for device in devices], np.int64)
        self.memory = np.zeros((len(MEMORY), len(columns.label)), np.int64)
        self.memory[:, columns.memory[:, 0]] = columns.memory[:, 1:].T
        self.place = np.full(len(columns.label), ABSENT, np.int64)
        step = columns.step[columns.allocations[:, 0]]
        order = np.argsort(step, kind="stable")
        self.allocations, self.step_of_allocation = columns.allocations[order], step[order]

    def run(self, step: int, rows: Integers) -> RunTable:
        """The columns of these executions of a step."""
        columns, names = self.columns, NodeNames()
        first, number = in_order(columns.label[rows])
        label = columns.label[rows[first]]
        node = names.codes([self.nodes[code] for code in label.tolist()])
        first, device = in_order(self.device[label])
        return RunTable.of(
            node_names=names,
            node=node[number],
            devices=[self.devices[code] for code in self.device[label[first]].tolist()],
            device=device[number],
            values={
                "start_nanos": columns.start[rows],
                "duration_nanos": columns.duration[rows],
                "thread": self.thread[rows],
                "input_shapes": self.input_shapes[rows],
                **{name: of_all[rows] for name, of_all in zip(MEMORY, self.memory, strict=True)},
            },
            allocations=self._allocations(step, rows),
        )

    def _allocations(self, step: int, rows: Integers) -> dict[str, np.ndarray]:
        """The allocations of these executions, which are numbered anew."""
        first, last = np.searchsorted(self.step_of_allocation, [step, step + 1]).tolist()
        table = self.allocations[first:last]
        self.place[rows] = np.arange(len(rows))
        execution = self.place[table[:, 0]]
        self.place[rows] = ABSENT
        table = table[execution >= 0]
        return {
            "execution": execution[execution >= 0],
            "micros": table[:, 1],
            "bytes": table[:, 2],
            "on_accelerator": table[:, 3].astype(np.bool_),
        }
