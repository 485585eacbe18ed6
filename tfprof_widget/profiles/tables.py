"""Defines the tables of a profile: frozen dataclasses of arrays of equal length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers

# The columns of StepTotals that may be added up.
STEP_SUMS = (
    "accelerator_nanos",
    "cpu_nanos",
    "accelerator_micros",
    "cpu_micros",
    "run_count",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
)


@dataclass(frozen=True, eq=False)
class Lists:
    """Many short lists in one array: list `i` is `values[start[i]:start[i + 1]]`.

    >>> lists = Lists(np.array([0, 2, 2]), np.array([7, 8]))
    >>> lists[0].tolist(), lists[1].tolist(), len(lists)
    ([7, 8], [], 2)
    """

    start: Integers
    values: NDArray[np.integer]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Lists:
        """The lists in one array.

        >>> Lists.of([[7, 8], []]).values.tolist()
        [7, 8]
        """
        start = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(each) for each in lists], out=start[1:])
        return cls(start, np.fromiter(chain.from_iterable(lists), np.int32, int(start[-1])))

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self.values[self.start[index] : self.start[index + 1]]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The graph nodes, sorted by name (by code point, which is also the byte order of UTF-8).

    `shape` and `output_shapes` are indices into the list `shapes`, or ABSENT if a shape is not known. `inputs` lists
    the source nodes of each node, ABSENT if the graph lacks one; `input_ports` has, entry by entry, the output of the
    source that the node takes, ABSENT for a control input. `identity` numbers the nodes in the order in which they were
    read. `native_float_ops` is what native tfprof counts, for `timing="tfprof"`; None if that is `float_ops`.
    """

    names: tuple[str, ...]
    ops: tuple[str, ...]
    op: Indices
    type_names: tuple[str, ...]
    types: Lists
    devices: tuple[str, ...]
    device: Indices
    shapes: tuple[tuple[int, ...], ...]
    shape: Indices
    output_shapes: Lists
    inputs: Lists
    input_ports: Indices
    parameters: Integers
    float_ops: Integers
    identity: Indices
    native_float_ops: Integers | None = None

    def __len__(self) -> int:
        return len(self.names)

    def float_ops_in(self, *, exact: bool) -> Integers:
        """The float operations of one execution of each node, in exact timing or as native tfprof counts them."""
        return self.float_ops if exact or self.native_float_ops is None else self.native_float_ops


@dataclass(frozen=True, eq=False)
class Executions:
    """One row for each execution of a node, in the order recorded; `step`, `device` and `input_shapes` are indices.

    An execution without a start time adds no time and no memory; it only says that the node was seen.
    """

    node: Indices
    step: Indices
    device: Indices
    start_micros: Integers
    duration_micros: Integers
    start_nanos: Integers
    duration_nanos: Integers
    thread: Integers
    counts_memory: Flags
    requested_bytes: Integers
    peak_bytes: Integers
    residual_bytes: Integers
    output_bytes: Integers
    temporary_bytes: Integers
    persistent_bytes: Integers
    bytes_in_use: Integers
    input_shapes: Integers

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class Outputs:
    """One row for each output tensor of an execution: where it is, its size, and its shape at run time."""

    execution: Indices
    slot: Indices
    bytes: Integers
    address: NDArray[np.uint64]
    shape: Indices


@dataclass(frozen=True, eq=False)
class Allocations:
    """One row for each allocation that an execution made, or release, which has negative bytes."""

    execution: Indices
    micros: Integers
    bytes: Integers
    on_accelerator: Flags


@dataclass(frozen=True, eq=False)
class ExecutionTables:
    """Executions with their outputs and allocations."""

    executions: Executions
    outputs: Outputs
    allocations: Allocations


