"""Defines the tables of a profile: frozen dataclasses of arrays of equal length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import Flags, Indices, Integers

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

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self.values[self.start[index] : self.start[index + 1]]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The graph nodes, sorted by name (by code point, which is also the byte order of UTF-8).

    `shapes` is a dictionary of shapes, into which `shape` and `output_shapes` are indices; a shape that is
    not known is ABSENT, and so is the source of an input that the graph lacks. `inputs` lists the
    sources of each node and `input_ports`, entry by entry, which of the source's outputs it takes.
    `identity` numbers the nodes in the order in which they were met.
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

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Executions:
    """One row an execution of a node, in the order recorded; `step` and `device` index the profile's.

    An execution without a start time counts for no time and no memory; it only says that the node was seen.
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

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class Outputs:
    """One row an output tensor of an execution: where it lies, how large it is and its shape at run time."""

    execution: Indices
    slot: Indices
    bytes: Integers
    address: NDArray[np.uint64]
    shape: Indices


@dataclass(frozen=True, eq=False)
class Allocations:
    """One row an allocation (or, with negative bytes, a release) that an execution made."""

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
    """One row a run, in the order of its executions: its step, a digest, and how many executions it has.

    `elsewhere` are executions of nodes on devices that are not their own, which count for nothing: a node's device is
    the first that it ran on, and when profiles are merged, that may turn out to be another. `kept_before` says of each
    of them how many executions that count were recorded before it.
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
    """One row a node and step in which it was seen: its sums over the executions of that step.

    `start_micros` is when its first execution started and `end_micros` when its last ended, both 0 where
    no start was recorded.
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


@dataclass(frozen=True, eq=False)
class Transfers:
    """One row a tensor that a device got from another: `source`, `target` and `tensor` index these dictionaries.

    `kind` indexes `kinds`, such as `RecvTensor`; `node` made the tensor, or is ABSENT. Times are by the target's clock,
    from when it asked for the tensor until it had it; of a RecvTensor from when its source began to send, which is all
    that is recorded. Of a collective the source is its group. 0 bytes may stand for bytes that are not known.
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

    `stack` gives a node's stack or ABSENT; `stacks` lists frames, outermost first; the frame columns
    `file`, `function` and `source` index `strings`, and `string_numbers` are the op log's own for them.
    `forward` gives the forward nodes of gradients whose names do not tell. `live` are the frames that a graph of this
    very process told; all others come from files and messages, of whoever's.
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


@dataclass(frozen=True)
class ExecutedKernel:
    """What ran for a node, as its run tells: the kernel's type, and what it took in.

    That is told as executed nodes, `node` or `node:port`, or as shapes.

    >>> ExecutedKernel("_FusedMatMul", ("x", "w:1")).inputs[1]
    'w:1'
    """

    op: str
    inputs: tuple[str, ...] = ()
    input_shapes: tuple[tuple[int, ...] | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The tensors of a checkpoint by name: their shapes and TensorFlow's numbers of their types; values when read.

    >>> checkpoint = Checkpoint("model.ckpt", {"w": (2,)}, {"w": 1}, lambda name: np.array([1.0, 2.0]))
    >>> checkpoint.value("w")
    array([1., 2.])
    """

    path: str
    shapes: Mapping[str, tuple[int, ...]]
    types: Mapping[str, int]
    value: Callable[[str], NDArray[Any]]


def _lists(lists: Sequence[Sequence[int]]) -> Lists:
    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=start[1:])
    return Lists(start, np.fromiter(chain.from_iterable(lists), np.int32, int(start[-1])))
