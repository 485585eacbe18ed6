"""Gives each op keys by which the same op is found in another graph, and aligns sequences by their keys."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT, Floats
from tfprof_widget.profiles.kept_run import GraphOps

MOST_COMPARED = 250_000
"""The most pairs of items to compare one by one, if no item has a key of its own."""

Keys = Sequence[int]


def best_in_order(likeness: Floats) -> list[tuple[int, int]]:
    """The pairs of rows and columns, rising in both, whose likeness adds up to the most.

    >>> best_in_order(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    [(0, 0), (1, 2)]
    """
    rows, columns = likeness.shape
    best = np.zeros((rows + 1, columns + 1))
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            paired = likeness[row, column] + best[row + 1, column + 1]
            best[row, column] = max(paired, best[row + 1, column], best[row, column + 1])
    found = []
    row = column = 0
    while row < rows and column < columns:
        if best[row, column] == best[row + 1, column]:
            row += 1
        elif best[row, column] == best[row, column + 1]:
            column += 1
        else:
            found.append((row, column))
            row, column = row + 1, column + 1
    return found


def only_ones(keys: Keys, rows: Iterable[int]) -> dict[int, int]:
    """The rows with a key that none of the other rows has, by key.

    >>> only_ones([7, 8, 7], range(3))
    {8: 1}
    """
    found: dict[int, int] = {}
    for row in rows:
        found[keys[row]] = ABSENT if keys[row] in found else row
    return {key: row for key, row in found.items() if row != ABSENT}


def longest_rising(values: Sequence[int]) -> list[int]:
    """The places of a longest rising subsequence.

    >>> longest_rising([3, 1, 2, 9, 4])
    [1, 2, 4]
    """
    tails: list[int] = []
    places: list[int] = []
    previous = [ABSENT] * len(values)
    for place, value in enumerate(values):
        at = bisect_left(tails, value)
        previous[place] = places[at - 1] if at else ABSENT
        tails[at : at + 1] = [value]
        places[at : at + 1] = [place]
    found = places[-1:]
    while found and previous[found[-1]] != ABSENT:
        found.append(previous[found[-1]])
    return found[::-1]


def align(left: list[int], right: list[int], own: Keys, others: Keys, take: Callable[[int, int], bool]) -> None:
    """Pair rows with equal keys, in order: from both ends, then at rows whose key is unique, then between these.

    `take` gets each pair; a pair for which it returns False is skipped.

    >>> taken = {}
    >>> align([0, 1, 2], [0, 1, 2, 3], [5, 6, 7], [5, 9, 6, 7], lambda row, other: taken.update({row: other}) is None)
    >>> taken
    {0: 0, 2: 3, 1: 2}
    """
    pending = [(left, right)]
    while pending:
        left, right = pending.pop()
        first = 0
        while first < min(len(left), len(right)) and own[left[first]] == others[right[first]]:
            if not take(left[first], right[first]):
                break
            first += 1
        left, right = left[first:], right[first:]
        last = 0
        while last < min(len(left), len(right)) and own[left[-1 - last]] == others[right[-1 - last]]:
            if not take(left[-1 - last], right[-1 - last]):
                break
            last += 1
        left, right = left[: len(left) - last], right[: len(right) - last]
        if not left or not right:
            continue
        theirs, at = only_ones(others, right), {row: place for place, row in enumerate(right)}
        alone = only_ones(own, left).keys() & theirs.keys()
        shared = [(place, at[theirs[own[row]]]) for place, row in enumerate(left) if own[row] in alone]
        anchors = [shared[place] for place in longest_rising([place for _, place in shared])]
        if not anchors and len(left) * len(right) <= MOST_COMPARED:
            anchors = _common(left, right, own, others)
            for place, other in anchors:
                take(left[place], right[other])
            continue
        start = (0, 0)
        pieces = []
        for place, other in [*anchors, (len(left), len(right))]:
            pieces.append((left[start[0] : place], right[start[1] : other]))
            if place < len(left):
                take(left[place], right[other])
            start = place + 1, other + 1
        pending.extend(reversed(pieces if anchors else []))


def _common(left: list[int], right: list[int], own: Keys, others: Keys) -> list[tuple[int, int]]:
    """The places of a longest common subsequence of keys."""
    best = np.zeros((len(left) + 1, len(right) + 1), np.int32)
    numbers: dict[int, int] = {}
    first = np.array([numbers.setdefault(own[row], len(numbers)) for row in left])
    second = np.array([numbers.setdefault(others[row], len(numbers)) for row in right])
    for place in range(len(left) - 1, -1, -1):
        equal = np.where(second == first[place], best[place + 1, 1:] + 1, 0)
        best[place, :-1] = np.maximum.accumulate(np.maximum(equal, best[place + 1, :-1])[::-1])[::-1]
    found = []
    place = other = 0
    while place < len(left) and other < len(right):
        if first[place] == second[other] and best[place, other] == best[place + 1, other + 1] + 1:
            found.append((place, other))
            place, other = place + 1, other + 1
        elif best[place + 1, other] >= best[place, other + 1]:
            place += 1
        else:
            other += 1
    return found


_COUNTER = re.compile(r"_\d+(?=[/_]|$)")
_BACKWARD = re.compile(r"(^|/)(gradient_tape/|gradients/)|_grad(?=/|$)")

REACH = 6
"""How many edges away neighbours count: this far, the scalars of an optimizer still reach the op of their variable."""

Token = tuple[str, str]
"""A scope of a name: the path to it without counters, and its own name."""


def without_counters(name: str) -> str:
    """A name without the numbers that Keras and TensorFlow append to make names distinct.

    >>> without_counters("model_1/dense_12/MatMul_3")
    'model/dense/MatMul'
    """
    return _COUNTER.sub("", name)


class OpKeys:
    """The keys of the ops of a graph. Keys are numbers; graphs that share `numbers` have equal keys for equal ops."""

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
        """By type, and by name without counters."""
        return self._keys(self.bases, self.types)

    @cached_property
    def firm(self) -> Keys:
        """As `loose`, and by shape and the text of the source line."""
        return self._keys(self.loose, self.shapes, self._texts)

    @cached_property
    def strict(self) -> Keys:
        """As `firm`, and by all neighbours."""
        return self._keys(self.firm, self._around)

    @cached_property
    def near(self) -> Keys:
        """As `strict`, but without the text of the source line, which may have been edited."""
        return self._keys(self.loose, self.shapes, self._around)

    @cached_property
    def signature(self) -> Keys:
        """By type, shape, source line and neighbours, but not by name."""
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
    """Hash each number, so that the sum of hashes depends on every number in it."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def scope_tokens(scope: str) -> list[Token]:
    """The scopes within a scope, the outermost first; scopes of the backward pass are named as those of the layers.

    >>> scope_tokens("gradient_tape/model/dense_1")
    [('/model', 'model'), ('/model/dense', 'dense_1')]
    """
    path, found = "", []
    for part in _BACKWARD.sub(r"\1", scope).split("/") if scope else ():
        path = f"{path}/{_COUNTER.sub('', part)}"
        found.append((path, part))
    return found
