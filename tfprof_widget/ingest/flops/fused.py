"""Finds the ops that a fused kernel did the work of, and names kernels by them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

import numpy as np

from tfprof_widget.ingest.flops.elementwise import AFTER_MAIN
from tfprof_widget.ingest.flops.node_reader import NodeReader
from tfprof_widget.ingest.flops.operation import COMPOSED, JOINED, computes_nothing, is_fused, main_op
from tfprof_widget.ingest.flops.registry import has_formula
from tfprof_widget.ingest.parts.nodes import types_of
from tfprof_widget.lib.arrays import ABSENT, Integers
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.tables import ExecutedKernel, Nodes

INPUTS_WITH_BIAS = 3
"""The inputs of a fused product with a bias."""


def rows_of_types(profile: ProfileTables, ops: Iterable[str]) -> list[int]:
    """The nodes of some types.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(rows_of_types(demo_profile(), {"MatMul"}))
    6
    """
    wanted = set(ops)
    codes = {code for code, op in enumerate(profile.nodes.ops) if op in wanted}
    return [row for row, code in enumerate(profile.nodes.op.tolist()) if code in codes]


_WITH_BIAS = "BackpropFilterWithBias"


class FusedAwayNodes:
    """Tells which nodes did not run by themselves because a fused kernel of another node did their work.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> absorbed = FusedAwayNodes(profile, NodeReader(profile)).by_kernel()
    >>> {profile.nodes.names[row]: [profile.nodes.names[each] for each in rows] for row, rows in absorbed.items()}
    {'layer1/Relu': ['layer1/BiasAdd', 'layer1/MatMul'], 'layer2/BiasAdd': ['layer2/MatMul']}
    """

    def __init__(self, profile: ProfileTables, reader: NodeReader, steps: Integers | None = None) -> None:
        """Of all steps, or of these."""
        self._profile = profile
        self._reader = reader
        totals = profile.step_totals
        ran = totals.run_count + totals.accelerator_micros > 0
        if steps is not None:
            ran &= np.isin(totals.step, steps)
        self._start = np.searchsorted(totals.node, np.arange(len(profile.nodes) + 1)).tolist()
        self._step = np.where(ran, totals.step, ABSENT).tolist()

    def by_kernel(self, chosen: Container[int] | None = None) -> dict[int, list[int]]:
        """The nodes whose work each fused kernel did, by the node of the kernel; of all nodes, or of those chosen."""
        rows = self.kernels() if chosen is None else filter(chosen.__contains__, self.kernels())
        return {row: self._absorbed(row, self._reader.op(row)) for row in rows}

    def kernels(self) -> list[int]:
        """The nodes for which a fused kernel ran."""
        nodes, kernels = self._profile.nodes, self._profile.kernels
        fused = {code for code, op in enumerate(nodes.ops) if is_fused(op)}
        rows = [row for row, code in enumerate(nodes.op.tolist()) if code in fused]
        named = {name for name, kernel in kernels.items() if is_fused(kernel.op)}
        rows += [row for row, name in enumerate(nodes.names) if name in named] if named else []
        return rows

    def ever_ran(self, row: int) -> bool:
        """Whether a node ran in any step."""
        return bool(self._steps(row))

    def _steps(self, row: int) -> frozenset[int]:
        steps = frozenset(self._step[self._start[row] : self._start[row + 1]])
        return steps - {ABSENT}

    def _absorbed(self, kernel: int, op: str) -> list[int]:
        steps = self._steps(kernel)
        if op.endswith(_WITH_BIAS):
            return [row for row in self._of_same_gradient(kernel) if not self._steps(row) & steps]
        if op == COMPOSED:
            return self._composed(kernel, steps)
        found, mains = self._before(kernel, main_op(op))
        return list(found) if mains else []

    def _before(self, kernel: int, main: str) -> tuple[dict[int, int], list[int]]:
        """The nodes before a kernel that did not run in its steps, up to its main op: each with the node that it feeds.

        Beside them, those of its main op's type; none if the kernel's own node is the main op.
        """
        steps = self._steps(kernel)
        found: dict[int, int] = {}
        mains: list[int] = []
        waiting = [kernel] if self._reader.graph_op(kernel) != main else []
        while waiting:
            row = waiting.pop()
            if self._reader.is_executed_only(row):
                continue
            for source in self._reader.sources(row)[0]:
                if source == ABSENT or source in found or self._steps(source) & steps:
                    continue
                found[source] = row
                if main_op(self._reader.graph_op(source)) == main:
                    mains.append(source)
                else:
                    waiting.append(source)
        return found, mains

    def parts(self, kernel: int) -> tuple[str, ...]:
        """The types of the ops that a fused kernel is made of, the main op first; empty if the graph does not tell."""
        op, last = self._reader.op(kernel), self._reader.graph_op(kernel)
        main = main_op(op)
        if op.endswith(_WITH_BIAS):
            return main, "BiasAddGrad"
        if op == COMPOSED:
            before = self._composed(kernel, self._steps(kernel))
            return (*[self._reader.graph_op(row) for row in reversed(before)], last) if before else ()
        if last in (op, main):
            return ()
        found, mains = self._before(kernel, main)
        if not mains:
            has_bias = last in AFTER_MAIN - {"BiasAdd"} and len(self._reader.taken_in(kernel)) == INPUTS_WITH_BIAS
            return (main, "BiasAdd", last) if has_bias else (main, last)
        row, parts = mains[0], [main]
        while row != kernel:
            row = found[row]
            if not computes_nothing(part := self._reader.graph_op(row)):
                parts.append(part)
        return tuple(parts)

    def _composed(self, kernel: int, steps: frozenset[int]) -> list[int]:
        """The elementwise ops of one input before the last one of a composition, as far as they did not run."""
        found: list[int] = []
        sources = self._reader.sources(kernel)[0]
        while len(sources) == 1 and sources[0] != ABSENT and not self._steps(sources[0]) & steps:
            if self._reader.graph_op(sources[0]) not in AFTER_MAIN:
                break
            found.append(sources[0])
            sources = self._reader.sources(sources[0])[0]
        return found

    def _of_same_gradient(self, kernel: int) -> list[int]:
        """The gradients of biases that are computed from the same incoming gradient as a filter's gradient."""
        sources = self._reader.sources(kernel)[0]
        if len(sources) < 3:
            return []
        nodes = self._profile.nodes
        codes = {code for code, op in enumerate(nodes.ops) if op == "BiasAddGrad"}
        rows = [row for row, code in enumerate(nodes.op.tolist()) if code in codes]
        return [row for row in rows if self._reader.sources(row)[0][:1] == sources[2:3]]


