"""From a profile and options to a view: what is kept between views never shows."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from tests.sketches import drawn, profile_of
from tfprof_widget.errors import ProfileError
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
    profile = profile_of(MODEL)
    for number in range(300):
        profile.view("scope", account_type_regexes=[f"Add{number}|Const"], show_name_regexes=[f"a{number}.*"])
    first = {key: len(kept) for key, kept in profile._memory.items() if hasattr(kept, "__len__")}
    for number in range(300, 600):
        profile.view("scope", account_type_regexes=[f"Add{number}|Const"], show_name_regexes=[f"a{number}.*"])
    assert {key: len(kept) for key, kept in profile._memory.items() if hasattr(kept, "__len__")} == first


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
