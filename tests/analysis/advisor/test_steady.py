"""Which steps and executions the checkers look at, and stretches of time, drawn."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.advisor.findings import on_cpu, ran
from tfprof_widget.analysis.advisor.finding import Evidence, Finding
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.lib.intervals import Intervals

OPS = {"dense": "MatMul", "loss": "Sum"}


def intervals(text: str) -> Intervals:
    """As it is drawn: 0-4 5-6."""
    bounds = np.array([each.split("-") for each in text.split()], np.int64).reshape(-1, 2)
    return Intervals.of(bounds[:, 0], bounds[:, 1])


@pytest.mark.parametrize(
    ("given", "drawn"),
    [
        ("", ""),
        ("0-3", "0-3"),
        ("0-3 3-5", "0-5"),
        ("0-9 1-2 3-4", "0-9"),
        ("5-6 0-1 0-2", "0-2 5-6"),
    ],
)
def test_what_overlaps_or_touches_is_one(given: str, drawn: str) -> None:
    assert intervals(given).drawn() == drawn


@pytest.mark.parametrize(
    ("one", "other", "drawn"),
    [
        ("0-9", "", "0-9"),
        ("", "0-9", ""),
        ("0-9", "0-9", ""),
        ("0-9", "2-3 5-20", "0-2 3-5"),
        ("2-3 6-8", "0-5", "6-8"),
        ("0-4 6-9", "3-7", "0-3 7-9"),
    ],
)
def test_one_without_another(one: str, other: str, drawn: str) -> None:
    assert intervals(one).without(intervals(other)).drawn() == drawn


def test_the_length_and_the_long_ones() -> None:
    assert intervals("0-4 6-8").length == 6
    assert intervals("0-4 6-8").at_least(3).drawn() == "0-4"
    assert intervals("").length == 0


@pytest.mark.parametrize(
    ("names", "steps", "options"),
    [
        (("", "", ""), [0, 1, 2], {}),
        (("eager ops", "fit (warm-up)", "fit"), [2], {"run_name_regexes": ["fit"]}),
        (("eager ops", "fit (warm-up)", "fit (warm-up)"), [0, 1, 2], {}),
        (("fit", "evaluate", "fit (warm-up)"), [0, 1], {"run_name_regexes": ["evaluate", "fit"]}),
    ],
)
def test_steps_that_count(names: tuple[str, ...], steps: list[int], options: object) -> None:
    runs = [on_cpu(("dense", 1000 * number, 10)) for number in (1, 2, 3)]
    steady = SteadySteps.of(ran(OPS, *runs, step_names=names))
    assert steady.steps.tolist() == steps
    assert steady.options == options


def test_steps_take_from_their_first_start_to_their_last_end() -> None:
    """Two steps, of which one has no op for a while; an execution without a start is of no time."""
    profile = ran(OPS, on_cpu(("dense", 10, 5), ("loss", 20, 5), ("loss", 0, 900)), on_cpu(("dense", 100, 5)))
    assert SteadySteps.of(profile).wall.drawn() == "10000-25000 100000-105000"


def test_a_profile_without_steps() -> None:
    steady = SteadySteps.of(ran(OPS))
    assert (steady.wall.length, steady.share(np.ones(2, np.bool_)), steady.of_wall(0)) == (0, 0.0, 0.0)


def test_a_finding_is_a_report_that_says_where_to_look() -> None:
    evidence = Evidence("scope", {"show_name_regexes": ["a b", "c"], "max_depth": 3}, ("a b", "d"))
    assert str(Finding("It is slow.", evidence, "Hurry.")) == (
        "It is slow.\n  fix: Hurry.\n  see: scope -show_name_regexes 'a b,c' -max_depth 3\n  rows: a b, d"
    )


def test_evidence_has_a_view_and_options_that_there_are() -> None:
    with pytest.raises(ValueError, match="view has no 'scop'"):
        Evidence("scop")
    with pytest.raises(ValueError, match="did you mean 'min_micros'"):
        Evidence("scope", {"min_micro": 1})


def test_a_stretch_that_ends_before_it_starts_is_over_at_once() -> None:
    assert Intervals.of(np.array([9, 0, 2]), np.array([-5, 3, 4])).drawn() == "0-4 9-9"


def test_executions_of_steady_steps_between_others() -> None:
    """The first and the last are not looked at, nor is what is in between them without a start."""
    runs = [on_cpu(("dense", start, 5), ("loss", start + 10, 5)) for start in (100, 200, 300, 400)]
    steady = SteadySteps.of(ran(OPS, *runs, step_names=("fit (warm-up)", "fit", "eager ops", "fit")))
    assert steady.start.tolist() == [200_000, 210_000, 400_000, 410_000]
    assert steady.wall.drawn() == "200000-215000 400000-415000"
    assert (steady.runs.tolist(), steady.nanos.tolist()) == ([2, 2], [10_000, 10_000])
