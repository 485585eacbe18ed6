"""Tensors on their way between devices, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import CPU, GPU, STREAM, on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.waiting import transfers

OPS = {"conv": "Conv2D", "w/read/_1": "_Recv", "w/read/_0": "_Send"}


def test_a_step_that_waits_for_a_tensor() -> None:
    """Of 1,000 us the step waits for the last 300."""
    profile = ran(OPS, on_cpu(("conv", 1000, 700), ("w/read/_1", 1600, 400)))
    finding = only(transfers(profile))
    assert finding.cause == (
        "Steps wait for what sends and receives tensors between devices: for 300us of 1.00ms (30%) nothing else runs."
    )
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
    assert "between host and device: for 499us of 1.00ms (50%) nothing else runs" in finding.cause
    assert shown(profile, finding) == ["conv"]


def test_copies_under_way_while_the_accelerator_computes() -> None:
    copied = [("conv:MEMCPYHtoD", 1000, 500)]
    run = {GPU: [("conv", 1000, 1)], "/device:gpu:0/memcpy": copied, STREAM: [*copied, ("conv", 1001, 999)]}
    assert not list(transfers(ran({"conv": "Conv2D"}, run)))


def test_copies_that_are_ops_of_their_own() -> None:
    """As TensorFlow 2 records them: kernels named after the copy."""
    ops = {"conv": "Conv2D", "images": "MemcpyH2D"}
    run = {CPU: [("conv", 1000, 1)], STREAM: [("images", 1001, 299), ("conv", 1300, 700)]}
    assert "for 299us of 1.00ms (30%)" in only(transfers(ran(ops, run))).cause