def name_kernels(tables: ProfileTables) -> ProfileTables:
    """The stage that names the type of a node by the ops that its kernel is made of, the main op first.

    It is for captures: there, a fused kernel runs under the name of its last op, or as a type of its own. The node
    keeps its other types, and gets those of the parts. A kernel of oneDNN that does the work of one op is named as it.

    >>> from tfprof_widget.demo import demo_profile
    >>> nodes = name_kernels(demo_profile()).nodes
    >>> nodes.ops[nodes.op[nodes.names.index("layer1/Relu")]]
    'MatMul + BiasAdd + Relu'
    """
    nodes, reader = tables.nodes, NodeReader(tables)
    fused_away = FusedAwayNodes(tables, reader)
    plain = {op: main for op in nodes.ops if not is_fused(op) and (main := main_op(op)) != op and has_formula(op)}
    parts: dict[int, tuple[str, ...]] = {
        row: (plain[nodes.ops[nodes.op[row]]],) for row in rows_of_types(tables, plain)
    }
    parts |= {row: found for row in fused_away.kernels() if (found := fused_away.parts(row))}
    if not parts:
        return tables
    kernels = {nodes.names[row]: ExecutedKernel(nodes.ops[nodes.op[row]]) for row in parts}
    return tables.having(nodes=_with_parts(nodes, parts), kernels=kernels | dict(tables.kernels))


def _with_parts(nodes: Nodes, parts: Mapping[int, tuple[str, ...]]) -> Nodes:
    """The nodes with the types of kernels that are made of these parts."""
    named = [nodes.ops[code] for code in nodes.op.tolist()]
    own = [(row, nodes.type_names[code]) for row in range(len(nodes)) for code in nodes.types[row].tolist()]
    for row, found in parts.items():
        named[row] = JOINED.join(found)
        own += [(row, part) for part in found]
    ops = tuple(sorted(set(named)))
    code_of = {name: code for code, name in enumerate(ops)}
    op = np.array([code_of[name] for name in named], np.int32)
    nowhere = np.zeros(0, np.int64)
    type_names, types = types_of(ops, op, (), (nowhere, nowhere), own)
    return replace(nodes, ops=ops, op=op, type_names=type_names, types=types)
