"""Makes a profile small enough for the browser, and says what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.analysis.account.roofline import moved_bytes
from tfprof_widget.engine.code import forward_name
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.profiles.data import ProfileData, ProfileTables
from tfprof_widget.profiles.tables import CodeStacks, OtherStacks
from tfprof_widget.widget.cut_plan import BROWSER, Candidates, Limits, Plan, Wanted, place_shares, wanted_nodes
from tfprof_widget.widget.cut_tables import (
    CutRows,
    KeptRows,
    merged_layers,
    merged_moved,
    merged_nodes,
    merged_totals,
    merged_traces,
    recorded,
    rows_of,
)

Hashes = NDArray[np.uint64]


class GroupedBy(NamedTuple):
    """Whether nodes that are put together must also share their code, or their runs in each step.

    They always share op, types, device and pass, and their layer if the layers of a model are known.
    """

    code: bool
    runs: bool


EXACT = GroupedBy(code=True, runs=True)
# Tried in turn until a plan fits. The later ones are for nodes that rarely share a stack or their steps.
GROUPINGS = (EXACT, GroupedBy(code=False, runs=True), GroupedBy(code=False, runs=False))


def node_classes(profile: ProfileData, in_tree: Flags, grouped_by: GroupedBy) -> Integers:
    """A number for each node; nodes of the same number share op, types, device and pass, and what `grouped_by` names.

    If nodes share their runs in each step, their means over steps can be added, whichever steps are chosen. `in_tree`
    marks the nodes that the graph view shows.
    """
    nodes = profile.nodes
    columns: list[NDArray[Any]] = [
        nodes.op,
        nodes.device,
        _types(profile),
        in_tree.astype(np.int64),
        node_layers(profile).role,
    ]
    if profile.model_layers:
        columns.append(node_layers(profile).layer)
    if grouped_by.code:
        for traces in (profile.traces, *profile.other_stacks.all_given_to(profile.traces)):
            columns += _code(traces, forward_nodes(nodes.names, traces))
    columns.append(_runs(profile) if grouped_by.runs else _has_run(profile))
    return _combined(columns)


def forward_nodes(names: Sequence[str], traces: CodeStacks) -> Indices:
    """The forward node to which the code view assigns each gradient, ABSENT if there is none; -2 for other nodes."""
    forward = np.full(len(names), -2, np.int32)
    wanted = {
        row: after for row, name in enumerate(names) if "_grad/" in name and (after := forward_name(name)) is not None
    }
    row_of = {name: row for row, name in enumerate(names)} if wanted else {}
    for row, name in wanted.items():
        forward[row] = row_of.get(name, ABSENT)
    for row, node in traces.forward.items():
        forward[row] = node
    # The code view puts no gradient below another gradient.
    below = forward >= 0
    below[below] = forward[forward[below]] != -2
    forward[below] = ABSENT
    return forward


def _code(traces: CodeStacks, forward: Indices) -> tuple[Integers, Integers]:
    """The stack under which the code view shows each node, and whether the node is a gradient."""
    stack = traces.stack.astype(np.int64)
    is_gradient = forward != -2
    placed = np.where(stack >= 0, np.where(is_gradient & (forward < 0), ABSENT, stack[np.maximum(forward, 0)]), ABSENT)
    return np.where(is_gradient, placed, stack), is_gradient.astype(np.int64)


def _types(profile: ProfileData) -> Hashes:
    """A hash of the set of types of each node."""
    types = profile.nodes.types
    owner = np.repeat(np.arange(len(types)), np.diff(types.start))
    return _hashed(owner, types.values, np.ones(len(owner), np.uint64), len(types))


def _runs(profile: ProfileData) -> Hashes:
    """A hash of the steps in which each node was seen; if it has float operations, also of its run count in each."""
    totals, nodes = profile.step_totals, profile.nodes
    counts = np.where(nodes.float_ops[totals.node] != 0, totals.run_count + 1, 1)
    return _hashed(totals.node, totals.step, counts.astype(np.uint64), len(nodes))


def _has_run(profile: ProfileData) -> Flags:
    seen = np.zeros(len(profile.nodes), np.bool_)
    seen[profile.step_totals.node] = True
    return seen


def _hashed(owner: NDArray[np.integer], member: NDArray[np.integer], count: Hashes, owners: int) -> Hashes:
    """A 64-bit hash of each owner's members and their counts.

    Of 2**64 pairs of owners with different members or counts, about one has equal hashes.
    """
    random = np.random.default_rng(20)
    factors = random.integers(0, 2**64, int(member.max(initial=0)) + 1, np.uint64) | np.uint64(1)
    sums = np.zeros(owners, np.uint64)
    np.add.at(sums, owner, factors[member] * count)
    return sums


def _combined(columns: list[NDArray[Any]]) -> Integers:
    """A number for each row of some columns; equal rows have the same number."""
    combined = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        values, index = np.unique(column, return_inverse=True)
        if count * len(values) >= 2**62:
            distinct, combined = np.unique(combined, return_inverse=True)
            count = len(distinct)
        combined = combined * len(values) + index
        count *= len(values)
    distinct, found = np.unique(combined, return_inverse=True)
    return found.astype(np.int64)


@dataclass(frozen=True)
class LeftOut:
    """How many rows each table had, and how many were kept; `steps` are the steps that kept all executions."""

    nodes: int
    kept: int
    rows: int
    executions: int
    executions_kept: int
    allocations: int
    allocations_kept: int
    transfers: int
    transfers_kept: int
    steps: tuple[int, ...]
    step_in_part: int | None = None
    grouped_by: GroupedBy = EXACT
    asked: bool = False

    @classmethod
    def of(
        cls, whole: ProfileData, small: ProfileData, rows: CutRows | None, grouped_by: GroupedBy, asked: bool
    ) -> LeftOut:
        """Count what `whole` has and `small` does not."""
        before, after = (
            np.bincount(each.executions.step, minlength=len(whole.steps)).tolist() for each in (whole, small)
        )
        steps = list(zip(whole.steps, before, after, strict=True))
        in_part = {step for step, one, other in steps if other < one}
        return cls(
            nodes=len(whole.nodes),
            kept=len(whole.nodes) if rows is None else int(rows.is_kept.sum()),
            rows=0 if rows is None else int((~rows.is_kept).sum()),
            executions=len(whole.executions),
            executions_kept=len(small.executions),
            allocations=len(whole.allocations.bytes),
            allocations_kept=len(small.allocations.bytes),
            transfers=len(whole.transfers),
            transfers_kept=len(small.transfers),
            # Several workers may have run a step of the same number.
            steps=tuple(dict.fromkeys(step for step, *_ in steps if step not in in_part)),
            step_in_part=next((step for step, one, other in steps if 0 < other < one), None),
            grouped_by=grouped_by,
            asked=asked,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, in sentences for the head of the widget.

        >>> LeftOut(1_000_000, 48_000, 700, 9, 9, 0, 0, 0, 0, (0,)).notes[0]
        '1,000,000 nodes: the 48,000 costliest are here; the others are put together by scope and op type in 700 rows'
        """
        return tuple(self._notes())

    def to_browser(self) -> dict[str, Any]:
        """The numbers that js/src/data/graphs.ts reads."""
        return {"nodes": self.nodes, "kept": self.kept, "rows": self.rows, "steps": list(self.steps)}

    def _notes(self) -> Iterator[str]:
        if self.rows:
            here = (
                f"{self.kept:,} are here, chosen first from those asked for, then from the costliest"
                if self.asked
                else f"the {self.kept:,} costliest are here"
            )
            others = f"the others are put together by scope and op type in {self.rows:,} rows"
            yield f"{self.nodes:,} nodes: {here}; {others}"
        if not self.grouped_by.runs:
            yield (
                "Nodes put together in one row ran in different steps: the row's means over several steps and its FLOP "
                "are not exact; its times and bytes in a single step are exact"
            )
        if not self.grouped_by.code:
            yield (
                "Nodes put together in one row were made by different lines of code: "
                "the code view shows the row under one of them"
            )
        if self.executions_kept < self.executions:
            yield (
                f"{self.executions:,} executions: {self.executions_kept:,} are here, {self._of_steps()}; "
                "choose a step to see its executions"
            )
        if self.allocations_kept < self.allocations:
            yield (
                f"{self.allocations:,} allocations: {self.allocations_kept:,} are here, "
                "the largest ones of the executions that are here"
            )
        if self.transfers_kept < self.transfers:
            yield f"{self.transfers:,} transfers: the {self.transfers_kept:,} longest are here"

    def _of_steps(self) -> str:
        if not self.steps:
            return f"the longest of step {self.step_in_part}"
        several = f"all of {len(self.steps)} steps, {self.steps[0]} to {self.steps[-1]}"
        return f"all of step {self.steps[0]}" if len(self.steps) == 1 else several


