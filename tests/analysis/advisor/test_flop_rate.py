"""Products that compute slowly, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import CPU, on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import flop_rate

OPS = {"fast": "MatMul", "slow": "Conv2D", "rest": "Relu"}
MILLION = 1_000_000


def test_a_product_at_less_than_a_tenth_of_the_best_rate() -> None:
    """Fast: 100 million in 100 us are 1,000 GFLOP/s. Slow: 10 million in 101 us are 99."""
    profile = ran(
        OPS, on_cpu(("fast", 1000, 100), ("slow", 1100, 101)), float_ops={"fast": 100 * MILLION, "slow": 10 * MILLION}
    )
    finding = only(flop_rate(profile))
    assert finding.cause == (
        "slow (Conv2D) takes 50% of the op time at 99.01b FLOP/s, while other products on this device reach "
        "1000.00b FLOP/s."
    )
    assert shown(profile, finding) == ["slow"]


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
