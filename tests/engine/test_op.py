"""The op view: a row an op type, each total its own and that of all rows after it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sketches import drawing, drawn, profile_of

MODEL = """
    a = Add() 1us
    b = MatMul() 10us 5x5
    c = MatMul() 20us +mine
    d = Relu() 5us
    e = Add() 2us
    f = Never()
    g = Relu()
    h = Relu()
"""


def shown(**options: Any) -> str:
    return drawn(profile_of(MODEL).view("op", **options), "micros")


def test_types_in_byte_order_with_totals_from_each_row_on() -> None:
    assert shown() == drawing("""
        Add 3/38
        MatMul 30/35
        Never 0/5
        Relu 5/5
    """)


def test_the_costliest_first() -> None:
    assert shown(order_by="micros") == drawing("""
        MatMul 30/38
        Relu 5/8
        Add 3/3
        Never 0/0
    """)


def test_by_the_number_of_graph_nodes_with_ties_in_byte_order() -> None:
    assert shown(order_by="occurrence") == drawing("""
        Relu 5/38
        Add 3/33
        MatMul 30/30
        Never 0/0
    """)


def test_depth_is_a_number_of_rows_below_the_first() -> None:
    assert shown(max_depth=0) == "Add 3/38"
    assert shown(max_depth=1, order_by="micros") == "MatMul 30/38\nRelu 5/8"


def test_start_and_trim_cut_the_list_before_and_from_a_row() -> None:
    assert shown(start_name_regexes=["Mat.*"], trim_name_regexes=["Relu"]) == drawing("""
        MatMul 30/35
        Never 0/5
    """)
    assert shown(start_name_regexes=["nothing"]) == ""
    assert shown(start_name_regexes=[]) == shown()


def test_the_depth_is_counted_from_the_start_row() -> None:
    assert shown(start_name_regexes=["Never"], max_depth=1) == "Never 0/5\nRelu 5/5"


def test_show_and_hide_leave_the_totals_alone() -> None:
    assert shown(show_name_regexes=["A.*", "R.*"], hide_name_regexes=["Add"]) == "Relu 5/5"
    assert shown(hide_name_regexes=["Add"]).splitlines()[0] == "MatMul 30/35"


def test_totals_of_what_is_shown_only() -> None:
    assert shown(hide_name_regexes=["MatMul"], account_displayed_op_only=True) == drawing("""
        Add 3/8
        Never 0/5
        Relu 5/5
    """)


def test_thresholds_look_at_the_total_and_at_the_number_of_graph_nodes() -> None:
    assert shown(min_micros=6) == "Add 3/38\nMatMul 30/35"
    assert shown(min_params=1) == "Add 3/38\nMatMul 30/35"
    assert shown(min_occurrence=3) == "Relu 5/5"


def test_only_what_is_accounted_is_in_a_row() -> None:
    assert shown(account_type_regexes=["mine"]) == "MatMul 20/20"
    assert shown(account_type_regexes=["nothing"]) == ""


@pytest.mark.parametrize(("timing", "micros"), [("exact", 20), ("tfprof", 40)])
def test_two_regexes_for_one_node_count_it_twice_by_natives_clock_only(timing: str, micros: int) -> None:
    assert shown(account_type_regexes=["mine", "Mat.*"], timing=timing) == f"MatMul {10 + micros}/{10 + micros}"


def test_the_grand_total_is_there_though_no_row_is() -> None:
    view = profile_of(MODEL).view("op", hide_name_regexes=[".*"])
    assert len(view) == 0
    assert view.grand_total["micros"][0] == 38 * view.time_scale
    alone = profile_of(MODEL).view("op", hide_name_regexes=[".*"], account_displayed_op_only=True)
    assert alone.grand_total["micros"][0] == 0


def test_a_threshold_is_reached_by_what_equals_it() -> None:
    assert shown(min_micros=35) == "Add 3/38\nMatMul 30/35"
    assert shown(min_micros=36) == "Add 3/38"


def test_devices_are_those_of_any_node_of_a_type() -> None:
    profile = profile_of("""
        a = Add() 1us @/gpu:0
        b = Add() 2us @/gpu:1
        c = Mul() 4us @/gpu:1
        d = Never()
    """)
    assert profile.view("op", device_regexes=[".*gpu:0"]).names == ("Add",)
    assert profile.view("op", device_regexes=[".*gpu:1"]).names == ("Add", "Mul")
    assert profile.view("op", device_regexes=[""]).names == ("Never",)


def test_a_row_has_the_nodes_that_it_counts() -> None:
    view = profile_of(MODEL).view("op", account_type_regexes=["mine", "Relu"])
    names = view.profile.nodes.names
    assert [[names[node] for node in view.members_of(row)] for row in range(len(view))] == [["c"], ["d", "g", "h"]]
    assert view.total["definitions"].tolist() == [4, 3]


@pytest.mark.parametrize("order", ["micros", "occurrence"])
def test_any_number_of_ties_stay_in_byte_order(order: str) -> None:
    """Sorts that are not stable leave a few ties alone, but not sixty."""
    ops = [f"Op{number:02}" for number in range(60)]
    nodes = [f"{op} = {op}() 1us" for op in ops] + [f"{op}_1 = {op}() 1us" for op in ops[::2]]
    view = profile_of("\n".join(nodes)).view("op", order_by=order, max_depth=100)
    assert list(view.names) == ops[::2] + ops[1::2]


def test_nodes_of_many_types_are_found_in_order_of_their_names() -> None:
    nodes = [f"n{number:02} = {'AB'[number % 2]}() 1us" for number in range(60)]
    tree = profile_of("\n".join(nodes)).view("op").forest.tree
    assert tree.rows.tolist() == [*range(0, 60, 2), *range(1, 60, 2)]