Progress = Callable[[str], object]


@dataclass(frozen=True, eq=False)
class Cut:
    """A profile that is small enough, and what was left out of it; None if nothing was."""

    profile: ProfileData
    left_out: LeftOut | None = None


def cut(
    profile: ProfileData, limits: Limits = BROWSER, wanted: Wanted | None = None, progress: Progress = lambda _: None
) -> Cut:
    """Cut a profile to the limits, if it exceeds them: cheap nodes are put together by scope and op type.

    Every scope that remains, and every op type, frame and step, has the same totals as in the whole profile.

    >>> from tfprof_widget.demo import demo_profile
    >>> small = cut(demo_profile(), Limits(nodes=40, step_totals=100, executions=100, allocations=100))
    >>> small.profile, small.left_out.nodes
    (ProfileData(37 nodes, 30 executions, 1 step), 81)
    >>> cut(demo_profile()).left_out is None
    True
    """
    wanted = wanted or Wanted()
    rows, grouped_by = None, EXACT
    if not _nodes_fit(profile, limits):
        progress("ranking scopes and nodes by their cost")
        tree = view_tree(profile, "scope")
        plan, grouped_by = _planned(profile, limits, wanted_nodes(profile, tree, wanted), progress)
        progress("adding up the nodes that are put together")
        rows = rows_of(profile, tree, plan)
    kept = KeptRows.of(profile, limits, wanted.step)
    if rows is None and kept.is_all(profile):
        return Cut(profile)
    moved = moved_bytes(profile)
    moved = merged_moved(moved, profile, rows) if rows is not None else moved
    tables = recorded(profile, merged(profile, rows) if rows else profile, rows, kept)
    small = assemble(tables.having(moved_bytes=moved))
    return Cut(small, LeftOut.of(profile, small, rows, grouped_by, wanted.is_anything))


