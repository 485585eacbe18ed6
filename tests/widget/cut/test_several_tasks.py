"""A cut of what several tasks did: by one clock, whichever rows are left to tell how the clocks differ."""

from __future__ import annotations

import numpy as np

from tests.analysis.cluster.clusters import PS0, WORKER0, Came, Ran, profile_of
from tfprof_widget.analysis.cluster.clocks import aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.cut_plan import Limits

# The worker's clock is ahead by 10 µs: see tests/analysis/cluster/test_clocks.py.
EVENTS = [
    *(Ran(PS0, "w", 90, 10), Came(WORKER0, "w", PS0, 149, 1)),
    *(Ran(WORKER0, "g", 85, 15), Came(PS0, "g", WORKER0, 127, 3)),
]


def test_executions_and_transfers_keep_the_time_of_the_whole() -> None:
    """The longest execution is the worker's, from 85 by its clock, and the longest transfer the server's."""
    whole = profile_of(EVENTS)
    found = cut(whole, Limits(nodes=9, step_totals=9, executions=1, allocations=9, transfers=1))
    executions = np.flatnonzero(whole.executions.duration_nanos == 15_000)
    assert aligned_start_nanos(found.profile).tolist() == aligned_start_nanos(whole)[executions].tolist()
    assert aligned_start_nanos(whole)[executions] == whole.executions.start_nanos[executions] - 10_000
    transfers = np.flatnonzero(whole.transfers.duration_nanos == 3_000)
    assert aligned_transfer_nanos(found.profile).tolist() == aligned_transfer_nanos(whole)[transfers].tolist()
    assert found.left_out is not None
    assert found.left_out.notes[-1] == "2 transfers: the 1 longest are here"


def test_clocks_are_not_told_anew_by_what_is_left() -> None:
    """The longest executions made tensors that came late: by them alone the worker would be ahead by 35 µs."""
    late = [
        *(Ran(PS0, "v", 50, 50), Came(WORKER0, "v", PS0, 199, 1)),
        *(Ran(WORKER0, "h", 50, 50), Came(PS0, "h", WORKER0, 129, 1)),
    ]
    whole = profile_of([*EVENTS, *late])
    small = cut(whole, Limits(nodes=9, step_totals=9, executions=2, allocations=9)).profile
    longest = np.flatnonzero(whole.executions.duration_nanos == 50_000)
    assert aligned_start_nanos(small).tolist() == aligned_start_nanos(whole)[longest].tolist()


def test_transfers_name_the_row_that_their_node_is_in() -> None:
    whole = profile_of(EVENTS)
    small = cut(whole, Limits(nodes=1, step_totals=9, executions=9, allocations=9)).profile
    known = whole.transfers.node >= 0
    assert (small.transfers.node >= 0).tolist() == known.tolist()
    assert small.transfers.node.max(initial=-1) < len(small.nodes)
