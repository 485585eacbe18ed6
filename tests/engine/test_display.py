"""What is shown: start, depth, thresholds, show, hide, trim, each on one small tree in the views that are trees."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sketches import drawing, drawn, profile_of, protos_of
from tfprof_widget.api.profile import Profile

# a          The same tree in scope, graph and code view, for what is in a scope,
#   a/b      is the input of it, and is called by it.
#     a/b/c
#   a/d
# e
PROFILE = profile_of("""
    a     = Op(a/b, a/d) 1us       100B | a.py:1:a
    a/b   = Op(a/b/c)    2us 3     10B  | a.py:1:a > b.py:1:b
    a/b/c = Op()         4us 5     20B  | a.py:1:a > b.py:1:b > c.py:1:c
    a/d   = Op()         8us+8us   30B  | a.py:1:a > d.py:1:d
    e     = Op()         16us 7 9flops  | e.py:1:e
""")
FRAMES = {"a.py:1:a": "a", "b.py:1:b": "a/b", "c.py:1:c": "a/b/c", "d.py:1:d": "a/d", "e.py:1:e": "e"}
TREES = pytest.mark.parametrize("view", ["scope", "graph", "code"])


def shown(view: str, **options: Any) -> str:
    """The rows by their last letter and total microseconds, in one line."""
    if view == "code":
        options |= {name: _as_frames(each) for name, each in options.items() if name.endswith("name_regexes")}
    found = drawn(PROFILE.view(view, **options), "micros")
    for frame, name in FRAMES.items():
        found = found.replace(frame, name)
    return "\n".join(_short(line) for line in found.splitlines())


def _as_frames(regexes: list[str]) -> list[str]:
    return [rf".*:{regex.rpartition('/')[2]}" for regex in regexes]


def _short(line: str) -> str:
    name, _, value = line.strip().partition(" ")
    indent = len(line) - len(line.lstrip())
    return f"{' ' * indent}{name.rpartition('/')[2]} {value.partition('/')[2]}"


@TREES
def test_everything(view: str) -> None:
    assert shown(view) == drawing("""
        _TFProfRoot 39
          a 23
            b 6
              c 4
            d 16
          e 16
    """)


@TREES
@pytest.mark.parametrize(
    ("depth", "rows"),
    [
        (1, "_TFProfRoot 39"),
        (2, "_TFProfRoot 39\n  a 23\n  e 16"),
        (3, "_TFProfRoot 39\n  a 23\n    b 6\n    d 16\n  e 16"),
    ],
)
def test_the_root_is_at_depth_1(view: str, depth: int, rows: str) -> None:
    assert shown(view, max_depth=depth) == rows


@TREES
def test_it_starts_where_a_name_matches_and_does_not_search_below(view: str) -> None:
    assert shown(view, start_name_regexes=["a/b", "a/b/c", "e"]) == drawing("""
        _TFProfRoot 39
          b 6
            c 4
          e 16
    """)


@TREES
def test_the_depth_is_counted_from_the_start(view: str) -> None:
    assert shown(view, start_name_regexes=["a/b"], max_depth=2) == drawing("""
        _TFProfRoot 39
          b 6
    """)


@TREES
def test_it_may_start_nowhere(view: str) -> None:
    assert shown(view, start_name_regexes=["nothing"]) == "_TFProfRoot 39"
    assert shown(view, start_name_regexes=[]) == "_TFProfRoot 39"


@TREES
def test_what_is_hidden_hands_up_what_is_below_it(view: str) -> None:
    assert shown(view, hide_name_regexes=["a/b"]) == drawing("""
        _TFProfRoot 39
          a 23
            c 4
            d 16
          e 16
    """)


@TREES
def test_what_is_not_to_be_shown_is_hidden(view: str) -> None:
    assert shown(view, show_name_regexes=["a/b/c", "e"]) == drawing("""
        _TFProfRoot 39
          c 4
          e 16
    """)
    assert shown(view, show_name_regexes=[]) == "_TFProfRoot 39"


@TREES
def test_hide_wins_over_show(view: str) -> None:
    assert shown(view, show_name_regexes=["a/b/c", "e"], hide_name_regexes=["e"]) == "_TFProfRoot 39\n  c 4"


@pytest.mark.parametrize("view", ["scope", "graph"])
def test_trim_stops_below_the_match(view: str) -> None:
    assert shown(view, trim_name_regexes=["a/b"]) == drawing("""
        _TFProfRoot 39
          a 23
            b 6
            d 16
          e 16
    """)


def test_trim_cuts_the_match_too_in_code_view() -> None:
    assert shown("code", trim_name_regexes=["a/b"]) == drawing("""
        _TFProfRoot 39
          a 23
            d 16
          e 16
    """)


@TREES
def test_a_match_above_the_start_trims_nothing(view: str) -> None:
    assert shown(view, start_name_regexes=["a/b"], trim_name_regexes=["a"]) == drawing("""
        _TFProfRoot 39
          b 6
            c 4
    """)


@TREES
def test_trimming_the_root_leaves_only_it(view: str) -> None:
    regexes = ["_TFProfRoot"] if view != "code" else ["(?:_TFProfRoot)"]
    assert drawn(PROFILE.view(view, trim_name_regexes=regexes), "micros") == "_TFProfRoot 0/39"


@TREES
def test_a_hidden_match_trims_all_the_same(view: str) -> None:
    found = shown(view, trim_name_regexes=["a/b"], hide_name_regexes=["a/b"])
    assert found == drawing("""
        _TFProfRoot 39
          a 23
            d 16
          e 16
    """)


@TREES
@pytest.mark.parametrize(
    ("threshold", "rows"),
    [
        ({"min_micros": 16}, "a d e"),
        ({"min_micros": 17}, "a"),
        ({"min_cpu_micros": 16}, "a d e"),
        ({"min_accelerator_micros": 1}, ""),
        ({"min_bytes": 30}, "a b d"),
        ({"min_bytes": 31}, "a d"),
        ({"min_peak_bytes": 1}, ""),
        ({"min_residual_bytes": 1}, ""),
        ({"min_output_bytes": 1}, ""),
        ({"min_micros": 10, "min_bytes": 100}, "a"),
    ],
)
def test_times_and_bytes_are_compared_in_total(view: str, threshold: dict[str, int], rows: str) -> None:
    # d ran twice, so it requested 60 bytes.
    found = shown(view, **threshold)
    assert " ".join(row.split()[0] for row in found.splitlines()[1:]) == rows


@pytest.mark.parametrize(
    ("threshold", "in_scope_and_graph", "in_code"),
    [
        ({"min_params": 5}, "c e", "a b c e"),
        ({"min_params": 8}, "", "a b"),
        ({"min_float_ops": 1}, "e", "e"),
        ({"min_occurrence": 2}, "d", "a b c d e"),
    ],
)
def test_parameters_float_operations_and_runs_of_the_node_itself_but_in_code_view(
    threshold: dict[str, int], in_scope_and_graph: str, in_code: str
) -> None:
    for view, rows in (("scope", in_scope_and_graph), ("graph", in_scope_and_graph), ("code", in_code)):
        found = shown(view, **threshold)
        assert " ".join(row.split()[0] for row in found.splitlines()[1:]) == rows, view


@TREES
def test_devices(view: str) -> None:
    profile = profile_of("""
        here  = Op() 1us @/gpu:0 | a.py:1:f
        there = Op() 2us @/gpu:1 | a.py:2:f
        never = Op()             | a.py:3:f
    """)
    assert len(profile.view(view, device_regexes=[".*gpu:1"])) == 2
    assert len(profile.view(view, device_regexes=[".*gpu.*"])) == 3
    assert len(profile.view(view, device_regexes=[".*gpu.*", ""])) == 4


@pytest.mark.parametrize("view", ["scope", "graph"])
def test_totals_may_be_of_what_is_shown_only(view: str) -> None:
    options = {"hide_name_regexes": ["a/b"], "account_displayed_op_only": True, "max_depth": 3}
    assert shown(view, **options) == drawing("""
        _TFProfRoot 33
          a 17
            d 16
          e 16
    """)


@TREES
def test_the_order_is_that_of_the_totals_which_are_shown(view: str) -> None:
    # a has 23 in all, of which 7 are shown; e has 16.
    options = {"hide_name_regexes": ["a/d"], "account_displayed_op_only": True, "order_by": "micros"}
    assert shown(view, **options) == drawing("""
        _TFProfRoot 23
          e 16
          a 7
            b 6
              c 4
    """)


@pytest.mark.parametrize("view", ["scope", "graph"])
def test_how_many_graph_nodes_a_total_counts_and_how_many_of_them_are_hidden(view: str) -> None:
    found = PROFILE.view(view, hide_name_regexes=["a/b.*"])
    assert drawn(found) == "_TFProfRoot\n  a\n    a/d\n  e"
    assert found.total["definitions"].tolist() == [5, 4, 1, 1]
    assert found.total["hidden"].tolist() == [2, 2, 0, 0]


@TREES
@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("name", "a b c d e"),
        ("micros", "a d b c e"),
        ("bytes", "a d b c e"),
        ("params", "a b c d e"),
        ("float_ops", "e a b c d"),
        ("depth", "a b c d e"),
    ],
)
def test_orders(view: str, order: str, rows: str) -> None:
    found = shown(view, order_by=order)
    assert " ".join(row.split()[0] for row in found.splitlines()[1:]) == rows


@TREES
def test_what_costs_less_than_nothing_is_hidden_by_a_threshold_only(view: str) -> None:
    protos = protos_of("a = Op() 1us | a.py:1:f")
    protos.run_metas[0].step_stats.dev_stats[0].node_stats[0].memory.add(allocator_name="cpu", total_bytes=-5)
    profile = Profile.from_protos(*protos)
    assert [len(profile.view(view, min_bytes=least)) for least in (0, 1)] == [2, 1]


@TREES
def test_children_by_the_number_of_nodes_under_a_row_that_is_hidden(view: str) -> None:
    profile = profile_of("""
        s   = Op(s/a, s/b) 1us | a.py:1:s
        s/a = Op()         1us | a.py:1:s > a.py:2:a
        s/b = Op()         1us | a.py:1:s > a.py:3:b
        s/c = Op()         1us | a.py:1:s > a.py:3:b
    """)
    found = profile.view(view, hide_name_regexes=["s", ".*:s"], order_by="occurrence").names
    assert [name[-1] for name in found[1:]] == (["b", "a"] if view == "code" else ["a", "b", "c"])