@dataclass(frozen=True, eq=False)
class RecordedRuns:
    """One row for each run, in the order of the executions: its step, a digest, and the number of its executions.

    `elsewhere` are executions of nodes on devices that are not their own. They do not count, but they are kept: a
    node's own device is the first one it ran on, and merging profiles may find another one. `kept_before` has, for each
    of them, the number of counting executions that were recorded before it.
    """

    step: Indices
    count: Integers
    count_elsewhere: Integers
    digests: tuple[bytes, ...]
    kept_before: Integers
    elsewhere: ExecutionTables | None

    @classmethod
    def none(cls) -> RecordedRuns:
        """A table without rows."""
        number = np.zeros(0, np.int64)
        return cls(np.zeros(0, np.int32), number, number, (), number, None)

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, eq=False)
class StepTotals:
    """One row for each node and step in which it was seen: its sums over the executions of that step.

    `start_micros` is the start of its first execution and `end_micros` the end of its last one; both are 0 if no start
    was recorded. `float_ops` are the float operations of these executions together; None if each execution of a node
    took as many as Nodes says.
    """

    node: Indices
    step: Indices
    start_micros: Integers
    end_micros: Integers
    accelerator_nanos: Integers
    cpu_nanos: Integers
    accelerator_micros: Integers
    cpu_micros: Integers
    run_count: Integers
    requested_bytes: Integers
    peak_bytes: Integers
    residual_bytes: Integers
    output_bytes: Integers
    float_ops: Integers | None = None

    def float_ops_of(self, nodes: Nodes, rows: slice | Integers = slice(None)) -> Integers:
        """The float operations of these rows, in exact timing."""
        column = self.float_ops
        return nodes.float_ops[self.node[rows]] * self.run_count[rows] if column is None else column[rows]

    def with_float_ops(self, values: Integers, nodes: Nodes) -> StepTotals:
        """The rows with these float operations; without a column of them if `nodes` tell the same."""
        plain = replace(self, float_ops=None)
        return plain if np.array_equal(values, plain.float_ops_of(nodes)) else replace(plain, float_ops=values)


@dataclass(frozen=True, eq=False)
class Transfers:
    """One row for each tensor that a device got from another; `source`, `target` and `tensor` are indices.

    `kind` is an index into `kinds`, such as `RecvTensor`. `node` is the node that made the tensor, or ABSENT. Times are
    by the target's clock, from when the target asked for the tensor until it had it. A RecvTensor starts when its
    source began to send, because only that is recorded. The source of a collective is its group. 0 bytes may mean that
    the bytes are not known.
    """

    devices: tuple[str, ...]
    tensors: tuple[str, ...]
    kinds: tuple[str, ...]
    step: Indices
    kind: Indices
    source: Indices
    target: Indices
    tensor: Indices
    node: Indices
    start_nanos: Integers
    duration_nanos: Integers
    bytes: Integers

    @classmethod
    def none(cls) -> Transfers:
        """A table without rows."""
        index, number = np.zeros(0, np.int32), np.zeros(0, np.int64)
        return cls((), (), (), index, index, index, index, index, index, number, number, number)

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, eq=False)
class CodeStacks:
    """The Python stacks in which nodes were created, each distinct frame and stack once.

    `stack` has the stack of each node, or ABSENT. `stacks` lists the frames of each stack, outermost first. The columns
    `file`, `function` and `source` of frames are indices into `strings`; `string_numbers` are the numbers that the op
    log had for these strings. `forward` has the forward node of each gradient whose name does not tell it. `live` are
    the frames of graphs of this process; all other frames come from files and messages, which anyone may have made.
    """

    strings: tuple[str, ...]
    string_numbers: Integers
    file: Indices
    line: Indices
    function: Indices
    source: Indices
    function_line: Indices
    stacks: Lists
    stack: Indices
    forward: Mapping[int, int] = field(default_factory=dict)
    live: frozenset[int] = frozenset()

    @property
    def are_known(self) -> bool:
        """Whether the stack of any node is known."""
        return bool((self.stack >= 0).any())

    @property
    def most_frames(self) -> int:
        """The number of frames of the deepest stack."""
        return int(np.diff(self.stacks.start).max(initial=0))

    def forward_column(self) -> Indices:
        """`forward` as a column with an entry for each node, ABSENT where it has none."""
        forward = np.full(len(self.stack), ABSENT, np.int32)
        forward[list(self.forward)] = list(self.forward.values())
        return forward


