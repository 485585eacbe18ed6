"""Who is waited for in a collective, and what it tells of clocks: worked out by hand, times in microseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.analysis.cluster.clusters import PS0, Event, Ran, profile_of
from tfprof_widget.analysis.cluster.clocks import Clocks, Collectives
from tfprof_widget.analysis.cluster.summary import summary
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.tables import Transfers

MICRO = 1000
AHEAD = 5000
"""By how much the second worker's clock is ahead."""


def reduced(*parts: tuple[int, int, int]) -> Profile:
    """Two workers, a step each: each part in a reduction is of a step, since when it was asked for and until when."""
    steps: list[list[Event]] = [
        [Ran(PS0, "forward", 100, 50), Ran(PS0, "update", 510, 10)],
        [Ran(PS0, "forward", AHEAD + 100, 380), Ran(PS0, "update", AHEAD + 505, 10)],
    ]
    step, start, end = np.array(parts, np.int64).reshape(-1, 3).T
    zero = np.zeros(len(step), np.int32)
    table = Transfers(
        devices=("collective group 1", f"{PS0}/device:cpu:0"),
        tensors=("gradient",),
        kinds=("CollectiveReduceV2",),
        step=step.astype(np.int32),
        kind=zero,
        source=zero,
        target=zero + 1,
        tensor=zero,
        node=zero + ABSENT,
        start_nanos=start * MICRO,
        duration_nanos=(end - start) * MICRO,
        bytes=np.full(len(step), 64, np.int64),
    )
    return replace(profile_of(*steps), transfers=table, steps=(0, 0), step_workers=("worker 0", "worker 1"))


BOTH = reduced((0, 150, 500), (1, AHEAD + 480, AHEAD + 505))


def test_clocks_agree_on_the_end_within_the_time_of_the_last_to_join() -> None:
    """It ends at 500 and at 5,505, and takes the last 25 us."""
    clocks = Clocks.of(BOTH)
    assert clocks.offset.tolist() == [[0, 5005 * MICRO]]
    assert clocks.error.tolist() == [[0, 25 * MICRO]]


def test_the_others_wait_until_the_last_has_joined() -> None:
    """The first stands still from 150, and the second joins at 475 by the first one's clock."""
    found = summary(BOTH)
    assert found is not None
    first, second = found.tasks
    assert (first.task, first.wait_nanos, second.wait_nanos) == ("worker 0", 325 * MICRO, 0)
    assert (first.waited_for_nanos, second.waited_for_nanos) == (0, 325 * MICRO)
    assert [(each.source, each.bytes, each.transfer_nanos) for each in found.links] == [
        ("collective group 1", 64, 25 * MICRO),
        ("collective group 1", 64, 25 * MICRO),
    ]
    assert found.straggler is not None
    assert found.straggler.task == "worker 1"


def test_a_collective_that_one_took_part_in_more_often_is_not_matched() -> None:
    profile = reduced((0, 150, 500), (0, 600, 700), (1, AHEAD + 480, AHEAD + 505))
    assert Collectives.of(profile).number.tolist() == [ABSENT] * 3
    assert not Clocks.of(profile).is_linked[0, 1]


def test_workers_that_share_nothing_have_times_of_their_own() -> None:
    """One ran an hour after the other, as a run before a change and one after it."""
    profile = replace(BOTH, transfers=Transfers.none())
    found = summary(profile)
    assert found is not None
    assert [each.busy_nanos + each.idle_nanos for each in found.tasks] == [420 * MICRO, 415 * MICRO]
