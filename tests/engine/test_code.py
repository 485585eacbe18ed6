"""The code view: the tree of Python frames, gradients under the lines of what they are gradients of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sketches import drawing, drawn, profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.code import forward_name, frame_name


def test_nodes_of_one_line_are_one_row() -> None:
    view = profile_of("""
        a = Op() 1us | main.py:3:main > model.py:7:layer
        b = Op() 2us | main.py:3:main > model.py:7:layer
        c = Op() 4us | main.py:3:main > model.py:9:layer
    """).view("code")
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/7
          main.py:3:main 0/7
            model.py:7:layer 3/3
            model.py:9:layer 4/4
    """)
    names = view.profile.nodes.names
    assert [names[node] for node in view.members_of(2)] == ["a", "b"]


def test_a_frame_is_one_place_under_each_caller() -> None:
    assert drawn(
        profile_of("""
            a = Op() 1us | main.py:3:main > ops.py:1:add
            b = Op() 2us | main.py:4:main > ops.py:1:add
        """).view("code"),
        "micros",
    ) == drawing("""
        _TFProfRoot 0/3
          main.py:3:main 0/1
            ops.py:1:add 1/1
          main.py:4:main 0/2
            ops.py:1:add 2/2
    """)


def test_a_line_may_make_nodes_itself_and_by_what_it_calls() -> None:
    assert drawn(
        profile_of("""
            a = Op() 1us | main.py:3:main
            b = Op() 2us | main.py:3:main > ops.py:1:add
        """).view("code"),
        "micros",
    ) == drawing("""
        _TFProfRoot 0/3
          main.py:3:main 1/3
            ops.py:1:add 2/2
    """)


def test_a_recursive_function_nests_in_itself() -> None:
    assert drawn(profile_of("a = Op() 1us | f.py:1:f > f.py:1:f > f.py:1:f").view("code"), "micros") == drawing("""
        _TFProfRoot 0/1
          f.py:1:f 0/1
            f.py:1:f 0/1
              f.py:1:f 1/1
    """)


def test_ties_stand_in_the_order_of_the_visit_and_names_in_byte_order() -> None:
    profile = profile_of("""
        a = Op() 1us | z.py:1:f
        b = Op() 1us | y.py:1:f
    """)
    assert profile.view("code", order_by="micros").names == ("_TFProfRoot", "z.py:1:f", "y.py:1:f")
    assert profile.view("code", order_by="name").names == ("_TFProfRoot", "y.py:1:f", "z.py:1:f")


def test_gradients_stand_under_the_lines_of_what_they_are_gradients_of() -> None:
    assert drawn(
        profile_of("""
            conv                            = Conv2D() 1us | model.py:7:layer > ops.py:1:conv
            gradients/conv_grad/Backprop    = Op() 2us | train.py:5:minimize
            gradients/conv_grad/Filter      = Op() 4us | train.py:5:minimize
            opt/gradients/conv_grad/x/y     = Op() 8us | train.py:6:again
            gradients/nowhere_grad/Backprop = Op() 16us | train.py:5:minimize
        """).view("code"),
        "micros",
    ) == drawing("""
        _TFProfRoot 0/15
          model.py:7:layer 0/1
            ops.py:1:conv 1/1
          model.py:7:layer (gradient) 0/14
            ops.py:1:conv (gradient) 14/14
    """)


def test_a_node_without_a_trace_is_in_no_row() -> None:
    view = profile_of("""
        a = Op() 1us | main.py:3:main
        b = Op() 2us
    """).view("code")
    assert drawn(view, "micros") == "_TFProfRoot 0/1\n  main.py:3:main 1/1"


