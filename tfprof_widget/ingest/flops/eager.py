"""Counts the float operations of ops that Python ran one by one, by the shapes that were noted when they had run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.flops.operation import Operation, Shape
from tfprof_widget.ingest.flops.registry import count
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Integers


class EagerOp(NamedTuple):
    """An op that Python ran: its type, attributes and shapes, and when it had run, in nanoseconds since the epoch.

    `attributes` are names and values by turns, as TensorFlow gives them.

    >>> EagerOp(5, "MatMul", ("transpose_b", True), [(8, 3), (5, 3)], [(8, 5)]).float_ops()
    240
    """

    ended: int
    op: str
    attributes: Sequence[Any]
    inputs: Sequence[Shape]
    outputs: Sequence[Shape]

    def float_ops(self) -> int:
        """The float operations of the op; 0 if they cannot be counted."""
        values = (each.decode() if isinstance(each, bytes) else each for each in self.attributes[1::2])
        named = dict(zip(self.attributes[::2], values, strict=False))
        try:
            found = count(Operation(self.op, tuple(self.inputs), tuple(self.outputs), named), as_run=True)
        except Exception:  # no formula, or an attribute that the formula cannot read
            return 0
        return min(max(found, 0), LARGEST_INTEGER)


def with_eager_ops(table: TraceTable, ops: Sequence[EagerOp]) -> TraceTable:
    """The table with the float operations of the eager ops that were noted.

    An op is noted when it has run, and before its thread runs the next: so the execution meant is the last of its type
    that had ended then, unless an earlier note was of this.

    >>> from tfprof_widget.ingest.xspace.reader import read_xspace
    >>> with_eager_ops(read_xspace(b""), [EagerOp(5, "Relu", (), [(8,)], [(8,)])]).eager_float_ops
    array([], shape=(0, 2), dtype=int64)
    """
    noted: defaultdict[str, list[EagerOp]] = defaultdict(list)
    for each in ops:
        noted[each.op].append(each)
    known: dict[tuple[Any, ...], int] = {}
    found: list[Integers] = [np.zeros((0, 2), np.int64)]
    for code, label in enumerate(table.labels):
        if label.kind != "eager run" or label.op not in noted:
            continue
        rows = np.flatnonzero(table.label == code)
        ends = table.start[rows] + table.duration[rows]
        order = np.argsort(ends, kind="stable")
        own = noted[label.op]
        place = np.searchsorted(ends[order], [each.ended for each in own], side="right") - 1
        place, first = np.unique(place, return_index=True)
        is_there = place >= 0
        counts = [_counted(own[index], known) for index in first[is_there].tolist()]
        found.append(np.stack([rows[order[place[is_there]]], np.array(counts, np.int64)], axis=1))
    return replace(table, eager_float_ops=np.concatenate(found))


def _counted(op: EagerOp, known: dict[tuple[Any, ...], int]) -> int:
    key = (op.op, repr(op.attributes), *map(tuple, (op.inputs, op.outputs)))
    if key not in known:
        known[key] = op.float_ops()
    return known[key]
