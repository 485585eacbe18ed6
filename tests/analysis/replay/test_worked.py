"""Paths, slack and predictions of graphs worked out by hand, exact to the nanosecond."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analysis.cluster.clusters import PS0, WORKER0, Came, Ran, run_of
from tests.analysis.replay.worked import graph_of, micros, paths, predicted, profile_of
from tfprof_widget.analysis.replay.critical_path import NodePaths
from tfprof_widget.analysis.replay.dependencies import NodeEdges
from tfprof_widget.analysis.replay.prediction import Replay
from tfprof_widget.analysis.replay.recorded_work import recorded_work
from tfprof_widget.analysis.replay.scheduler import fitted_slowdown, scheduled
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import GraphDef

CHAIN = "a:0-10 b(a):12-32 c(b):33-38"
DIAMOND = "a:0-10 b(a):10-40 c(a):10-20 d(b,c):40-50"
FORK = "a:0-10 long(a):10-40 short(a):10-20 tail(short):20-25"


def test_chain() -> None:
    """Ten, twenty and five microseconds with gaps of two and one: all on the path, on one thread."""
    chain = profile_of(CHAIN)
    assert paths(chain) == (["a", "b", "c"], {})
    assert chain.critical_path()["start"].tolist() == [0, 12, 33]
    assert chain.critical_path()["steps_on_path"].tolist() == ["1 of 1"] * 3
    found = chain.what_if({})
    assert (micros(found.seconds), micros(found.measured), micros(found.replayed)) == (38, 38, 38)
    assert predicted(chain, b=0.5) == 28
    assert predicted(chain, a=2, c=3) == 58
    assert predicted(chain, b=0) == 16  # what is gone has no gap before it


def test_diamond() -> None:
    """The arms of 30 and 10 run at once on two threads, so that the short one may end 20 later."""
    diamond = profile_of(DIAMOND)
    assert paths(diamond) == (["a", "b", "d"], {"c": 20})
    assert recorded_work(diamond)[0].workers == (2,)
    assert [predicted(diamond, c=factor) for factor in (0, 1, 2, 3, 4)] == [50, 50, 50, 50, 60]
    assert predicted(diamond, b=0.5) == 35
    assert predicted(diamond, b=0) == 30
    found = diamond.what_if({"b": 0.1})
    assert (found.path.before, found.path.after) == (("a", "b", "d"), ("a", "c", "d"))


def test_what_shares_the_processor_is_in_the_interval() -> None:
    """If both arms shared one processor, the short one alone takes 5, and the long one 25: half of its time beside."""
    found = profile_of(DIAMOND).what_if({"b": 0})
    assert micros(found.seconds) == 30
    assert micros(found.low) == round(0.95 * 25, 3)  # the conserved work, and what no replay knows of
    gone = profile_of(DIAMOND).what_if({"c": 0})
    assert micros(gone.seconds) == 50
    assert micros(gone.low) == round(0.95 * 45, 3)


def test_fork_with_unequal_arms() -> None:
    """Nothing joins the arms: the short one of 10 and 5 may end 15 later."""
    fork = profile_of(FORK)
    assert paths(fork) == (["a", "long"], {"short": 15, "tail": 15})
    assert [predicted(fork, long=factor) for factor in (1, 0.5, 0.4)] == [40, 25, 25]
    assert [predicted(fork, tail=factor) for factor in (4, 5)] == [40, 45]


def test_one_thread_runs_both_arms() -> None:
    """On one thread each arm counts in full, and all is on the path."""
    profile = profile_of("a:0-10 b(a):10-40 c(a):40-50 d(b,c):50-60")
    assert paths(profile) == (["a", "b", "c", "d"], {})
    assert [predicted(profile, c=factor) for factor in (0, 2)] == [50, 70]


def test_path_in_some_of_several_steps() -> None:
    """In one of three steps the other arm is longer: the median step's path has the nodes with their counts."""
    other = "a:0-10 b(a):10-20 c(a):10-43 d(b,c):43-49"
    profile = profile_of(DIAMOND, other, DIAMOND)
    assert dict(zip(*(profile.critical_path()[column] for column in ("name", "steps_on_path")), strict=True)) == {
        "a": "3 of 3",
        "b": "2 of 3",
        "d": "3 of 3",
    }
    found = NodePaths.of(profile)
    assert dict(zip(profile.nodes.names, found.on_path.round(3).tolist(), strict=True)) == {
        "a": 1.0,
        "b": 0.667,
        "c": 0.333,
        "d": 1.0,
    }
    assert found.slack_micros.tolist() == [0, 0, 20, 0]
    assert found.execution_slack_nanos.tolist() == [0, 0, 20_000, 0, 0, 23_000, 0, 0, 0, 0, 20_000, 0]


