"""What a cut keeps and puts together, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.made import changed, profile_of_tables
from tests.sketches import drawing, drawn, profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.widget.cut import candidates_of, cut, merged
from tfprof_widget.widget.cut_plan import BROWSER, Limits, Wanted
from tfprof_widget.widget.cut_tables import rows_of

# One node costs more than all others together; the others are in two scopes.
SKETCH = """
    a/large = MatMul() 900us;900us
    a/m1 = MatMul() 10us;20us
    a/m2 = MatMul() 11us;21us
    a/once = MatMul() -;1us
    a/add = Add() 5us;5us
    b/m3 = MatMul() 1us;1us
    b/c/m4 = MatMul() 2us;2us
    b/c/m5 = MatMul() 3us;3us
"""
ALL = 10_000


@pytest.fixture
def profile() -> Profile:
    return profile_of(SKETCH)


def limits(nodes: int = ALL, step_totals: int = ALL, executions: int = ALL, allocations: int = ALL) -> Limits:
    return Limits(nodes, step_totals, executions, allocations)


def test_what_fits_is_left_as_it_is(profile: Profile) -> None:
    found = cut(profile)
    assert found.profile is profile
    assert found.left_out is None
    assert len(profile.nodes) < BROWSER.nodes


def test_nodes_are_put_together_by_scope_and_op_type(profile: Profile) -> None:
    """`a/once` ran in other steps than the rest, so its mean does not add up with theirs; `a/add` is alone."""
    small = Profile.of(cut(profile, limits(nodes=5)).profile)
    assert drawn(small.view("scope", max_depth=9, step=1), "micros") == drawing(
        """
        _TFProfRoot 0/953
          (3 more MatMul) 6/6
          a 0/947
            a/(2 more MatMul) 41/41
            a/add 5/5
            a/large 900/900
            a/once 1/1
        """
    )


def test_means_over_steps_add_up(profile: Profile) -> None:
    """Of `a/m1` and `a/m2` (10 + 20 + 11 + 21) / 2, and of `a/once` half of 1, for it was in one of two steps."""
    view = Profile.of(cut(profile, limits(nodes=5)).profile).view("scope")
    micros = dict(zip(view.names, (view.own["micros"] / view.time_scale).tolist(), strict=True))
    assert (micros["a/(2 more MatMul)"], micros["a/once"]) == (31, 0.5)


def test_what_the_limit_leaves_no_room_for_goes_to_the_root(profile: Profile) -> None:
    """In step 0 900 + 10 + 11 + 1 + 2 + 3 microseconds, in step 1 20 more."""
    small = Profile.of(cut(profile, limits(nodes=3)).profile)
    assert small.nodes.names == ("(6 more MatMul)", "a/add", "a/once")
    assert small.step_totals.cpu_micros.tolist() == [927, 947, 5, 5, 1]


def test_float_operations_that_do_not_divide_are_split() -> None:
    """Five float operations over two nodes: one of three and one of two; the times are those of real nodes."""
    small = Profile.of(cut(profile_of("a = MatMul() 1us 1flops\nb = MatMul() 2us 4flops"), limits(nodes=1)).profile)
    assert small.nodes.names == ("(1 more MatMul)", "(1 more MatMul, 2)")
    assert sorted(small.nodes.float_ops.tolist()) == [2, 3]
    assert sorted(small.step_totals.cpu_micros.tolist()) == [1, 2]
    assert small.view("op").own["float_ops"].tolist() == [5]


def test_nodes_that_never_ran_keep_the_sum_of_their_float_operations() -> None:
    small = Profile.of(cut(profile_of("a = MatMul() - 1flops\nb = MatMul() - 4flops"), limits(nodes=1)).profile)
    assert (small.nodes.names, small.nodes.float_ops.tolist()) == (("(2 more MatMul)",), [5])


def test_types_devices_and_code_keep_nodes_apart() -> None:
    sketch = """
        a1 = MatMul() 1us
        a2 = MatMul() 1us
        b1 = MatMul() 1us +mine
        b2 = MatMul() 1us +mine
        c1 = MatMul() 1us @/gpu:0
        c2 = MatMul() 1us @/gpu:0
        d1 = MatMul() 1us | a.py:1:main
        d2 = MatMul() 1us | a.py:1:main
    """
    small = Profile.of(cut(profile_of(sketch), limits(nodes=4)).profile)
    assert small.nodes.names == (
        "(2 more MatMul)",
        "(2 more MatMul, 2)",
        "(2 more MatMul, 3)",
        "(2 more MatMul, 4)",
    )
    assert small.view("op", account_type_regexes=["mine"]).own["micros"][0] == 2 * small.view("op").time_scale


def test_a_name_that_a_node_has_is_not_given_twice() -> None:
    profile = profile_of("a = MatMul() 1us\nb = MatMul() 1us\nc = Add() 100us")
    names = ("(2 more MatMul)", "b", "c")
    taken = changed(profile, nodes=replace(profile.nodes, names=names))
    small = Profile.of(cut(taken, limits(nodes=2)).profile)
    assert small.nodes.names == ("(2 more MatMul)", "c")


@pytest.mark.parametrize("asked", [Wanted(scope="b/c", op="MatMul"), Wanted(show_name_regexes=(".*m[45]",))])
def test_what_is_asked_for_is_kept(profile: Profile, asked: Wanted) -> None:
    """The costliest make room, however much they cost."""
    found = cut(profile, limits(nodes=6), asked)
    assert found.profile.nodes.names == ("(3 more MatMul)", "a/add", "a/once", "b/c/m4", "b/c/m5", "b/m3")
    assert found.left_out is not None
    assert found.left_out.notes[0].startswith("8 nodes: 5 are here, chosen first from those asked for, then")


def test_a_row_that_is_opened_and_names_that_match_are_both_kept(profile: Profile) -> None:
    names = cut(
        profile, limits(nodes=7), Wanted(scope="b/c", op="MatMul", show_name_regexes=("a/m1",))
    ).profile.nodes.names
    assert {"a/m1", "b/c/m4", "b/c/m5"} <= set(names)


def test_executions_are_those_of_whole_steps_or_the_longest(profile: Profile) -> None:
    """Seven ran in step 0 and eight in step 1."""
    first = cut(profile, limits(executions=8))
    assert first.profile.executions.step.tolist() == [0] * 7
    assert first.left_out is not None
    assert first.left_out.notes == ("15 executions: 7 are here, all of step 0; choose a step to see its executions",)
    chosen = cut(profile, limits(executions=8), Wanted(step=1))
    assert chosen.profile.executions.step.tolist() == [1] * 8
    longest = cut(profile, limits(executions=3)).profile
    assert sorted(longest.executions.duration_micros.tolist()) == [10, 11, 900]


def test_executions_name_the_row_that_their_node_is_in(profile: Profile) -> None:
    small = Profile.of(cut(profile, limits(nodes=5)).profile)
    ran = np.bincount(small.executions.node, minlength=len(small.nodes))
    assert dict(zip(small.nodes.names, ran.tolist(), strict=True))["(3 more MatMul)"] == 6


def test_inputs_lead_to_all_that_the_graph_view_had() -> None:
    """A chain, of which every second node is put together: with all its inputs that row would be in a cycle."""
    sketch = "\n".join(
        f"n{number} = {'MatMul' if number % 2 else 'Add'}({f'n{number - 1}' if number else ''}) {1 + number % 2}us"
        for number in range(8)
    )
    profile = profile_of(sketch)
    for nodes in range(2, 9):
        small = Profile.of(cut(profile, limits(nodes=nodes)).profile)
        assert (
            small.view("graph", max_depth=99).total["micros"][0]
            == profile.view("graph", max_depth=99).total["micros"][0]
        )


def test_a_row_that_a_kept_node_would_have_in_a_cycle_is_none_of_its_inputs() -> None:
    """A chain with one large node in its midst: it gets something from the others, and they from it."""
    lines = [
        f"n{number} = MatMul({f'n{number - 1}' if number else ''}) {900 if number == 3 else 1}us" for number in range(6)
    ]
    small = Profile.of(cut(profile_of("\n".join(lines)), limits(nodes=2)).profile)
    assert drawn(small.view("graph"), "micros") == drawing(
        """
        _TFProfRoot 0/905
          (5 more MatMul) 5/905
            n3 900/900
        """
    )


def test_what_only_a_cycle_reaches_stays_out_of_the_graph_view() -> None:
    profile = profile_of("a = MatMul(b) 1us\nb = MatMul(a) 2us\nc = MatMul() 4us\nd = MatMul() 8us")
    small = Profile.of(cut(profile, limits(nodes=2)).profile)
    assert small.nodes.names == ("(2 more MatMul)", "(2 more MatMul, 2)")
    assert drawn(profile.view("graph"), "micros").splitlines()[0] == "_TFProfRoot 0/12"
    assert drawn(small.view("graph"), "micros").splitlines()[0] == "_TFProfRoot 0/12"


def test_nodes_with_float_operations_that_ran_more_often_stay_apart() -> None:
    """Two executions of 3 and two of 5; the mean of all three nodes times their four runs would be no such number."""
    profile = profile_of("a = MatMul() 1us+1us 3flops\nb = MatMul() 1us 5flops\nc = MatMul() 1us 5flops")
    plan = candidates_of(profile, np.zeros(3, np.bool_)).plan(0)
    small = profile_of_tables(merged(profile, rows_of(profile, view_tree(profile, "scope"), plan)))
    assert small.nodes.names == ("(2 more MatMul)", "a")
    assert small.view("op").own["float_ops"].tolist() == [16]


def test_gradients_stay_under_the_lines_of_what_they_are_gradients_of() -> None:
    """The node that the gradients are named after is put together with another one of its line."""
    sketch = """
        x/l1 = MatMul() 5us | a.py:1:main
        x/l2 = MatMul() 6us | a.py:1:main
        gradients/x/l1_grad/g = Mul() 1us | a.py:9:main
        gradients/x/l2_grad/g = Mul() 2us | a.py:9:main
    """
    small = Profile.of(cut(profile_of(sketch), limits(nodes=2)).profile)
    assert small.nodes.names == ("(2 more Mul)", "x/(2 more MatMul)")
    assert drawn(small.view("code"), "micros") == drawing(
        """
        _TFProfRoot 0/14
          a.py:1:main 11/11
          a.py:1:main (gradient) 3/3
        """
    )


def test_a_message_asks_for_what_it_may() -> None:
    asked = {"step": 3, "scope": "a", "op": 7, "show_name_regexes": ["x"], "start_name_regexes": "no list"}
    assert Wanted.of(asked) == Wanted(step=3, scope="a", show_name_regexes=("x",))
