"""The code view: the tree of the Python frames in which the nodes were created, gradients under the forward lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tfprof_widget.engine.account import row_weights
from tfprof_widget.engine.forest import Forest, any_below
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.options import EVERYTHING, Options
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Traces

GRADIENT_SUFFIX = " (gradient)"
LONGEST_FUNCTION, KEPT_OF_LONGER = 19, 17


@dataclass(eq=False)
class Frame:
    """A place of the tree while it grows: children by name, in the order they were first met."""

    name: str
    children: dict[str, Frame] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)


def frame_name(file: str, line: int, function: str) -> str:
    """How tfprof writes a frame; long function names are cut, by bytes as native counts them.

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
        return name[start:]  # native's length wraps around here, and so takes the rest
    return name[start:suffix] or None


def code_tree(names: Sequence[str], traces: Traces) -> Tree:
    """The tree of frames."""
    frame_names = _frame_names(traces)
    root = Frame(ROOT_NAME)
    leaves: dict[tuple[int, str], Frame] = {}
    forward: dict[str, int] = {}
    gradients: dict[str, list[int]] = {}
    stack_of = traces.stack.tolist()
    for row, name in enumerate(names):
        stack = stack_of[row]
        if stack < 0 or not len(traces.stacks[stack]):
            continue
        forward_of = names[traces.forward[row]] if row in traces.forward else forward_name(name)
        if forward_of is not None:
            gradients.setdefault(forward_of, []).append(row)
            continue
        forward[name] = stack
        _leaf(root, leaves, traces, stack, frame_names, "").rows.append(row)
    for name in sorted(gradients):
        if name in forward:
            _leaf(root, leaves, traces, forward[name], frame_names, GRADIENT_SUFFIX).rows.extend(gradients[name])
    return _flatten(root)


def code_forest(profile: Profile, tree: Tree, options: Options) -> Forest:
    """What is accounted in a code tree; a place is kept if it or anything below it is accounted."""
    weight = row_weights(profile, options)[tree.rows]
    picked = prefix_sums(weight > 0)
    marked = picked[tree.row_start[1:]] > picked[tree.row_start[:-1]]
    if options.account_type_regexes == EVERYTHING:
        marked[:] = True
    return Forest.of(tree, marked, any_below(tree, marked), weight)


def _frame_names(traces: Traces) -> list[str]:
    strings = traces.strings
    columns = zip(traces.file.tolist(), traces.line.tolist(), traces.function.tolist(), strict=True)
    return [frame_name(strings[file], line, strings[function]) for file, line, function in columns]


def _leaf(
    root: Frame,
    leaves: dict[tuple[int, str], Frame],
    traces: Traces,
    stack: int,
    names: list[str],
    suffix: str,
) -> Frame:
    """The innermost frame of a stack, grown into the tree when first met."""
    found = leaves.get((stack, suffix))
    if found is None:
        found = root
        for frame in traces.stacks[stack].tolist():
            name = names[frame] + suffix
            child = found.children.get(name)
            if child is None:
                child = found.children[name] = Frame(name)
            found = child
        leaves[stack, suffix] = found
    return found


def _flatten(root: Frame) -> Tree:
    names: list[str] = []
    parents: list[int] = []
    rows: list[int] = []
    counts: list[int] = []
    pending = [(root, -1)]
    while pending:
        frame, parent = pending.pop()
        pending.extend([(child, len(names)) for child in reversed(frame.children.values())])
        names.append(frame.name)
        parents.append(parent)
        counts.append(len(frame.rows))
        rows.extend(frame.rows)
    return Tree(
        tuple(names),
        np.array(parents, np.int32),
        np.array(rows, np.int32),
        prefix_sums(np.array(counts, np.int64)),
    )