def test_only_what_is_accounted_counts_and_lines_without_any_go() -> None:
    profile = profile_of("""
        a = Keep() 1us | main.py:3:main > ops.py:1:add
        b = Drop() 2us | main.py:3:main > ops.py:1:add
        c = Drop() 4us | main.py:3:main > ops.py:2:sub
    """)
    assert drawn(profile.view("code", account_type_regexes=["Keep"]), "micros") == drawing("""
        _TFProfRoot 0/1
          main.py:3:main 0/1
            ops.py:1:add 1/1
    """)


def test_totals_of_what_is_shown_only_which_native_does_not_heed() -> None:
    profile = profile_of("""
        a = Op() 1us | main.py:3:main > ops.py:1:add
        b = Op() 2us | main.py:3:main > ops.py:2:sub
    """)
    options = {"hide_name_regexes": ["ops.py:2.*"], "account_displayed_op_only": True}
    assert drawn(profile.view("code", **options), "micros") == drawing("""
        _TFProfRoot 0/1
          main.py:3:main 0/1
            ops.py:1:add 1/1
    """)
    assert profile.view("code", **options, timing="tfprof").total["micros"].tolist() == [3, 3, 1]


def test_by_the_number_of_graph_nodes_of_a_line_itself() -> None:
    profile = profile_of("""
        a = Op() 9us | a.py:1:f
        b = Op() 1us | b.py:1:f
        c = Op() 1us | b.py:1:f
    """)
    assert profile.view("code", order_by="occurrence").names == ("_TFProfRoot", "b.py:1:f", "a.py:1:f")


@pytest.mark.parametrize(
    ("function", "written"),
    [
        ("nineteen_characters", "nineteen_characters"),
        ("twenty_characters_xx", "twenty_characters..."),
        ("é" * 9 + "a", "é" * 9 + "a"),  # 19 bytes
        ("é" * 10, "é" * 8 + "..."),  # 20 bytes, of which 17 are kept: not half a letter
    ],
)
def test_long_function_names_are_cut_by_bytes(function: str, written: str) -> None:
    assert frame_name("/some/where/model.py", 7, function) == f"model.py:7:{written}"


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("gradients/conv_grad/Backprop", "conv"),
        ("train/gradients/a/b_grad/mul", "a/b"),
        ("gradients/a_grad/b_grad/mul", "a"),
        ("gradients/a_grad", None),
        ("grad/a_grad/b", None),
        ("gradients/_grad/b", None),
        ("_grad/gradients/b", "b"),  # what native makes of it
        ("gradients/a_grad/gradients/b_grad/c", "a"),
        ("conv", None),
    ],
)
def test_the_node_that_a_gradient_is_named_after(name: str, forward: str | None) -> None:
    assert forward_name(name) == forward


def test_a_node_without_a_stack_is_nowhere_and_those_after_it_are() -> None:
    assert drawn(
        profile_of("""
            a = Op() 1us
            b = Op() 2us | b.py:1:f
            c = Op() 4us
            d = Op() 8us | d.py:1:f
        """).view("code"),
        "micros",
    ) == drawing("""
        _TFProfRoot 0/10
          b.py:1:f 2/2
          d.py:1:f 8/8
    """)


def test_a_node_with_an_empty_stack_is_nowhere_too() -> None:
    protos = protos_of("a = Op() 1us\nb = Op() 2us | b.py:1:f")
    protos.op_log.log_entries.add(name="a").code_def.SetInParent()
    assert drawn(Profile.from_protos(*protos).view("code"), "micros") == drawing("""
        _TFProfRoot 0/2
          b.py:1:f 2/2
    """)


def test_a_gradient_may_be_told_its_forward_node() -> None:
    profile = profile_of("""
        a = Op() 1us | a.py:1:f
        b = Op() 2us | b.py:1:f
        c = Op() 4us | c.py:1:minimize
    """)
    told = replace(profile, traces=replace(profile.traces, forward={2: 0}))
    assert drawn(told.view("code"), "micros") == drawing("""
        _TFProfRoot 0/7
          a.py:1:f 1/1
          a.py:1:f (gradient) 4/4
          b.py:1:f 2/2
    """)
