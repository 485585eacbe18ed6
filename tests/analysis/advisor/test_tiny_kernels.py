"""Ops that take longer to start than to run, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import on_cpu, on_gpu, only, ran, shown
from tfprof_widget.analysis.advisor.slow_ops import tiny_kernels


def adds(count: int, micros: int, gap: int) -> list[tuple[str, int, int]]:
    """So many ops, each of this time, one every so many microseconds."""
    return [("add", 1000 + gap * number, micros) for number in range(count)]


def test_a_hundred_ops_of_a_microsecond_each() -> None:
    """100 starts of 2 us are 200 us; the last of them ends 799 us after the first began."""
    profile = ran({"add": "AddV2", "scale": "Mul"}, on_cpu(*adds(99, 1, 8), ("scale", 1798, 1)))
    finding = only(tiny_kernels(profile))
    assert finding.cause == (
        "A step runs 100 ops that take longer to start than to run: starting them takes some 200us on all "
        "threads together, and the step takes 799us by the clock."
    )
    assert shown(profile, finding) == ["AddV2", "Mul"]


def test_ninety_nine_are_over_in_a_moment() -> None:
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_cpu(*adds(99, 1, 2)))))


def test_ops_that_take_as_long_as_their_start() -> None:
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_cpu(*adds(1000, 2, 2)))))


def test_beside_a_long_op_they_do_not_matter() -> None:
    """200 us of 801 us are a quarter less a little."""
    ops = {"add": "AddV2", "conv": "Conv2D"}
    assert not list(tiny_kernels(ran(ops, on_cpu(*adds(100, 1, 2), ("conv", 1000, 801)))))
    assert list(tiny_kernels(ran(ops, on_cpu(*adds(100, 1, 2), ("conv", 1000, 800)))))


def test_a_kernel_of_an_accelerator_takes_longer_to_launch() -> None:
    """100 kernels of 4 us, launched in 5: of the launches on the host it is not known that they cost as much."""
    assert "takes some 700us on all" in only(tiny_kernels(ran({"add": "AddV2"}, on_gpu(*adds(100, 4, 5))))).cause
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_gpu(*adds(100, 5, 20)))))


def test_the_ops_of_a_step_count_and_not_those_of_all_steps() -> None:
    runs = [on_cpu(*adds(60, 1, 2)), on_cpu(*[(name, start + 5000, micros) for name, start, micros in adds(60, 1, 2)])]
    assert not list(tiny_kernels(ran({"add": "AddV2"}, *runs)))
