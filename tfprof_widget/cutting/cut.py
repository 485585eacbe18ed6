"""Cuts a profile to what the browser takes, and says what was cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tfprof_widget.cutting.classes import EXACT, PRECISIONS, Precision, forward_nodes, node_classes
from tfprof_widget.cutting.limits import BROWSER, Limits, Wanted
from tfprof_widget.cutting.merged import merged_nodes, merged_totals, merged_traces
from tfprof_widget.cutting.plan import Candidates, Plan
from tfprof_widget.cutting.recorded import Kept, recorded
from tfprof_widget.cutting.rows import Rows, rows_of
from tfprof_widget.cutting.shares import place_shares
from tfprof_widget.cutting.told import Told
from tfprof_widget.cutting.wanted import wanted_nodes
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.memory import Memory
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Flags, Integers

Progress = Callable[[str], object]


@dataclass(frozen=True, eq=False)
class Cut:
    """A profile that is small enough, and what it lacks, None if nothing."""

    profile: Profile
    told: Told | None = None


def cut(
    profile: Profile, limits: Limits = BROWSER, wanted: Wanted | None = None, progress: Progress = lambda _: None
) -> Cut:
    """The profile if it is within the limits; else one of which small nodes are put together, by scope and op type.

    The totals of every scope that is left, of every op type and frame, and of every step are those of the whole.

    >>> from tfprof_widget.demo import demo_profile
    >>> small = cut(demo_profile(), Limits(nodes=40, step_totals=100, executions=100, allocations=100))
    >>> small.profile, small.told.nodes
    (Profile(36 nodes, 30 executions, 1 step), 81)
    >>> cut(demo_profile()).told is None
    True
    """
    wanted = wanted or Wanted()
    rows, precision = None, EXACT
    if not _nodes_fit(profile, limits):
        progress("ranking scopes and nodes by their cost")
        tree = view_tree(profile, "scope")
        plan, precision = _planned(profile, limits, wanted_nodes(profile, tree, wanted), progress)
        progress("adding up what is put together")
        rows = rows_of(profile, tree, plan)
    kept = Kept.of(profile, limits, wanted.step)
    if rows is None and kept.is_all(profile):
        return Cut(profile)
    small = recorded(profile, merged(profile, rows) if rows else profile, rows, kept)
    return Cut(small, Told.of(profile, small, rows, precision, wanted.is_anything))


def _nodes_fit(profile: Profile, limits: Limits) -> bool:
    return len(profile.nodes) <= limits.nodes and len(profile.step_totals.node) <= limits.step_totals


def candidates_of(profile: Profile, wanted: Flags, precision: Precision = EXACT) -> Candidates:
    """What may be kept and what may be put together."""
    tree = view_tree(profile, "scope")
    shares = profile.memory.kept("shares", lambda: place_shares(profile, tree))
    seen = np.bincount(profile.step_totals.node, minlength=len(profile.nodes))
    return Candidates.of(tree, shares, wanted, _classes(profile, precision), seen)


def _planned(profile: Profile, limits: Limits, wanted: Flags, progress: Progress) -> tuple[Plan, Precision]:
    """The largest plan in which nodes put together have all in common; if none fits, without their code or runs."""
    for precision in PRECISIONS:
        progress("looking for what can be put together")
        candidates = candidates_of(profile, wanted, precision)
        plan = candidates.largest(limits)
        if candidates.used(plan, limits) <= 1:
            break
    return plan, precision


def _classes(profile: Profile, precision: Precision) -> Integers:
    return profile.memory.kept(
        f"classes {precision}",
        lambda: node_classes(profile, _reached(profile), forward_nodes(profile), precision),
    )


def _reached(profile: Profile) -> Flags:
    """Which nodes the graph view has."""
    reached = np.zeros(len(profile.nodes), np.bool_)
    reached[view_tree(profile, "graph").rows] = True
    return reached


def merged(profile: Profile, rows: Rows) -> Profile:
    """The profile of the rows, but for what was recorded of single executions."""
    kept = set(rows.names)
    return replace(
        profile,
        nodes=merged_nodes(profile.nodes, rows, view_tree(profile, "graph")),
        step_totals=merged_totals(profile.step_totals, rows, len(profile.steps)),
        traces=merged_traces(profile.traces, rows, forward_nodes(profile)),
        kernels={name: kernel for name, kernel in profile.kernels.items() if name in kept},
        memory=Memory(),
    )
