"""Float64 and float32, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import on_cpu, on_gpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import precision

FLOAT, DOUBLE = "DT_FLOAT", "DT_DOUBLE"
OPS = {"dense": "MatMul", "scale": "Mul"}


def test_a_tenth_of_the_time_in_float64() -> None:
    profile = ran(OPS, on_cpu(("dense", 1000, 900), ("scale", 1900, 100)), types={"dense": FLOAT, "scale": DOUBLE})
    finding = only(precision(profile))
    assert finding.cause == (
        "Ops in float64 take 10 % of the op time. float64 needs twice the time and memory of float32, and far more "
        "time on most accelerators."
    )
    assert shown(profile, finding) == ["Mul"]


def test_less_than_a_tenth() -> None:
    types = {"dense": FLOAT, "scale": DOUBLE}
    assert not list(precision(ran(OPS, on_cpu(("dense", 1000, 901), ("scale", 1901, 99)), types=types)))


def test_float64_that_never_ran() -> None:
    assert not list(precision(ran(OPS, on_cpu(("dense", 1000, 900)), types={"dense": FLOAT, "scale": DOUBLE})))


def test_float32_products_on_an_accelerator() -> None:
    """200 us of kernel and 1 us of launching are 20 % of 1,002 us."""
    run = on_gpu(("dense", 1000, 200), ("scale", 1200, 800))
    profile = ran(OPS, run, types={"dense": FLOAT, "scale": FLOAT})
    finding = only(precision(profile))
    assert finding.cause.startswith("Matrix products and convolutions in float32 take 20 % of the op time.")
    assert shown(profile, finding) == ["MatMul"]


def test_float32_products_that_take_less() -> None:
    """199 us and 1 us of launching are a little less than 20 % of 1,003 us."""
    run = on_gpu(("dense", 1000, 199), ("scale", 1200, 802))
    assert not list(precision(ran(OPS, run, types={"dense": FLOAT, "scale": FLOAT})))


def test_on_a_cpu_half_precision_is_no_faster() -> None:
    assert not list(precision(ran(OPS, on_cpu(("dense", 1000, 900)), types={"dense": FLOAT})))


def test_half_precision_has_nothing_to_gain() -> None:
    assert not list(precision(ran(OPS, on_gpu(("dense", 1000, 900)), types={"dense": "DT_HALF"})))


def test_ops_whose_type_is_not_known() -> None:
    assert not list(precision(ran(OPS, on_gpu(("dense", 1000, 900)))))
