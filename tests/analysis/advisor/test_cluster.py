"""What holds a cluster up, on profiles worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.advisor.findings import only
from tests.analysis.cluster.clusters import PS0, PS1, WORKER0, WORKER1, Came, Event, Ran, profile_of
from tfprof_widget.analysis.advisor.cluster import cluster
from tfprof_widget.analysis.cluster.routes import straggler
from tfprof_widget.analysis.cluster.waits import Pace
from tfprof_widget.api.profile import Profile


def same_clock() -> list[Event]:
    """What leaves no other offsets than 0: each task and the first server get something when it is made."""
    return [
        event
        for number, task in enumerate((PS1, WORKER0, WORKER1))
        for event in (
            *(Ran(PS0, f"to{number}", 1, 1), Came(task, f"to{number}", PS0, 1, 1)),
            *(Ran(task, f"from{number}", 1, 1), Came(PS0, f"from{number}", task, 1, 1)),
        )
    ]


STEPS = 10


def workers(first: Sequence[int], second: Sequence[int]) -> Profile:
    """Two workers that work for so long in each step, and a server that goes on when it has what they made."""
    steps = [
        [
            *same_clock(),
            *(Ran(WORKER0, "g0", 2, one), Ran(WORKER1, "g1", 2, other)),
            *(Came(PS0, "g0", WORKER0, 2 + one, 1), Came(PS0, "g1", WORKER1, 2 + other, 1)),
            Ran(PS0, "train", 4 + max(one, other), 10),
        ]
        for one, other in zip(first, second, strict=True)
    ]
    return profile_of(*steps)


def around(middle: float, spread: float, seed: int, steps: int = 20) -> list[int]:
    """Times of steps around a middle; two thirds of them are at most `spread` from it."""
    return [max(round(each), 1) for each in np.random.default_rng(seed).normal(middle, spread, steps)]


def test_a_worker_that_the_others_wait_for() -> None:
    finding = only(cluster(workers([100] * STEPS, [900] * STEPS)))
    assert finding.cause.startswith(f"Other tasks wait for {WORKER1} ")
    assert finding.evidence.view == "workers"
    assert finding.fix.startswith("Give this task no more work")


def test_a_worker_that_is_late_with_no_more_work() -> None:
    """It works as long as the other, but begins 700 us later."""
    steps = [
        *same_clock(),
        *(Ran(WORKER0, "g0", 2, 100), Ran(WORKER1, "g1", 702, 100)),
        *(Came(PS0, "g0", WORKER0, 102, 1), Came(PS0, "g1", WORKER1, 802, 1), Ran(PS0, "train", 804, 10)),
    ]
    finding = only(cluster(profile_of(*[steps] * STEPS)))
    assert finding.cause.startswith(f"Other tasks wait for {WORKER1} ")
    assert finding.fix.startswith("Look for what this task waits for")


def test_workers_alike() -> None:
    assert not list(cluster(workers([900] * STEPS, [900] * STEPS)))


@pytest.mark.parametrize("seed", range(20))
def test_a_worker_is_named_if_it_is_late_by_three_times_the_spread_and_not_if_steps_only_differ(seed: int) -> None:
    """Each worker's times spread by 90 us, and so their difference by 90 us times the root of 2: three times is 382."""
    usual = around(500, 90, seed)
    (finding,) = cluster(workers(usual, around(500 + 400, 90, seed + 100)))
    assert finding.cause.startswith(f"Other tasks wait for {WORKER1} ")
    assert not list(cluster(workers(usual, around(500, 90, seed + 100))))


def test_a_worker_is_named_though_some_of_its_steps_take_much_longer() -> None:
    """On a busy machine a late worker's steps spread upwards: the spread of these is more than half of the median."""
    (finding,) = cluster(workers([100] * STEPS, [900] * 6 + [5000] * 4))
    assert finding.cause.startswith(f"Other tasks wait for {WORKER1} ")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([100] * STEPS, [100] + [900] * 9),  # the same op was quick once: something else has the processor since
        ([100, 300] * 5, [100] + [300] * 9),  # both are held up
        ([900] * 3 + [100] * 7, [900] * STEPS),  # in three of ten steps the other one is as late
    ],
)
def test_a_worker_that_is_held_up_or_that_is_late_in_some_steps(first: list[int], second: list[int]) -> None:
    assert not list(cluster(workers(first, second)))


def test_a_worker_with_more_work_is_named_though_the_machine_holds_all_ops_up() -> None:
    """Quickest 100 and 500 us; both mostly take twice as long."""
    (finding,) = cluster(workers([100] + [200] * 9, [500] + [1000] * 9))
    assert finding.cause.startswith(f"Other tasks wait for {WORKER1} ")


