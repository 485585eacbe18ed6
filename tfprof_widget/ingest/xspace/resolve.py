"""Finds the nodes of a trace's executions, and so makes runs of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
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
)
from tfprof_widget.ingest.parts.nodes import FunctionGraphs, NodeTable, Shapes
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.transfers import Transfer
from tfprof_widget.ingest.xspace.events import MOST_NAMED, once_each
from tfprof_widget.ingest.xspace.executions import named_transfers, tensor_sizes
from tfprof_widget.ingest.xspace.reader import MEMORY, Label, TraceTable
from tfprof_widget.lib.arrays import ABSENT, Integers
from tfprof_widget.profiles.tables import ExecutedKernel

ACCELERATOR = "/job:localhost/replica:0/task:0/device:{}"
STREAMS = "/device:{}/stream:all"


@dataclass(frozen=True)
class XSpaceRuns:
    """The executions of each step, and for each node the type of its kernel and the shapes of its inputs.

    A node that ran kernels of two types in two functions becomes two nodes; `variants` has the original of the second.
    """

    runs: list[tuple[int, RunTable]]
    ops: dict[str, str]
    variants: dict[str, str]
    input_shapes: dict[str, str] = field(default_factory=dict)


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
    return XSpaceRuns(runs, nodes.ops, nodes.variants, shapes)


def is_compiled(label: Label) -> bool:
    """Whether this is a function that XLA compiled: it is executed as an op with the function's name.

    >>> is_compiled(Label("op", "__inference_f_1", "__inference_f_1", "__inference_f_1"))
    True
    """
    return label.name == label.op and label.op.startswith("__")


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
            if label.kind == "kernel":
                node = found[label] = self._typed(self._known(label) or self.names.unknown(label.name), self._op(label))
                self.placed[node] = ACCELERATOR.format(label.device)
        for label in labels:
            if label not in found:
                written = self._host(label)
                found[label] = None if written is None else self._typed(written, self._op(label))
        return found

    def device(self, label: Label, node: str | None) -> str:
        """The device of an execution."""
        return STREAMS.format(label.device) if label.kind == "kernel" else self.placed.get(node or "", HOST)

    def _known(self, label: Label) -> str | None:
        return self.names.node(label.function, label.name)

    def _host(self, label: Label) -> str | None:
        if label.kind == "iterator":
            return iterator_node(label.name)
        if label.kind == "eager run":
            return f"{EAGER_SCOPE}/{label.name}"
        known = self._known(label)
        if known is not None or label.kind == "eager part":
            return known
        unknown = python_name(label.op) if is_compiled(label) else self.names.unknown(label.name)
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


_SHAPE = re.compile(r"\w+\[(\d{0,18}(?:,\d{0,18})*)\]")


def read_input_shapes(told: str) -> tuple[tuple[int, ...] | None, ...]:
    """The shapes in `(float[2,3];int32[])`, where a scalar is `(1,)`; None for what is no plain tensor.

    >>> read_input_shapes("(float[2,3];int32[];)"), read_input_shapes("()")
    (((2, 3), (1,), None), ())
    """
    inside = told.removeprefix("(").removesuffix(")")
    return tuple(map(_input_shape, inside.split(";"))) if inside else ()


def _input_shape(written: str) -> tuple[int, ...] | None:
    match = _SHAPE.fullmatch(written)
    return None if match is None else tuple(map(int, filter(None, match[1].split(",")))) or (1,)


@dataclass(frozen=True)
class ResolvedTraces:
    """The content of traces, by the nodes of one graph."""

    runs: list[tuple[int, RunTable]] = field(default_factory=list)
    step_names: dict[int, str] = field(default_factory=dict)
    transfers: list[tuple[int, Transfer]] = field(default_factory=list)
    kernels: dict[str, ExecutedKernel] = field(default_factory=dict)
    compiled: dict[str, frozenset[str]] = field(default_factory=dict)


def resolve(traces: Iterable[TraceTable], graphs: FunctionGraphs, columns: NodeTable, shapes: Shapes) -> ResolvedTraces:
    """Find the node of each execution in the traces; nodes that the graph lacks are added to `columns`."""
    found = ResolvedTraces()
    executed_names = ExecutedNames(graphs.nodes, graphs.layers)
    sizes = partial(tensor_sizes, columns=columns, shapes=shapes.known, graph=graphs.definition)
    ops: dict[str, str] = {}
    variants: dict[str, str] = {}
    executed: dict[str, None] = {}
    for trace in traces:
        named = resolved_runs(trace, executed_names, ops)
        found.runs.extend(named.runs)
        found.transfers.extend(named_transfers(trace.exchanges, executed_names, sizes))
        for node, kernel in _kernels(named).items():
            found.kernels.setdefault(node, kernel)
        found.step_names.update(trace.step_names)
        ops = named.ops
        variants |= named.variants
        executed.update(dict.fromkeys(label.op for label in trace.labels if is_compiled(label)))
    found.compiled.update(_compiled(graphs, executed, ops))
    _take_executed(columns, ops, variants)
    stack, forward = graphs.op_log.stack, graphs.op_log.forward
    stack.update({name: stack[node] for name, node in variants.items() if node in stack})
    forward.update({name: forward[node] for name, node in variants.items() if node in forward})
    return found


def _compiled(graphs: FunctionGraphs, executed: Iterable[str], ops: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The executed functions that XLA compiled, each with the nodes of its ops."""
    nodes = {name: graphs.nodes.get(name, {name: python_name(name)}) for name in executed}
    called = {of_function[name]: frozenset(of_function.values()) for name, of_function in nodes.items()}
    found = {node: within - {node} for node, within in (graphs.compiled | called).items()}
    return {node: within for node, within in found.items() if ops.get(node) in CALLS}


def _kernels(named: XSpaceRuns) -> dict[str, ExecutedKernel]:
    """The kernel of each node, with the shapes of its inputs."""
    told = {written: read_input_shapes(written) for written in set(named.input_shapes.values())}
    return {
        node: ExecutedKernel(named.ops[node], input_shapes=told[written])
        for node, written in named.input_shapes.items()
    }


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


def notes_on(traces: Iterable[TraceTable], compiled: Collection[str]) -> tuple[str, ...]:
    """The notes on traces, and on the functions in them that XLA compiled.

    >>> notes_on([], ["train_step"])[0].partition(",")[0]
    "XLA compiled 'train_step' to one op"
    """
    notes = once_each(note for trace in traces for note in trace.notes)
    if not compiled:
        return notes
    names = sorted(compiled)
    said = ", ".join(map(repr, names[:MOST_NAMED])) + (" …" if len(names) > MOST_NAMED else "")
    each = " each" if len(names) > 1 else ""
    return (
        *notes,
        f"XLA compiled {said} to one op{each}, which has all the time: the ops within show none. "
        "To see theirs, profile with jit_compile=False, which Keras's compile takes too",
    )
