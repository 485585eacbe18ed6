"""Tensors on their way between devices, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import CPU, GPU, STREAM, on_cpu, only, ran, shown
from tests.ingest.spaces import Space
from tests.made import profile_of_tables, tables_of_traces
from tfprof_widget.analysis.advisor.waiting import device_idle, transfers
from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.xspace.reader import read_xspace

OPS = {"conv": "Conv2D", "w/read/_1": "_Recv", "w/read/_0": "_Send"}


def test_a_step_that_waits_for_a_tensor() -> None:
    """Of 1,000 us the step waits for the last 300."""
    profile = ran(OPS, on_cpu(("conv", 1000, 700), ("w/read/_1", 1600, 400)))
    finding = only(transfers(profile))
    assert finding.cause == ("A step waits 300 µs of its 1 ms (30 %) for tensors that devices send to each other.")
    assert shown(profile, finding) == ["w/read/_1"]


def test_a_tensor_that_comes_while_others_work() -> None:
    assert not list(transfers(ran(OPS, on_cpu(("conv", 1000, 1000), ("w/read/_1", 1000, 1000)))))


def test_a_wait_of_less_than_a_tenth() -> None:
    assert not list(transfers(ran(OPS, on_cpu(("conv", 1000, 901), ("w/read/_1", 1901, 99)))))
    assert list(transfers(ran(OPS, on_cpu(("conv", 1000, 900), ("w/read/_1", 1900, 100)))))


def test_copies_to_an_accelerator() -> None:
    """A stream repeats the copy that is on the accelerator's line for copies; its kernel takes as long."""
    copied = [("conv:MEMCPYHtoD", 1000, 500)]
    run = {GPU: [("conv", 1000, 1)], "/device:gpu:0/memcpy": copied, STREAM: [*copied, ("conv", 1500, 500)]}
    profile = ran({"conv": "Conv2D"}, run)
    finding = only(transfers(profile))
    assert "499 µs of its 1 ms (50 %) for copies between host and device." in finding.cause
    assert shown(profile, finding) == ["conv"]


def test_copies_under_way_while_the_accelerator_computes() -> None:
    copied = [("conv:MEMCPYHtoD", 1000, 500)]
    run = {GPU: [("conv", 1000, 1)], "/device:gpu:0/memcpy": copied, STREAM: [*copied, ("conv", 1001, 999)]}
    assert not list(transfers(ran({"conv": "Conv2D"}, run)))


def test_copies_that_are_ops_of_their_own() -> None:
    """As TensorFlow 2 records them: kernels named after the copy."""
    ops = {"conv": "Conv2D", "images": "MemcpyH2D"}
    run = {CPU: [("conv", 1000, 1)], STREAM: [("images", 1001, 299), ("conv", 1300, 700)]}
    assert "299 µs of its 1 ms (30 %)" in only(transfers(ran(ops, run))).cause


MICRO = 1000


def on_streams(*streams: tuple[str, int, int], gpus: int = 1) -> Profile:
    """What TensorFlow 2 records of GPUs: each a kernel, or a copy by its name, with its start and length."""
    space = Space()
    for gpu, (name, start, micros) in [(gpu, each) for gpu in range(gpus) for each in streams]:
        copy = {"memcpy_details": "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}
        stats = copy if name.startswith("Memcpy") else {"tf_op": f"{name}:Conv2D"}
        line = "Stream #15(MemcpyH2D)" if stats is copy else "Stream #14(Compute)"
        space.add(line, name, start * MICRO, micros * MICRO, f"/device:GPU:{gpu}", **stats)
    return profile_of_tables(tables_of_traces(read_xspace(space.message)))


def test_an_accelerator_that_waits_for_copies() -> None:
    """Of 1,000 us it waits for 300, which are the copy's: Python and locks have no part in it."""
    profile = on_streams(("first", 1000, 300), ("MemcpyH2D", 1300, 300), ("second", 1600, 400))
    finding = only(transfers(profile))
    assert finding.cause == (
        "/device:gpu:0 computes nothing for 300 µs of a step's 1 ms (30 %), while it waits for copies of tensors."
    )
    assert "prefetch_to_device" in finding.fix
    assert not list(device_idle(profile))


def test_accelerators_that_wait_alike_are_one_finding() -> None:
    profile = on_streams(("first", 1000, 300), ("MemcpyH2D", 1300, 300), ("second", 1600, 400), gpus=3)
    assert only(transfers(profile)).cause == (
        "/device:gpu:0 computes nothing for 300 µs of a step's 1 ms (30 %), while it waits for copies of tensors; "
        "2 other devices wait for 30 % or more."
    )


def test_copies_beside_kernels_hold_nobody_up() -> None:
    profile = on_streams(("first", 1000, 600), ("MemcpyH2D", 1100, 500), ("second", 1600, 400))
    assert not list(transfers(profile))
    assert not list(device_idle(profile))


def test_a_gap_beside_a_short_copy_is_idle() -> None:
    """Of a gap of 400 us the copy takes 50, which is too little to be worth a change."""
    profile = on_streams(("first", 1000, 300), ("MemcpyH2D", 1650, 50), ("second", 1700, 300))
    assert not list(transfers(profile))
    assert only(device_idle(profile)).cause == "Nothing runs on /device:gpu:0 for 350 µs of a step's 1 ms (35 %)."