@pytest.mark.parametrize(("waited", "named"), [((0, 300, 600, 650), None), ((300, 300, 350, 650), 3)])
def test_a_worker_is_named_if_it_is_unlike_the_others_and_they_are_alike(
    waited: tuple[float, ...], named: int | None
) -> None:
    """Of 1,000: 350 beyond 0 to 600, whose spread is 204; and 333 beyond 300 to 350."""
    names = [f"/job:worker/task:{number}" for number in range(4)]
    found = straggler(names, np.array([waited] * STEPS), [Pace(1, 1)] * 4, 1000)
    assert (found and found.task) == named


def test_of_few_steps_nobody_is_named() -> None:
    assert not list(cluster(workers([100] * 7, [900] * 7)))


def links(*slow: int, work: int = 989) -> Profile:
    """Three links that carry a megabyte in 100 us each while their targets compute, and one that takes longer.

    Where it takes 0 nothing of it is recorded.
    """
    size, steps = 1_000_000, []
    for slowest in slow:
        sent = [(PS0, WORKER0, 100), (PS1, WORKER0, 100), (PS0, WORKER1, 100), (PS1, WORKER1, slowest)]
        sent = [each for each in sent if each[2]]
        moved = [
            event
            for number, (source, target, took) in enumerate(sent)
            for event in (Ran(source, f"v{number}", 10 + number, 1), Came(target, f"v{number}", source, 20, took, size))
        ]
        steps.append([*same_clock(), *moved, Ran(WORKER0, "work0", 11, work), Ran(WORKER1, "work1", 11, work)])
    return profile_of(*steps)


def test_a_slow_link() -> None:
    """2.5 gigabytes a second where 10 are usual, for 400 of 999 us."""
    finding = only(cluster(links(*[400] * STEPS)))
    assert finding.cause == (
        f"Data from {PS1} to {WORKER1} travels at 2.50 GB/s (median of 10 steps), and at 10 GB/s on the usual link; "
        "most rates are within a factor of 1.0. Sending it takes 400 µs of a step's 999 µs."
    )


def test_a_link_that_is_not_so_slow() -> None:
    assert not list(cluster(links(*[290] * STEPS)))


def test_a_link_that_is_slow_in_few_steps() -> None:
    assert not list(cluster(links(*[400] * 7)))
    assert not list(cluster(links(*[400] * 4, *[100] * 6)))


def test_a_link_that_few_steps_have_recorded() -> None:
    """In nine of twenty steps it is slow; nothing is known of the others."""
    assert list(cluster(links(*[400] * 11, *[0] * 9)))
    assert not list(cluster(links(*[400] * 9, *[0] * 11)))


@pytest.mark.parametrize("seed", range(20))
def test_a_link_is_named_if_it_is_slow_by_three_times_the_spread_and_not_if_rates_only_differ(seed: int) -> None:
    """Rates spread by a factor of 1.7: three times that is 1.7 to the third, a factor of 4.9."""
    spread = np.exp(np.random.default_rng(seed).normal(0, np.log(1.7), (4, 20)))

    def profile(slower: float) -> Profile:
        steps = []
        for number in range(spread.shape[1]):
            sent = [(PS0, WORKER0), (PS1, WORKER0), (PS0, WORKER1), (PS1, WORKER1)]
            took = (50 * spread[:, number] * [1, 1, 1, slower]).astype(int)
            moved = [
                event
                for link, (source, target) in enumerate(sent)
                for event in (
                    Ran(source, f"v{link}", 10 + link, 1),
                    Came(target, f"v{link}", source, 20, int(took[link]), 1_000_000),
                )
            ]
            steps.append([*same_clock(), *moved, *(Ran(worker, worker[-1], 11, 989) for worker in (WORKER0, WORKER1))])
        return profile_of(*steps)

    (finding,) = (each for each in cluster(profile(1.7**3)) if "travels" in each.cause)
    assert finding.cause.startswith(f"Data from {PS1} to {WORKER1} travels at ")
    assert not [each for each in cluster(profile(1)) if "travels" in each.cause]


def test_two_directions_are_not_compared() -> None:
    """What a worker sends comes when its backward pass allows: that a server gets it more slowly tells nothing."""
    size = 1_000_000
    step = [
        *same_clock()[4:8],
        *(Ran(PS0, "w", 10, 1), Came(WORKER0, "w", PS0, 20, 100, size)),
        *(Ran(WORKER0, "g", 10, 1), Came(PS0, "g", WORKER0, 20, 1700, size)),
        *(Ran(WORKER0, "work", 11, 2000), Ran(PS0, "serve", 11, 2000)),
    ]
    assert not list(cluster(profile_of(*[step] * STEPS)))


