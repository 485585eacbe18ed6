"""Who is waited for in a collective, and what it tells of clocks: worked out by hand, times in microseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tests.analysis.cluster.clusters import PS0, Event, Ran, profile_of
from tfprof_widget.analysis.cluster.clocks import Clocks
from tfprof_widget.analysis.cluster.exchanges import Collectives
from tfprof_widget.analysis.cluster.summary import summary
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.tables import Transfers

MICRO = 1000
APART = 1000
"""How far steps are apart."""

AHEAD = 5000
"""By how much the second worker's clock is ahead."""


Part = tuple[int, int]
"""Since when a worker was in a reduction, and until when, by its own clock."""


def reduced(*steps: tuple[list[Part], list[Part]]) -> Profile:
    """Two workers; each step has the parts of the first and of the second, one after the other of the same name."""
    runs: list[list[Event]] = []
    rows: list[tuple[int, int, int]] = []
    for number, step in enumerate(steps):
        late = APART * number
        runs.append([Ran(PS0, "forward", late + 100, 50), Ran(PS0, "update", late + 510, 10)])
        runs.append([Ran(PS0, "forward", late + AHEAD + 100, 380), Ran(PS0, "update", late + AHEAD + 505, 10)])
        rows += [(2 * number + worker, *part) for worker, parts in enumerate(step) for part in parts]
    step_of, start, end = np.array(rows, np.int64).reshape(-1, 3).T
    zero = np.zeros(len(rows), np.int32)
    table = Transfers(
        devices=("collective group 1", f"{PS0}/device:cpu:0"),
        tensors=("gradient",),
        kinds=("CollectiveReduceV2",),
        step=step_of.astype(np.int32),
        kind=zero,
        source=zero,
        target=zero + 1,
        tensor=zero,
        node=zero + ABSENT,
        start_nanos=start * MICRO,
        duration_nanos=(end - start) * MICRO,
        bytes=np.full(len(rows), 64, np.int64),
    )
    numbers = tuple(number // 2 for number in range(2 * len(steps)))
    workers = ("worker 0", "worker 1") * len(steps)
    return replace(profile_of(*runs), transfers=table, steps=numbers, step_workers=workers)


def steps_alike(count: int) -> Profile:
    """In each step the second worker joins at 475 by the first one's clock, and both are done at 500."""
    late = [APART * number for number in range(count)]
    return reduced(*(([(at + 150, at + 500)], [(at + AHEAD + 480, at + AHEAD + 505)]) for at in late))


BOTH = steps_alike(12)
DRIFT = 2
"""What clocks may drift in the 11 ms from the first step to the last, rounded up."""


def told(profile: Profile) -> list[tuple[int, int]]:
    """By how much the second worker's clock is ahead in each step, and the error of that."""
    clocks = Clocks.of(profile)
    ahead, error = (column[:, 1] // MICRO for column in (clocks.offset, clocks.error))
    return list(zip(ahead.tolist(), error.tolist(), strict=True))


def test_clocks_agree_on_the_end_within_the_time_of_the_last_to_join() -> None:
    """It ends at 500 and at 5,505, and takes the last 25 us."""
    for ahead, error in told(BOTH):
        assert abs(ahead - 5005) <= DRIFT
        assert 25 <= error <= 25 + DRIFT


def test_of_few_collectives_only_what_is_sure_counts() -> None:
    """The second worker was not done before the first had joined, so that its clock is ahead by 5,505 - 150 at most.

    The first was not done before the second had joined, so that it is ahead by 5,480 - 500 at least.
    """
    least, most = AHEAD + 480 - 500, AHEAD + 505 - 150
    assert told(steps_alike(1)) == [((least + most) // 2, (most - least) // 2)]


def test_one_of_nineteen_steps_that_ends_late_moves_no_clock() -> None:
    """As two workers of one machine recorded it, whose clocks are one.

    In eighteen steps the reduction takes 1,500 us, and is over 5 us later for the second. In one it takes 25 us, and
    the thread of the first is held up for a millisecond after it: that alone says -1,005 with an error of 25.
    """
    steps = [([(at, at + 2000)], [(at + 500, at + 2005)]) for at in range(100, 190_000, 10_000)]
    steps[7] = ([(70_100, 71_960)], [(70_930, 70_955)])
    for ahead, error in told(reduced(*steps)):
        assert abs(ahead) <= error <= 1000


def test_steps_that_disagree_widen_the_error() -> None:
    """Half of them say that the clocks are alike, the others that the second is 200 us ahead: no side is taken."""
    steps = [
        ([(at, at + 1000)], [(at + 990, at + 1000 + 200 * (at // 10_000 % 2))]) for at in range(100, 60_000, 10_000)
    ]
    for ahead, error in told(reduced(*steps)):
        assert ahead - error <= 0
        assert ahead + error >= 200


@some.composite
def planted(draw: some.DrawFn) -> tuple[Profile, int]:
    """Steps of two workers, the second of which has a clock that is ahead, and by how much.

    Less than half of the steps break the usual bound: one worker is done long after the other.
    """
    ahead = draw(some.sampled_from([0, 3, -700, 40_000, -5_000_000, 3_000_000_000]))
    count = draw(some.integers(3, 20))
    broken = draw(some.sets(some.integers(0, count - 1), max_size=(count - 1) // 2))
    steps = []
    for number in range(count):
        at = 10_000_000_000 + 10_000 * number
        joined = [at + draw(some.integers(0, 2000)) for _ in range(2)]
        took = draw(some.integers(1, 250))
        done = [max(joined) + 2 * took, max(joined) + draw(some.integers(took, 4 * took))]
        if number in broken:
            done[draw(some.integers(0, 1))] += draw(some.integers(500, 5000))
        steps.append(([(joined[0], done[0])], [(joined[1] + ahead, done[1] + ahead)]))
    return reduced(*steps), ahead


@given(planted())
def test_planted_offsets_are_within_the_error_told_though_steps_break_the_bound(cluster: tuple[Profile, int]) -> None:
    profile, true = cluster
    clocks = Clocks.of(profile)
    assert (abs(clocks.offset[:, 1] - true * MICRO) <= clocks.error[:, 1] + 1).all()
    assert (clocks.error[:, 1] <= 8000 * MICRO).all()


def test_the_others_wait_until_the_last_has_joined() -> None:
    """The first stands still from 150, and the second joins at 475 by the first one's clock."""
    found = summary(BOTH)
    assert found is not None
    first, second = found.tasks
    assert (first.task, second.wait_nanos, first.waited_for_nanos) == ("worker 0", 0, 0)
    assert abs(first.wait_nanos - 325 * MICRO) <= DRIFT * MICRO
    assert second.waited_for_nanos == first.wait_nanos
    assert [(each.source, each.bytes) for each in found.links] == [("collective group 1", 64)] * 2
    assert all(abs(each.transfer_nanos - 25 * MICRO) <= DRIFT * MICRO for each in found.links)
    assert found.straggler is not None
    assert found.straggler.task == "worker 1"


def test_a_collective_that_one_took_part_in_more_often_is_not_matched() -> None:
    profile = reduced(([(150, 500), (600, 700)], [(AHEAD + 480, AHEAD + 505)]))
    assert Collectives.of(profile).number.tolist() == [ABSENT] * 3
    assert not Clocks.of(profile).is_linked[0, 1]


def test_workers_that_share_nothing_have_times_of_their_own() -> None:
    """One ran an hour after the other, as a run before a change and one after it."""
    profile = replace(BOTH, transfers=Transfers.none())
    found = summary(profile)
    assert found is not None
    assert [each.busy_nanos + each.idle_nanos for each in found.tasks] == [420 * MICRO, 415 * MICRO]
