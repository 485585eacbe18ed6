"""Finds which ops of the graph a fused kernel did the work of: they never ran beside it, it ran in their place."""

from __future__ import annotations

import numpy as np

from tfprof_widget.flops.fused import is_fused, main_op
from tfprof_widget.flops.reading import NodeReader
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT

_WITH_BIAS = "BackpropFilterWithBias"


class AbsorbedNodes:
    """Which nodes ran in which step, and so which the kernels of other nodes absorbed.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> absorbed = AbsorbedNodes(profile, NodeReader(profile)).by_kernel()
    >>> {profile.nodes.names[row]: [profile.nodes.names[each] for each in rows] for row, rows in absorbed.items()}
    {'layer1/Relu': ['layer1/BiasAdd', 'layer1/MatMul'], 'layer2/BiasAdd': ['layer2/MatMul']}
    """

    def __init__(self, profile: Profile, reader: NodeReader) -> None:
        self._profile = profile
        self._reader = reader
        totals = profile.step_totals
        ran = totals.run_count + totals.accelerator_micros > 0
        self._start = np.searchsorted(totals.node, np.arange(len(profile.nodes) + 1)).tolist()
        self._step = np.where(ran, totals.step, ABSENT).tolist()

    def by_kernel(self) -> dict[int, list[int]]:
        """By the node of each fused kernel the others that it did the work of."""
        nodes, kernels = self._profile.nodes, self._profile.kernels
        fused = {code for code, op in enumerate(nodes.ops) if is_fused(op)}
        rows = [row for row, code in enumerate(nodes.op.tolist()) if code in fused]
        named = {name for name, kernel in kernels.items() if is_fused(kernel.op)}
        rows += [row for row, name in enumerate(nodes.names) if name in named] if named else []
        return {row: self._absorbed(row, self._reader.op(row)) for row in rows}

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
        found: dict[int, None] = {}
        waiting = [kernel] if self._reader.graph_op(kernel) != main_op(op) else []
        has_main = not waiting
        while waiting:
            row = waiting.pop()
            if self._reader.is_executed_only(row):
                continue
            for source in self._reader.sources(row)[0]:
                if source == ABSENT or source in found or self._steps(source) & steps:
                    continue
                found[source] = None
                if main_op(self._reader.graph_op(source)) == main_op(op):
                    has_main = True
                else:
                    waiting.append(source)
        return list(found) if has_main else []

    def _of_same_gradient(self, kernel: int) -> list[int]:
        """The gradients of biases that are made of the same gradient as a filter's."""
        sources = self._reader.sources(kernel)[0]
        if len(sources) < 3:
            return []
        nodes = self._profile.nodes
        codes = {code for code, op in enumerate(nodes.ops) if op == "BiasAddGrad"}
        rows = [row for row, code in enumerate(nodes.op.tolist()) if code in codes]
        return [row for row in rows if self._reader.sources(row)[0][:1] == sources[2:3]]
