"""Products that compute slowly, on profiles worked out by hand."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analysis.advisor.findings import CPU, on_cpu, on_gpu, only, ran, shown
from tests.made import cell_of, changed
from tfprof_widget.analysis.advisor.slow_ops import flop_rate
from tfprof_widget.profiles.data import WARM_UP

OPS = {"fast": "MatMul", "slow": "Conv2D", "rest": "Relu"}
MILLION = 1_000_000


def test_a_product_at_less_than_a_tenth_of_the_best_rate() -> None:
    """Fast: 100 million in 100 us are 1,000 GFLOP/s. Slow: 10 million in 101 us are 99."""
    profile = ran(
        OPS, on_cpu(("fast", 1000, 100), ("slow", 1100, 101)), float_ops={"fast": 100 * MILLION, "slow": 10 * MILLION}
    )
    finding = only(flop_rate(profile))
    assert finding.cause == (
        "slow (Conv2D) takes 50 % of the op time, usually at 99.0 GFLOP/s. The fastest product on this device reaches "
        "1 TFLOP/s."
    )
    assert shown(profile, finding) == ["slow"]


def test_the_share_is_that_of_the_table_and_the_rate_is_the_usual_one() -> None:
    """One of three executions of 101 us was held up to 398 us: 600 of 700 us, as in the table."""
    slow = [("slow", 2000 + 1000 * number, took) for number, took in enumerate((101, 398, 101))]
    run = on_cpu(("fast", 1000, 100), *slow)
    finding = only(flop_rate(ran(OPS, run, float_ops={"fast": 100 * MILLION, "slow": 10 * MILLION})))
    assert finding.cause.startswith("slow (Conv2D) takes 86 % of the op time, usually at 99.0 GFLOP/s.")


def test_at_a_tenth_of_it() -> None:
    run = on_cpu(("fast", 1000, 100), ("slow", 1100, 100))
    assert not list(flop_rate(ran(OPS, run, float_ops={"fast": 100 * MILLION, "slow": 10 * MILLION})))


def test_one_that_takes_little_of_the_time() -> None:
    """101 us of 1,011, which is less than a tenth, and of 1,010."""
    float_ops = {"fast": 100 * MILLION, "slow": 10 * MILLION}
    less, enough = (
        ran(OPS, on_cpu(("fast", 1000, 100), ("slow", 1100, 101), ("rest", 1201, rest)), float_ops=float_ops)
        for rest in (810, 809)
    )
    assert not list(flop_rate(less))
    assert list(flop_rate(enough))


def test_one_with_little_to_compute() -> None:
    run = on_cpu(("fast", 1000, 100), ("slow", 1100, 900))
    assert not list(flop_rate(ran(OPS, run, float_ops={"fast": 100 * MILLION, "slow": MILLION - 1})))
    assert list(flop_rate(ran(OPS, run, float_ops={"fast": 100 * MILLION, "slow": MILLION})))


def test_other_devices_are_no_measure() -> None:
    run = {CPU: [("slow", 1000, 101)], CPU.replace("cpu:0", "cpu:1"): [("fast", 1000, 100)]}
    assert not list(flop_rate(ran(OPS, run, float_ops={"fast": 100 * MILLION, "slow": 10 * MILLION})))


def test_a_node_that_ran_many_times_computed_as_many_times() -> None:
    """Ten million each, ten times in 101 us, are 990 GFLOP/s."""
    slow = [("slow", 2000 + 20 * number, 10) for number in range(10)]
    assert not list(
        flop_rate(ran(OPS, on_cpu(("fast", 1000, 100), *slow), float_ops={"fast": 100 * MILLION, "slow": 10 * MILLION}))
    )


def test_element_wise_ops_wait_for_memory_by_nature() -> None:
    run = on_cpu(("fast", 1000, 100), ("rest", 1100, 900))
    assert not list(flop_rate(ran(OPS, run, float_ops={"fast": 100 * MILLION, "rest": MILLION})))


BOTH = on_cpu(("fast", 1000, 100), ("slow", 1100, 101))
OFTEN = on_cpu(("fast", 1000, 100), *(("slow", 1100 + 200 * number, 101) for number in range(3)))


def test_a_rate_that_no_host_has_is_no_measure() -> None:
    """Of 512 cores of 320 GFLOP/s, 163,840 GFLOP/s: 100 us are 16,384 million."""
    possible, impossible = (
        ran(OPS, BOTH, float_ops={"fast": fast * MILLION, "slow": 10 * MILLION}) for fast in (16_384, 16_385)
    )
    assert list(flop_rate(possible))
    assert not list(flop_rate(impossible))


def test_a_rate_that_no_accelerator_has_is_no_measure() -> None:
    """Five quadrillion a second are 505 billion in 101 us, one of which is the launch."""
    for fast, is_found in ((505_000, True), (505_001, False)):
        profile = ran(
            OPS,
            on_gpu(("fast", 1000, 100), ("slow", 1100, 101)),
            float_ops={"fast": fast * MILLION, "slow": 10 * MILLION},
        )
        assert bool(list(flop_rate(profile))) is is_found


@pytest.mark.parametrize(("cores", "is_found"), [(4, True), (3, False)])
def test_a_rate_that_this_machine_does_not_have_is_no_measure_for_a_capture(
    cores: int, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,000 GFLOP/s: four cores of 320 may have it, three may not."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    float_ops = {"fast": 100 * MILLION, "slow": 10 * MILLION}
    captured = changed(ran(OPS, OFTEN, float_ops=float_ops, step_names=["train"]), main_kind="train")
    assert bool(list(flop_rate(captured))) is is_found


def test_what_hardly_ran_is_no_measure() -> None:
    """1 us of 1,001 is measured, of 1,002 it may be noise."""
    float_ops = {"fast": MILLION, "slow": MILLION}
    for slow, is_found in ((999, True), (1000, False)):
        profile = ran(OPS, on_cpu(("fast", 1000, 1), ("slow", 1100, slow)), float_ops=float_ops)
        assert bool(list(flop_rate(profile))) is is_found


def test_one_interruption_does_not_make_a_node_slow() -> None:
    """Ten million in 10 us; once the thread had to wait for 900 us."""
    usual = [("slow", 2000 + 20 * number, 10) for number in range(4)]
    float_ops = {"fast": 100 * MILLION, "slow": 10 * MILLION}
    assert not list(flop_rate(ran(OPS, on_cpu(("fast", 1000, 100), *usual, ("slow", 3000, 900)), float_ops=float_ops)))
    always = [("slow", 2000 + 400 * number, 300) for number in range(5)]
    assert list(flop_rate(ran(OPS, on_cpu(("fast", 1000, 100), *always), float_ops=float_ops)))


@pytest.mark.parametrize(
    ("runs", "count", "is_found"), [(on_cpu, 1, False), (on_cpu, 2, False), (on_cpu, 3, True), (on_gpu, 1, True)]
)
def test_in_a_capture_a_host_is_judged_by_three_executions(
    runs: Any, count: int, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    float_ops = {"fast": 100 * MILLION, "slow": 10 * MILLION}
    run = runs(("fast", 1000, 100), *(("slow", 1100 + 400 * number, 300) for number in range(count)))
    captured = changed(ran(OPS, run, float_ops=float_ops, step_names=["train"]), main_kind="train")
    assert bool(list(flop_rate(captured))) is is_found


@pytest.mark.parametrize(("rows", "is_found"), [(64, False), (1, True)])
def test_a_node_that_does_what_a_fast_one_does_is_not_slow_by_its_shapes(rows: int, is_found: bool) -> None:
    float_ops = {"fast": 100 * MILLION, "slow": 100 * MILLION}
    profile = ran(
        {"fast": "MatMul", "slow": "MatMul"}, on_cpu(("fast", 1000, 10), ("slow", 1100, 900)), float_ops=float_ops
    )
    shapes = tuple(f"(float[{each},32];float[32,8])" for each in (64, rows))
    executions = replace(profile.executions, input_shapes=profile.executions.node.astype(np.int64) + 1)
    assert bool(list(flop_rate(changed(profile, executions=executions, input_shapes=("", *shapes))))) is is_found


@pytest.mark.parametrize(("clock", "is_found"), [(202e-6, True), (100e-6, False)])
def test_an_op_that_took_longer_than_a_step_was_held_up(
    clock: float, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """101 us, in steps that take 202 us without tracing, or 100."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    float_ops = {"fast": 100 * MILLION, "slow": 10 * MILLION}
    captured = changed(ran(OPS, OFTEN, float_ops=float_ops, step_names=["train"]), main_kind="train")
    timed = changed(captured, cells=(cell_of(1.0, step_seconds=clock),))
    assert bool(list(flop_rate(timed))) is is_found


@pytest.mark.parametrize(("name", "is_found"), [("train", True), ("train" + WARM_UP, False)])
def test_a_first_run_tells_no_rate(name: str, is_found: bool) -> None:
    float_ops = {"fast": 100 * MILLION, "slow": 10 * MILLION}
    assert bool(list(flop_rate(ran(OPS, BOTH, float_ops=float_ops, step_names=[name])))) is is_found
