"""What is read of transfers: labels and sizes as TensorFlow 2.21 and its device tracers wrote them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.analysis.cluster.clusters import PS0, WORKER0, Came, Ran, device, profile_of, run_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.parts.transfers import MOST_BYTES, MOST_NANOS, Transfer, copying_lines, read_transfer
from tfprof_widget.lib.messages import RunMetadata, SealedRun

PS, WORKER = device(PS0).lower(), device(WORKER0).lower()


def read(run: RunMetadata) -> list[Transfer]:
    sealed = SealedRun.FromString(run.SerializeToString()).step_stats.dev_stats
    copying = copying_lines(device.device for device in sealed)
    read = (
        read_transfer(stat, device.device, device.device in copying) for device in sealed for stat in device.node_stats
    )
    return [transfer for transfer in read if transfer is not None]


def read_one(device: str, name: str, label: str = "", micros: int = 2, size: int = 0) -> list[Transfer]:
    run = RunMetadata()
    stat = run.step_stats.dev_stats.add(device=device).node_stats.add(node_name=name, timeline_label=label)
    stat.all_start_micros, stat.op_end_rel_micros = 1000, micros
    if size:
        stat.output.add().tensor_description.allocation_description.requested_bytes = size
    return read(run)


def test_a_tensor_of_another_task() -> None:
    label = f"[0.8MB] [5.3Gb/s] edge_22_MatMul/ReadVariableOp from {device(PS0)} to {device(WORKER0)}"
    assert read_one(device(WORKER0), "RecvTensor", label, 1257, 840_000) == [
        Transfer("RecvTensor", PS, WORKER, "MatMul/ReadVariableOp", 1_000_000, 1_257_000, 840_000)
    ]


def test_the_label_of_tensorflow_1() -> None:
    """Without a rate, and small sizes in bytes."""
    (found,) = read_one(device(WORKER0), "RecvTensor", f"[64B] edge_3_w/read from {device(PS0)} to {device(WORKER0)}")
    assert (found.tensor, found.source) == ("w/read", PS)


@pytest.mark.parametrize(
    ("label", "tensor", "source"),
    [
        ("", "", ""),
        ("[", "[", ""),
        ("[0B] [0.0Mb/s] ", "", ""),
        ("edge_1_", "edge_1_", ""),
        ("edge_1_a from b", "a", "b"),
        ("edge_1_a from  to ", "a", ""),
        ("edge_1_x from y from z to q", "x from y", "z"),
    ],
)
def test_a_damaged_label(label: str, tensor: str, source: str) -> None:
    (found,) = read_one(device(WORKER0), "RecvTensor", label)
    assert (found.tensor, found.source, found.target) == (tensor, source, WORKER)


@pytest.mark.parametrize(
    ("line", "name", "label", "size"),
    [
        ("/device:GPU:0/memcpy", "conv:MEMCPYHtoD", "MEMCPYHtoD 4096 bytes (Pageable to Device)", 4096),
        ("/job:w/device:GPU:0/stream:all", "MemcpyH2D", "kind_src:pageable kind_dst:device bytes:4096 dest:0", 4096),
        ("/job:w/device:GPU:0/stream:17", "conv:MEMCPYHtoD", "no size", 0),
    ],
)
def test_a_copy_to_an_accelerator(line: str, name: str, label: str, size: int) -> None:
    (found,) = read_one(line, name, label)
    job = "/job:w" if "job" in line else ""
    assert (found.source, found.target) == (f"{job}/device:cpu:0", f"{job}/device:gpu:0")
    assert (found.kind, found.bytes) == ("MEMCPYHtoD", size)


def test_copies_back_and_between_accelerators() -> None:
    (back,) = read_one("/device:GPU:1/memcpy", "a:MEMCPYDtoH")
    assert (back.kind, back.source, back.target) == ("MEMCPYDtoH", "/device:gpu:1", "/device:cpu:0")
    (across,) = read_one("/device:GPU:1/memcpy", "a:MEMCPYPtoP")
    assert (across.kind, across.source, across.target) == ("MEMCPYPtoP", "", "/device:gpu:1")


def test_copies_count_once_though_the_lines_of_an_accelerator_repeat_them() -> None:
    run = RunMetadata()
    for line in ("stream:17", "stream:all", "memcpy"):
        stats = run.step_stats.dev_stats.add(device=f"/device:GPU:0/{line}").node_stats
        stats.add(node_name="a:MEMCPYHtoD", all_start_micros=5, op_end_rel_micros=1)
        stats.add(node_name="b", all_start_micros=7, op_end_rel_micros=1)
    assert [each.tensor for each in read(run)] == ["a"]


def test_a_receive_within_a_process() -> None:
    """As TensorFlow 1 recorded them."""
    (found,) = read_one(device(WORKER0), "x/_3", f"[64B] x/_3 = _Recv(edge_6_x @{device(PS0)})", size=64)
    assert found == Transfer("_Recv", PS, WORKER, "x", 1_000_000, 2000, 64)
    assert not read_one(device(WORKER0), "x/_2", f"x/_2 = _Send(edge_6_x @{device(PS0)})")


def test_what_is_no_transfer() -> None:
    for name, label in (("a", "a = MatMul(b, c)"), ("_SOURCE", "_SOURCE = NoOp()"), ("a", "a = Recv(")):
        assert not read_one(device(WORKER0), name, label)


@pytest.mark.parametrize(
    ("start", "duration", "size"),
    [(0, 1, 1), (-5, 1, 1), (2**60, 1, 1), (5, 2**60, 1), (5, MOST_NANOS, 1), (5, 1, MOST_BYTES + 1)],
)
def test_damaged_numbers_are_left_out(start: int, duration: int, size: int) -> None:
    run = run_of(Ran(WORKER0, "a", 5, 1))
    stat = run.step_stats.dev_stats[0].node_stats.add(node_name="RecvTensor", all_start_micros=start)
    stat.op_end_rel_micros = duration
    stat.output.add().tensor_description.allocation_description.requested_bytes = size
    assert read(run) == []


def test_a_clock_that_was_set_back_takes_no_time() -> None:
    (found,) = read_one(device(WORKER0), "RecvTensor", micros=-7)
    assert found.duration_nanos == 0


@given(some.text(), some.text(), some.text(), some.integers(-(2**63), 2**63 - 1), some.integers(-(2**63), 2**63 - 1))
def test_nothing_breaks_reading(line: str, name: str, label: str, number: int, other: int) -> None:
    run = RunMetadata()
    stats = run.step_stats.dev_stats.add(device=line).node_stats
    for each in (name, "RecvTensor", "x:MEMCPYHtoD"):
        stat = stats.add(node_name=each, timeline_label=label, all_start_micros=number, op_end_rel_micros=other)
        stat.output.add().tensor_description.allocation_description.requested_bytes = number
    for found in read(run):
        assert 0 <= found.duration_nanos <= MOST_NANOS
        assert 0 <= found.bytes <= MOST_BYTES


def test_the_table_of_a_profile() -> None:
    """The node that made a tensor is known by its name; a tensor of a node that the graph lacks comes from none."""
    runs = [
        (Ran(PS0, "w", 10, 5), Came(WORKER0, "w", PS0, 20, 3, 64), Came(WORKER0, "lost", PS0, 30, 4)),
        (Ran(PS0, "w", 110, 5), Came(WORKER0, "w", PS0, 120, 3, 64)),
    ]
    profile = profile_of(*runs)
    table = profile.transfers
    assert [table.tensors[each] for each in table.tensor.tolist()] == ["w", "lost", "w"]
    assert [profile.nodes.names[each] if each >= 0 else None for each in table.node.tolist()] == ["w", None, "w"]
    assert table.step.tolist() == [0, 0, 1]
    assert table.bytes.tolist() == [64, 0, 64]
    assert {table.devices[each] for each in table.source.tolist()} == {PS}
    assert {table.devices[each] for each in table.target.tolist()} == {WORKER}
    assert table.start_nanos.tolist() == [20_000, 30_000, 120_000]


def test_steps_of_any_numbers() -> None:
    run = run_of(Ran(PS0, "w", 10, 5), Came(WORKER0, "w", PS0, 20, 3))
    profile = Profile.from_protos(None, {70: run, 3: run_of(Ran(PS0, "w", 5, 1))})
    assert profile.steps == (3, 70)
    assert profile.transfers.step.tolist() == [1]


def test_transfers_make_no_nodes() -> None:
    assert profile_of([Ran(PS0, "w", 10, 5), Came(WORKER0, "w", PS0, 20, 3)]).nodes.names == ("w",)