def _nodes_fit(profile: ProfileData, limits: Limits) -> bool:
    return len(profile.nodes) <= limits.nodes and len(profile.step_totals.node) <= limits.step_totals


def candidates_of(profile: ProfileData, wanted: Flags, grouped_by: GroupedBy = EXACT) -> Candidates:
    """The places of the scope tree that a plan may keep, and the classes of nodes that it may put together."""
    tree = view_tree(profile, "scope")
    shares = profile.cache.kept("shares", lambda: place_shares(profile, tree))
    seen = np.bincount(profile.step_totals.node, minlength=len(profile.nodes))
    return Candidates.of(tree, shares, wanted, _classes(profile, grouped_by), seen)


def _planned(profile: ProfileData, limits: Limits, wanted: Flags, progress: Progress) -> tuple[Plan, GroupedBy]:
    """The largest plan that fits, with the first entry of GROUPINGS for which any plan fits; else with the last one."""
    for grouped_by in GROUPINGS:
        progress("looking for nodes that can be put together")
        candidates = candidates_of(profile, wanted, grouped_by)
        plan = candidates.largest(limits)
        if candidates.used(plan, limits) <= 1:
            break
    return plan, grouped_by


def _classes(profile: ProfileData, grouped_by: GroupedBy) -> Integers:
    return profile.cache.kept(
        f"classes {grouped_by}",
        lambda: node_classes(profile, _reached(profile), grouped_by),
    )


def _reached(profile: ProfileData) -> Flags:
    """Whether the graph view shows each node."""
    reached = np.zeros(len(profile.nodes), np.bool_)
    reached[view_tree(profile, "graph").rows] = True
    return reached


def merged(profile: ProfileData, rows: CutRows) -> ProfileTables:
    """The tables with the rows of the cut in place of the nodes; tables of single executions stay as they are."""
    kept, names = set(rows.names), profile.nodes.names
    traces, *of_groups = [
        merged_traces(each, rows, forward_nodes(names, each))
        for each in (profile.traces, *profile.other_stacks.all_given_to(profile.traces))
    ]
    nodes = merged_nodes(profile.nodes, rows, view_tree(profile, "graph"))
    return profile.having(
        node_layers=merged_layers(node_layers(profile), rows),
        nodes=nodes,
        step_totals=merged_totals(profile, nodes, rows),
        traces=traces,
        other_stacks=OtherStacks.beside(traces, profile.other_stacks.group.tolist(), of_groups),
        kernels={name: kernel for name, kernel in profile.kernels.items() if name in kept},
    )
