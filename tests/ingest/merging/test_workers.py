"""Profiles of several workers in one: their mean, their sum, the slowest, and each by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from tests.sketches import profile_of
from tfprof_widget import merge
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.measures import measures
from tfprof_widget.profiles.options import Options
from tfprof_widget.profiles.tables import RecordedRuns

# a takes 10, 20 (mean 15) and 50 us; b takes 1 us in one of two steps of the fast worker, and 3 us on the slow one;
# c runs on the slow one only. Means are over all steps that are chosen, whether a node ran in them or not.
FAST = profile_of("""
    a = MatMul() 10us;20us 5flops 2x2
    b = Relu()   1us;-
""")
SLOW = profile_of("""
    a = MatMul() 50us 5flops 2x2
    b = Relu()   3us
    c = Add()    2us
""")
BOTH = merge({"slow": SLOW, "fast": FAST})


@dataclass
class Captured:
    """What a capture has that counts here."""

    profile: Profile


def costs(measure: str = "micros", **options: Any) -> list[Fraction]:
    found = measures(BOTH, Options.of(**options))
    return [Fraction(value, found.unit(measure)) for value in found.columns[measure].tolist()]


def test_the_steps_of_one_number_are_told_apart_by_worker() -> None:
    assert list(zip(BOTH.steps, BOTH.step_workers, strict=True)) == [(0, "fast"), (0, "slow"), (1, "fast")]


def test_the_mean_is_over_all_steps_of_all_workers() -> None:
    assert costs() == [Fraction(10 + 20 + 50, 3), Fraction(1 + 3, 3), Fraction(2, 3)]


def test_the_sum_is_that_of_what_each_worker_takes_a_step() -> None:
    assert costs(across_workers="sum") == [15 + 50, Fraction(1, 2) + 3, 2]
    assert costs("runs", across_workers="sum") == [2, Fraction(1, 2) + 1, 1]
    assert costs("float_ops", across_workers="sum") == [10, 0, 0]
    assert costs("params", across_workers="sum") == [4, 0, 0]


def test_the_slowest_worker_is_shown_as_a_whole() -> None:
    assert costs(across_workers="slowest") == [50, 3, 2]
    assert costs(across_workers="slowest", step=1) == [20, 0, 0]


def test_each_worker_can_be_shown_by_itself() -> None:
    assert costs(worker_regexes=["fast"]) == [15, Fraction(1, 2), 0]
    assert costs(worker_regexes=["s.*"]) == [50, 3, 2]


def test_a_step_is_that_step_of_every_worker_that_ran_it() -> None:
    assert costs(step=0) == [30, 2, 1]
    assert costs(step=0, across_workers="sum") == [60, 4, 2]
    assert costs(step=1) == [20, 0, 0]


def test_natives_clock_cuts_what_is_left_of_each_workers_mean() -> None:
    odd = merge({"one": profile_of("a = Op() 1us;2us"), "two": profile_of("a = Op() 4us")})
    found = measures(odd, Options.of(across_workers="sum", timing="tfprof"))
    assert found.columns["micros"].tolist() == [1 + 4]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"worker_regexes": ["medium"]}, r"worker_regexes \['medium'\] match no worker; .* are 'fast', 'slow'"),
        ({"worker_regexes": ["slow"], "step": 1}, "step 1 was run by no worker that worker_regexes match"),
        ({"step": 2}, "step 2 is not in the profile; its steps are 0, 1"),
    ],
)
def test_what_was_not_run_is_said(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        BOTH.view("op", **options)


def test_a_node_has_a_device_of_its_own_on_each_worker() -> None:
    workers = {
        f"worker {task}": profile_of(f"a = Op() {task + 1}us @/job:worker/task:{task}/cpu:0") for task in range(2)
    }
    both = merge(workers)
    types = {both.nodes.type_names[code] for code in both.nodes.types[0]}
    assert types == {"Op", "/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0"}
    assert [Fraction(value, 1000) for value in both.step_totals.cpu_nanos.tolist()] == [1, 2]


def test_workers_of_workers_have_both_names() -> None:
    nested = merge({"host": BOTH, "other": FAST})
    assert set(nested.step_workers) == {"host/fast", "host/slow", "other"}


def test_a_run_that_would_count_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"step 0: the same run is in two of the profiles .* merge each profile once"):
        merge([FAST, FAST])


def test_a_worker_needs_a_name() -> None:
    with pytest.raises(ValueError, match="a worker is called ''"):
        merge({"": FAST})


def test_a_capture_counts_as_its_profile() -> None:
    assert merge({"fast": Captured(FAST)}).step_workers == ("fast", "fast")


@pytest.mark.parametrize("given", [3, FAST, [3], {"a": 3}])
def test_what_is_no_profile_is_told(given: Any) -> None:
    with pytest.raises(ValueError, match="merge: got"):
        merge(given)


def test_nothing_merged_is_an_empty_profile() -> None:
    assert len(merge([]).nodes) == 0


def test_two_workers_are_compared_row_by_row_the_largest_difference_first() -> None:
    table = BOTH.compare("op")
    assert table.columns.tolist() == ["name", "fast", "slow", "difference", "ratio"]
    assert table[["name", "fast", "slow", "difference"]].to_numpy().tolist() == [
        ["MatMul", 15, 50, 35],
        ["Relu", 0.5, 3, 2.5],
        ["Add", 0, 2, 2],
    ]
    assert table.ratio.dropna().tolist() == [50 / 15, 6]  # there is none to nothing


def test_in_a_tree_a_row_costs_what_is_below_it_too() -> None:
    table = BOTH.compare("scope", "float_ops", show_name_regexes=["_TFProfRoot"])
    assert table.to_numpy().tolist() == [["_TFProfRoot", 5, 5, 0, 1]]


def test_of_several_workers_the_slowest_is_told_by_its_ratio_to_the_mean() -> None:
    three = merge({"host": BOTH, "idle": profile_of("a = MatMul() 1us")})
    table = three.compare("op", show_name_regexes=["MatMul"])
    assert table.columns.tolist() == ["name", "host/fast", "host/slow", "idle", "mean", "slowest_to_mean"]
    assert table.to_numpy().tolist() == [["MatMul", 15, 50, 1, 22, 50 / 22]]


def test_one_worker_is_not_compared() -> None:
    for profile in (FAST, merge({"alone": FAST})):
        with pytest.raises(ValueError, match="no two workers to compare; merge profiles by name first"):
            profile.compare()


def test_what_was_before_comes_first() -> None:
    table = merge({"after": FAST, "Before": SLOW}).compare("op")
    assert table.columns.tolist()[1:4] == ["Before", "after", "difference"]
    assert table.difference.tolist()[0] == 15 - 50


def test_workers_stand_in_the_order_of_their_numbers() -> None:
    many = merge({f"engine {number}": profile_of(f"a = Op() {number + 1}us") for number in (10, 2, 0)})
    assert many.compare().columns.tolist()[1:4] == ["engine 0", "engine 2", "engine 10"]


def test_names_with_the_signs_of_a_regex_are_names() -> None:
    odd = merge({"a.b": profile_of("a = Op() 3us"), "axb": profile_of("a = Op() 5us")})
    assert odd.compare().iloc[0].tolist() == ["Op", 3, 5, 2, 5 / 3]


@pytest.mark.parametrize(
    ("profiles", "options", "reason"),
    [
        ({"slow": SLOW, "fast": FAST}, {"step": 1}, "step and regexes leave one worker only, 'fast'"),
        ({"slow": SLOW, "name": FAST}, {}, "a worker is called 'name', as a column is"),
        ({"a": Profile.from_protos(), "b": Profile.from_protos()}, {}, "nothing ran in these profiles"),
    ],
)
def test_what_cannot_be_compared_is_told(profiles: Any, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        merge(profiles).compare(**options)


@pytest.mark.parametrize("name", [1, None, "a\n", "\ud800"])
def test_a_name_that_no_one_can_read_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="a worker is called"):
        merge({name: FAST})


def test_two_workers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two of the workers are called 'host/fast'"):
        merge({"host": BOTH, "host/fast": SLOW})


def test_of_workers_that_take_as_long_the_first_by_name_is_the_slowest() -> None:
    even = merge({"b": profile_of("x = Op() 5us\ny = Op() 1us"), "a": profile_of("x = Op() 1us\ny = Op() 5us")})
    found = measures(even, Options.of(across_workers="slowest"))
    assert [value // found.time_scale for value in found.columns["micros"].tolist()] == [1, 5]


def test_the_device_of_a_node_is_the_first_workers() -> None:
    tasks = {f"worker {task}": profile_of(f"a = Op() 1us @/job:worker/task:{task}/cpu:0") for task in (1, 0)}
    both = merge(tasks)
    assert both.nodes.devices[both.nodes.device[0]] == "/job:worker/task:0/cpu:0"


def test_a_profile_that_does_not_tell_its_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="does not say to which runs its executions belong"):
        merge([replace(FAST, runs=RecordedRuns.none())])
