"""Gives each op of a graph keys by which it is found in another graph, from what proves much to what proves little."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Hashable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.comparing.alignment import Keys
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.kept_run import GraphOps

_COUNTER = re.compile(r"_\d+(?=[/_]|$)")
_BACKWARD = re.compile(r"(^|/)(gradient_tape/|gradients/)|_grad(?=/|$)")

REACH = 6
"""So far away neighbours are looked at: the scalars of an optimizer are so far from what tells their variable."""

Token = tuple[str, str]
"""A scope of a name: the path to it without counters, and its own name."""


def without_counters(name: str) -> str:
    """A name without the numbers that Keras and TensorFlow put behind names to tell them apart.

    >>> without_counters("model_1/dense_12/MatMul_3")
    'model/dense/MatMul'
    """
    return _COUNTER.sub("", name)


class OpKeys:
    """The keys of the ops of a graph: numbers, the same for the same thing in all graphs that share `numbers`."""

    def __init__(self, ops: GraphOps, numbers: dict[Hashable, int]) -> None:
        self._ops, self._numbers = ops, numbers
        self.names = ops.names
        self.scopes = [name.rpartition("/")[0] for name in ops.names]
        self.tokens = {scope: scope_tokens(scope) for scope in dict.fromkeys(self.scopes)}
        self.bases = [without_counters(name) for name in ops.names]
        self.types = [ops.types[code] for code in ops.type.tolist()]
        self.shapes = [ops.shapes[code] for code in ops.shape.tolist()]
        values, start = ops.inputs.values.tolist(), ops.inputs.start.tolist()
        self.inputs = [values[first:end] for first, end in pairwise(start)]
        self.consumers: list[list[int]] = [[] for _ in self.inputs]
        for row, sources in enumerate(self.inputs):
            for source in sources:
                if source != ABSENT:
                    self.consumers[source].append(row)

    @cached_property
    def loose(self) -> Keys:
        """By name without counters and type."""
        return self._keys(self.bases, self.types)

    @cached_property
    def firm(self) -> Keys:
        """By that, shape, and the text of the source line."""
        return self._keys(self.loose, self.shapes, self._texts)

    @cached_property
    def strict(self) -> Keys:
        """By that and all neighbours."""
        return self._keys(self.firm, self._around)

    @cached_property
    def near(self) -> Keys:
        """As strict, whatever the text of the source line: a line may be edited elsewhere."""
        return self._keys(self.loose, self.shapes, self._around)

    @cached_property
    def signature(self) -> Keys:
        """By type, shape, source line and neighbours, whatever the name."""
        return self._keys(self.kind, self._texts, self._around)

    @cached_property
    def kind(self) -> Keys:
        """By type and shape."""
        return self._keys(self.types, self.shapes)

    @cached_property
    def parts(self) -> dict[str, dict[str, None]]:
        """The names of scopes by their path without counters, in the order in which they were made."""
        found: dict[str, dict[str, None]] = {}
        for tokens in self.tokens.values():
            for path, part in tokens:
                found.setdefault(path, {})[part] = None
        return found

    def contents(self, paths: Container[str]) -> dict[str, dict[str, Counter[int]]]:
        """The keys of the ops in the scopes of some paths, by path and name."""
        found: dict[str, dict[str, Counter[int]]] = {}
        for row, scope in enumerate(self.scopes):
            for path, part in self.tokens[scope]:
                if path in paths:
                    found.setdefault(path, {}).setdefault(part, Counter()).update((self.firm[row], self.loose[row]))
        for row, name in enumerate(self.names):  # an op may be a scope too
            if name in self.tokens and not _BACKWARD.search(name):
                path, part = self.tokens[name][-1]
                if path in found:
                    found[path][part][self.firm[row]] += 2
        return found

    @cached_property
    def _texts(self) -> list[str]:
        texts = [*(line.source for line in self._ops.lines), ""]  # the last one for ABSENT
        return [texts[code] for code in self._ops.line.tolist()]

    @cached_property
    def _around(self) -> list[int]:
        """A number for the types and shapes of each op and of those at most `REACH` edges away."""
        inputs = self._ops.inputs
        target = np.repeat(np.arange(len(inputs)), np.diff(inputs.start))
        port = np.arange(len(target)) - inputs.start[target]
        known = inputs.values != ABSENT
        target, source, port = target[known], inputs.values[known].astype(np.int64), port[known].astype(np.uint64)
        found = _mixed(np.array(self.kind, np.uint64))
        for _ in range(REACH):
            given, taken = np.zeros_like(found), np.zeros_like(found)
            np.add.at(given, target, _mixed(found[source] + port))
            np.add.at(taken, source, _mixed(found[target] ^ np.uint64(0x9E3779B97F4A7C15)))
            found = _mixed(found + _mixed(given + np.uint64(1)) + _mixed(taken + np.uint64(2)))
        numbers: list[int] = found.tolist()
        return numbers

    def _keys(self, *columns: Sequence[Hashable]) -> Keys:
        """A number for each row, the same for rows that are equal in all columns."""
        numbers = self._numbers
        return [numbers.setdefault(key, len(numbers)) for key in zip(*columns, strict=True)]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Other numbers, different for different ones, whose sums tell much of what was added."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def scope_tokens(scope: str) -> list[Token]:
    """The scopes within a scope, from the outermost on; those of a backward pass are the layers'.

    >>> scope_tokens("gradient_tape/model/dense_1")
    [('/model', 'model'), ('/model/dense', 'dense_1')]
    """
    path, found = "", []
    for part in _BACKWARD.sub(r"\1", scope).split("/") if scope else ():
        path = f"{path}/{_COUNTER.sub('', part)}"
        found.append((path, part))
    return found