def two_tasks() -> Profile:
    """A server makes what a worker needs: 10 there, 15 on the way, and 10 here beside 20 of its own."""
    events = (
        Ran(PS0, "made", 1_000_000, 10),
        Came(WORKER0, "made", PS0, 1_000_010, 15),
        Ran(WORKER0, "own", 1_000_000, 20),
        Ran(WORKER0, "used", 1_000_025, 10),
    )
    graph = GraphDef(
        node=[
            {"name": "made", "op": "Exp"},
            {"name": "own", "op": "Exp"},
            {"name": "used", "op": "Exp", "input": ["made", "own"]},
        ]
    )
    return Profile.from_protos(graph, [run_of(*events)])


def test_two_workers_with_a_transfer() -> None:
    """The transfer is on the path, and the worker's own work may end 5 later."""
    profile = two_tasks()
    path = profile.critical_path()
    assert list(zip(path["name"], path["type"], path["start"], path["micros"], strict=True)) == [
        ("made", "Exp", 0, 10),
        ("made", "transfer", 10, 15),
        ("used", "Exp", 25, 10),
    ]
    assert paths(profile)[1] == {"own": 5}
    assert [predicted(profile, own=factor) for factor in (0, 1.25, 2)] == [35, 35, 50]
    assert predicted(profile, used=0.5) == 30


def test_transfer_that_is_not_waited_for() -> None:
    """If what is sent is there long before it is needed, what the worker does itself is on the path."""
    events = (
        Ran(PS0, "made", 1_000_000, 10),
        Came(WORKER0, "made", PS0, 1_000_010, 5),
        Ran(WORKER0, "own", 1_000_000, 20),
        Ran(WORKER0, "used", 1_000_020, 10),
    )
    graph = graph_of("made:0-1 own:0-1 used(made,own):0-1")
    assert paths(Profile.from_protos(graph, [run_of(*events)]))[0] == ["own", "used"]


def test_loop() -> None:
    """Each iteration waits for the one before: a body of 10 and a test of 5, three times."""
    step = "test(body):0-5 body(test):5-15 test:15-20 body:20-30 test:30-35 body:35-45"
    profile = profile_of(step)
    assert predicted(profile, body=0.5) == 30
    work = recorded_work(profile)[0]
    assert list(zip(work.source.tolist(), work.target.tolist(), strict=True)) == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
    ]


def test_what_did_not_run_hands_waiting_on() -> None:
    """An Identity that Grappler took out, and control inputs, still order what ran."""
    profile = profile_of("a:0-10 b(gone):10-20 c(^b):20-30", graph=graph_of("a:0-1 gone(a):0-1 b(gone):0-1 c(^b):0-1"))
    edges, names = NodeEdges.of(profile), profile.nodes.names
    pairs = {(names[source], names[target]) for source, target in zip(edges.source, edges.target, strict=True)}
    assert pairs == {("a", "b"), ("b", "c")}


