"""Finds which op of one graph is which of another, after layers were renamed, put in, taken out or changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tfprof_widget.analysis.comparing.op_keys import (
    Keys,
    OpKeys,
    Token,
    align,
    best_in_order,
    longest_rising,
    only_ones,
    without_counters,
)
from tfprof_widget.lib.arrays import ABSENT, Indices
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.profiles.kept_run import GraphOps

Rung = Literal["name", "name without counter", "signature", "place"]
"""How an op was found, the surest way first."""


MOST_SCOPES = 40_000
"""So many pairs of scopes whose names differ in counters alone are compared."""

MOST_INPUTS = 4
"""An op with more inputs than these waits for some of them only."""

NAME_WEIGHT = 0.001
"""Of scopes that are equally alike those of the same name are the same."""

SUPPORT = 0.5
"""Ops found by signature in scopes of other names are the same only if so many ops of the smaller scope are."""


@dataclass(frozen=True, eq=False)
class Matching:
    """Which op of the second graph each op of the first is, ABSENT if it was removed; and how each was found."""

    after: Indices
    rungs: tuple[Rung | None, ...]


def matched(before: GraphOps, after: GraphOps) -> Matching:
    """Find the ops of one graph in another.

    Rungs are tried from the surest down. Names with counters that were counted on prove little, as a layer that was put
    in moves the counters of those behind it. So ops are aligned in the order in which they were made, by name without
    counters, type, shape, source line and neighbours, then by less of that; and along the edges of ops that were found.
    A layer that was found under another name has that name in the backward pass too.

    >>> from dataclasses import replace
    >>> from tfprof_widget.analysis.comparing.keeping import kept_run
    >>> from tfprof_widget.demo import demo_profile
    >>> ops = kept_run(demo_profile()).ops
    >>> renamed = replace(ops, names=tuple(name.replace("layer1", "layer1_7") for name in ops.names))
    >>> found = matched(ops, renamed)
    >>> bool((found.after == range(len(ops))).all()), sorted(set(found.rungs))
    (True, ['name', 'name without counter'])
    """
    if before.same_as(after):
        by_name: list[Rung | None] = ["name"] * len(before)
        return Matching(np.arange(len(before), dtype=np.int32), tuple(by_name))
    numbers: dict[Hashable, int] = {}
    with pause_gc():  # half of the time, as millions of small objects are made
        return _Ladder(OpKeys(before, numbers), OpKeys(after, numbers)).climbed()


class _Ladder:
    """The ops found so far, rung by rung."""

    def __init__(self, before: OpKeys, after: OpKeys) -> None:
        self.before, self.after = before, after
        self.found: dict[int, int] = {}
        self.taken: set[int] = set()
        self.rung: dict[int, Rung] = {}
        self.known: dict[Token, str] = {}
        self.known_back: dict[Token, str] = {}
        self.agreed: set[tuple[str, str]] = set()
        self.below: Rung = "name without counter"

    def climbed(self) -> Matching:
        self._settle_scopes()
        self._by_translated_names()
        self._by_names()
        for climb in self._rungs():
            if min(len(self.before.names), len(self.after.names)) == len(self.found):
                break
            climb()
        after = np.full(len(self.before.names), ABSENT, np.int32)
        after[list(self.found)] = list(self.found.values())
        return Matching(after, tuple(self.rung.get(row) for row in range(len(after))))

    def _rungs(self) -> Iterator[Callable[[], None]]:
        yield partial(self._align, "strict")
        for keys in ("near", "firm", "loose"):
            yield partial(self._align, keys)
            yield partial(self._follow, "firm")
            yield partial(self._follow, "loose")
        yield partial(self._moved, "firm")
        self.below = "signature"
        yield partial(self._align, "signature")
        yield partial(self._follow, "kind")
        yield partial(self._align, "kind")
        yield self._drop_unsupported
        self.below = "place"
        yield self._by_place

    def _take(self, row: int, other: int) -> bool:
        """Note that two ops are the same, unless one of them or its scope is known to be another."""
        if row in self.found or other in self.taken:
            return False
        scopes = self.before.scopes[row], self.after.scopes[other]
        if scopes not in self.agreed:
            told = list(_both(self.before.tokens[scopes[0]], self.after.tokens[scopes[1]]))
            for (path, own), name in told:
                if self.known.get((path, own), name) != name or self.known_back.get((path, name), own) != own:
                    return False
            for (path, own), name in told:
                self.known[path, own], self.known_back[path, name] = name, own
            self.agreed.add(scopes)
        self.found[row] = other
        self.taken.add(other)
        if self.before.names[row] == self.after.names[other]:
            self.rung[row] = "name"
        else:
            is_based = self.before.bases[row] == self.after.bases[other]
            self.rung[row] = "name without counter" if is_based else self.below
        return True

    def _settle_scopes(self) -> None:
        """Decide which layer is which where counters may have moved: in order, so that most ops are the same."""
        left, right = self.before.parts, self.after.parts
        paths = {path for path in left.keys() & right.keys() if left[path].keys() != right[path].keys()}
        paths = {path for path in paths if len(left[path]) * len(right[path]) <= MOST_SCOPES}
        own, others = self.before.contents(paths), self.after.contents(paths)
        for path in sorted(paths):
            names = list(left[path]), list(right[path])
            same = np.array([[one == other for other in names[1]] for one in names[0]])
            likeness = np.array(
                [[_likeness(own[path][one], others[path][other]) for other in names[1]] for one in names[0]]
            )
            if (likeness == likeness[0, 0]).all():
                continue  # it says nothing
            for row, other in best_in_order(likeness + NAME_WEIGHT * (same & (likeness > 0))):
                self.known[path, names[0][row]] = names[1][other]
                self.known_back[path, names[1][other]] = names[0][row]

    def _by_translated_names(self) -> None:
        """Ops whose names are the same once their layers have the names of the other side."""
        row_of = {name: row for row, name in enumerate(self.after.names)}
        translated = {
            scope: _translated(scope, tokens, [self.known.get(token) for token in tokens])
            for scope, tokens in self.before.tokens.items()
        }
        for row, (name, scope) in enumerate(zip(self.before.names, self.before.scopes, strict=True)):
            if translated[scope] != scope:
                other = row_of.get(translated[scope] + name[len(scope) :])
                if other is not None and self.before.types[row] == self.after.types[other]:
                    self._take(row, other)

    def _by_names(self) -> None:
        """Ops whose names without counters are had by the same names on both sides: no counter has moved."""
        families: tuple[dict[int, dict[str, int]], ...] = (defaultdict(dict), defaultdict(dict))
        for side, family in zip((self.before, self.after), families, strict=True):
            for row, (key, name) in enumerate(zip(side.loose, side.names, strict=True)):
                family[key][name] = row
        for key, members in families[0].items():
            others = families[1].get(key, {})
            if members.keys() != others.keys():
                continue
            alike = sum(self.before.shapes[row] == self.after.shapes[others[name]] for name, row in members.items())
            if len(members) == 1 or 2 * alike >= len(members):
                for name, row in members.items():
                    self._take(row, others[name])

    def _align(self, keys: str) -> None:
        """Match ops in order, between those that are found already."""
        own, others = getattr(self.before, keys), getattr(self.after, keys)
        for left, right in self._gaps():
            align(left, right, own, others, self._take)

    def _gaps(self) -> list[tuple[list[int], list[int]]]:
        """The ops that are not found yet, between those found that have kept their order."""
        pairs = sorted(self.found.items())
        kept = [pairs[place] for place in longest_rising([other for _, other in pairs])]
        gaps = []
        ends = [*kept, (len(self.before.names), len(self.after.names))]
        start = (0, 0)
        for row, other in ends:
            left = [each for each in range(start[0], row) if each not in self.found]
            right = [each for each in range(start[1], other) if each not in self.taken]
            if left and right:
                gaps.append((left, right))
            start = row + 1, other + 1
        return gaps

    def _follow(self, keys: str) -> None:
        """Go along the edges of the ops found: what they take and give is the same if its keys are."""
        own, others = getattr(self.before, keys), getattr(self.after, keys)
        pending = list(self.found.items())
        while pending:
            row, other = pending.pop()
            for pair in self._neighbours(row, other, own, others, keys == "loose"):
                if self._take(*pair):
                    pending.append(pair)

    def _neighbours(self, row: int, other: int, own: Keys, others: Keys, is_loose: bool) -> Iterator[tuple[int, int]]:
        taken, given = self.before.inputs[row], self.after.inputs[other]
        if len(taken) == len(given):
            # What an op only waits for is in the order of names: of several alike, it is not told which is which.
            alike = Counter(own[each] for each in taken) if len(taken) > MOST_INPUTS else Counter()
            for pair in zip(taken, given, strict=True):
                if ABSENT not in pair and own[pair[0]] == others[pair[1]] and alike[own[pair[0]]] < 2:
                    yield pair
        if is_loose and taken:
            return  # at the edge of what changed, what takes an op's output may be what was put in
        groups: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for each in dict.fromkeys(self.before.consumers[row]):
            if each not in self.found:
                groups[own[each]][0].append(each)
        for each in dict.fromkeys(self.after.consumers[other]):
            if each not in self.taken:
                groups[others[each]][1].append(each)
        for left, right in groups.values():
            if len(left) == len(right):
                yield from zip(left, right, strict=True)

    def _moved(self, keys: str) -> None:
        """Ops that are unlike all others, wherever they have gone."""
        own, others = getattr(self.before, keys), getattr(self.after, keys)
        left = only_ones(own, (row for row in range(len(own)) if row not in self.found))
        right = only_ones(others, (row for row in range(len(others)) if row not in self.taken))
        for key, row in left.items():
            if key in right:
                self._take(row, right[key])

    def _drop_unsupported(self) -> None:
        """Forget ops found by signature in scopes most of whose ops are not the same."""
        sizes = [Counter(side.scopes) for side in (self.before, self.after)]
        pairs = {row: (self.before.scopes[row], self.after.scopes[other]) for row, other in self.found.items()}
        shared = Counter(pairs.values())
        for row, (left, right) in pairs.items():
            enough = SUPPORT * min(sizes[0][left], sizes[1][right])
            if self.rung[row] == "signature" and left != right and shared[left, right] < enough:
                self.taken.discard(self.found.pop(row))
                del self.rung[row]

    def _by_place(self) -> None:
        """Ops of the same type that stand alone between the same ops of the same scope."""
        for left, right in self._gaps():
            if len(left) == len(right):
                for row, other in zip(left, right, strict=True):
                    same_scope = without_counters(self.before.scopes[row]) == without_counters(self.after.scopes[other])
                    if self.before.types[row] == self.after.types[other] and same_scope:
                        self._take(row, other)


def _translated(scope: str, tokens: list[Token], told: Sequence[str | None]) -> str:
    """The scope with other names in place of those that are told."""
    parts = scope.split("/")
    place = len(parts)
    for (_, part), other in zip(reversed(tokens), reversed(told), strict=True):
        place -= 1
        while place >= 0 and parts[place].removesuffix("_grad") != part:
            place -= 1
        if place >= 0 and other is not None:
            parts[place] = other + ("_grad" if parts[place].endswith("_grad") else "")
    return "/".join(parts)


def _both(own: list[Token], others: list[Token]) -> Iterator[tuple[Token, str]]:
    """The scopes of a name with the ones in their place in another name, where both have the same without counters."""
    for token, (path, name) in zip(own, others, strict=False):
        if token[0] != path:
            return
        yield token, name


def _likeness(one: Counter[int], other: Counter[int]) -> int:
    """How many keys of the ops in two scopes are the same."""
    return sum(min(count, other[key]) for key, count in one.items() if key in other)
