"""Ops that take longer to start than to run, on profiles worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from tests.analysis.advisor.findings import on_cpu, on_gpu, only, ran, shown
from tests.made import cell_of
from tfprof_widget.analysis.advisor.waiting import tiny_kernels
from tfprof_widget.api.profile import Profile


def adds(count: int, micros: int, gap: int) -> list[tuple[str, int, int]]:
    """So many ops, each of this time, one every so many microseconds."""
    return [("add", 1000 + gap * number, micros) for number in range(count)]


def test_a_hundred_ops_of_a_microsecond_each() -> None:
    """100 starts of 2 us are 200 us; the last of them ends 799 us after the first began."""
    profile = ran({"add": "AddV2", "scale": "Mul"}, on_cpu(*adds(99, 1, 8), ("scale", 1798, 1)))
    finding = only(tiny_kernels(profile))
    assert finding.cause == (
        "A step runs 100 ops that take longer to start than to run. To start and run them takes up to 200 µs of a "
        "step's 799 µs (25 %)."
    )
    assert shown(profile, finding) == ["AddV2", "Mul"]


def test_ninety_nine_are_over_in_a_moment() -> None:
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_cpu(*adds(99, 1, 2)))))


def test_ops_that_take_as_long_as_their_start() -> None:
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_cpu(*adds(1000, 2, 2)))))


def test_beside_a_long_op_they_do_not_matter() -> None:
    """200 us of 801 us are a quarter less a little; and what runs beside a long op is not waited for."""
    ops = {"add": "AddV2", "conv": "Conv2D"}
    assert not list(tiny_kernels(ran(ops, on_cpu(*adds(100, 1, 2), ("conv", 1200, 601)))))
    assert list(tiny_kernels(ran(ops, on_cpu(*adds(100, 1, 2), ("conv", 1200, 600)))))
    assert not list(tiny_kernels(ran(ops, on_cpu(*adds(100, 1, 2), ("conv", 1000, 800)))))


def test_a_kernel_of_an_accelerator_takes_longer_to_launch() -> None:
    """100 kernels of 4 us and their launches would start in 700 us, but the step takes 499 us."""
    cause = only(tiny_kernels(ran({"add": "AddV2"}, on_gpu(*adds(100, 4, 5))))).cause
    assert "up to 499 µs of a step's 499 µs" in cause
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_gpu(*adds(100, 5, 20)))))


def timed(profile: Profile, step_seconds: float) -> Profile:
    """The profile as after a capture in which an untraced step takes so long."""
    return replace(profile, main_kind="train", cells=(cell_of(1.0, step_seconds=step_seconds),))


def test_what_starting_takes_is_no_more_than_a_step_without_tracing() -> None:
    """The recorded actor-critic program: 16,245 ops would start in 32 ms, but an untraced step takes 5.17 ms."""
    traced = ran({"add": "AddV2"}, on_cpu(*adds(16_245, 1, 2)), step_names=["train"])
    assert "up to 32.5 ms of a step's 32.5 ms" in only(tiny_kernels(traced)).cause
    untraced = only(tiny_kernels(timed(traced, 0.00517))).cause
    assert "up to 5.17 ms of a step's 5.17 ms" in untraced


def test_other_ops_of_an_untraced_step_are_no_starts() -> None:
    """Half of the traced step is a convolution, so that half of the untraced step is left for starting."""
    run = on_cpu(*adds(200, 1, 2), ("conv", 1400, 400))
    traced = ran({"add": "AddV2", "conv": "Conv2D"}, run, step_names=["train"])
    assert "up to 100 µs of a step's 200 µs" in only(tiny_kernels(timed(traced, 0.0002))).cause


def test_a_warm_up_is_no_step() -> None:
    assert not list(tiny_kernels(ran({"add": "AddV2"}, on_cpu(*adds(100, 1, 8)), step_names=["train (warm-up)"])))


def test_the_ops_of_a_step_count_and_not_those_of_all_steps() -> None:
    runs = [on_cpu(*adds(60, 1, 2)), on_cpu(*[(name, start + 5000, micros) for name, start, micros in adds(60, 1, 2)])]
    assert not list(tiny_kernels(ran({"add": "AddV2"}, *runs)))
