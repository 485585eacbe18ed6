"""What each node costs as a share of the whole: half of it is of the time, and half of all other measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.tree import Tree, prefix_sums
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers, StepTotals

# Shares are whole numbers of this part, so that a scope's is never less than that of anything inside it.
PARTS = 2**40


@dataclass(frozen=True, eq=False)
class Shares:
    """For each place of a scope tree its share with all below it, and the largest share of a single node there."""

    whole: Integers
    largest: Integers


def place_shares(profile: Profile, tree: Tree) -> Shares:
    """The shares in parts of 2**40.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.engine.evaluate import view_tree
    >>> profile = demo_profile()
    >>> shares = place_shares(profile, view_tree(profile, "scope"))
    >>> bool((shares.largest <= shares.whole).all()) and int(shares.whole[0]) <= PARTS
    True
    """
    share = _shares(profile)[tree.rows]
    sums = prefix_sums(share)
    largest = np.zeros(len(tree), np.int64)
    np.maximum.at(largest, np.repeat(np.arange(len(tree)), tree.row_count), share)
    for depth in range(int(tree.depth.max(initial=0)), 0, -1):
        places = np.flatnonzero(tree.depth == depth)
        np.maximum.at(largest, tree.parent[places], largest[places])
    return Shares(sums[tree.row_start[tree.end]] - sums[tree.row_start[:-1]], largest)


def _shares(profile: Profile) -> Integers:
    """The share of each node."""
    time, *others = [
        values / whole if (whole := float(values.sum())) > 0 else None for values in map(np.abs, _costs(profile))
    ]
    known = [each for each in others if each is not None]
    halves = [each for each in (time, np.mean(known, axis=0) if known else None) if each is not None]
    share = np.mean(halves, axis=0) if halves else np.zeros(len(profile.nodes))
    return (share * PARTS).astype(np.int64)


def _costs(profile: Profile) -> list[NDArray[np.float64]]:
    """The time of each node, and what else it takes: roughly, for this decides only what is seen first."""
    totals, nodes = profile.step_totals, profile.nodes
    time = _summed(totals, totals.accelerator_nanos, len(nodes)) + _summed(totals, totals.cpu_nanos, len(nodes))
    taken = (totals.requested_bytes, totals.peak_bytes, totals.residual_bytes, totals.output_bytes)
    runs = np.maximum(_summed(totals, totals.run_count, len(nodes)), 1)
    return [
        time,
        *(_summed(totals, each, len(nodes)) for each in taken),
        nodes.float_ops.astype(np.float64) * runs,
        nodes.parameters.astype(np.float64),
    ]


def _summed(totals: StepTotals, values: Integers, count: int) -> NDArray[np.float64]:
    sums = np.zeros(count)
    if values.any():
        np.add.at(sums, totals.node, values.astype(np.float64))
    return sums
