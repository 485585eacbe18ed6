"""Counts the float operations of nodes, and gives fused and compiled kernels the work that they did."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from dataclasses import replace
from enum import IntEnum
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from tfprof_widget.ingest.flops.alike import Alike, CountedRuns
from tfprof_widget.ingest.flops.elementwise import AFTER_MAIN, BY_OUTPUT
from tfprof_widget.ingest.flops.fused import INPUTS_WITH_BIAS, FusedAwayNodes, rows_of_types
from tfprof_widget.ingest.flops.node_reader import NodeReader
from tfprof_widget.ingest.flops.operation import Operation, UnknownShape, computes_nothing, main_op
from tfprof_widget.ingest.flops.products import GRADIENTS_AS_RUN
from tfprof_widget.ingest.flops.registry import count, has_formula, registered
from tfprof_widget.lib.arrays import LARGEST_INTEGER, Flags, Integers
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.lib.messages import SealedNode
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.profiles.data import ProfileTables

Formulas = Literal["all", "ran", "registered", "multiply_accumulates"]
"""Which formulas count float operations; `count_float_ops` tells what each means."""


class Outcome(IntEnum):
    """The outcome of counting a node."""

    COUNTED = 0
    NO_FORMULA = 1
    NO_SHAPE = 2


class Count(NamedTuple):
    """The float operations of one execution, 0 where they could not be counted."""

    float_ops: int
    outcome: Outcome


_NOTHING = Count(0, Outcome.COUNTED)
_NO_FORMULA = Count(0, Outcome.NO_FORMULA)
_NO_SHAPE = Count(0, Outcome.NO_SHAPE)


class Counter:
    """Counts nodes of one profile, with the formulas that were registered when it was made.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> Counter(profile).count(profile.nodes.names.index("layer1/MatMul")).outcome.name
    'COUNTED'
    """

    def __init__(self, profile: ProfileTables, *, multiply_accumulates: bool = False, as_run: bool = False) -> None:
        self.profile = profile
        self.reader = NodeReader(profile)
        self.formulas = registered()
        self.faults: dict[str, str] = {}
        self._asked = {"multiply_accumulates": multiply_accumulates, "as_run": as_run}
        self._counted: dict[Any, Count] = {}
        self._simple = {op: self._of_type(op) for op in profile.nodes.ops}

    def as_of(self, executions: Integers, otherwise: Sequence[SealedNode] = ()) -> Counter:
        """A counter of the nodes as they were in these executions, where some are defined otherwise."""
        found = copy(self)  # what is counted by formulas is shared: it depends on shapes alone
        found.reader = self.reader.as_of(executions, otherwise)
        return found

    def takes_anew(self, row: int) -> bool:
        """Whether this package's formula is preferred to what TensorFlow counts."""
        return self._asked["as_run"] and main_op(self.reader.op(row)) in GRADIENTS_AS_RUN

    def count(self, row: int, op: str = "") -> Count:
        """The float operations of one execution of a node, counted as type `op` if that is given."""
        op = op or self.reader.op(row)
        if op not in self._simple:
            self._simple[op] = self._of_type(op)
        simple = self._simple[op]
        return simple if simple is not None else self._count(row, op)

    def uncertain(self) -> list[int]:
        """The nodes that may have float operations: their types have a formula that is not always 0."""
        nodes = self.profile.nodes
        may_count = np.array([self._simple[op] is None for op in nodes.ops], np.bool_)
        flags = may_count[nodes.op] if len(nodes) else np.zeros(0, np.bool_)
        if self.profile.kernels:
            flags |= np.fromiter((name in self.profile.kernels for name in nodes.names), np.bool_, len(nodes))
        return np.flatnonzero(flags).tolist()

    def count_alone(self, row: int) -> Count:
        """The float operations of a fused kernel if the graph does not show which ops it replaces.

        They are those of its main op, of the op that it is named after, and of a bias if it has one input more.
        """
        reader, kernel = self.reader, self.count(row)
        last = reader.graph_op(row)
        if kernel.outcome is not Outcome.COUNTED:
            return self.count(row, last)
        if last == reader.op(row):
            return kernel
        after = {last} | ({"BiasAdd"} if len(reader.taken_in(row)) == INPUTS_WITH_BIAS else set())
        shapes = reader.output_shapes(row)[:1]
        alike = [Operation(op, shapes, shapes) for op in after if op in AFTER_MAIN]
        return Count(kernel.float_ops + sum(count(each, **self._asked) for each in alike), Outcome.COUNTED)

    def warn(self) -> None:
        """Warn of the formulas that failed."""
        for op, fault in self.faults.items():
            warnings.warn(
                f"graph: the FLOP formula of {op} failed for some nodes, which count none: {fault}",
                ProfileWarning,
                stacklevel=4,
            )

    def _of_type(self, op: str) -> Count | None:
        """The count of all ops of a type, if it is the same for all."""
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
            float_ops = count(self.reader.operation(row, op), **self._asked)
            if not 0 <= float_ops <= LARGEST_INTEGER:
                raise OverflowError(f"{float_ops} is no 64-bit count")
            return Count(float_ops, Outcome.COUNTED)
        except UnknownShape:
            return _NO_SHAPE
        except Exception as error:  # the formula may be anyone's, and the graph damaged
            if op in self.formulas:
                self.faults[op] = f"{type(error).__name__}: {error} (at {self.profile.nodes.names[row]!r})"
            return _NO_SHAPE


