"""Products on a CPU beside an accelerator, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import CPU, on_cpu, on_gpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import placement

OPS = {"conv": "Conv2D", "lookup": "MatMul", "decode": "DecodeJpeg"}


def test_a_product_on_the_cpu() -> None:
    """100 us beside 898 of the kernel and 1 of its launch."""
    profile = ran(OPS, {**on_gpu(("conv", 1000, 898)), CPU: [("lookup", 1000, 100)]})
    finding = only(placement(profile))
    assert finding.cause == (
        "Matrix products and convolutions on a CPU take 10 % of the op time. The steps also use an accelerator, which "
        "computes them many times as fast."
    )
    assert shown(profile, finding) == ["lookup"]


def test_a_small_one() -> None:
    assert not list(placement(ran(OPS, {**on_gpu(("conv", 1000, 898)), CPU: [("lookup", 1000, 99)]})))


def test_what_is_not_for_accelerators() -> None:
    assert not list(placement(ran(OPS, {**on_gpu(("conv", 1000, 898)), CPU: [("decode", 1000, 900)]})))


def test_where_there_is_no_accelerator() -> None:
    assert not list(placement(ran(OPS, on_cpu(("lookup", 1000, 900)))))
