"""Counts the float operations of a profile's nodes by the formulas, each set of circumstances once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from tfprof_widget.errors import ProfileWarning
from tfprof_widget.flops.elementwise import AFTER_MAIN, BY_OUTPUT
from tfprof_widget.flops.movement import computes_nothing
from tfprof_widget.flops.operation import Operation, UnknownShape
from tfprof_widget.flops.reading import NodeReader
from tfprof_widget.flops.registry import count, has_formula, registered
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.profiles import Profile


class Outcome(IntEnum):
    """What came of counting a node."""

    COUNTED = 0
    NO_FORMULA = 1
    NO_SHAPE = 2


class Count(NamedTuple):
    """The float operations of one execution, 0 where they could not be counted."""

    float_ops: int
    outcome: Outcome


_INPUTS_WITH_BIAS = 3
_NOTHING = Count(0, Outcome.COUNTED)
_NO_FORMULA = Count(0, Outcome.NO_FORMULA)
_NO_SHAPE = Count(0, Outcome.NO_SHAPE)


class Counter:
    """Counts nodes of one profile, with the formulas that there were when it was made.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> Counter(profile).count(profile.nodes.names.index("layer1/MatMul")).outcome.name
    'COUNTED'
    """

    def __init__(self, profile: Profile, *, multiply_accumulates: bool = False) -> None:
        self.reader = NodeReader(profile)
        self.formulas = registered()
        self.faults: dict[str, str] = {}
        self._profile = profile
        self._multiply_accumulates = multiply_accumulates
        self._counted: dict[Any, Count] = {}
        self._simple = {op: self._of_type(op) for op in profile.nodes.ops}

    def count(self, row: int, op: str = "") -> Count:
        """The float operations of one execution of a node, or if it were of type `op`."""
        op = op or self.reader.op(row)
        if op not in self._simple:
            self._simple[op] = self._of_type(op)
        simple = self._simple[op]
        return simple if simple is not None else self._count(row, op)

    def uncertain(self) -> list[int]:
        """The nodes that may count anything: not those of types that count nothing or have no formula."""
        nodes = self._profile.nodes
        may_count = np.array([self._simple[op] is None for op in nodes.ops], np.bool_)
        flags = may_count[nodes.op] if len(nodes) else np.zeros(0, np.bool_)
        if self._profile.kernels:
            flags |= np.fromiter((name in self._profile.kernels for name in nodes.names), np.bool_, len(nodes))
        return np.flatnonzero(flags).tolist()

    def count_alone(self, row: int) -> Count:
        """The float operations of a fused kernel of which the graph does not show what it does the work of.

        That is its main op, the op that it is named after, and a bias if it takes in one tensor more.
        """
        reader, kernel = self.reader, self.count(row)
        last = reader.graph_op(row)
        if kernel.outcome is not Outcome.COUNTED:
            return self.count(row, last)
        if last == reader.op(row):
            return kernel
        after = {last} | ({"BiasAdd"} if len(reader.taken_in(row)) == _INPUTS_WITH_BIAS else set())
        shapes = reader.output_shapes(row)[:1]
        alike = [Operation(op, shapes, shapes) for op in after if op in AFTER_MAIN]
        asked = {"multiply_accumulates": self._multiply_accumulates}
        return Count(kernel.float_ops + sum(count(each, **asked) for each in alike), Outcome.COUNTED)

    def warn(self) -> None:
        """Tell of the formulas that failed."""
        for op, fault in self.faults.items():
            warnings.warn(
                f"graph: the FLOP formula of {op} failed for some nodes, which count none: {fault}",
                ProfileWarning,
                stacklevel=4,
            )

    def _of_type(self, op: str) -> Count | None:
        """The count of all ops of a type, if it is one and the same."""
        if not has_formula(op):
            return _NO_FORMULA
        return _NOTHING if computes_nothing(op) and op not in self.formulas else None

    def _count(self, row: int, op: str) -> Count:
        reader = self.reader
        outputs = reader.output_shapes(row)
        key: tuple[Any, ...] = (op, outputs)
        if op not in BY_OUTPUT or not outputs or op in self.formulas:
            key += (reader.input_shapes(row, op), reader.sealed_attributes(row))
        found = self._counted.get(key)
        if found is None:
            found = self._counted[key] = self._ask(row, op)
        return found

    def _ask(self, row: int, op: str) -> Count:
        try:
            float_ops = count(self.reader.operation(row, op), multiply_accumulates=self._multiply_accumulates)
            if not 0 <= float_ops <= LARGEST_INTEGER:
                raise OverflowError(f"{float_ops} is no 64-bit count")
            return Count(float_ops, Outcome.COUNTED)
        except UnknownShape:
            return _NO_SHAPE
        except Exception as error:  # a formula of anyone's, or a damaged graph
            if op in self.formulas:
                self.faults[op] = f"{type(error).__name__}: {error} (at {self._profile.nodes.names[row]!r})"
            return _NO_SHAPE


def rows_of_types(profile: Profile, ops: Iterable[str]) -> list[int]:
    """The nodes of some types.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(rows_of_types(demo_profile(), {"MatMul"}))
    6
    """
    wanted = set(ops)
    codes = {code for code, op in enumerate(profile.nodes.ops) if op in wanted}
    return [row for row, code in enumerate(profile.nodes.op.tolist()) if code in codes]