def count_float_ops(formulas: Formulas, *, of_what_ran: bool = False) -> Callable[[ProfileTables], ProfileTables]:
    """The stage that counts the float operations of nodes that have a formula and known shapes.

    Counts that the tables have stay, unless the user registered a formula for the op. With "registered" only the user's
    formulas count, for nodes without a count. With "ran", which is for op logs, all formulas count for nodes that ran,
    but with `timing="tfprof"` only the user's, because native tfprof adds nothing to an op log. With
    "multiply_accumulates" all nodes are counted anew in multiply-accumulates: products that are added up, and nothing
    else. With `of_what_ran`, for captures, a node that ran in no recorded step counts nothing; a view would add one
    execution of it to what the others did. TensorFlow's counts of convolutions' gradients are not followed there, for
    they are too high without padding.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> counted = count_float_ops("multiply_accumulates")(profile)
    >>> row = profile.nodes.names.index("gradients/layer1/MatMul_grad/MatMul_1")
    >>> int(counted.nodes.float_ops[row]) == 64 * 784 * 128
    True
    >>> count_float_ops("registered")(profile) is profile
    True
    """
    match formulas:
        case "registered":
            stage: Callable[[ProfileTables], ProfileTables] = _with_registered
        case "ran":
            stage = _with_what_ran
        case "multiply_accumulates":
            stage = partial(_with_all, multiply_accumulates=True, as_run=of_what_ran)
        case "all":
            stage = partial(_with_all, as_run=of_what_ran)
    return (lambda tables: _of_what_ran(stage(tables))) if of_what_ran else stage


def _of_what_ran(tables: ProfileTables) -> ProfileTables:
    if not len(tables.step_totals.node):
        return tables
    float_ops = np.zeros_like(tables.nodes.float_ops)
    float_ops[tables.step_totals.node] = tables.nodes.float_ops[tables.step_totals.node]
    return tables.having(nodes=replace(tables.nodes, float_ops=float_ops))


def _with_all(tables: ProfileTables, *, multiply_accumulates: bool = False, as_run: bool = False) -> ProfileTables:
    """Count each node as it first ran, and what it took in each step by the shapes that it had there."""
    counter = Counter(tables, multiply_accumulates=multiply_accumulates, as_run=as_run)
    anew = np.full(len(tables.nodes), multiply_accumulates)
    anew[rows_of_types(tables, counter.formulas)] = True
    given = np.where(anew, 0, tables.nodes.float_ops)
    with pause_gc():
        known = _counted(counter, given)
        first, in_steps = _counted_by_step(counter, given, known)
    counter.warn()
    return _having(tables, np.where(given == 0, first, known), in_steps, anew)


def _having(tables: ProfileTables, known: Integers, in_steps: Integers | None, anew: Flags) -> ProfileTables:
    """The tables with these counts; what is known by step stays, but of nodes counted `anew` or otherwise than given.

    Otherwise is counted what a fused kernel did the work of, and that kernel.
    """
    totals, nodes = tables.step_totals, replace(tables.nodes, float_ops=known)
    before = totals.float_ops
    values = replace(totals, float_ops=in_steps).float_ops_of(nodes)
    if before is not None:
        given, now = tables.nodes.float_ops[totals.node], known[totals.node]
        stays = ~anew[totals.node] & np.where(given != 0, now == given, before != 0)
        values = np.where(stays, before, values)
    return tables.having(nodes=nodes, step_totals=totals.with_float_ops(values, nodes))


def _with_registered(tables: ProfileTables) -> ProfileTables:
    rows = [row for row in rows_of_types(tables, registered()) if not tables.nodes.float_ops[row]]
    if not rows:
        return tables
    counter = Counter(tables)
    known, anew = tables.nodes.float_ops.copy(), np.zeros(len(tables.nodes), np.bool_)
    known[rows], anew[rows] = [counter.count(row).float_ops for row in rows], True
    counter.warn()
    return _having(tables, known, None, anew)


