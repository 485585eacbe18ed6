"""The graph view: from the nodes that are nobody's input along the inputs, each node once."""

from __future__ import annotations

import pytest

from tests.sketches import drawing, drawn, drawn_tree, profile_of
from tfprof_widget.engine.evaluate import view_tree


def spanning(sketch: str) -> str:
    return drawn_tree(view_tree(profile_of(sketch), "graph"))


def test_a_chain_nests() -> None:
    assert spanning("""
        a = Op()
        b = Op(a)
        c = Op(b)
    """) == drawing("""
        _TFProfRoot
          c
            b
              a
    """)


def test_inputs_in_the_order_of_their_index() -> None:
    assert spanning("""
        a = Op()
        b = Op()
        sum = Op(b, a)
    """) == drawing("""
        _TFProfRoot
          sum
            b
            a
    """)


def test_a_node_hangs_where_the_walk_first_meets_it() -> None:
    # Depth first: a is met below left before top's own second input would lead there.
    assert spanning("""
        a     = Op()
        left  = Op(a)
        right = Op(a)
        top   = Op(left, a, right)
    """) == drawing("""
        _TFProfRoot
          top
            left
              a
            right
    """)


def test_walks_start_in_byte_order_of_name() -> None:
    assert spanning("""
        shared = Op()
        z = Op(shared)
        Z = Op(shared)
        é = Op()
    """) == drawing("""
        _TFProfRoot
          Z
            shared
          z
          é
    """)


@pytest.mark.parametrize("inputs", ["a, a", "a, ^a", "a:1, a", "^a, a:0"])
def test_an_edge_counts_once_whatever_its_port(inputs: str) -> None:
    assert spanning(f"""
        a = Op()
        b = Op({inputs})
    """) == drawing("""
        _TFProfRoot
          b
            a
    """)


def test_an_input_that_the_graph_lacks_is_left_out() -> None:
    assert spanning("""
        a = Op(nowhere, ^nothing, b)
        b = Op()
    """) == drawing("""
        _TFProfRoot
          a
            b
    """)


def test_a_cycle_is_walked_once_round() -> None:
    assert spanning("""
        enter = Op()
        merge = Op(enter, next)
        next  = Op(merge)
        exit  = Op(merge)
    """) == drawing("""
        _TFProfRoot
          exit
            merge
              enter
              next
    """)


@pytest.mark.parametrize("cycle", ["a = Op(a)", "a = Op(b)\nb = Op(a)", "a = Op(b)\nb = Op(c)\nc = Op(a)"])
def test_a_cycle_that_nothing_consumes_is_in_nobodys_tree(cycle: str) -> None:
    assert spanning(f"{cycle}\nout = Op()") == drawing("""
        _TFProfRoot
          out
    """)


def test_totals_follow_the_tree() -> None:
    view = profile_of("""
        a    = Op() 1us
        left = Op(a) 2us
        top  = Op(left, a) 4us
    """).view("graph")
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/7
          top 4/7
            left 2/3
              a 1/1
    """)


def test_what_is_not_accounted_hands_its_children_up_and_counts_for_nothing() -> None:
    view = profile_of("""
        a    = Keep() 1us
        left = Drop(a) 2us
        top  = Keep(left) 4us
    """).view("graph", account_type_regexes=["Keep"])
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/5
          top 4/5
            a 1/1
    """)
