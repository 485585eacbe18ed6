"""Gives the executions of XSpaces their nodes, in the columns that a RunMetadata gives, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tfprof_widget.ingest.run_columns import NodeNames, RunColumns
from tfprof_widget.ingest.tf_functions import CALL
from tfprof_widget.ingest.xspace_columns import MEMORY, Label, XSpaceColumns
from tfprof_widget.ingest.xspace_names import DATA_SCOPE, EAGER_SCOPE, ExecutedNames, function_label, iterator_node
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.tables import ABSENT, Integers

HOST = "/job:localhost/replica:0/task:0/device:cpu:0"
ACCELERATOR = "/job:localhost/replica:0/task:0/device:{}"
STREAMS = "/device:{}/stream:all"


@dataclass(frozen=True)
class XSpaceRuns:
    """Each step's executions, the type of the kernel that each node ran and the shapes that it took in, by the node.

    A node that ran a kernel of another type in another function is two: `variants` gives the original of the second.
    """

    runs: list[tuple[int, RunColumns]]
    ops: dict[str, str]
    variants: dict[str, str]
    input_shapes: dict[str, str] = field(default_factory=dict)


def named_runs(
    columns: XSpaceColumns, names: ExecutedNames | None = None, ops: Mapping[str, str] | None = None
) -> XSpaceRuns:
    """The executions by step and node.

    `names` are those of the nodes, `ops` are their types in other traces; what has no name there is named by layer.
    Iterators of `tf.data` and the ops that they run are in a scope `tf.data`, ops that Python ran one by one in a scope
    `eager`.

    >>> from tfprof_widget.ingest.xspace import read_xspace
    >>> named_runs(read_xspace(b"")).runs
    []
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
    tables = _Tables(columns)
    runs = [
        (number, tables.run(rows[start:end], texts, devices))
        for number, start, end in zip(numbers.tolist(), first.tolist(), ends[: len(first)], strict=True)
    ]
    shapes = {
        node: columns.input_shapes[label.name, label.op]
        for label, node in zip(columns.labels, named, strict=True)
        if node is not None and (label.name, label.op) in columns.input_shapes
    }
    return XSpaceRuns(runs, nodes.ops, nodes.variants, shapes)


def is_compiled(label: Label) -> bool:
    """Whether this is a function that XLA compiled: it is executed as an op of its own name.

    >>> is_compiled(Label("op", "__inference_f_1", "__inference_f_1", "__inference_f_1"))
    True
    """
    return label.name == label.op and label.op.startswith("__")


def _as_first_run(columns: XSpaceColumns) -> list[Label]:
    """The labels in the order in which they ran first, whatever the order of threads: the first has the plain name."""
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
        """The node of each; None for what is of no node. Kernels tell where the ops of the host have their place."""
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
        """Where an execution was."""
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
        unknown = function_label(label.op) if is_compiled(label) else self.names.unknown(label.name)
        return f"{DATA_SCOPE}/{unknown}" if label.kind == "data op" else unknown

    def _op(self, label: Label) -> str:
        return CALL if is_compiled(label) else label.op

    def _typed(self, node: str, op: str) -> str:
        """The node of that name and type."""
        if self.ops.setdefault(node, op) == op:
            return node
        variant = f"{node}/{op}"
        self.variants[variant] = node
        return self._typed(variant, op)


class _Tables:
    """The memory of all executions, to take that of a step from."""

    def __init__(self, columns: XSpaceColumns) -> None:
        self.columns = columns
        self.memory = np.zeros((len(MEMORY), len(columns.label)), np.int64)
        self.memory[:, columns.memory[:, 0]] = columns.memory[:, 1:].T
        self.place = np.full(len(columns.label), ABSENT, np.int64)

    def run(self, rows: Integers, nodes: list[str], devices: list[str]) -> RunColumns:
        """The columns of these executions; the nodes and devices are those of all labels."""
        columns = self.columns
        label = columns.label[rows]
        known = tuple(dict.fromkeys(devices[code] for code in dict.fromkeys(label.tolist())))
        code_of = np.array([known.index(device) if device in known else ABSENT for device in devices], np.int64)
        start, duration = columns.start[rows], columns.duration[rows]
        nothing = np.zeros(len(rows), np.int64)
        names = NodeNames()
        return RunColumns.of(
            node_names=names,
            node=names.codes(nodes[code] for code in label.tolist()),
            devices=known,
            device=code_of[label],
            values={
                "start_micros": start // NANOS_A_MICRO,
                "duration_micros": duration // NANOS_A_MICRO,
                "start_nanos": start,
                "duration_nanos": duration,
                "thread": columns.thread[rows],
                "temporary_bytes": nothing,
                "persistent_bytes": nothing,
                **{name: of_all[rows] for name, of_all in zip(MEMORY, self.memory, strict=True)},
            },
            outputs={
                "execution": np.zeros(0, np.int64),
                "slot": np.zeros(0, np.int64),
                "bytes": np.zeros(0, np.int64),
                "address": np.zeros(0, np.uint64),
                "shape": np.zeros(0, np.int64),
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
