"""What clusters' tasks did, got and waited for: worked out by hand, with all clocks alike."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.analysis.cluster.clusters import PS0, PS1, WORKER0, WORKER1, Came, Event, Ran, profile_of, run_of
from tfprof_widget.analysis.cluster.clocks import Clocks
from tfprof_widget.analysis.cluster.routes import LinkSummary
from tfprof_widget.analysis.cluster.summary import ClusterSummary, TaskSummary, summary
from tfprof_widget.analysis.cluster.tasks import Balance, Tasks
from tfprof_widget.analysis.cluster.waits import Activity, Waits, waited_for
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import AttrValue, GraphDef, RunMetadata

MICRO = 1000
SAME_CLOCK: list[Event] = [
    *(Ran(PS0, "p", 1, 1), Came(WORKER0, "p", PS0, 1, 1), Ran(WORKER0, "q", 1, 2), Came(PS0, "q", WORKER0, 2, 1)),
]
"""A tensor each way that comes when it is made, which leaves no other offset than 0."""

STEP: list[Event] = [
    # The server has its variable ready at 110, and then nothing to do until the gradient comes at 480.
    *(Ran(PS0, "w", 100, 10), Ran(PS0, "train", 480, 20)),
    # The worker works from 100 to 130, waits until 160, works until 400.
    *(Ran(WORKER0, "input", 100, 30), Came(WORKER0, "w", PS0, 115, 45, 4000), Ran(WORKER0, "grad", 160, 240)),
    Came(PS0, "grad", WORKER0, 400, 80, 4000),
]


def summed(profile: Profile) -> ClusterSummary:
    found = summary(profile)
    assert found is not None
    return found


def task(found: ClusterSummary, name: str) -> TaskSummary:
    return next(each for each in found.tasks if each.task == name)


def test_a_server_and_a_worker() -> None:
    """A step from 100 to 500, and what tells before it that the clocks are alike."""
    found = summed(profile_of([*SAME_CLOCK, *STEP]))
    assert found.steps == 1
    assert found.wall_nanos == 499 * MICRO  # from 1
    assert task(found, WORKER0) == TaskSummary(
        task=WORKER0,
        parameters=0,
        variables=0,
        operation_nanos=272 * MICRO,
        busy_nanos=272 * MICRO,
        idle_nanos=227 * MICRO,
        sent_bytes=4000,
        received_bytes=4000,
        transfer_nanos=45 * MICRO,
        wait_nanos=0,
        overlap=15 / 45,  # from 115 to 130
        offset_nanos=0,
        offset_error_nanos=0,
        waited_for_nanos=291 * MICRO,  # as the server's wait below
    )


def test_a_wait_is_what_passes_before_a_tensor_is_sent() -> None:
    """The server stands still from 110 to 480; the gradient is made and sent at 400. Before, it waited 1 us for q."""
    found = summed(profile_of([*SAME_CLOCK, *STEP]))
    assert task(found, PS0).wait_nanos == 291 * MICRO
    link = next(each for each in found.links if each.target == PS0)
    assert link == LinkSummary(WORKER0, PS0, "RecvTensor", 2, 4000, 80 * MICRO, 291 * MICRO)
    grad = found.transfers[0]
    assert (grad.tensor, grad.transfer_nanos, grad.wait_nanos) == ("grad", 80 * MICRO, 290 * MICRO)


def test_waits_add_up() -> None:
    """Of two tensors that come while a task stands still the last one counts."""
    step = [
        *(Ran(PS0, "a", 100, 50), Ran(PS1, "b", 100, 70), Ran(WORKER0, "begin", 100, 5), Ran(WORKER0, "end", 200, 5)),
        *(Came(WORKER0, "a", PS0, 150, 10), Came(WORKER0, "b", PS1, 170, 10)),
        *(Came(PS0, "begin", WORKER0, 105, 1), Came(PS1, "begin", WORKER0, 105, 1)),
    ]
    profile = at_once(profile_of(step))
    found = summed(profile)
    assert [each.wait_nanos for each in found.transfers if each.target == WORKER0] == [65 * MICRO, 0]
    assert task(found, WORKER0).wait_nanos == 65 * MICRO == sum(each.wait_nanos for each in found.links)


def at_once(profile: Profile) -> Profile:
    """The same of one process, for which all clocks are one: nothing has to be told from transfers."""
    tasks = Tasks.of(profile)
    profile.cache.kept("clocks", lambda: no_offsets(tasks))
    return profile


def no_offsets(tasks: Tasks) -> Clocks:
    shape = (tasks.moments, len(tasks))
    return Clocks(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.ones(shape, np.bool_))


def test_means_over_the_steps_that_ran_most() -> None:
    """Two steps of one kind, and one of another that is shorter; a warm-up counts for nothing."""
    one, other = [*SAME_CLOCK, *STEP], [Ran(PS0, "w", 1000, 30), Ran(WORKER0, "input", 1000, 10)]
    profile = profile_of(one, one, [Ran(PS0, "w", 1, 5000)], other)
    found = summed(replace(profile, step_names=("train", "train", "train (warm-up)", "eval")))
    assert found.steps == 2
    assert task(found, PS0).operation_nanos == 31 * MICRO
    assert "2 steps of 'train'; 2 others do not count" in found.notes[-1]


def variables(**sizes: tuple[str, int]) -> Profile:
    """Variables by name, each of a device and with so many parameters, of which none but `run` ran."""
    graph = GraphDef()
    for name, (task, size) in sizes.items():
        node = graph.node.add(name=name, op="VarHandleOp", device=f"{task}/device:CPU:0" if task else "")
        node.attr["shape"].CopyFrom(AttrValue(shape={"dim": [{"size": size}]}))
    for name in ("x", "y"):
        graph.node.add(name=name, op="NoOp")
    return Profile.from_protos(graph, [run_of(Ran(PS1, "run", 5, 1), Ran(WORKER0, "x", 5, 1), Ran(PS0, "y", 5, 1))])


def test_parameters_by_the_device_that_ran_or_else_was_asked_for() -> None:
    """As in the tfprof documents: 25.81m and 58.84m."""
    found = summed(variables(run=(PS0, 58_840_000), a=("/job:ps/task:0", 20_000_000), b=(PS0, 5_810_000)))
    assert (task(found, PS0).variables, task(found, PS0).parameters) == (2, 25_810_000)
    assert (task(found, PS1).variables, task(found, PS1).parameters) == (1, 58_840_000)
    assert (task(found, WORKER0).variables, task(found, WORKER0).parameters) == (0, 0)
    assert found.parameter_balance == Balance(58_840_000.0, 42_325_000.0)


def test_no_balance_of_one_server() -> None:
    alone = profile_of([Ran(PS0, "a", 1, 5), Ran(WORKER0, "b", 1, 5)])
    assert summed(alone).parameter_balance is None


def test_a_transfer_whose_record_is_lost_counts_as_the_others_of_its_tensor() -> None:
    """In the second of three steps the variable was read again, but no transfer of it is recorded."""
    whole = [Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, 115, 45, 4000), Ran(WORKER0, "x", 100, 90)]
    lost = [event for event in whole if isinstance(event, Ran)]
    found = summed(at_once(profile_of(whole, lost, whole)))
    (link,) = found.links
    assert (link.count, link.bytes, link.transfer_nanos) == (1, 4000, 45 * MICRO)
    assert "did not record 1 transfers" in found.notes[0]


def test_a_tensor_that_is_not_made_in_each_step_counts_for_those_steps_only() -> None:
    whole = [Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, 115, 45, 4000), Ran(WORKER0, "x", 100, 90)]
    found = summed(at_once(profile_of(whole, [Ran(WORKER0, "x", 100, 90)])))
    (link,) = found.links
    assert (link.bytes, len(found.notes)) == (2000, 1)  # that steps are few


STEPS = 8
"""In so many steps a straggler is looked for."""


def two_workers(first: int, second: int) -> Profile:
    """Both send a server what it works on, in all steps alike; each works so long from 0 on."""
    made = [Ran(WORKER0, "g0", 100, first), Ran(WORKER1, "g1", 100, second)]
    came = [Came(PS0, "g0", WORKER0, 100 + first, 5), Came(PS0, "g1", WORKER1, 100 + second, 5)]
    train = [Ran(PS0, "t0", 105 + first, 10), Ran(PS0, "t1", 105 + second + 10 * (first == second), 10)]
    return at_once(profile_of(*[[Ran(PS0, "w", 90, 10), *made, *came, *train]] * STEPS))


def test_the_task_that_others_wait_for() -> None:
    """From 100 to 200 the server misses both; then the second worker's: until the first's came at 205, and from 215."""
    found = summed(two_workers(100, 500))
    assert task(found, WORKER0).waited_for_nanos == 50 * MICRO
    assert task(found, WORKER1).waited_for_nanos == (50 + 5 + 385) * MICRO
    assert found.straggler is not None
    assert found.straggler.task == WORKER1
    # The server alone waits: 440 - 50, of 525 in all.
    assert "0.39 ms (± 0.00 ms) of a step's 0.53 ms (74 %)" in found.straggler.text
    assert "Its ops take 0.50 ms a step, and the others' ops 0.10 ms" in found.straggler.text


def test_a_late_worker_is_waited_for_though_its_transfer_is_not_recorded() -> None:
    """In half of the steps the last tensor is not recorded; it was made at 600, as in the others."""
    whole = [
        *(Ran(PS0, "w", 90, 10), Ran(WORKER0, "g0", 100, 100), Ran(WORKER1, "g1", 100, 500)),
        *(Came(PS0, "g0", WORKER0, 200, 5), Ran(PS0, "t0", 205, 10), Ran(PS0, "t1", 605, 10)),
    ]
    last = Came(PS0, "g1", WORKER1, 600, 5)
    found = summed(at_once(profile_of(*[[*whole, last], whole] * (STEPS // 2))))
    assert task(found, WORKER1).waited_for_nanos == (50 + 5 + 385) * MICRO
    assert found.straggler is not None
    assert found.straggler.task == WORKER1


def test_in_few_steps_nobody_is_named() -> None:
    few = two_workers(100, 500)
    found = summary(few, range(STEPS - 1))
    assert found is not None
    assert (found.steps, found.straggler) == (STEPS - 1, None)
    assert "A straggler or a slow link is named from 8 steps on; in 7 it may be chance." in found.notes


def test_workers_alike_are_no_stragglers() -> None:
    assert summed(two_workers(300, 300)).straggler is None


def test_a_wait_for_one_that_waits_is_put_down_to_the_next() -> None:
    """The first worker waits from 110 to 500 for the server, which waits until 480 for the second worker."""
    step = [
        *(Ran(WORKER1, "slow", 100, 380), Came(PS0, "slow", WORKER1, 480, 5)),
        *(Ran(PS0, "begin", 100, 5), Ran(PS0, "token", 485, 10), Came(WORKER0, "token", PS0, 495, 5)),
        *(Ran(WORKER0, "fast", 100, 10), Ran(WORKER0, "next", 500, 10)),
    ]
    profile = at_once(profile_of(step))
    activity = Activity(profile, (0,))
    waited, names = waited_for(activity, Waits.of(activity)), Tasks.of(profile).names
    # The server's own wait from 105 to 480, and the worker's from 110; then for the server, until it made the token.
    assert dict(zip(names, waited.summed[0], strict=True)) == {
        PS0: 15 * MICRO,
        WORKER0: 0,
        WORKER1: (375 + 370) * MICRO,
    }
    # While both wait, the time counts once.
    assert dict(zip(names, waited.longest[0], strict=True)) == {PS0: 15 * MICRO, WORKER0: 0, WORKER1: 375 * MICRO}


def test_what_goes_in_circles_is_put_down_to_none() -> None:
    """Both stand still and miss something of the other: clocks that cannot be."""
    step = [
        *(Ran(PS0, "a", 100, 10), Ran(PS0, "b", 200, 10), Ran(WORKER0, "c", 100, 10), Ran(WORKER0, "d", 200, 10)),
        *(Came(PS0, "d", WORKER0, 210, 1), Came(WORKER0, "b", PS0, 210, 1)),
    ]
    profile = at_once(profile_of(step))
    activity = Activity(profile, (0,))
    assert waited_for(activity, Waits.of(activity)).summed.tolist() == [[0, 0]]


def test_a_start_that_the_sources_clock_told_falsely() -> None:
    """The source's clock is ahead, so that the tensor seems sent just before it came: it was sent when it was made."""
    step = [
        *(Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, 159, 1, 4000)),
        *(Ran(WORKER0, "input", 100, 30), Ran(WORKER0, "grad", 160, 10)),
    ]
    (row,) = summed(at_once(profile_of(step))).transfers
    assert (row.transfer_nanos, row.wait_nanos) == (50 * MICRO, 0)


