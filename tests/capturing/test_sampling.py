"""Runs are traced at first and then ever more seldom, and never at more than the cost allowed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from tfprof_widget.capturing.sampling import (
    EVERYTHING,
    Adaptive,
    Every,
    Policy,
    Sampler,
    Steps,
    policy,
)
from tfprof_widget.capturing.tallies import Choice, KindTally

TENTH = Adaptive(0.1, allowance=0.5)


def kind(sampler: Sampler, name: object) -> KindTally:
    return sampler.kind(name, lambda: KindTally(str(name)))


def simulated(
    policy: Policy, runs: int, seconds: float, slowdown: float, warm_up: float = 0.0
) -> tuple[list[int], float]:
    """The numbers of the runs that are traced, and what all of them took beyond the untraced time."""
    sampler = Sampler(policy)
    traced, extra = [], 0.0
    for number in range(runs):
        choice = sampler.choose(kind(sampler, "train"))
        assert choice.number == number
        took = seconds * (slowdown if choice.traced else 1.0)
        extra += took - seconds
        if choice.traced:
            traced.append(number)
        sampler.ran(kind(sampler, "train"), choice, took + (warm_up if choice.is_first else 0.0))
    return traced, extra


@pytest.mark.parametrize("slowdown", [1.0, 1.3, 2.0, 4.0])
def test_thousand_small_steps_cost_at_most_a_tenth(slowdown: float) -> None:
    traced, extra = simulated(TENTH, 1000, 0.0005, slowdown, warm_up=0.2)
    assert extra <= 0.10 * 1000 * 0.0005
    assert traced[:3] == [0, 1, 3]
    assert len(traced) >= 20


@pytest.mark.parametrize("seconds", [0.0001, 0.01, 0.3])
@pytest.mark.parametrize("slowdown", [2.0, 4.0, 40.0])
@pytest.mark.parametrize("overhead", [0.0, 0.05, 0.1])
def test_cost_keeps_within_its_share_or_half_a_second(seconds: float, slowdown: float, overhead: float) -> None:
    """One trace is needed to learn what a trace costs, beside the warm-up's."""
    runs = 3000
    _, extra = simulated(Adaptive(overhead, allowance=0.5), runs, seconds, slowdown)
    unforeseen = 2 * seconds * (slowdown - 1)
    assert extra <= max(overhead * runs * seconds, 0.5) or extra == pytest.approx(unforeseen)


@pytest.mark.parametrize(("untraced", "affordable"), [(0.0, 0.1), (3.0, 0.1), (30.0, 1.0)])
def test_by_default_tracing_costs_a_thirtieth_or_a_tenth_of_a_second(untraced: float, affordable: float) -> None:
    sampler = Sampler(policy())
    sampler.ran(kind(sampler, "train"), Choice(0, traced=False), untraced)
    assert sampler.affordable_seconds() == pytest.approx(affordable)
    sampler.overhead_seconds += 0.04
    assert sampler.affordable_seconds() == pytest.approx(affordable - 0.04)


def test_what_costs_too_much_is_looked_at_once_in_a_hundred_runs() -> None:
    """To look takes longer than all else that a hook does for a run that is not traced."""
    sampler = Sampler(TENTH)
    looks: list[int] = []
    train = kind(sampler, "train")
    sampler.ran(train, sampler.choose(train), 1e-3)
    sampler.ran(train, sampler.choose(train), 1e-3)
    for number in range(2, 10_000):
        sampler.ran(train, sampler.choose(train, cost=noting(looks, number, 100.0)), 1e-3)
    assert looks[:2] == [3, 4]
    assert len(looks) < 700


def noting(looks: list[int], number: int, seconds: float) -> Callable[[KindTally], float]:
    def cost(_: KindTally) -> float:
        looks.append(number)
        return seconds

    return cost


def test_traces_become_ever_rarer() -> None:
    traced, _ = simulated(TENTH, 100_000, 0.001, 1.01)
    distances = [later - earlier for earlier, later in pairwise(traced[1:])]
    assert distances == sorted(distances)
    assert distances[0] == 2
    assert distances[-1] > 10_000
    assert len(traced) < 60


def test_cheap_traces_are_not_held_back_and_dear_ones_wait() -> None:
    """A step of 0.3 s that is traced in 1.2 s: after the two first, each further one is earned by 9 s untraced."""
    cheap, _ = simulated(TENTH, 200, 0.3, 1.0)
    dear, _ = simulated(TENTH, 200, 0.3, 4.0)
    assert cheap[:6] == [0, 1, 3, 5, 7, 9]
    assert dear[:2] == [0, 1]
    # Three traces cost 2.7 s, which is a tenth of 27 s, or 90 runs.
    assert 88 <= dear[2] <= 91


def test_run_follows_untraced_to_compare_with() -> None:
    traced, _ = simulated(TENTH, 1000, 0.001, 1.0)
    assert all(later - earlier >= 2 for earlier, later in pairwise(traced[1:]))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Every(1), list(range(12))),
        (EVERYTHING, list(range(12))),
        (Every(5), [0, 5, 10]),
        (Steps(2, 5), [2, 3, 4]),
        (Steps(10), [10, 11]),
        (Steps(0, 1), [0]),
        (Steps(20, 30), []),
    ],
)
def test_policy_as_asked(policy: Policy, expected: list[int]) -> None:
    assert simulated(policy, 12, 1.0, 4.0)[0] == expected


