"""Parts of a profile, merged in any order and any groups, are the profile that is made of all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tests.ingest.merging.contents import content
from tests.oracle.random_profiles import RandomProfile, random_profile
from tfprof_widget import merge
from tfprof_widget.api.profile import Profile

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

STEPS = (0, 1, 1, 2, 5, 5, 5, 9)


def parts_of(random: RandomProfile, runs: Sequence[int]) -> Profile:
    """The profile of some of the runs, by their places among `steps`."""
    return Profile.from_protos(
        random.graph,
        {
            step: [random.steps[run][1] for run in runs if random.steps[run][0] == step]
            for step in steps_of(random, runs)
        },
        random.op_log,
    )


def steps_of(random: RandomProfile, runs: Sequence[int]) -> list[int]:
    return sorted({random.steps[run][0] for run in runs})


def in_time(random: RandomProfile) -> RandomProfile:
    """The same runs, by step and then by when they started; what is told apart by no start, by the runs' digests."""

    def started(run: tuple[int, Any]) -> tuple[int, int, bytes]:
        profile = Profile.from_protos(random.graph, {run[0]: run[1]})
        elsewhere = profile.runs.elsewhere
        tables = [profile.executions, *([elsewhere.executions] if elsewhere else [])]
        starts = [start for table in tables for start in table.start_nanos.tolist() if start > 0]
        return run[0], min(starts, default=2**63 - 1), profile.runs.digests[0]

    return RandomProfile(random.graph, tuple(sorted(random.steps, key=started)), random.op_log)


def grouped(parts: list[Profile], order: Random) -> Profile:
    """Merged two or three at a time, as it happens."""
    while len(parts) > 1:
        order.shuffle(parts)
        count = order.randint(2, 3)
        parts = [*parts[count:], merge(parts[:count])]
    return parts[0]


@pytest.mark.parametrize("seed", range(30))
def test_parts_in_any_order_and_groups_are_the_whole(seed: int) -> None:
    random, order = in_time(random_profile(seed, STEPS)), Random(seed)
    runs = list(range(len(random.steps)))
    cuts = [index for index in runs if order.random() < 0.6] or runs
    shares: list[list[int]] = [[] for _ in cuts]
    for run in runs:
        order.choice(shares).append(run)
    merged = grouped([parts_of(random, share) for share in shares if share] or [parts_of(random, runs)], order)
    assert content(merged) == content(parts_of(random, runs))


@pytest.mark.parametrize("seed", range(15))
def test_different_graphs_of_workers_may_be_merged_in_any_order_and_groups(seed: int) -> None:
    order = Random(seed)
    workers = [
        merge({f"worker {number}": parts_of(random_profile(seed * 5 + number % 3, (0, 3, 4)), (0, 1, 2))})
        for number in range(5)
    ]
    first = content(grouped(list(workers), order))
    assert content(grouped(list(workers), order)) == first
    assert content(merge(workers)) == first


@pytest.mark.parametrize("seed", range(10))
def test_what_was_merged_before_is_not_changed_by_merging_it_alone(seed: int) -> None:
    random = in_time(random_profile(seed, STEPS))
    whole = parts_of(random, range(len(random.steps)))
    assert content(merge([whole])) == content(whole)
    assert content(merge([Profile.from_protos(), whole])) == content(whole)
