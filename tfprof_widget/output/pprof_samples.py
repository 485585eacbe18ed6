"""What a code view counts, stack by stack: the graph nodes below each shown frame, and the frames above them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tfprof_widget.engine.code import GRADIENT_SUFFIX, forward_name
from tfprof_widget.engine.tree import Tree
from tfprof_widget.engine.view import View
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers


@dataclass(frozen=True)
class Frame:
    """A line of code; the function of a gradient's frame says so."""

    file: str
    line: int
    function: str
    function_line: int


@dataclass(frozen=True, eq=False)
class Samples:
    """The graph nodes by place, each once, and the stack of each place, innermost frame first."""

    nodes: Integers
    places: Integers
    stacks: Mapping[int, tuple[Frame, ...]]


def samples_of(view: View) -> Samples:
    """Each node that a code view counts, at the innermost shown frame in which it was made.

    >>> from tfprof_widget.demo import demo_profile
    >>> samples = samples_of(demo_profile().view("code"))
    >>> len(samples.nodes), samples.stacks[int(samples.places[0])][0].function
    (78, 'from_node_def')
    """
    tree = view.forest.tree
    place = np.repeat(np.arange(len(tree)), tree.row_count)
    shown_above = np.array(_innermost_shown(tree, view.places), np.int64)[place]
    counted = shown_above > 0
    if view.options.account_displayed_op_only and view.options.timing == "exact":
        counted &= shown_above == place
    frames = _frames(view)
    stacks: dict[int, tuple[Frame, ...]] = {0: ()}
    for row, above in zip(np.argsort(view.places).tolist(), _parents(view), strict=True):
        shown = int(view.places[row])
        if shown:
            stacks[shown] = (frames[shown], *stacks[above])
    return Samples(tree.rows[counted].astype(np.int64), shown_above[counted], stacks)


def _parents(view: View) -> list[int]:
    """The shown place above each shown place, in preorder."""
    order = np.argsort(view.places)
    parent = view.parent[order]
    above: list[int] = np.where(parent >= 0, view.places[parent], 0).tolist()
    return above


def _innermost_shown(tree: Tree, places: Integers) -> list[int]:
    """For each place itself or the nearest above it that is shown; the root always is."""
    shown = np.zeros(len(tree), np.bool_)
    shown[places] = True
    found: list[int] = []
    for place, (is_shown, parent) in enumerate(zip(shown.tolist(), tree.parent.tolist(), strict=True)):
        found.append(place if is_shown or parent < 0 else found[parent])
    return found


def _frames(view: View) -> dict[int, Frame]:
    """The frame of each shown place: that of the first node below it, where several are written alike."""
    tree, traces = view.forest.tree, view.profile.traces
    forward = _forward_rows(view.profile, tree)
    names, strings = tree.names, traces.strings
    found = {}
    for place in view.places[view.places > 0].tolist():
        first = forward[tree.row_start[place] : tree.row_start[tree.end[place]]].min()
        frame = traces.stacks[traces.stack[first]][tree.depth[place] - 1]
        suffix = GRADIENT_SUFFIX if names[place].endswith(GRADIENT_SUFFIX) else ""
        found[place] = Frame(
            file=strings[traces.file[frame]],
            line=int(traces.line[frame]),
            function=strings[traces.function[frame]] + suffix,
            function_line=max(0, int(traces.function_line[frame])),
        )
    return found


def _forward_rows(profile: Profile, tree: Tree) -> Integers:
    """For each row of the tree the graph node whose stack it stands in: of a gradient the forward node."""
    names, given = profile.nodes.names, profile.traces.forward
    rows = tree.rows.astype(np.int64)
    is_gradient = np.array([name.endswith(GRADIENT_SUFFIX) for name in tree.names])
    for position in np.flatnonzero(np.repeat(is_gradient, tree.row_count)).tolist():
        row = int(rows[position])
        rows[position] = given[row] if row in given else bisect_left(names, forward_name(names[row]) or "")
    return rows
