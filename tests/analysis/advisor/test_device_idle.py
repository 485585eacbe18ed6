"""Stretches in which a device does nothing, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import GPU, STREAM, on_cpu, on_gpu, only, ran, shown
from tfprof_widget.analysis.advisor.waiting import device_idle

OPS = {"first": "MatMul", "second": "MatMul", "third": "MatMul"}


def test_an_accelerator_that_waits_for_the_host() -> None:
    """Of 1,000 us 100 are lost before the second kernel and 200 before the third."""
    profile = ran(OPS, on_gpu(("first", 1000, 300), ("second", 1400, 300), ("third", 1900, 100)))
    finding = only(device_idle(profile))
    assert finding.cause == "For 300 µs of 1 ms (30%) of the steps nothing runs on /device:gpu:0."
    assert shown(profile, finding) == ["second", "third"]


def test_several_accelerators_that_wait_are_one_finding_on_the_idlest() -> None:
    """Of 1,000 us nothing runs for 300 on the first, for 400 on the second, for 100 on the third."""
    busy = {
        0: [("first", 1000, 700), ("third", 1999, 1)],
        1: [("first", 1000, 600), ("third", 1999, 1)],
        2: [("first", 1000, 900), ("third", 1999, 1)],
    }
    run = {}
    for number, kernels in busy.items():
        run[GPU.replace("gpu:0", f"gpu:{number}")] = [(name, start, 1) for name, start, _ in kernels]
        run[STREAM.replace("gpu:0", f"gpu:{number}")] = kernels
    profile = ran(OPS, run)
    finding = only(device_idle(profile))
    assert finding.cause == (
        "For 399 µs of 1 ms (40%) of the steps nothing runs on /device:gpu:1, and for 30% of them or more on 1 other."
    )


def test_shorter_gaps_are_those_of_launching() -> None:
    """Three gaps of 99 us in 1,000 us."""
    kernels = [("first", 1000, 300), ("second", 1399, 100), ("third", 1598, 100), ("first", 1797, 203)]
    assert not list(device_idle(ran(OPS, on_gpu(*kernels))))


def test_where_short_gaps_take_time_too_they_are_told() -> None:
    """Of 1,000 us 99 are lost in a short gap and 300 in a long one: the device is busy for 60 %, not for 70 %."""
    finding = only(device_idle(ran(OPS, on_gpu(("first", 1000, 100), ("second", 1199, 101), ("third", 1600, 400)))))
    assert finding.cause == (
        "For 300 µs of 1 ms (30%) of the steps nothing runs on /device:gpu:0 in gaps of 0.1 ms or more, "
        "and with shorter ones for 40%."
    )


def test_less_than_a_fifth() -> None:
    assert not list(device_idle(ran(OPS, on_gpu(("first", 1000, 600), ("second", 1799, 201)))))


def test_a_host_on_which_nothing_runs_for_long() -> None:
    """Of 10 ms 2 are lost; a CPU is waited for where there is no accelerator."""
    profile = ran(OPS, on_cpu(("first", 1000, 5000), ("second", 1000, 4000), ("third", 8000, 3000)))
    finding = only(device_idle(profile))
    assert finding.cause == "For 2 ms of 10 ms (20%) of the steps nothing runs on the host."
    assert shown(profile, finding) == ["first", "third"]


def test_gaps_that_threads_take_to_wake() -> None:
    """A gap of 999 us, and one of 1,000."""
    assert not list(device_idle(ran(OPS, on_cpu(("first", 1000, 100), ("second", 2099, 100)))))
    assert list(device_idle(ran(OPS, on_cpu(("first", 1000, 100), ("second", 2100, 100)))))


def test_time_between_steps_is_of_no_step() -> None:
    assert not list(device_idle(ran(OPS, on_cpu(("first", 1000, 100)), on_cpu(("first", 90_000, 100)))))


def test_without_times_of_kernels_nothing_is_known() -> None:
    """Then the accelerator's tracing failed, and the host only launches."""
    run = {"/device:gpu:0": [("first", 1000, 10), ("second", 90_000, 10)]}
    assert not list(device_idle(ran(OPS, run)))
