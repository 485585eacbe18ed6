"""From a profile and options to a view: what is kept between views never shows."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from random import Random
from typing import Any

import pytest

from tests.made import changed
from tests.sketches import drawn, profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.evaluate import check_options, view_tree
from tfprof_widget.engine.matching import KEPT_MASKS, Names
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import RECENT
from tfprof_widget.profiles.options import OPTIONS, VIEWS, Options

MODEL = """
    s/a  = Add(s/b, c) 5us;7us 4flops +mine | main.py:1:main > model.py:1:f
    s/b  = Const() 1500ns;900ns 2x3         | main.py:1:main > model.py:2:f
    c    = Add() 3us;1us                    | main.py:2:main
"""
CHANGES: list[dict[str, Any]] = [
    {},
    {"order_by": "micros"},
    {"order_by": "micros", "min_micros": 2},
    {"hide_name_regexes": ["s", "Add", "main.*"]},
    {"account_type_regexes": ["Add"]},
    {"account_type_regexes": ["Add", "mine"]},
    {"account_displayed_op_only": True, "max_depth": 2, "order_by": "bytes"},
    {"step": 0},
    {"step": 1, "timing": "tfprof"},
    {"timing": "tfprof", "account_type_regexes": ["Add", "mine"]},
    {"start_name_regexes": ["s/.*", "Add", ".*model.*"]},
]


def test_views_in_any_order_are_as_if_each_were_the_first() -> None:
    asked = list(product(VIEWS, CHANGES))
    alone = [drawn(profile_of(MODEL).view(view, **options), "micros", "float_ops") for view, options in asked]
    profile = profile_of(MODEL)
    for _ in range(3):
        order = Random(_).sample(range(len(asked)), len(asked))
        for index in order:
            view, options = asked[index]
            assert drawn(profile.view(view, **options), "micros", "float_ops") == alone[index], asked[index]


def test_what_is_kept_is_bounded() -> None:
    """Of a hundred steps and regexes the few asked for last are held, and what all need: trees, types, rows by step."""
    profile = profile_of("a = Add() " + ";".join(["1us"] * 100))
    forests = []
    for step in range(100):
        options: dict[str, Any] = {"step": step, "account_type_regexes": [f"x{step}|Add"]}
        forests.append(weakref.ref(profile.view("scope", show_name_regexes=[f"a|x{step}"], **options).forest))
    gc.collect()
    assert 0 < sum(forest() is not None for forest in forests) <= RECENT
    assert len(profile.cache._recent) <= RECENT
    assert len(profile.cache._kept) == 4


def test_a_regex_typed_letter_by_letter_is_forgotten() -> None:
    names = Names(["a", "b"])
    for number in range(1000):
        names.matching("show_name_regexes", [f"a{number}"])
    assert len(names._masks) <= KEPT_MASKS


def test_threads_that_ask_at_once_get_whole_answers() -> None:
    profile = profile_of(MODEL)
    alone = drawn(profile_of(MODEL).view("scope"), "micros")

    def ask(number: int) -> bool:
        return all(
            drawn(profile.view("scope", hide_name_regexes=[f"x{number}{step}"]), "micros") == alone
            for step in range(80)
        )

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(ask, range(6)))


def test_a_code_view_without_traces_says_what_is_missing() -> None:
    missing = "code view: the profile has no code traces; give an op_log with traces, or the tf.Graph itself"
    with pytest.raises(ProfileError, match=f"^{missing}$"):
        profile_of("a = Op()").view("code")


def test_a_code_view_of_ops_that_ran_one_by_one_says_what_to_do() -> None:
    eager = changed(profile_of("a = Op() 1us"), step_names=("eager ops",))
    with pytest.raises(ProfileError, match=r"^code view: no lines are known of .*; put them into a tf\.function"):
        eager.view("code")


@pytest.mark.parametrize("view", ["", "scopes", None])
def test_an_unknown_view_is_told_the_known_ones(view: Any) -> None:
    with pytest.raises(ValueError, match="choose from scope, graph, op, code"):
        profile_of("a = Op()").view(view)


def test_a_column_that_is_no_measure_is_a_key_error() -> None:
    view = profile_of(MODEL).view("op")
    with pytest.raises(KeyError, match="definitions"):
        view.own["definitions"]
    assert "micros" in view.total
    assert len(view.total) == len(list(view.total))


EVERY_VIEW = pytest.mark.parametrize("view", VIEWS)
REGEXES = [option.name for option in OPTIONS if option.kind == "regexes"]


@EVERY_VIEW
@pytest.mark.parametrize("option", REGEXES)
def test_a_regex_that_is_refused_is_told_with_its_option(view: str, option: str) -> None:
    with pytest.raises(ValueError, match=rf"^{option}: RE2 refuses 'a\('"):
        profile_of(MODEL).view(view, **{option: ["Add", "a("]})


@pytest.mark.parametrize("option", REGEXES)
def test_options_are_checked_without_a_view(option: str) -> None:
    check_options(profile_of(MODEL), Options.of(**{option: [".*", "", "step.*|"]}))
    with pytest.raises(ValueError, match=rf"^{option}: RE2 refuses 'a\('"):
        check_options(profile_of(MODEL), Options.of(**{option: [".*", "a("]}))


@EVERY_VIEW
@pytest.mark.parametrize("types", [[".*"], ["Add"], ["mine"], []])
def test_a_tree_is_in_preorder_under_one_root_and_its_rows_are_a_range_a_place(view: str, types: list[str]) -> None:
    profile = profile_of(MODEL)
    forest = profile.view(view, account_type_regexes=types).forest
    for tree in (view_tree(profile, view), forest.tree):
        parents, starts = tree.parent.tolist(), tree.row_start.tolist()
        assert parents[0] == -1
        assert all(0 <= parent < place for place, parent in enumerate(parents[1:], 1))
        assert starts == sorted(starts)
        assert starts[0] == starts[1] == 0  # the root stands for no node
        assert starts[-1] == len(tree.rows)
    assert len(forest.weight) == len(forest.tree.rows)
    assert forest.accounted[0] == 0


@EVERY_VIEW
@pytest.mark.parametrize("types", [[".*"], ["Add"], []])
@pytest.mark.parametrize("displayed_only", [False, True])
def test_what_is_counted_has_64_bits_and_what_is_numbered_32(view: str, types: list[str], displayed_only: bool) -> None:
    """A double in between would round what is beyond 2**53."""
    profile = profile_of(MODEL)
    found = profile.view(view, account_type_regexes=types, account_displayed_op_only=displayed_only)
    for tree in (view_tree(profile, view), found.forest.tree):
        assert [each.dtype.name for each in (tree.parent, tree.rows, tree.row_start)] == ["int32", "int32", "int64"]
    assert [each.dtype.name for each in (found.forest.accounted, found.forest.weight)] == ["bool", "int64"]
    columns = [*found.own.values(), *found.total.values(), *found.grand_total.values()]
    assert {column.dtype.name for column in columns} == {"int64"}
    assert profile.view("op", hide_name_regexes=[".*"]).grand_total["runs"].dtype.name == "int64"


@EVERY_VIEW
def test_a_grand_total_has_one_entry_at_least_which_is_the_roots(view: str) -> None:
    # s/a costs 5 and 7 microseconds in two steps, s/b 1.5 and 0.9, c 3 and 1.
    for options, micros in (({}, 9.2), ({"step": 1}, 8.9), ({"hide_name_regexes": [".+"]}, 9.2)):
        found = profile_of(MODEL).view(view, **options)
        assert found.grand_total["micros"][0] / found.time_scale == micros
        assert view == "op" or len(found.grand_total["micros"]) == 1


def test_a_profile_of_nothing_has_views_of_nothing() -> None:
    profile = Profile.from_protos(b"")
    for view in ("scope", "graph", "op"):
        for types in ([".*"], ["Add"]):
            found = profile.view(view, account_type_regexes=types)
            assert found.names == (() if view == "op" else ("_TFProfRoot",))
            assert found.grand_total["micros"].tolist() == [0]
