"""The share of time that accelerators spend executing, against hand calculations and native tfprof."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.advisor.advice import graph_of, run_of, same_advice
from tests.analysis.advisor.findings import ran
from tests.oracle.native import NativeTfprof
from tfprof_widget.analysis.advisor.costliest import accelerator_use
from tfprof_widget.analysis.advisor.runner import advice_on

GPU, STREAM = "/job:w/device:GPU:0", "/job:w/device:GPU:0/stream:all"
DEVICE = "device: /job:w/device:gpu:0"
GRAPH = graph_of({"conv": "Conv2D", "dense": "MatMul"})


def utilization(native: NativeTfprof, *steps: Any) -> list[str]:
    checker = "AcceleratorUtilizationChecker"
    return same_advice(native, GRAPH, steps, checkers=[checker])[checker]


@pytest.mark.parametrize(
    ("kernels", "report"),
    [
        (10_000, f"{DEVICE} utilization: 1.00"),
        (5_000, f"{DEVICE} utilization: 0.50"),
        (4_999, f"{DEVICE} low utilization: 0.50"),
        (2_001, f"{DEVICE} low utilization: 0.20"),
        (2_000, f"{DEVICE} low utilization: 0.20"),
        (124, f"{DEVICE} low utilization: 0.01"),
        (0, f"{DEVICE} low utilization: 0.00"),
    ],
)
def test_time_of_kernels_over_time_from_first_start_to_last_end(
    native: NativeTfprof, kernels: int, report: str
) -> None:
    run = run_of({GPU: [("conv", 1000, 10), ("dense", 10_900, 100)], STREAM: [("conv", 1000, kernels)]})
    assert utilization(native, run) == [report]


def test_an_execution_of_no_time_counts_a_microsecond(native: NativeTfprof) -> None:
    run = run_of({GPU: [("conv", 1000, 0), ("dense", 1002, 0)], STREAM: [("conv", 1000, 0)]})
    assert utilization(native, run) == [f"{DEVICE} low utilization: 0.33"]


def test_without_times_of_kernels_it_is_nothing(native: NativeTfprof) -> None:
    assert utilization(native, run_of({GPU: [("conv", 1000, 10)]})) == [f"{DEVICE} low utilization: 0.00"]


def test_a_cpu_has_none(native: NativeTfprof) -> None:
    assert utilization(native, run_of({"/cpu:0": [("conv", 1000, 10)]})) == []


def test_a_device_is_an_accelerator_if_its_name_says_gpu_anywhere(native: NativeTfprof) -> None:
    run = run_of({"/job:gpu_worker/device:CPU:0": [("conv", 1000, 10)]})
    assert utilization(native, run) == ["device: /job:gpu_worker/device:cpu:0 low utilization: 0.00"]


def test_devices_are_in_the_order_of_their_names(native: NativeTfprof) -> None:
    run = run_of(
        {
            "/gpu:1": [("conv", 1000, 10)],
            "/gpu:0": [("dense", 1000, 10)],
            "/gpu:0/stream:all": [("conv", 1000, 10), ("dense", 1000, 2)],
        }
    )
    assert utilization(native, run) == [
        "device: /gpu:0 low utilization: 0.20",
        "device: /gpu:1 utilization: 1.00",
    ]


def test_of_each_node_the_last_step_counts(native: NativeTfprof) -> None:
    both = run_of({GPU: [("conv", 1000, 10), ("dense", 5000, 10)], STREAM: [("conv", 1000, 10)]})
    conv_only = run_of({GPU: [("conv", 5090, 10)], STREAM: [("conv", 5010, 60)]})
    assert utilization(native, both, conv_only) == [f"{DEVICE} utilization: 0.60"]
    assert utilization(native, (7, conv_only), (3, both)) == [f"{DEVICE} utilization: 0.60"]


def test_an_execution_without_a_start_does_not_count(native: NativeTfprof) -> None:
    started = run_of({GPU: [("conv", 1000, 10), ("dense", 0, 900)], STREAM: [("conv", 1000, 5), ("conv", 0, 5)]})
    assert utilization(native, started) == [f"{DEVICE} utilization: 0.50"]
    assert utilization(native, run_of({GPU: [("conv", 0, 10)]})) == []


def test_for_people_it_is_the_share_of_steady_steps_in_which_a_kernel_ran() -> None:
    """Two streams of kernels side by side fill 900 of 1,000 us; the warm-up before does not count."""
    kernels = [("conv", 91_000, 900), ("dense", 91_000, 500)]
    run = {GPU: [("conv", 91_000, 10), ("dense", 91_990, 10)], STREAM: kernels}
    warm_up = {GPU: [("conv", 1000, 9000)], STREAM: [("conv", 1000, 1)]}
    profile = ran({"conv": "Conv2D", "dense": "MatMul"}, warm_up, run, step_names=["fit (warm-up)", "fit"])
    assert list(accelerator_use(profile)) == [f"{DEVICE} utilization: 0.90"]
    (report,) = advice_on(profile).reports["AcceleratorUtilizationChecker"]
    assert report == f"{DEVICE} utilization: 0.90"


def test_for_people_an_accelerator_that_moves_data_is_not_used() -> None:
    """An op of XLA that waits for its copy to end fills 700 of 1,000 us, of which a kernel computes 100 meanwhile."""
    kernels = [("fusion", 1000, 200), ("copy-done.1", 1200, 700), ("fusion", 1300, 100), ("fusion", 1990, 10)]
    profile = ran({"fusion": "fusion", "copy-done.1": "copy-done"}, {STREAM: kernels})
    assert list(accelerator_use(profile)) == [f"{DEVICE} low utilization: 0.31, and 0.60 in which it moves data only"]


def test_for_people_without_kernels_nothing_is_known() -> None:
    assert not list(accelerator_use(ran({"conv": "Conv2D"}, {GPU: [("conv", 1000, 10)]})))