@dataclass(frozen=True, eq=False)
class OtherStacks:
    """The stacks of nodes in steps whose functions made them elsewhere than the functions whose stacks CodeStacks has.

    `group` has a number for each step, the same if the same functions ran; ABSENT if all nodes are as CodeStacks says.
    The other columns have a row for each node that a group has elsewhere, sorted by the group (`of`) and the node: the
    `stack` and the `forward` node that the node has in these steps, or ABSENT.
    """

    group: Indices
    of: Indices
    node: Indices
    stack: Indices
    forward: Indices

    @classmethod
    def none(cls) -> OtherStacks:
        """A table without rows."""
        index = np.zeros(0, np.int32)
        return cls(index, index, index, index, index)

    @classmethod
    def beside(cls, traces: CodeStacks, group: Sequence[int], of_groups: Sequence[CodeStacks]) -> OtherStacks:
        """What the stacks `of_groups` have elsewhere than `traces`; a group that has nothing elsewhere is none.

        `group` has the group of each step.
        """
        found, forward = np.full(len(of_groups) + 1, ABSENT, np.int32), traces.forward_column()
        distinct: dict[bytes, int] = {}
        rows: list[NDArray[np.int32]] = []
        for number, own in enumerate(of_groups):
            own_forward = own.forward_column()
            nodes = np.flatnonzero((own.stack != traces.stack) | (own_forward != forward))
            columns = np.stack([nodes, own.stack[nodes], own_forward[nodes]]).astype(np.int32)
            if len(nodes):
                found[number] = distinct.setdefault(columns.tobytes(), len(rows))
                if found[number] == len(rows):
                    rows.append(np.insert(columns, 0, len(rows), axis=0))
        return cls(found[list(group)], *np.concatenate(rows, 1)) if rows else cls.none()

    def __len__(self) -> int:
        return len(self.of)

    def group_of(self, steps: Iterable[int]) -> int:
        """The group that all these steps are in; ABSENT if they are in several or in none.

        >>> OtherStacks.none().group_of([0])
        -1
        """
        groups = set(self.group[list(steps)].tolist()) if len(self) else {ABSENT}
        return int(groups.pop()) if len(groups) == 1 else ABSENT

    def given_to(self, traces: CodeStacks, group: int) -> CodeStacks:
        """The stacks of all nodes in the steps of a group."""
        if group == ABSENT:
            return traces
        rows = np.flatnonzero(self.of == group)
        nodes = self.node[rows]
        stack = traces.stack.copy()
        stack[nodes] = self.stack[rows]
        told = zip(nodes.tolist(), self.forward[rows].tolist(), strict=True)
        forward = {node: of for node, of in {**traces.forward, **dict(told)}.items() if of != ABSENT}
        return replace(traces, stack=stack, forward=forward)

    def all_given_to(self, traces: CodeStacks) -> list[CodeStacks]:
        """The stacks of all nodes in the steps of each group."""
        return [self.given_to(traces, group) for group in range(int(self.of.max(initial=ABSENT)) + 1)]


@dataclass(frozen=True)
class ExecutedKernel:
    """The kernel that ran for a node: its type and its inputs, as names of executed nodes, `node` or `node:port`.

    >>> ExecutedKernel("_FusedMatMul", ("x", "w:1")).inputs[1]
    'w:1'
    """

    op: str
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OtherGraphs:
    """The definitions of nodes in steps whose functions define them otherwise than the profile's graphs do.

    `group` has an index into `graphs` for each step, ABSENT where its functions do not; it is empty if no step's do. Of
    several definitions of a node in one entry of `graphs` the first holds.
    """

    group: Indices
    graphs: tuple[tuple[Any, ...], ...] = ()

    @classmethod
    def none(cls) -> OtherGraphs:
        """No other definitions."""
        return cls(np.zeros(0, np.int32))

    def of_steps(self, count: int) -> Indices:
        """The index of each of so many steps."""
        return self.group if len(self.group) else np.full(count, ABSENT, np.int32)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The tensors of a checkpoint by name: their shapes, and their types as TensorFlow's numbers; `read` gives a value.

    >>> checkpoint = Checkpoint("model.ckpt", {"w": (2,)}, {"w": 1}, lambda name: np.array([1.0, 2.0]))
    >>> checkpoint.value("w")
    array([1., 2.])
    """

    path: str
    shapes: Mapping[str, tuple[int, ...]]
    types: Mapping[str, int]
    value: Callable[[str], NDArray[Any]]
