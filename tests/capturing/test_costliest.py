"""The costliest ops of a capture that goes on are told, and looking for them takes little of the time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widget.capturing.trace_store import CostliestOps, TracedRun
from tfprof_widget.lib.messages import SealedRun

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


class Clock:
    """A clock that goes on by a given time at each look."""

    now = 0.0
    pace = 0.0

    def __call__(self) -> float:
        self.now += self.pace
        return self.now


class Graph:
    """A graph of nodes whose op is their name in upper case; it lacks those of functions."""

    def get_operation_by_name(self, name: str) -> Any:
        if "/" in name:
            raise KeyError(name)
        return SimpleNamespace(type=name.rstrip("_0123456789").upper())


GRAPH = Graph()


def traced(warm_up: bool = False, device: str = CPU, **nanos: int) -> TracedRun:
    return several({device: nanos}, warm_up)


def several(devices: dict[str, dict[str, int]], warm_up: bool = False) -> TracedRun:
    run = SealedRun()
    for device, nanos in devices.items():
        stats = run.step_stats.dev_stats.add(device=device)
        for name, each in nanos.items():
            stats.node_stats.add(node_name=name, op_end_rel_nanos=each)
    return TracedRun(GRAPH, run.SerializeToString(), warm_up)


def costliest(*runs: TracedRun, limit: int = 3) -> list[tuple[str, float]]:
    """What is told after each run was looked at."""
    ops = CostliestOps(Clock())
    told: list[tuple[str, float]] = []
    for run in runs:
        ops.ran(run)
        told = ops.costliest(limit)
    return told


def test_nodes_of_one_op_are_added_up_and_runs_averaged() -> None:
    told = costliest(traced(matmul=4000, matmul_1=2000, add=1000, relu=10), traced(matmul=2000, add=5000), limit=2)
    assert told == [("MATMUL", 4e-6), ("ADD", 3e-6)]


def test_nothing_is_told_before_the_first_run() -> None:
    assert CostliestOps(Clock()).costliest(3) == []


def test_warm_ups_count_until_a_steady_run_comes() -> None:
    first, steady, another = traced(warm_up=True, init=900), traced(matmul=50), traced(warm_up=True, init=900)
    assert costliest(first) == [("INIT", 9e-7)]
    assert costliest(first, steady, another) == [("MATMUL", 5e-8)]


def test_warm_up_does_not_take_the_place_of_a_steady_run() -> None:
    ops = CostliestOps(Clock())
    for run in (traced(matmul=50), traced(warm_up=True, init=900)):
        ops.ran(run)
    assert ops.costliest(3) == [("MATMUL", 5e-8)]


def test_node_that_the_graph_lacks_goes_by_its_name() -> None:
    assert costliest(several({CPU: {"while/body/matmul": 5}})) == [("while/body/matmul", 5e-9)]


def test_copies_between_devices_are_no_ops() -> None:
    assert costliest(several({CPU: {"RecvTensor": 50, "matmul": 5}})) == [("MATMUL", 5e-9)]


def test_kernels_count_once() -> None:
    """What a GPU did is there by stream, and once more for all streams; launching it is time of the CPU."""
    devices = {
        GPU: {"matmul": 1},
        f"{GPU}/stream:all": {"matmul:MatMul": 300},
        f"{GPU}/stream:13": {"matmul:MatMul": 300},
        "/device:GPU:0/memcpy": {"matmul": 40},
    }
    assert costliest(several(devices)) == [("MATMUL", 3.01e-7)]


def test_each_run_is_looked_at_once() -> None:
    ops = CostliestOps(Clock())
    ops.ran(traced(matmul=50))
    assert ops.costliest(3) == ops.costliest(3) == [("MATMUL", 5e-8)]
    ops.ran(traced(matmul=70))
    assert ops.costliest(3) == [("MATMUL", 6e-8)]


def test_looking_takes_at_most_a_fiftieth_of_the_time() -> None:
    clock = Clock()
    ops = CostliestOps(clock)
    ops.ran(traced(matmul=50))
    clock.pace = 0.1
    ops.costliest(3)
    started, clock.pace = clock.now - 0.1, 0.0
    ops.ran(traced(add=500))
    clock.now = started + 4.9
    assert ops.costliest(3) == [("MATMUL", 5e-8)]
    clock.now = started + 5.1
    assert ops.costliest(1) == [("ADD", 2.5e-7)]


@pytest.mark.parametrize("metadata", [b"\xff", b""])
def test_run_that_cannot_be_read_is_passed_over(metadata: bytes) -> None:
    ops = CostliestOps(Clock())
    ops.ran(TracedRun(GRAPH, metadata, warm_up=False))
    assert ops.costliest(3) == []
    ops.ran(traced(matmul=50))
    assert ops.costliest(3) == [("MATMUL", 5e-8)]
