"""Functions that are traced again, on the names that capturing gives to steps."""

from __future__ import annotations

from collections.abc import Sequence

from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.cell_time import retracing
from tfprof_widget.api.profile import Profile


def named(*names: str) -> Profile:
    """A step a name."""
    runs = [on_cpu(("dense", 1000 * step, 10)) for step in range(1, len(names) + 1)]
    return ran({"dense": "MatMul"}, *runs, step_names=names)


def calls(traced: int, others: int) -> Sequence[str]:
    return ["train (warm-up)"] * traced + ["train"] * others


def test_three_of_thirty_calls_traced() -> None:
    profile = named(*calls(3, 27))
    finding = only(retracing(profile))
    assert finding.cause == (
        "train was built in 3 of 30 recorded calls, and building takes many times as long as a call."
    )
    assert finding.evidence.options["run_name_regexes"] == [r"train\ \(warm\-up\)"]
    assert shown(profile, finding) == ["_TFProfRoot", "dense"]


def test_three_of_more() -> None:
    assert not list(retracing(named(*calls(3, 28))))


def test_the_first_batch_and_a_smaller_last_one() -> None:
    assert not list(retracing(named(*calls(2, 2))))


def test_several_functions_traced_once_each() -> None:
    assert not list(retracing(named("a (warm-up)", "b (warm-up)", "c (warm-up)", "d (warm-up)")))


def test_the_runs_of_a_session_have_no_names() -> None:
    assert not list(retracing(ran({"dense": "MatMul"}, *[on_cpu(("dense", 1000, 10))] * 5)))