def test_tensors_at_once_do_not_make_a_link_slow() -> None:
    """Four tensors that take 100 us together have the rate of one that takes 100 us alone, but four times the bytes."""
    size = 1_000_000
    sent = [(PS0, WORKER0, 1), (PS1, WORKER0, 1), (PS0, WORKER1, 1), (PS1, WORKER1, 4)]
    moved = [
        event
        for number, (source, target, tensors) in enumerate(sent)
        for tensor in range(tensors)
        for event in (
            Ran(source, f"v{number}{tensor}", 10 + number, 1),
            Came(target, f"v{number}{tensor}", source, 20, 100 * tensors, size),
        )
    ]
    step = [*same_clock(), *moved, Ran(WORKER0, "work0", 11, 989), Ran(WORKER1, "work1", 11, 989)]
    assert not list(cluster(profile_of(*[step] * STEPS)))


def test_a_slow_link_for_a_short_time() -> None:
    """400 us are less than a tenth of 5 ms."""
    assert list(cluster(links(*[400] * STEPS)))
    assert not list(cluster(links(*[400] * STEPS, work=5000)))


def on_the_way(until: int, *work: Event, steps: int = STEPS) -> Profile:
    """The worker gets a tensor from 110 on, works until 200 and again when it came, until 1,000."""
    step = [Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, 110, until - 110, 10), *work]
    own = [Ran(WORKER0, "input", 2, 198), Ran(WORKER0, "train", until, 1000 - until)]
    return profile_of(*[[*same_clock(), *step, *own]] * steps)


def test_transfers_that_no_work_hides() -> None:
    finding = only(cluster(on_the_way(410)))
    assert finding.cause == (f"No task computes for 210 µs of a step's 999 µs, while tensors travel to {WORKER0}.")
    assert finding.fix.startswith("Send less")


@pytest.mark.parametrize(
    "profile",
    [
        on_the_way(390),  # 190 us are less than a fifth
        on_the_way(410, Ran(WORKER0, "more", 200, 210)),
        on_the_way(410, Ran(WORKER1, "other", 200, 210)),  # the processor that copies may be busy with that
        on_the_way(410, steps=7),
    ],
)
def test_transfers_that_work_hides_or_that_are_short_or_few(profile: Profile) -> None:
    assert not list(cluster(profile))


def with_devices(profile: Profile, **tasks: str) -> Profile:
    """The same with other devices: each is of this task, and has a number of its own."""
    named = {"ps0": PS0, "ps1": PS1, "worker0": WORKER0, "worker1": WORKER1}
    other = {
        f"{named[key]}/device:cpu:0": f"{task}/device:cpu:{number}" for number, (key, task) in enumerate(tasks.items())
    }

    def renamed(devices: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(other.get(each.lower(), each) for each in devices)

    nodes, transfers = profile.nodes, profile.transfers
    return replace(
        profile,
        nodes=replace(nodes, devices=renamed(nodes.devices)),
        transfers=replace(transfers, devices=renamed(transfers.devices)),
    )


@pytest.mark.parametrize("profile", [links(*[400] * STEPS), on_the_way(410), workers([100] * STEPS, [900] * STEPS)])
def test_devices_of_one_process_are_no_cluster(profile: Profile) -> None:
    """Two logical CPUs of a MirroredStrategy copy in memory, and share the processor."""
    assert list(cluster(profile))
    alone = "/job:localhost/replica:0/task:0"
    assert not list(cluster(with_devices(profile, ps0=alone, ps1=alone, worker0=alone, worker1=alone)))


def test_a_slow_copy_between_devices_of_a_task_is_no_slow_link() -> None:
    profile = links(*[400] * STEPS)
    assert "travels at" in only(cluster(with_devices(profile, ps0=PS0, ps1=PS0, worker0=WORKER0))).cause
    assert not list(cluster(with_devices(profile, ps0=PS0, ps1=WORKER1, worker0=WORKER0, worker1=WORKER1)))


def test_warm_ups_do_not_count() -> None:
    late, alike = [100] * STEPS, [900] * STEPS
    both = workers(alike + late, alike * 2)
    named = replace(both, step_names=("train",) * STEPS + ("train (warm-up)",) * STEPS)
    assert list(cluster(workers(late, alike)))
    assert not list(cluster(named))
