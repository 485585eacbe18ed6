"""Op-type costs of what a view displays, and the bars of their chart; js/src/analysis tests the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.charts.costs import Costs, cost_rows

MODEL = """
    a/conv = Conv2D() 60us 6000flops 100B | train.py:1:main
    a/relu = Relu() 20us 50B | train.py:2:main
    b/conv = Conv2D() 20us 2000flops 100B | train.py:1:main
    b/never = Conv2D() 1000flops | train.py:1:main
"""


def bars(profile: Profile, view: str = "scope", metric: str = "time", **options: Any) -> list[tuple[str, str]]:
    return [(row["name"], row["label"]) for row in cost_rows(Costs.of(profile.view(view, **options)), metric)]


@pytest.mark.parametrize("view", ["scope", "graph", "op", "code"])
def test_every_view_of_everything_gives_the_same_costs(view: str) -> None:
    assert bars(profile_of(MODEL), view) == [("Conv2D", "80 µs"), ("Relu", "20")]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("memory", [("Conv2D", "200 B"), ("Relu", "50")]),
        ("count", [("Conv2D", "2"), ("Relu", "1")]),
        # What never ran has no time to set its float ops against.
        ("rate", [("Conv2D", "100 MFLOP/s")]),
    ],
)
def test_each_metric(metric: str, expected: list[tuple[str, str]]) -> None:
    assert bars(profile_of(MODEL), metric=metric) == expected


def test_only_what_is_displayed_counts() -> None:
    profile = profile_of(MODEL)
    assert bars(profile, min_micros=30) == [("Conv2D", "60 µs")]
    assert bars(profile, "code", hide_name_regexes=[".*:1:.*"]) == [("Relu", "20 µs")]
    assert bars(profile, max_depth=1) == []


def test_nodes_are_counted_where_nothing_ran() -> None:
    assert bars(profile_of("a = Add()\nb = Mul()\nc = Mul()"), metric="count") == [("Mul", "2"), ("Add", "1")]


def test_the_cheapest_of_many_types_are_one_bar() -> None:
    many = profile_of("\n".join(f"n{size} = Op{size:02}() {size}us" for size in range(1, 15)))
    found = cost_rows(Costs.of(many.view("op")), "time")
    assert [row["name"] for row in found] == [f"Op{size:02}" for size in range(14, 2, -1)] + ["others (2 types)"]
    assert (found[-1]["label"], found[-1]["share"], found[-1]["nodes"]) == ("3", "2.9 %", "2")


def test_the_rate_of_the_others_is_that_of_their_sums() -> None:
    fast = "\n".join(f"n{size:02} = Op{size:02}() 1us 1000flops" for size in range(12))
    slow = profile_of(f"{fast}\ns1 = Slow1() 10us 20flops\ns2 = Slow2() 30us 20flops")
    assert bars(slow, metric="rate")[-1] == ("others (2 types)", "0.001")


def test_the_least_are_said_with_fewer_digits_than_the_largest_but_never_as_nothing() -> None:
    skewed = profile_of("a = A() 2980us\nb = B() 135us\nc = C() 4us\nd = D() 1ns")
    assert bars(skewed, "op") == [("A", "2.98 ms"), ("B", "0.14"), ("C", "0.004"), ("D", "<0.001")]


def test_processors_are_pieces_of_a_bar() -> None:
    profile = profile_of("a = Conv2D() 60us\nb = Relu() 20us")
    totals = profile.step_totals
    profile = replace(
        profile, step_totals=replace(totals, accelerator_nanos=totals.cpu_nanos // 2 * (totals.node == 0))
    )
    found = cost_rows(Costs.of(profile.view("op")), "time")
    assert [(row["name"], row["part"], row["exact"], row["label"]) for row in found] == [
        ("Conv2D", "CPU", "60 µs", "90 µs"),
        ("Conv2D", "accelerator", "30 µs", ""),
        ("Relu", "CPU", "20 µs", "20"),
    ]


def test_half_runs_of_a_mean_are_said() -> None:
    found = cost_rows(Costs.of(profile_of("a = Add() 1us+2us;3us").view("op")), "time")
    assert (found[0]["runs"], found[0]["exact"]) == ("1.5", "3 µs")
