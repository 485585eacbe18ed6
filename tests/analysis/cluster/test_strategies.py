"""Strategies of tf.distribute on real replicas: of one process, and of two processes that reduce over the loopback."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.analysis.cluster.make_recorded import RECORDED, workers
from tests.analysis.cluster.mirrored_training import COLUMNS, ROWS, STEPS
from tests.forked import process
from tfprof_widget.analysis.cluster.clocks import Clocks
from tfprof_widget.analysis.cluster.summary import ClusterSummary, summary
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.data import SHORTER

FLOAT = 4


def summed(profile: Profile) -> ClusterSummary:
    found = summary(profile)
    assert found is not None
    return found


def test_workers_that_reduce_together_have_their_steps_timed_and_are_told_why() -> None:
    """TensorFlow's profiler crashes such workers every so often: none is recorded unless that is asked for."""
    for printed in workers():
        why, timed = printed.splitlines()
        assert why.startswith("No ops were recorded: this process takes part in collectives of several workers, so ")
        assert "capture(collectives=True), %%tfprof --collectives, tfprof run --collectives" in why
        assert timed.startswith("timed: <lambda>: the first ")
        assert f", then {STEPS - 1} of " in timed


@pytest.fixture(scope="module")
def merged() -> Profile:
    """What two workers recorded of themselves, as one profile; the second is late in each step."""
    return tfprof.load(RECORDED)


def test_each_worker_is_a_task(merged: Profile) -> None:
    assert [each.task for each in summed(merged).tasks] == ["worker 0", "worker 1"]


def test_a_collective_is_shown_with_the_bytes_of_the_gradient(merged: Profile) -> None:
    links = summed(merged).links
    assert {(each.target, each.kind, each.bytes) for each in links if each.bytes > FLOAT} == {
        ("worker 0", "CollectiveReduceV2", ROWS * COLUMNS * FLOAT),
        ("worker 1", "CollectiveReduceV2", ROWS * COLUMNS * FLOAT),
    }
    assert {each.source.rstrip("0123456789") for each in links} == {"collective group "}


def test_the_others_wait_for_the_worker_that_is_late(merged: Profile) -> None:
    found = summed(merged)
    assert found.steps >= STEPS - 1
    first, second = found.tasks
    assert first.wait_nanos > 100_000_000 > second.wait_nanos
    assert found.straggler is not None
    assert found.straggler.task == "worker 1"


def test_clocks_of_one_machine_are_alike_within_the_error_told(merged: Profile) -> None:
    clocks = Clocks.of(merged)
    moments = clocks.is_linked.all(axis=1)
    assert moments.sum() >= STEPS - 1
    assert (abs(clocks.offset) <= clocks.error)[moments].all()


@pytest.fixture(scope="module")
def mirrored() -> dict[str, Any]:
    """What a process whose two CPUs mirror each other recorded from its first step on."""
    with process("tests.analysis.cluster.mirrored") as alone:
        told: dict[str, Any] = json.loads(alone.stdout.readline())
        return told


def test_replicas_of_one_process_send_each_other_tensors_and_reduce(mirrored: dict[str, Any]) -> None:
    """Links are of devices: the first CPU sends the batch to the second; both take part in the reduction.

    TensorFlow loses a device's reduction if its thread is still in it when the recording of a step ends.
    """
    links = mirrored["links"]
    ends = {(each["source"][-5:], each["target"][-5:], each["kind"]): each for each in links}
    assert ends["cpu:0", "cpu:1", "_Recv"]["bytes"] >= 64 * ROWS * FLOAT
    assert ("cpu:1", "cpu:0", "_Recv") in ends
    reduced = [(each["count"], each["bytes"]) for each in links if each["kind"] == "CollectiveReduceV2"]
    assert max(reduced) == (2, 2 * ROWS * COLUMNS * FLOAT)


def test_the_step_in_which_devices_of_a_process_meet_is_left_out(mirrored: dict[str, Any]) -> None:
    """In which TensorFlow's profiler may crash; the steps after it are recorded, be some shorter than most or not."""
    assert [name.removesuffix(SHORTER) for name in mirrored["steps"]] == ["<lambda>"] * (STEPS - 1)
