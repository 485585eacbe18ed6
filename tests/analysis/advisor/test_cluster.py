"""What holds a cluster up, on profiles worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from tests.analysis.advisor.findings import only
from tests.analysis.cluster.clusters import PS0, PS1, WORKER0, WORKER1, Came, Event, Ran, profile_of
from tfprof_widget.analysis.advisor.cluster import cluster
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


def workers(first: int, second: int) -> Profile:
    """Two workers that work for so long from 100 on, and a server that goes on when it has what they made."""
    made = [Ran(WORKER0, "g0", 2, first), Ran(WORKER1, "g1", 2, second)]
    came = [Came(PS0, "g0", WORKER0, 2 + first, 1), Came(PS0, "g1", WORKER1, 2 + second, 1)]
    return profile_of([*same_clock(), *made, *came, Ran(PS0, "train", 4 + max(first, second), 10)])


def test_a_worker_that_the_others_wait_for() -> None:
    finding = only(cluster(workers(100, 900)))
    assert finding.cause.startswith(f"Each of the others waits for {WORKER1} ")
    assert finding.evidence.view == "workers"


def test_workers_alike() -> None:
    assert not list(cluster(workers(900, 900)))


def links(slow: int, task: str = WORKER1) -> Profile:
    """Three links that carry a megabyte in 100 us each while their targets compute, and one that takes longer."""
    size = 1_000_000
    sent = [(PS0, WORKER0, 100), (PS1, WORKER0, 100), (PS0, WORKER1, 100), (PS1, task, slow)]
    moved = [
        event
        for number, (source, target, took) in enumerate(sent)
        for event in (Ran(source, f"v{number}", 10 + number, 1), Came(target, f"v{number}", source, 20, took, size))
    ]
    return profile_of([*same_clock(), *moved, Ran(WORKER0, "work0", 11, 989), Ran(WORKER1, "work1", 11, 989)])


def test_a_slow_link() -> None:
    """2.5 gigabytes a second where 10 are usual, for 400 of 999 us."""
    finding = only(cluster(links(400)))
    assert finding.cause == (
        f"Data from {PS1} to {WORKER1} travels at 2500.00MB a second, and on the usual link at 10000.00MB a "
        "second: it takes 400us of a step of 999us."
    )


def test_a_link_that_is_not_so_slow() -> None:
    assert not list(cluster(links(290)))


def test_a_slow_link_for_a_short_time() -> None:
    """400 us are less than a tenth of 5 ms."""
    profile = links(400)
    longer = profile_of([*same_clock(), Ran(PS0, "long", 2, 5000)])
    assert list(cluster(profile))
    assert not list(cluster(longer))


def test_transfers_that_nothing_hides() -> None:
    """The worker gets a tensor from 110 to 310, and works until 200 and from 310 to 1,000."""
    step = [Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, 110, 200, 10)]
    work = [Ran(WORKER0, "input", 2, 198), Ran(WORKER0, "train", 310, 690)]
    finding = only(cluster(profile_of([*same_clock(), *step, *work])))
    assert finding.cause == (
        f"Tensors are on their way to {WORKER0} for 200us of a step of 999us, "
        "and for 110us of that it computes nothing."
    )


def test_transfers_that_work_hides() -> None:
    step = [Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, 110, 200, 10)]
    assert not list(cluster(profile_of([*same_clock(), *step, Ran(WORKER0, "train", 2, 998)])))


def test_warm_ups_do_not_count() -> None:
    late, alike = workers(100, 900), workers(900, 900)
    assert list(cluster(late))
    assert not list(cluster(replace(alike, step_names=("train",))))