def test_cheap_nodes_stay_on_their_thread() -> None:
    """Of two arms of cheap nodes, the executor runs both on the thread that made their input, one after the other.

    A third arm of one long node goes to the other thread, as cheap nodes come first.
    """
    step = "a:0-10 long(a):10-40 b(a):10-12 c(a):12-14 d(b):14-16 e(c):16-18"
    profile = profile_of(step)
    work = recorded_work(profile)[0]
    assert work.workers == (2,)
    schedule = scheduled(work)
    assert (schedule.end / 1000).tolist() == [10, 40, 12, 14, 16, 18]
    assert predicted(profile, long=0) == 18


def test_what_waits_for_a_thread_begins_when_one_is_free() -> None:
    """Four nodes of 10 on two threads take 20 besides the 10 before them.

    The last one, `s`, stays on the thread that made their input; the others wait for the other thread, in their order.
    """
    step = "a:0-10 p(a):10-20 q(a):10-20 r(a):20-30 s(a):20-30"
    profile = profile_of(step)
    assert recorded_work(profile)[0].workers == (2,)
    assert predicted(profile) == 30
    assert predicted(profile, p=0.5, q=0.5) == 30  # r begins at 20 on either thread
    assert predicted(profile, p=0.5, q=0.5, r=0.5) == 25
    assert predicted(profile, p=3) == 40


def test_asynchronous_op_leaves_its_thread() -> None:
    """While a batch is waited for, the thread goes on; without the wait the step is as long as its own work."""
    graph = graph_of("IteratorGetNext:0-1 own:0-1 used(IteratorGetNext,own):0-1")
    graph.node[0].op = "IteratorGetNext"
    profile = profile_of("IteratorGetNext:0-100 own:0-30 used:100-120", graph=graph)
    assert paths(profile) == (["IteratorGetNext", "used"], {"own": 70})
    assert micros(profile.what_if({"input": 0.5}).seconds) == 70
    assert micros(profile.what_if({"input": 0}).seconds) == 50


def test_what_begins_beside_an_asynchronous_op_does_not_wait_for_it() -> None:
    """Of the wait only the first moment is recorded: it lasts until what takes its batch begins."""
    graph = graph_of("IteratorGetNext:0-1 own:0-1 more:0-1 used(IteratorGetNext):0-1 side(own):0-1")
    graph.node[0].op = "IteratorGetNext"
    profile = profile_of("IteratorGetNext:0-5 own:6-20 side:20-60 more:20-40 used:100-120", graph=graph)
    assert recorded_work(profile)[0].workers == (2,)
    assert micros(profile.what_if({"input": 0.5}).seconds) == 70
    assert micros(profile.what_if({"own": 2}).seconds) == 120
    assert paths(profile)[0] == ["IteratorGetNext", "used"]


def test_slowdown_is_fitted_to_overlap() -> None:
    """A node that takes 100 alone and 200 beside another one is slowed down by a factor of two; alike ones are not."""
    alone = "a:0-10 b(a):10-110 c(a):110-210"
    beside = "a:0-10 b(a):10-210 c(a):10-210"
    same = "a:0-10 b(a):10-110 c(a):10-110"
    slowed = recorded_work(profile_of(*[alone, beside] * 2))
    assert fitted_slowdown(slowed) == pytest.approx(2 / 3)  # against the median of 100 and 200
    assert fitted_slowdown(recorded_work(profile_of(*[alone, same] * 2))) == 0


def test_gaps_are_kept() -> None:
    """What no op and no wait explains stays as it was: 40 before each of nine nodes of 60."""
    loose = profile_of(" ".join(f"n{place}:{100 * place}-{100 * place + 60}" for place in range(10)))
    assert recorded_work(loose)[0].gap.tolist() == [0, *[40_000] * 9]
    assert predicted(loose, n3=0.5) == 930


def test_edge_that_was_not_kept_is_none() -> None:
    """What began long before its input ended did not wait for it, whatever the graph says."""
    work = recorded_work(profile_of("a:0-50 b(a):10-40 c(a,b):50-60"))[0]
    assert list(zip(work.source.tolist(), work.target.tolist(), strict=True)) == [(0, 2), (1, 2)]


