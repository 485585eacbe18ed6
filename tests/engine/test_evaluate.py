"""From a profile and options to a view: what is kept between views never shows."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from random import Random
from typing import Any

import pytest

from tests.sketches import drawn, profile_of
from tfprof_widget.engine.matching import KEPT_MASKS, Names
from tfprof_widget.errors import ProfileError
from tfprof_widget.memory import RECENT
from tfprof_widget.options import VIEWS

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
    """Of a hundred steps and regexes the few asked for last are held, and what is always needed: trees and types."""
    profile = profile_of("a = Add() " + ";".join(["1us"] * 100))
    forests = []
    for step in range(100):
        options: dict[str, Any] = {"step": step, "account_type_regexes": [f"x{step}|Add"]}
        forests.append(weakref.ref(profile.view("scope", show_name_regexes=[f"a|x{step}"], **options).forest))
    gc.collect()
    assert 0 < sum(forest() is not None for forest in forests) <= RECENT
    assert len(profile.memory._recent) <= RECENT
    assert len(profile.memory._kept) == 2


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
    with pytest.raises(ProfileError, match=r"^code view: the profile has no code traces; give an op_log with traces"):
        profile_of("a = Op()").view("code")


@pytest.mark.parametrize("view", ["", "scopes", None])
def test_an_unknown_view_is_told_the_known_ones(view: Any) -> None:
    with pytest.raises(ValueError, match="choose from scope, graph, op, code"):
        profile_of("a = Op()").view(view)


def test_a_column_that_is_no_measure_is_a_key_error() -> None:
    view = profile_of(MODEL).view("op")
    with pytest.raises(KeyError):
        view.own["definitions"]
    assert "micros" in view.total
    assert len(view.total) == len(list(view.total))
