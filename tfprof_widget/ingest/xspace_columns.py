"""Holds what was read of an XSpace: columns of executions, with labels that tell what ran until nodes are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tfprof_widget.tables import Indices, Integers

Ran = Literal["op", "data op", "eager part", "iterator", "eager run", "kernel"]
"""An op of a function or of a session, of `tf.data`, or one that maybe only belongs to an eager op; an iterator of
`tf.data`; an eager op; a kernel of an accelerator."""

MEMORY = ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes", "bytes_in_use")


class Label(NamedTuple):
    """What ran: its name as it was executed, its type, and the function that Python had called last.

    >>> Label("op", "__inference_step_1", "dense/MatMul", "MatMul").device
    ''
    """

    kind: Ran
    function: str
    name: str
    op: str
    device: str = ""


class Exchange(NamedTuple):
    """A tensor that a device got, or a collective that it took part in: `name` is as it was executed."""

    kind: str
    name: str
    source: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class XSpaceColumns:
    """The executions in an XSpace, one a row; it takes a small part of the XSpace's room.

    `label` are places in `labels`, which are in the order met; `step` are numbers, whose names `step_names` are.
    `memory` has a row for each execution that allocated: its row, and the bytes that `MEMORY` names. `allocations` has
    one for each allocation and for its release within the step, whichever thread made it: the row of the execution that
    allocated, the microsecond, the bytes (negative if released), and whether on an accelerator. `functions` are the
    runtime's names of all functions that Python called. `input_shapes` are, by an op's name as executed and its type,
    those of its first execution, as TensorFlow writes them. `exchanges` are what devices sent each other and the
    collectives that they took part in, each with the number of its step. `notes` say what went wrong.
    """

    labels: tuple[Label, ...]
    label: Indices
    step: Indices
    start: Integers
    duration: Integers
    thread: Integers
    memory: Integers
    allocations: Integers
    step_names: Mapping[int, str]
    functions: frozenset[str]
    dropped: int
    input_shapes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    exchanges: tuple[tuple[int, Exchange], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """The room that the columns take."""
        columns = (self.label, self.step, self.start, self.duration, self.thread, self.memory, self.allocations)
        return sum(column.nbytes for column in columns)
