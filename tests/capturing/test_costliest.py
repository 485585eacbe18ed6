"""The costliest ops of a capture that goes on are told."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widget.capturing.sampling import EVERYTHING
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.lib.messages import SealedRun

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


class Graph:
    """A graph of nodes whose op is their name in upper case; it lacks those of functions."""

    def get_operation_by_name(self, name: str) -> Any:
        if "/" in name:
            raise KeyError(name)
        return SimpleNamespace(type=name.rstrip("_0123456789").upper())


GRAPH = Graph()


@dataclass(frozen=True)
class Traced:
    """A run that was traced, and whether it is of another kind than those before."""

    metadata: bytes
    warm_up: bool


def traced(warm_up: bool = False, device: str = CPU, **nanos: int) -> Traced:
    return several({device: nanos}, warm_up)


def several(devices: dict[str, dict[str, int]], warm_up: bool = False) -> Traced:
    run = SealedRun()
    for device, nanos in devices.items():
        stats = run.step_stats.dev_stats.add(device=device)
        for name, each in nanos.items():
            stats.node_stats.add(node_name=name, op_end_rel_nanos=each)
    return Traced(run.SerializeToString(), warm_up)


def costliest(*runs: Traced, limit: int = 3) -> list[tuple[str, float]]:
    """What is told after the runs; each first one is of a kind of its own."""
    source = SessionSource(EVERYTHING, room=0)
    warmed = source.begin(GRAPH, ["train"])
    assert warmed is not None
    source.raised(warmed)
    for number, each in enumerate(runs):
        run = source.begin(GRAPH, [f"first_{number}" if each.warm_up else "train"])
        assert run is not None
        source.finished(run, each.metadata)
    return source.costliest(limit)


def test_nodes_of_one_op_are_added_up_and_runs_averaged() -> None:
    told = costliest(traced(matmul=4000, matmul_1=2000, add=1000, relu=10), traced(matmul=2000, add=5000), limit=2)
    assert told == [("MATMUL", 4e-6), ("ADD", 3e-6)]


def test_nothing_is_told_before_the_first_run() -> None:
    assert costliest() == []


def test_warm_ups_count_until_a_steady_run_comes() -> None:
    first, steady, another = traced(warm_up=True, init=900), traced(matmul=50), traced(warm_up=True, init=900)
    assert costliest(first) == [("INIT", 9e-7)]
    assert costliest(first, steady, another) == [("MATMUL", 5e-8)]


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


@pytest.mark.parametrize("metadata", [b"\xff", b""])
def test_run_that_cannot_be_read_is_passed_over(metadata: bytes) -> None:
    assert costliest(Traced(metadata, warm_up=False)) == []
    assert costliest(Traced(metadata, warm_up=False), traced(matmul=50)) == [("MATMUL", 5e-8)]
