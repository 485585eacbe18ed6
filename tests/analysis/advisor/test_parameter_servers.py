"""How balanced parameter servers are, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import only, ran, shown
from tfprof_widget.analysis.advisor.cluster import parameter_servers

PS0, PS1 = "/job:ps/replica:0/task:0/cpu:0", "/job:ps/replica:0/task:1/cpu:0"
WORKER = "/job:worker/replica:0/task:0/cpu:0"
OPS = {"embedding": "VariableV2", "dense": "VariableV2", "train": "MatMul"}


def run(first: int, second: int, worker: int = 1000) -> dict[str, list[tuple[str, int, int]]]:
    """The microseconds that each takes."""
    return {PS0: [("embedding", 1000, first)], PS1: [("dense", 1000, second)], WORKER: [("train", 1000, worker)]}


def test_one_holds_twice_as_many_parameters_as_the_other() -> None:
    """As in the tfprof documents, by their figures: 17.2 and 8.6 million."""
    profile = ran(OPS, run(1, 1), shapes={"embedding": [17_200, 1000], "dense": [8_600, 1000]})
    finding = only(parameter_servers(profile))
    assert finding.cause == (
        "Parameter server /job:ps/replica:0/task:0 holds 17.2 M parameters; the average of the 2 servers is 12.9 M."
    )
    assert shown(profile, finding) == ["embedding"]


def test_as_balanced_as_it_should_be() -> None:
    """125,000 are less than 1.25 times the mean of 125,000 and 80,000."""
    assert not list(parameter_servers(ran(OPS, run(1, 1), shapes={"embedding": [125_000], "dense": [80_000]})))


def test_at_a_quarter_more_than_the_mean() -> None:
    """125,000 are 1.25 times the mean of 125,000 and 75,000."""
    assert list(parameter_servers(ran(OPS, run(1, 1), shapes={"embedding": [125_000], "dense": [75_000]})))


def test_few_parameters_travel_in_no_time() -> None:
    assert not list(parameter_servers(ran(OPS, run(1, 1), shapes={"embedding": [99_999], "dense": [1]})))
    assert list(parameter_servers(ran(OPS, run(1, 1), shapes={"embedding": [100_000], "dense": [1]})))


def test_one_works_longer_than_the_other() -> None:
    profile = ran(OPS, run(300, 100))
    finding = only(parameter_servers(profile))
    assert finding.cause == (
        "Parameter server /job:ps/replica:0/task:0 works 300 µs a step; the average of the 2 servers is 200 µs."
    )
    assert shown(profile, finding) == ["embedding"]


def test_work_that_steps_do_not_wait_for() -> None:
    """99 us are less than a tenth of the 1,000 us that the worker takes."""
    assert not list(parameter_servers(ran(OPS, run(99, 1))))
    assert list(parameter_servers(ran(OPS, run(100, 1))))


def test_a_single_server_has_nobody_to_share_with() -> None:
    alone = {PS0: [("embedding", 1000, 500)], WORKER: [("train", 1000, 1000)]}
    assert not list(parameter_servers(ran(OPS, alone, shapes={"embedding": [17_200, 1000]})))


def test_workers_are_no_servers() -> None:
    uneven = {WORKER: [("embedding", 1000, 500)], WORKER.replace("task:0", "task:1"): [("dense", 1000, 1)]}
    assert not list(parameter_servers(ran(OPS, uneven, shapes={"embedding": [17_200, 1000]})))


def test_work_of_several_threads_at_once_is_no_longer_than_the_step() -> None:
    """Two ops of 300 us each run side by side on the first server: it works for 300 us of a step of 1,000."""
    at_once = {**run(300, 100), PS0: [("embedding", 1000, 300), ("more", 1000, 300)]}
    finding = only(parameter_servers(ran({**OPS, "more": "MatMul"}, at_once)))
    assert "works 300 µs a step; the average of the 2 servers is 200 µs" in finding.cause
