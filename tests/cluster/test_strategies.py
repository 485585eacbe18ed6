"""Strategies of tf.distribute on real replicas: of one process, and of two processes that reduce over the loopback."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.cluster.mirrored_training import COLUMNS, ROWS, STEPS
from tests.cluster.real import free_ports, process
from tfprof_widget.capturing.result import Capture
from tfprof_widget.cluster.clocks import Clocks
from tfprof_widget.cluster.summary import ClusterSummary, summary
from tfprof_widget.parallel.parcels import unpacked
from tfprof_widget.profiles import Profile

FLOAT = 4
SLOW = 1


def summed(profile: Profile) -> ClusterSummary:
    found = summary(profile)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """What two workers captured of themselves, as one profile; the second is late in each step."""
    folder: Path = tmp_path_factory.mktemp("workers")
    addresses = json.dumps([f"127.0.0.1:{port}" for port in free_ports(2)])
    with ExitStack() as processes:
        workers = [
            processes.enter_context(
                process(
                    "-m", "tests.cluster.mirrored_worker", addresses, str(index), str(SLOW), str(folder / str(index))
                )
            )
            for index in range(2)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "done\n"
    captured = [Capture.of(unpacked((folder / str(index)).read_bytes())).profile for index in range(2)]
    return tfprof.merge({f"worker {index}": profile for index, profile in enumerate(captured)})


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


def test_replicas_of_one_process_send_each_other_tensors_and_reduce() -> None:
    """Links are of devices: the first CPU sends the batch to the second; both take part in the reduction."""
    with process("-m", "tests.cluster.mirrored") as alone:
        assert alone.stdout is not None
        links = json.loads(alone.stdout.readline())
    ends = {(each["source"][-5:], each["target"][-5:], each["kind"]): each for each in links}
    assert ends["cpu:0", "cpu:1", "_Recv"]["bytes"] >= 64 * ROWS * FLOAT
    assert ("cpu:1", "cpu:0", "_Recv") in ends
    (reduced,) = [each for each in links if each["kind"] == "CollectiveReduceV2"]
    assert (reduced["count"], reduced["bytes"]) == (2, 2 * ROWS * COLUMNS * FLOAT)