def test_hidden_wait_is_found() -> None:
    """Though a thread was free and its only input there, `late` began with the end of `loop`: it waited for that."""
    profile = profile_of("a:0-50 loop(a):50-130 other(a):50-90 late(a):130-170")
    assert recorded_work(profile)[0].workers == (2,)
    assert paths(profile) == (["a", "loop", "late"], {"other": 80})
    assert [predicted(profile, loop=factor) for factor in (1, 0.5)] == [170, 130]


def test_refuses_where_the_replay_is_not_the_step() -> None:
    """If work that overlapped is replayed on one thread, it takes longer than it took.

    Each of 40 nodes of 100 begins 12 before the one ahead of it ends: that is 3,532 on two threads, 4,000 on one.
    """
    words, now = [], 0
    for place in range(40):
        words.append(f"n{place:02}:{now}-{now + 100}")
        now += 88
    crowded = profile_of(" ".join(words))
    assert recorded_work(crowded)[0].workers == (2,)
    one = replace(recorded_work(crowded)[0], workers=(1,), gap=np.zeros(40, np.int64))
    assert scheduled(one).nanos == 4_000_000
    refused = Replay.over(crowded, (one,))
    with pytest.raises(
        ProfileError, match=r"cannot predict: replaying the recorded steps unchanged takes 13.3 % longer"
    ):
        refused.what_if({"n01": 0.5})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"no such node": 0.5}, "no node that ran in a step is named 'no such node' as a whole"),
        ({"layer:none": 0.5}, "no node that ran in a step is of the layer 'none'"),
        ({"type:Tanh": 0.5}, "no node that ran in a step is of the type 'Tanh'"),
        ({"line:train.py": 0.5}, "names no line; write it as 'line:train.py:7'"),
        ({"line:train.py:7": 0.5}, "is of the line 'train.py:7'"),
        ({"input": 0.5}, "no op of the steps waits for 'input'"),
        ({"python": 0.5}, "only a captured cell with steps tells"),
        ({"a": -1}, "the factor of 'a' is -1, but must be a number from 0 up"),
        ({"a": float("nan")}, "the factor of 'a' is nan"),
        ({"a": True}, "the factor of 'a' is True"),
        ({"(": 1}, "RE2 refuses"),
        (["a"], "must be a dict"),
    ],
)
def test_says_what_is_wrong_with_a_change(changes: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        profile_of(CHAIN).what_if(changes)


def test_says_what_is_missing() -> None:
    with pytest.raises(ProfileError, match="cannot replay the steps: no"):
        Profile.from_protos(graph_of(CHAIN)).what_if({})


def test_curve_is_the_prediction_at_each_share() -> None:
    """Of 20 of 38 microseconds a tenth more each, and without them two less for the gap."""
    curve = profile_of(CHAIN).what_if_curve("b")
    assert curve["share"].round(1).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert [micros(seconds) for seconds in curve["seconds"]] == [16, *range(20, 40, 2)]
    assert (curve["low"] <= curve["seconds"]).all()
    assert (curve["high"] >= curve["seconds"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_replay_of_its_own_schedule_changes_nothing(seed: int) -> None:
    """A random graph, scheduled on three workers by hand-written rules, is replayed to the nanosecond."""
    random = np.random.default_rng(seed)
    ends: dict[int, int] = {}
    words, free = [], [0, 0, 0]
    for node in range(60):
        inputs = sorted(set(random.integers(max(node - 8, 0), node, 2).tolist())) if node else []
        ready = max((ends[each] for each in inputs), default=0)
        worker = int(np.argmin(free))
        start = max(free[worker], ready)
        ends[node] = free[worker] = start + int(random.integers(20, 60))
        words.append(f"n{node:02}({','.join(f'n{each:02}' for each in inputs)}):{start}-{ends[node]}")
    profile = profile_of(" ".join(words))
    found = profile.what_if({})
    assert found.replayed == pytest.approx(found.measured, rel=0.1)
