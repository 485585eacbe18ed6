"""Grows the tree of the code view: the Python frames that made the nodes, with gradients under the forward lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tfprof_widget.engine.account import Forest, any_below, row_weights
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.lib.arrays import Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import EVERYTHING, Options
from tfprof_widget.profiles.tables import CodeStacks

GRADIENT_SUFFIX = " (gradient)"
LONGEST_FUNCTION, KEPT_OF_LONGER = 19, 17


@dataclass(eq=False)
class FramePlace:
    """A place of the growing tree: its children by name, in the order in which they were first met."""

    name: str
    number: int
    children: dict[str, FramePlace] = field(default_factory=dict)


class FrameTree:
    """The growing tree; its frames are numbered in the order in which they are met."""

    def __init__(self, traces: CodeStacks) -> None:
        self.root = FramePlace(ROOT_NAME, 0)
        self._frames = 1
        self._stacks = traces.stacks
        self._names = _frame_names(traces)

    def leaves(self, stacks: Indices, suffix: str = "") -> Integers:
        """The number of the innermost frame of each stack; frames that are not in the tree yet are added."""
        first = np.full(len(self._stacks), len(stacks))
        first[stacks[::-1]] = np.arange(len(stacks))[::-1]  # if a frame is there repeatedly, the last one counts
        leaf = np.zeros(len(self._stacks), np.int64)
        for met in np.sort(first[first < len(stacks)]).tolist():
            leaf[stacks[met]] = self._leaf(int(stacks[met]), suffix).number
        return leaf[stacks]

    def _leaf(self, stack: int, suffix: str) -> FramePlace:
        found = self.root
        for frame in self._stacks[stack].tolist():
            name = self._names[frame] + suffix
            child = found.children.get(name)
            if child is None:
                child = found.children[name] = FramePlace(name, self._frames)
                self._frames += 1
            found = child
        return found


def frame_name(file: str, line: int, function: str) -> str:
    """A frame as tfprof writes it; long function names are cut, by bytes as in native tfprof.

    >>> frame_name("/home/me/train.py", 7, "build_the_whole_model")
    'train.py:7:build_the_whole_m...'
    """
    encoded = function.encode()
    if len(encoded) > LONGEST_FUNCTION:
        function = encoded[:KEPT_OF_LONGER].decode(errors="ignore") + "..."
    return f"{file.rpartition('/')[2]}:{line}:{function}"


def forward_name(name: str) -> str | None:
    """The node that a gradient node is named after, None if the name is not of that form.

    >>> forward_name("train/gradients/conv1/Conv2D_grad/Conv2DBackpropInput"), forward_name("conv1")
    ('conv1/Conv2D', None)
    """
    prefix, suffix = name.find("gradients/"), name.find("_grad/")
    if prefix < 0 or suffix < 0:
        return None
    start = prefix + len("gradients/")
    if suffix < start:
        return name[start:]  # native tfprof's length wraps around here, and so it takes the rest
    return name[start:suffix] or None


def code_tree(names: Sequence[str], traces: CodeStacks) -> Tree:
    """The tree of frames."""
    growing = FrameTree(traces)
    has_stack = (np.append(np.diff(traces.stacks.start), 0) > 0)[traces.stack]
    forward_of = _forward_names(names, traces, has_stack)
    is_forward = has_stack.copy()
    is_forward[list(forward_of)] = False
    rows = np.flatnonzero(is_forward)
    leaves = growing.leaves(traces.stack[rows])
    gradients, stacks = _gradients(names, traces, is_forward, forward_of)
    gradient_leaves = growing.leaves(stacks, GRADIENT_SUFFIX)
    return _flatten(growing.root, np.concatenate([rows, gradients]), np.concatenate([leaves, gradient_leaves]))


def code_forest(profile: ProfileData, tree: Tree, options: Options) -> Forest:
    """The code tree after accounting; a place is kept if it or a place below it is accounted."""
    weight = row_weights(profile, options)[tree.rows]
    picked = prefix_sums(weight > 0)
    marked = picked[tree.row_start[1:]] > picked[tree.row_start[:-1]]
    if options.account_type_regexes == EVERYTHING:
        marked[:] = True
    return Forest.of(tree, marked, any_below(tree, marked), weight)


def _forward_names(names: Sequence[str], traces: CodeStacks, has_stack: Flags) -> dict[int, str]:
    """The name of the forward node of each gradient, by the gradient's row; who is its own forward node is none."""
    named = {row: forward_name(name) for row, name in enumerate(names) if "_grad/" in name}
    told = {row: names[forward] if forward != row else None for row, forward in traces.forward.items()}
    return {row: name for row, name in {**named, **told}.items() if name is not None and has_stack[row]}


def _gradients(
    names: Sequence[str], traces: CodeStacks, is_forward: Flags, forward_of: Mapping[int, str]
) -> tuple[Integers, Indices]:
    """The gradients whose forward node has a stack, sorted by the name of the forward node, and these stacks."""
    wanted = set(forward_of.values())
    stack_of = (
        {name: int(traces.stack[row]) for row, name in enumerate(names) if name in wanted and is_forward[row]}
        if wanted
        else {}
    )
    found = sorted((name, row) for row, name in forward_of.items() if name in stack_of)
    return np.array([row for _, row in found], np.int64), np.array([stack_of[name] for name, _ in found], np.int32)


def _frame_names(traces: CodeStacks) -> list[str]:
    strings = traces.strings
    columns = zip(traces.file.tolist(), traces.line.tolist(), traces.function.tolist(), strict=True)
    return [frame_name(strings[file], line, strings[function]) for file, line, function in columns]


def _flatten(root: FramePlace, rows: Integers, leaves: Integers) -> Tree:
    """The finished tree; each row goes to the frame whose number is in `leaves`."""
    names: list[str] = []
    parents: list[int] = []
    numbers: list[int] = []
    pending = [(root, -1)]
    while pending:
        frame, parent = pending.pop()
        pending.extend([(child, len(names)) for child in reversed(frame.children.values())])
        names.append(frame.name)
        parents.append(parent)
        numbers.append(frame.number)
    place = np.argsort(numbers)[leaves]
    return Tree(
        tuple(names),
        np.array(parents, np.int32),
        rows[np.argsort(place, kind="stable")].astype(np.int32),
        prefix_sums(np.bincount(place, minlength=len(names))),
    )