def test_groups_are_counted_apart() -> None:
    sampler = Sampler(Steps(1, 2))
    groups = ["train", "eval", "train", "train", "eval"]
    assert [sampler.choose(kind(sampler, group)).traced for group in groups] == [False, False, True, False, True]


def test_groups_share_what_may_be_spent() -> None:
    """A thousand groups of one run each: no untraced run tells what tracing costs, so it is suspected."""
    sampler = Sampler(TENTH)
    traced = 0
    for group in range(1000):
        choice = sampler.choose(kind(sampler, group))
        traced += choice.traced
        sampler.ran(kind(sampler, group), choice, 0.004 if choice.traced else 0.001)
    assert 50 <= traced <= 170  # at 3 ms each


def test_seconds_spent_elsewhere_count() -> None:
    """Three steady runs are recorded before: a kind with fewer may cost an allowance of its own."""
    sampler = Sampler(TENTH)
    for _ in range(6):
        sampler.ran(kind(sampler, "train"), sampler.choose(kind(sampler, "train")), 0.001)
    sampler.overhead_seconds += 1.5
    sampler.overhead_seconds += 0.5
    assert sampler.overhead_seconds == 2.0
    due = [sampler.choose(kind(sampler, "train")) for _ in range(50)]
    assert not any(choice.traced for choice in due)


def test_group_becomes_due_again_once_it_can_be_afforded() -> None:
    """It takes most of the time, and so has three steady runs, which cost nothing, before 20 s pay for 2 s."""
    sampler, traced = Sampler(TENTH), []
    sampler.overhead_seconds += 2.0
    for _ in range(21):
        choice = sampler.choose(kind(sampler, "train"))
        traced += [choice.number] * choice.traced
        sampler.ran(kind(sampler, "train"), choice, 1.0)
    assert traced == [0, 1, 3, 5, 20]


def test_what_takes_most_is_traced_once_whatever_it_costs() -> None:
    """Nothing may be spent: the first run sets up for 20 ms, the 21st of 1 ms has taken as long, others less."""
    sampler, traced = Sampler(Adaptive(0.0, allowance=0.0)), []
    sampler.ran(kind(sampler, "initialize"), sampler.choose(kind(sampler, "initialize")), 0.02)
    for _ in range(100):
        for group, seconds in (("train", 0.001), ("evaluate", 0.0005)):
            choice = sampler.choose(kind(sampler, group))
            traced += [(group, choice.number)] * choice.traced
            sampler.ran(kind(sampler, group), choice, seconds * (5 if choice.traced else 1))
    assert traced == [("train", 20)]


def costing(seconds: float) -> Callable[[KindTally], float]:
    return lambda _: seconds


@pytest.mark.parametrize(("seconds", "is_traced"), [(0.05, True), (0.001, False)])
def test_notable_kind_is_traced_though_others_have_used_the_allowance_up(seconds: float, is_traced: bool) -> None:
    """More than may be spent was spent on `fit`, which took 4 s; then 20 runs of another kind take 1 s, or 20 ms."""
    sampler, fit, train = Sampler(Adaptive()), KindTally("fit"), KindTally("train")
    for _ in range(4):
        sampler.ran(fit, sampler.choose(fit), 1.0)
    sampler.overhead_seconds += 0.6
    traced = []
    for number in range(20):
        choice = sampler.choose(train, cost=costing(0.05))
        traced += [number] * (choice.traced and number > 0)
        sampler.ran(train, choice, seconds)
    assert bool(traced) == is_traced


def test_cost_beside_the_run_has_to_be_affordable_too() -> None:
    """Half a second may be spent, and 0.6 s that a window costs are a tenth of 6 s."""
    sampler, costs = Sampler(TENTH), []
    for number in range(8):
        choice = sampler.choose(kind(sampler, "train"), cost=costing(0.6 if number > 1 else 0.0))
        costs += [number] * choice.traced
        sampler.ran(kind(sampler, "train"), choice, 1.0)
    assert costs == [0, 1, 6]


def test_runs_that_overlap_are_told_apart() -> None:
    sampler = Sampler(EVERYTHING)
    first, second = sampler.choose(kind(sampler, "train")), sampler.choose(kind(sampler, "train"))
    sampler.ran(kind(sampler, "train"), second, 1.0)
    sampler.ran(kind(sampler, "train"), first, 5.0)
    tally = kind(sampler, "train")
    assert (first.is_first, second.is_first) == (True, False)
    assert (tally.first.seconds, tally.traced.seconds) == (5.0, 1.0)


def test_run_that_cannot_be_traced_is_counted() -> None:
    sampler = Sampler(EVERYTHING)
    assert sampler.choose(kind(sampler, "train"), traceable=False) == Choice(0, traced=False)
    assert sampler.choose(kind(sampler, "train")) == Choice(1, traced=True)