def test_what_moves_tensors_does_not_compute() -> None:
    """A receive that is recorded as an op waits for most of its time."""
    step = [Ran(PS0, "w", 100, 10), Ran(WORKER0, "x", 100, 10), Ran(WORKER0, "receive", 110, 80)]
    found = summed(profile_of(step, ops={"receive": "_Recv"}))
    assert [each.busy_nanos for each in found.tasks] == [10 * MICRO, 10 * MICRO]


def test_devices_of_one_task() -> None:
    """Their links go by device, for the task is the same; nothing is sent to another."""
    graph = GraphDef(node=[{"name": "a", "op": "NoOp"}])
    run = RunMetadata()
    stats = run.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0").node_stats
    stats.add(node_name="a", timeline_label="a = NoOp()", all_start_micros=10, op_end_rel_micros=5)
    memcpy = run.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:GPU:0/memcpy").node_stats
    memcpy.add(node_name="a:MEMCPYHtoD", timeline_label="64 bytes", all_start_micros=20, op_end_rel_micros=5)
    found = summed(Profile.from_protos(graph, [run]))
    (link,) = found.links
    assert (link.source[-5:], link.target[-5:], link.bytes) == ("cpu:0", "gpu:0", 64)
    assert [each.received_bytes for each in found.tasks] == [0]


