"""By how much clocks differ: worked out by hand, and for random clocks and delays."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tests.analysis.cluster.clusters import PS0, PS1, WORKER0, WORKER1, Came, Event, Ran, profile_of
from tfprof_widget.analysis.cluster.clocks import UNKNOWN, Clocks, aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.analysis.cluster.exchanges import Producers
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.devices import job_of_task

MICRO = 1000


def offsets(profile: Profile, moment: int = 0) -> dict[str, tuple[int, int]]:
    """The offset of each task's clock and its error, in microseconds."""
    clocks = Clocks.of(profile)
    columns = zip(clocks.offset[moment].tolist(), clocks.error[moment].tolist(), strict=True)
    told = [(ahead // MICRO, wrong // MICRO if wrong != UNKNOWN else UNKNOWN) for ahead, wrong in columns]
    return dict(zip(Tasks.of(profile).names, told, strict=True))


def exchange(there: int, back: int) -> list[Event]:
    """A tensor each way: each is ready at 100 by its task's clock, and comes at that time by the other's."""
    return [
        *(Ran(PS0, "w", 90, 10), Came(WORKER0, "w", PS0, there - 1, 1)),
        *(Ran(WORKER0, "g", 90, 10), Came(PS0, "g", WORKER0, back - 1, 1)),
    ]


def test_the_middle_of_what_two_transfers_leave() -> None:
    """The worker is ahead by at most 150 - 100, and the server by at most 130 - 100: from -30 to 50, so 10 ± 40."""
    assert offsets(profile_of(exchange(150, 130))) == {PS0: (0, 0), WORKER0: (10, 40)}


def test_a_clock_that_is_far_ahead() -> None:
    """What was ready at 100 came at 11,100, and what was ready at 20,100 at 11,100: by 9,000 to 11,000."""
    events = [
        *(Ran(PS0, "w", 90, 10), Came(WORKER0, "w", PS0, 11_099, 1)),
        *(Ran(WORKER0, "g", 20_090, 10), Came(PS0, "g", WORKER0, 11_099, 1)),
    ]
    assert offsets(profile_of(events))[WORKER0] == (10_000, 1000)


def test_the_tightest_of_several_transfers_counts() -> None:
    more = [Ran(PS0, "v", 390, 10), Came(WORKER0, "v", PS0, 409, 1)]
    assert offsets(profile_of([*exchange(150, 130), *more]))[WORKER0] == (-10, 20)


def test_one_way_only_leaves_a_clock_alone_unless_it_is_shown_to_be_wrong() -> None:
    """A worker that got at 60 what was ready at 100 is behind by 40 at least."""
    for came, ahead in ((150, 0), (60, -40)):
        profile = profile_of([Ran(PS0, "w", 90, 10), Came(WORKER0, "w", PS0, came - 1, 1)])
        assert offsets(profile)[WORKER0] == (ahead, UNKNOWN)
    behind = profile_of([Ran(PS0, "a", 5, 1), Ran(WORKER0, "w", 90, 10), Came(PS0, "w", WORKER0, 59, 1)])
    assert offsets(behind)[WORKER0] == (40, UNKNOWN)


def test_by_way_of_a_third_task() -> None:
    """The second server exchanges with the worker only: 10 ± 40 and, from there, 20 ± 5."""
    more = [
        *(Ran(WORKER0, "a", 490, 10), Came(PS1, "a", WORKER0, 524, 1)),
        *(Ran(PS1, "b", 490, 10), Came(WORKER0, "b", PS1, 484, 1)),
    ]
    assert offsets(profile_of([*exchange(150, 130), *more]))[PS1] == (30, 45)


def test_a_task_that_exchanged_nothing() -> None:
    profile = profile_of([*exchange(150, 130), Ran(WORKER1, "alone", 5, 1)])
    assert offsets(profile)[WORKER1] == (0, UNKNOWN)
    assert Clocks.of(profile).is_linked.tolist() == [[True, True, False]]


def test_times_that_contradict_each_other_align_nothing() -> None:
    """Both came before they were made: by 40 and by 30."""
    profile = profile_of(exchange(60, 70))
    assert offsets(profile)[WORKER0] == (0, UNKNOWN)
    assert not Clocks.of(profile).is_linked[0, 1]


def test_what_one_step_tells_holds_in_the_next_but_for_drift() -> None:
    """10 ± 40 in the first. A second later clocks can be 100 us further apart; that step alone says -100 to 900."""
    later = later_by(1_000_000, exchange(1000, 200))
    profile = profile_of(exchange(150, 130), later)
    assert offsets(profile, 0) == {PS0: (0, 0), WORKER0: (10, 40)}
    assert offsets(profile, 1) == {PS0: (0, 0), WORKER0: ((150 - 100) // 2, 125)}


def later_by(micros: int, events: list[Event]) -> list[Event]:
    return [replace(event, start=event.start + micros) for event in events if isinstance(event, Ran | Came)]


def test_steps_that_are_a_month_apart_tell_nothing_of_each_other() -> None:
    later = later_by(3_000_000_000_000, exchange(1000, 200))
    assert offsets(profile_of(exchange(150, 130), later), 1)[WORKER0] == (400, 500)


def test_one_step_that_contradicts_the_others_is_outvoted() -> None:
    """Five steps leave -30 to 50; the third of six leaves 300 to 400, as if another clock was read in it."""
    steps = [later_by(1000 * (number + 1), exchange(150, 130)) for number in range(6)]
    steps[2] = later_by(3000, exchange(500, -200))
    profile = profile_of(*steps)
    assert [offsets(profile, moment)[WORKER0] for moment in range(6)] == [(10, 40)] * 6


def test_start_times_are_moved_onto_one_clock() -> None:
    profile = profile_of(exchange(150, 130))
    names = [profile.nodes.names[node] for node in profile.executions.node.tolist()]
    started = dict(zip(names, aligned_start_nanos(profile).tolist(), strict=True))
    assert started == {"w": 90_000, "g": 80_000}
    assert sorted(aligned_transfer_nanos(profile).tolist()) == [129_000, 139_000]


def test_one_task_keeps_its_times() -> None:
    profile = profile_of([Ran(PS0, "a", 5, 1), Ran(PS0, "b", 7, 1)])
    assert aligned_start_nanos(profile) is profile.executions.start_nanos


def test_what_did_not_start_stays_so() -> None:
    profile = profile_of([*exchange(150, 130), Ran(WORKER0, "seen", 0, 0)])
    row = profile.executions.node.tolist().index(profile.nodes.names.index("seen"))
    assert aligned_start_nanos(profile)[row] == 0


@some.composite
def clusters(draw: some.DrawFn, *, symmetrical: bool = False) -> tuple[Profile, dict[str, int]]:
    """Tasks with clocks up to a second apart, each of which exchanges tensors with the next, and their true offsets."""
    tasks = [PS0, PS1, WORKER0, WORKER1][: draw(some.integers(2, 4))]
    true = {task: draw(some.integers(-1_000_000, 1_000_000)) for task in tasks}
    true[tasks[0]] = 0
    delays = some.integers(1, 20_000)
    events: list[Event] = []
    for pair in pairwise(tasks):
        same = draw(delays)
        for number, (source, target) in enumerate((pair, pair[::-1])):
            name, at = f"{pair[0][-1]}{pair[0][5]}{number}", draw(some.integers(5_000_000, 9_000_000))
            delay = same if symmetrical else draw(delays)
            sent = draw(some.integers(0, delay - 1))
            events.append(Ran(source, name, at + true[source] - 3, 3))
            events.append(Came(target, name, source, at + true[target] + sent, delay - sent))
    return profile_of(events), true


@given(clusters())
def test_the_truth_is_within_the_error_told(cluster: tuple[Profile, dict[str, int]]) -> None:
    profile, true = cluster
    clocks = Clocks.of(profile)
    for task, name in enumerate(Tasks.of(profile).names):
        assert clocks.error[0, task] != UNKNOWN
        assert abs(int(clocks.offset[0, task]) - true[name] * MICRO) <= clocks.error[0, task] + 1


@given(clusters(symmetrical=True))
def test_equal_delays_both_ways_give_the_truth(cluster: tuple[Profile, dict[str, int]]) -> None:
    """To a nanosecond, which a half is rounded to."""
    profile, true = cluster
    for task, name in enumerate(Tasks.of(profile).names):
        assert abs(int(Clocks.of(profile).offset[0, task]) - true[name] * MICRO) <= 1


@given(clusters())
def test_no_tensor_comes_before_it_was_made(cluster: tuple[Profile, dict[str, int]]) -> None:
    profile, _ = cluster
    made = Producers.of(profile).execution
    ready = aligned_start_nanos(profile)[made] + profile.executions.duration_nanos[made]
    assert (aligned_transfer_nanos(profile) + profile.transfers.duration_nanos - ready >= -1).all()


def test_a_node_in_a_loop_made_the_first_that_came_first() -> None:
    loop = [Ran(PS0, "w", 10 * turn, 5) for turn in (1, 2, 3)]
    came = [Came(WORKER0, "w", PS0, 10 * turn + 6, 2) for turn in (2, 1, 3)]
    producers = Producers.of(profile_of([*loop, *came]))
    assert producers.execution.tolist() == [1, 0, 2]
    assert producers.sure.all()


def test_a_node_that_ran_more_often_than_its_tensor_came_is_no_evidence() -> None:
    """The last that had ended is taken, and no clock is set by it."""
    loop = [Ran(PS0, "w", 10 * turn, 5) for turn in (1, 2, 3)]
    profile = profile_of([*loop, Came(WORKER0, "w", PS0, 26, 2)])
    assert Producers.of(profile).execution.tolist() == [1]
    assert offsets(profile)[WORKER0] == (0, UNKNOWN)


def test_workers_of_a_merged_profile_go_by_their_names() -> None:
    """The steps of a number are one moment, though each worker has one of its own."""
    profile = profile_of([Ran(PS0, "a", 10, 5)], [Ran(PS0, "a", 12, 5)], [Ran(PS0, "a", 90, 5)])
    merged = replace(profile, steps=(0, 0, 1), step_workers=("worker 0", "worker 1", "worker 0"))
    tasks = Tasks.of(merged)
    assert tasks.names == ("worker 0", "worker 1")
    assert tasks.of_devices == (PS0, PS0)
    assert tasks.of_execution.tolist() == [0, 1, 0]
    assert tasks.moment.tolist() == [0, 0, 1]


def test_a_worker_with_several_tasks_keeps_them_apart() -> None:
    profile = profile_of([Ran(PS0, "a", 10, 5), Ran(WORKER0, "b", 10, 5)], [Ran(WORKER0, "b", 12, 5)])
    merged = replace(profile, steps=(0, 0), step_workers=("x", "y"))
    assert Tasks.of(merged).names == (f"x {PS0}", f"x {WORKER0}", "y")


def test_streams_belong_to_the_only_task() -> None:
    profile = profile_of([Ran("/job:localhost/replica:0/task:0", "a", 10, 5)])
    nodes = replace(profile.nodes, devices=(*profile.nodes.devices, "/device:gpu:0/stream:all"))
    on_stream = replace(profile.executions, device=np.array([1], np.int32))
    assert Tasks.of(replace(profile, nodes=nodes, executions=on_stream)).names == ("(no task)",)
    both = replace(profile_of([Ran(PS0, "a", 10, 5), Ran(PS0, "b", 20, 5)]), nodes=nodes)
    streamed = replace(both, executions=replace(both.executions, device=np.array([0, 1], np.int32)))
    assert Tasks.of(streamed).names == ("/job:localhost/replica:0/task:0",)


def test_jobs() -> None:
    assert [job_of_task(task) for task in (PS0, f"x {WORKER0}", "x")] == ["/job:ps", "/job:worker", ""]
