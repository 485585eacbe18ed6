"""The scope view: the tree of name parts."""

from __future__ import annotations

import pytest

from tests.sketches import drawing, drawn, drawn_tree, profile_of
from tfprof_widget.engine.scope import scope_tree


def test_a_scope_that_is_no_node_is_made_up() -> None:
    assert drawn_tree(scope_tree(["a/b/c", "a/b/d", "e"])) == drawing("""
        _TFProfRoot
          a
            a/b
              a/b/c
              a/b/d
          e
    """)


def test_a_node_may_have_nodes_below_it() -> None:
    assert drawn_tree(scope_tree(["w", "w/read"])) == drawing("""
        _TFProfRoot
          w
            w/read
    """)


def test_siblings_stand_in_byte_order_and_each_right_before_what_is_inside() -> None:
    # By bytes "a-b" and "a.b" come before "a/c", by tree after it: "a" has its own first.
    assert drawn_tree(scope_tree(["a", "a-b", "a.b", "a/c", "a0"])) == drawing("""
        _TFProfRoot
          a
            a/c
          a-b
          a.b
          a0
    """)


@pytest.mark.parametrize("control", ["\0", "\1", "\n"])
def test_no_character_sorts_before_the_end_of_a_part(control: str) -> None:
    names = sorted(["a", f"a{control}", f"a{control}/b", "a/c"])
    assert scope_tree(names).names == ("_TFProfRoot", "a", "a/c", f"a{control}", f"a{control}/b")


def test_names_need_not_be_ascii() -> None:
    assert scope_tree(["été/neige", "日本/語"]).names == ("_TFProfRoot", "été", "été/neige", "日本", "日本/語")


def test_empty_parts_are_parts() -> None:
    tree = scope_tree(["/a", "b//c"])
    assert list(zip(tree.names, tree.parent.tolist(), strict=True)) == [
        ("_TFProfRoot", -1),
        ("", 0),
        ("/a", 1),
        ("b", 0),
        ("b/", 3),
        ("b//c", 4),
    ]


def test_of_no_names_there_is_only_the_root() -> None:
    assert scope_tree([]).names == ("_TFProfRoot",)


MODEL = """
    conv/w      = VariableV2() 3us 2x5
    conv/Conv2D = Conv2D(conv/w) 20us
    conv        = NoOp() 100us
    loss        = Mean(conv/Conv2D) 7us
"""


def test_totals_are_own_and_everything_below() -> None:
    assert drawn(profile_of(MODEL).view("scope"), "micros", "params") == drawing("""
        _TFProfRoot 0/130 0/10
          conv 100/123 0/10
            conv/Conv2D 20/20 0/0
            conv/w 3/3 10/10
          loss 7/7 0/0
    """)


def test_what_is_not_accounted_stays_for_what_is_below_it_and_then_adds_its_own() -> None:
    view = profile_of(MODEL).view("scope", account_type_regexes=["Conv2D"])
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/120
          conv 100/120
            conv/Conv2D 20/20
    """)
    assert view.accounted.tolist() == [False, False, True]


def test_made_up_scopes_have_a_type_of_their_own() -> None:
    profile = profile_of("a/b = Op() 5us")
    assert profile.view("scope", account_type_regexes=["_kTFScopeParent"]).accounted.tolist() == [False, True]
    assert profile.view("scope", account_type_regexes=["Op"]).accounted.tolist() == [False, False, True]