def test_one_task_that_moved_nothing_has_no_summary() -> None:
    assert summary(profile_of([Ran(PS0, "a", 1, 5)])) is None
    assert summary(Profile.from_protos(b"")) is None


def test_tasks_that_exchanged_nothing_say_so() -> None:
    found = summed(profile_of([Ran(PS0, "a", 1, 5), Ran(WORKER0, "b", 1, 5)]))
    assert found.notes == ("No transfers were recorded, so that nothing is known of waits and of clocks.",)
    assert found.straggler is None


def test_transfers_at_once_count_once_for_their_link() -> None:
    """Two tensors of 4,000 bytes are on their way from 110 to 150 and from 120 to 160: for 50 us, and not for 80."""
    made = [Ran(PS0, "v", 100, 10), Ran(PS0, "w", 100, 10), Ran(WORKER0, "x", 100, 90)]
    came = [Came(WORKER0, "v", PS0, 110, 40, 4000), Came(WORKER0, "w", PS0, 120, 40, 4000)]
    found = summed(at_once(profile_of([*made, *came])))
    (link,) = found.links
    assert (link.count, link.bytes, link.transfer_nanos) == (2, 8000, 50 * MICRO)
    assert [each.transfer_nanos for each in found.transfers] == [40 * MICRO, 40 * MICRO]