def test_cost_is_measured_against_untraced_runs() -> None:
    """Warm-up and two steady runs traced in 4 s each, two untraced in 1 s: three traces of 3 s."""
    sampler = Sampler(Every(2))
    for seconds in (30.0, 1.0, 4.0, 1.0, 4.0):
        sampler.ran(kind(sampler, "train"), sampler.choose(kind(sampler, "train")), seconds)
    assert sampler.measured_cost() == 9.0
    assert Sampler(EVERYTHING).measured_cost() is None


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (lambda: Adaptive(-0.1), "overhead: -0.1 is negative"),
        (lambda: Adaptive(float("nan")), "overhead: nan"),
        (lambda: Every(0), "every: 0"),
        (lambda: Steps(5, 5), "steps: 5:5 holds no run"),
        (lambda: Steps(-1, 5), "steps: -1:5"),
    ],
)
def test_senseless_policy_is_refused(policy: Callable[[], Policy], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        policy()


def ran(sampler: Sampler, seconds: Callable[[int, bool], float], runs: int) -> list[int]:
    """The numbers of the runs of a kind that are traced, of which each takes so many seconds."""
    traced = []
    for number in range(runs):
        choice = sampler.choose(kind(sampler, "train"))
        traced += [number] * choice.traced
        sampler.ran(kind(sampler, "train"), choice, seconds(number, choice.traced))
    return traced


@pytest.mark.parametrize("slowness", [0.0, 0.03, 0.1])
def test_slowness_of_early_runs_is_no_cost_of_tracing(slowness: float) -> None:
    """Runs of 10 ms, which tracing makes 1 ms longer; the second is slower by `slowness`, the third by half of that."""

    def seconds(number: int, traced: bool) -> float:
        return (0.9 if number == 0 else 0.01 + slowness * 0.5 ** (number - 1)) + 0.001 * traced

    sampler = Sampler(Adaptive(1 / 30, allowance=0.3))
    traced = ran(sampler, seconds, 200)
    assert len(traced) >= 10
    assert kind(sampler, "train").cost == pytest.approx(0.001, rel=0.05)
    assert sampler.measured_cost() == pytest.approx(0.001 * len(traced), rel=0.05)


def test_cost_is_found_though_early_runs_are_slow() -> None:
    """Each run takes a tenth less than the one before it, and 4 ms more if it is traced."""
    sampler = Sampler(Every(4))
    ran(sampler, lambda number, traced: 0.01 + 0.1 * 0.9**number + 0.004 * traced, 200)
    assert kind(sampler, "train").cost == pytest.approx(0.004, rel=0.02)


@pytest.mark.parametrize("added", [0.0, 0.004])
def test_other_processes_are_no_cost_of_tracing(added: float) -> None:
    """Of runs of 10 ms each seventh is held up for 50 ms, traced or not."""
    sampler = Sampler(Every(3))
    ran(sampler, lambda number, traced: 0.01 + 0.05 * (number % 7 == 0) + added * traced, 400)
    assert kind(sampler, "train").cost == pytest.approx(added, rel=0.05, abs=1e-5)


def test_cost_is_never_below_nothing() -> None:
    sampler = Sampler(Every(2))
    ran(sampler, lambda number, traced: 0.01 if traced else 0.02, 20)
    assert sampler.measured_cost() == 0.0


def test_few_steady_runs_are_traced_though_the_first_ones_have_used_the_allowance_up() -> None:
    """The first run's window cost more than may be spent; those of later runs cost 20 ms, or more than may be spent."""
    for later, expected in ((0.02, [0, 1, 3, 5]), (0.2, [0, 1])):
        sampler, train, traced = Sampler(Adaptive(0.0, allowance=0.1)), KindTally("train"), []
        for number in range(100):
            choice = sampler.choose(train, cost=costing(later if number else 0.0))
            traced += [number] * choice.traced
            sampler.ran(train, choice, 0.01)
            sampler.overhead_seconds += choice.traced * (later if number else 0.3)
        assert traced == expected


@pytest.mark.parametrize("allowance", [0.1, 0.0])
def test_first_run_of_all_is_traced_though_eager_ops_have_used_the_allowance_up(allowance: float) -> None:
    sampler = Sampler(Adaptive(0.0, allowance))
    sampler.overhead_seconds += 0.8
    assert sampler.choose(kind(sampler, "generate"), cost=costing(0.004)).traced


def test_first_runs_share_what_they_may_cost_beside_eager_ops() -> None:
    sampler, traced = Sampler(Adaptive(0.0, allowance=0.1)), 0
    sampler.overhead_seconds += 0.8
    for group in range(1000):
        choice = sampler.choose(kind(sampler, group), cost=costing(0.004))
        traced += choice.traced
        sampler.ran(kind(sampler, group), choice, 0.004)
    assert 2 <= traced <= 10


def test_unread_traces_count() -> None:
    sampler = Sampler(TENTH, unread_seconds=lambda: 0.2)
    assert sampler.affordable_seconds() == pytest.approx(0.3)