def _with_what_ran(tables: ProfileTables) -> ProfileTables:
    """All formulas count what ran and what is fused away, and native tfprof's counts are kept beside."""
    told = _with_registered(tables)
    counted = _with_all(told)
    native, known = told.nodes.float_ops, counted.nodes.float_ops
    ran = np.zeros(len(native), np.bool_)
    ran[tables.step_totals.node] = True
    exact = np.where(ran, known, np.minimum(known, native))
    if np.array_equal(exact, native) and counted.step_totals.float_ops is None:
        return told
    return counted.having(nodes=replace(told.nodes, float_ops=exact, native_float_ops=native))


def _counted_by_step(counter: Counter, given: Integers, known: Integers) -> tuple[Integers, Integers | None]:
    """What each node took when it first ran, and in each step; the latter is None if that is `known` in all steps."""
    executions, runs = counter.profile.executions, CountedRuns(counter.profile)
    of_one, is_alike = known[executions.node], True
    for alike in runs.alike():
        here, is_alike = counter.as_of(alike.telling, alike.otherwise), False
        counted = _counted(here, _given_here(given, counter, here, alike), alike)
        of_one[alike.executions] = counted[executions.node[alike.executions]]
    return (known, None) if is_alike else runs.added_up(of_one, known)


def _given_here(given: Integers, counter: Counter, here: Counter, alike: Alike) -> Integers:
    """Counts that were given for the shapes of first executions, in proportion to what nodes took here."""
    found = given.copy()
    for row in alike.nodes[given[alike.nodes] != 0].tolist():
        usual, own = counter.count(row).float_ops, here.count(row).float_ops
        if usual and own != usual:
            found[row] = max(-LARGEST_INTEGER, min(int(given[row]) * own // usual, LARGEST_INTEGER))
    return found


def _counted(counter: Counter, given: Integers, alike: Alike | None = None) -> Integers:
    """What one execution of each node took, or of each node that ran in executions that are alike."""
    known, rows, compiled = given.copy(), counter.uncertain(), _compiled(counter.profile)
    chosen = None
    if alike is not None:
        chosen = set(alike.nodes.tolist())
        compiled = {row: within for row, within in compiled.items() if row in chosen}
        chosen.update(*compiled.values())
        rows = [row for row in rows if row in chosen]
    for row in rows:
        if not known[row] or counter.takes_anew(row):
            known[row] = counter.count(row).float_ops or known[row]
    absorbed = FusedAwayNodes(counter.profile, counter.reader, None if alike is None else alike.steps)
    _give_to_kernels(counter, absorbed, known, chosen)
    _give_to_compiled(compiled, absorbed, known)
    return known


def _give_to_kernels(
    counter: Counter, absorbed: FusedAwayNodes, known: Integers, chosen: Container[int] | None
) -> None:
    by_kernel = absorbed.by_kernel(chosen)
    given: dict[int, int] = {}
    for kernel, rows in by_kernel.items():
        if not rows:
            given[kernel] = counter.count_alone(kernel).float_ops
            continue
        put_out = counter.reader.output_shapes(kernel)
        for row in rows:
            if main_op(counter.reader.op(row)) == main_op(counter.reader.op(kernel)):
                counter.reader.take_input_shapes(row, counter.reader.taken_in(kernel))
            if put_out and put_out[0] is not None:
                counter.reader.take_shape(row, put_out[0])
        own = counter.count(kernel, counter.reader.graph_op(kernel)).float_ops
        given[kernel] = own + sum(counter.count(row).float_ops for row in rows)
    for kernel, rows in by_kernel.items():
        known[kernel] = given[kernel]
        for row in rows:
            if not absorbed.ever_ran(row):
                known[row] = 0


def _compiled(profile: ProfileTables) -> dict[int, list[int]]:
    """The functions that XLA compiled, each with the nodes in it."""
    row_of = {name: row for row, name in enumerate(profile.nodes.names)} if profile.compiled else {}
    return {
        row_of[node]: [row_of[each] for each in within if each in row_of] for node, within in profile.compiled.items()
    }


def _give_to_compiled(compiled: Mapping[int, Sequence[int]], absorbed: FusedAwayNodes, known: Integers) -> None:
    """Give a function that XLA compiled the counts of the ops in it, because it runs in their place."""
    sums = {row: sum(known[within].tolist()) for row, within in compiled.items()}
    for row, within in compiled.items():
        known[row] = min(sums[row], LARGEST_INTEGER)
        known[[each for each in within if not absorbed.ever_ran(each)]] = 0