def test_only_the_costliest_tensors_are_told() -> None:
    many = [Came(WORKER0, f"t{number}", PS0, 100, number + 1) for number in range(203)]
    found = summed(profile_of([Ran(PS0, "a", 1, 5), Ran(WORKER0, "b", 1, 5), *many]))
    assert (len(found.transfers), found.transfers_left_out) == (200, 3)
    assert found.transfers[0].tensor == "t202"


def test_it_is_json() -> None:
    described = summed(profile_of([*SAME_CLOCK, *STEP])).described()
    assert json.loads(json.dumps(described)) == described
    assert sorted(described) == [
        *("links", "notes", "parameter_balance", "steps", "straggler", "tasks", "transfers", "transfers_left_out"),
    ]
    assert sorted(described["tasks"][0]) == [
        *("busy_nanos", "idle_nanos", "offset_error_nanos", "offset_nanos", "operation_nanos", "overlap"),
        *("parameters", "received_bytes", "sent_bytes", "task", "transfer_nanos", "variables", "wait_nanos"),
        "waited_for_nanos",
    ]


@given(some.data())
def test_random_clusters_keep_their_sums(data: some.DataObject) -> None:
    """Busy and idle make up the step, waits and transfers fit into it, what is sent is received."""
    tasks = [PS0, PS1, WORKER0]
    times = some.integers(1, 400)
    events: list[Event] = [
        Ran(data.draw(some.sampled_from(tasks)), f"n{number}", data.draw(times), data.draw(times))
        for number in range(data.draw(some.integers(1, 8)))
    ]
    for number in range(data.draw(some.integers(0, 8))):
        source, target = data.draw(some.permutations(tasks))[:2]
        events.append(Came(target, f"n{number}", source, data.draw(times), data.draw(times), data.draw(times)))
    found = summary(profile_of(events, events))
    if found is None:
        return
    for each in found.tasks:
        assert each.busy_nanos + each.idle_nanos == found.wall_nanos
        assert 0 <= each.wait_nanos <= each.idle_nanos
        assert each.overlap is None or 0 <= each.overlap <= 1
        assert each.waited_for_nanos >= 0
    assert sum(each.sent_bytes for each in found.tasks) == sum(each.received_bytes for each in found.tasks)
    assert sum(each.bytes for each in found.links) == sum(each.bytes for each in found.transfers)
    assert sum(each.wait_nanos for each in found.links) == sum(each.wait_nanos for each in found.tasks)


