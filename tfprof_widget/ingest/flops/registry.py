"""Finds the formula of an op type, the user's own or else the package's, and counts ops that Python ran one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.flops import elementwise, products, updates
from tfprof_widget.ingest.flops.operation import Formula, Operation, Shape, computes_nothing, fused_ops, main_op
from tfprof_widget.ingest.flops.products import GRADIENTS_AS_RUN, MULTIPLY_ACCUMULATES
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Integers
from tfprof_widget.lib.errors import value_error

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {**elementwise.FLOAT_OPS, **products.FLOAT_OPS, **updates.FLOAT_OPS}
)
"""The formulas of float operations other than multiply-accumulates; an op type may have both."""

# Formulas are registered for the whole process, as with TensorFlow. They are one immutable mapping, which is replaced
# as a whole, so that a count that has begun uses the same formulas to its end.
_registered: Mapping[str, Formula] = MappingProxyType({})


def register_flops(op: str, formula: Formula) -> Callable[[], None]:
    """Count ops of a type by a formula of your own, in all profiles made from now on.

    The formula gets an Operation (its shapes and attributes) and returns the float operations of one execution. It is
    preferred to any other formula for the op. To take it back, call the function that is returned.

    >>> take_back = register_flops("MyOp", lambda operation: 3 * operation.output_size)
    >>> count(Operation("MyOp", outputs=((4, 5),)))
    60
    >>> take_back()
    """
    if not isinstance(op, str) or not op:
        raise value_error(f"register_flops: the op is {op!r}; give the name of its type, such as 'MatMul'")
    if not callable(formula):
        raise TypeError(f"register_flops: the formula of {op} is {formula!r}; give a function of an Operation")
    before = _registered.get(op)
    _put(op, formula)

    def take_back() -> None:
        if _registered.get(op) is formula:
            _put(op, before)

    return take_back


def registered() -> Mapping[str, Formula]:
    """The formulas that users have registered so far, as an immutable mapping."""
    return _registered


def has_formula(op: str) -> bool:
    """Whether float operations of this op type can be counted, even if the count is 0.

    >>> has_formula("_MklNativeFusedConv2D"), has_formula("_MklTranspose"), has_formula("Svd")
    (True, True, False)
    """
    main = main_op(op)
    return op in _registered or main in MULTIPLY_ACCUMULATES or main in FLOAT_OPS or computes_nothing(op)


def count(operation: Operation, *, multiply_accumulates: bool = False, as_run: bool = False) -> int:
    """The float operations of one execution, or the number of its multiply-accumulates, each of two float operations.

    With `as_run`, TensorFlow's miscounts are not followed. Raises UnknownShape if shapes are missing, and KeyError if
    there is no formula.

    >>> product = Operation("MatMul", ((8, 3), (3, 5)), ((8, 5),))
    >>> count(product), count(product, multiply_accumulates=True)
    (240, 120)
    """
    own = _registered.get(operation.op)
    if own is not None:
        return int(own(operation)) // (2 if multiply_accumulates else 1)
    main = main_op(operation.op)
    if main not in MULTIPLY_ACCUMULATES and main not in FLOAT_OPS:
        if computes_nothing(operation.op):
            return 0
        raise KeyError(operation.op)
    of_products = {**MULTIPLY_ACCUMULATES, **GRADIENTS_AS_RUN} if as_run else MULTIPLY_ACCUMULATES
    products = of_products[main](operation) if main in of_products else 0
    if multiply_accumulates:
        return int(products)
    others = FLOAT_OPS[main](operation) if main in FLOAT_OPS else 0
    return int(2 * products + others) + sum(_fused(op, operation) for op in fused_ops(operation))


def _fused(op: str, operation: Operation) -> int:
    """The float operations of the ops that a fused kernel applies to its main result."""
    result = operation.output()
    formula = FLOAT_OPS.get(_SPELLED_OTHERWISE.get(op, op))
    attributes = {**operation.attributes, "is_training": False}
    return int(formula(Operation(op, (result,), (result,), attributes))) if formula is not None else 0


_SPELLED_OTHERWISE = {
    "FusedBatchNorm": "FusedBatchNormV3",
    "GeluExact": "Gelu",
    "GeluApproximate": "Gelu",
    "_MklSwish": "Swish",
}


def _put(op: str, formula: Formula | None) -> None:
    global _registered
    others = {name: each for name, each in _registered.items() if name != op}
    _registered = MappingProxyType(others if formula is None else {**others, op: formula})


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