def test_damaged_times_break_nothing() -> None:
    """Executions of 292 years, and a transfer at the end of all time."""
    longest = 2**63 // 1000 - 10
    events = [Ran(PS0, "a", longest, longest), Ran(WORKER0, "b", 5, 1), Ran(WORKER0, "c", longest, 5)]
    found = summed(profile_of([*events, Came(WORKER0, "a", PS0, 2**53, 9), Came(PS0, "b", WORKER0, 7, 1)]))
    assert json.dumps(found.described())


def many_workers(works: list[int]) -> Profile:
    """All send a server what they work on, and get a token from it when it has all, as in synchronous training."""
    workers = [f"/job:worker/replica:0/task:{number}" for number in range(len(works))]
    events: list[Event] = [Ran(PS0, "w", 90, 10)]
    free = 0
    for number in sorted(range(len(works)), key=works.__getitem__):
        made = 100 + works[number]
        free = max(free, made + 5)
        events += [Ran(workers[number], f"g{number}", 100, works[number])]
        events += [Came(PS0, f"g{number}", workers[number], made, 5, 1000), Ran(PS0, f"t{number}", free, 2)]
        free += 2
    for number, worker in enumerate(workers):
        events += [Came(worker, f"t{number}", PS0, free, 5), Ran(worker, f"token{number}", free + 5, 1)]
    return at_once(profile_of(*[events] * STEPS))


@pytest.mark.parametrize("count", [6, 12, 40])
def test_a_straggler_among_many_workers(count: int) -> None:
    found = summed(many_workers([100] * (count - 1) + [500]))
    assert len(found.tasks) == count + 1
    assert sorted(link.bytes for link in found.links) == [0] * count + [1000] * count
    assert found.straggler is not None
    assert found.straggler.task == f"/job:worker/replica:0/task:{count - 1}"
    assert "Its ops take 0.50 ms a step, and the others' ops 0.10 ms" in found.straggler.text


@pytest.mark.parametrize("count", [6, 12, 40])
def test_many_workers_alike_are_no_stragglers(count: int) -> None:
    assert summed(many_workers([100] * count)).straggler is None
