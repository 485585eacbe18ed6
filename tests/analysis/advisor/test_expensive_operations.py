"""The costliest op types, graph nodes and lines of code, against hand calculations and native tfprof."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import tfprof_widget as tfprof
from tests.analysis.advisor.advice import graph_of, op_log_of, run_of, same_advice
from tests.oracle.native import NativeTfprof
from tfprof_widget.analysis.advisor.costliest import expensive_operations

CHECKER = "ExpensiveOperationChecker"


def on_cpu(times: Mapping[str, int]) -> dict[str, list[tuple[str, int, int]]]:
    return {"/cpu:0": [(node, 1000, micros) for node, micros in times.items()]}


def of_ops(native: NativeTfprof, *times: Mapping[str, int]) -> list[str]:
    """The reports on nodes of which each is the only one of its op; a mapping a step."""
    graph = graph_of({node: f"{node}_op" for step in times for node in step})
    return same_advice(native, graph, [run_of(on_cpu(step)) for step in times], checkers=[CHECKER])[CHECKER]


def test_the_three_costliest_op_types_and_nodes(native: NativeTfprof) -> None:
    assert of_ops(native, {"a": 100, "b": 2500, "c": 1_400_000, "d": 99_900}) == [
        "top 1 operation type: c_op, cpu: 1.40sec, accelerator: 0us, total: 1.40sec (93.18%)\n"
        "top 2 operation type: d_op, cpu: 99.90ms, accelerator: 0us, total: 99.90ms (6.65%)\n"
        "top 3 operation type: b_op, cpu: 2.50ms, accelerator: 0us, total: 2.50ms (0.17%)",
        "top 1 graph node: c, cpu: 1.40sec, accelerator: 0us, total: 1.40sec\n"
        "top 2 graph node: d, cpu: 99.90ms, accelerator: 0us, total: 99.90ms\n"
        "top 3 graph node: b, cpu: 2.50ms, accelerator: 0us, total: 2.50ms",
    ]


def test_fewer_than_three(native: NativeTfprof) -> None:
    assert of_ops(native, {"a": 300, "b": 100}) == [
        "top 1 operation type: a_op, cpu: 300us, accelerator: 0us, total: 300us (75.00%)\n"
        "top 2 operation type: b_op, cpu: 100us, accelerator: 0us, total: 100us (25.00%)",
        "top 1 graph node: a, cpu: 300us, accelerator: 0us, total: 300us\n"
        "top 2 graph node: b, cpu: 100us, accelerator: 0us, total: 100us",
    ]


def test_a_graph_node_takes_100_microseconds_at_least(native: NativeTfprof) -> None:
    assert of_ops(native, {"a": 99}) == [
        "top 1 operation type: a_op, cpu: 99us, accelerator: 0us, total: 99us (100.00%)"
    ]


def test_a_scope_counts_by_its_total_and_shows_its_own(native: NativeTfprof) -> None:
    assert of_ops(native, {"a": 150, "net/b": 60, "net/c": 100})[1] == (
        "top 1 graph node: net, cpu: 0us, accelerator: 0us, total: 0us\n"
        "top 2 graph node: a, cpu: 150us, accelerator: 0us, total: 150us"
    )


def test_accelerator_time(native: NativeTfprof) -> None:
    run_meta = run_of({"/gpu:0": [("a", 1000, 20)], "/gpu:0/stream:all": [("a", 1005, 180), ("a", 1300, 0)]})
    assert same_advice(native, graph_of({"a": "Conv2D"}), [run_meta], checkers=[CHECKER])[CHECKER] == [
        "top 1 operation type: Conv2D, cpu: 20us, accelerator: 181us, total: 201us (100.00%)",
        "top 1 graph node: a, cpu: 20us, accelerator: 181us, total: 201us",
    ]


def test_an_exact_half_of_a_hundredth_is_rounded_as_natively(native: NativeTfprof) -> None:
    report, _ = of_ops(native, {"a": 797, "b": 3})
    assert report.endswith("total: 3us (0.37%)")  # 0.375 of a whole that native takes for a little more


def test_steps_are_averaged(native: NativeTfprof) -> None:
    assert of_ops(native, {"a": 100, "b": 1}, {"a": 201})[0] == (
        "top 1 operation type: a_op, cpu: 150us, accelerator: 0us, total: 150us (99.34%)\n"
        "top 2 operation type: b_op, cpu: 1us, accelerator: 0us, total: 1us (0.66%)"
    )


def test_what_took_no_time_is_not_named(native: NativeTfprof) -> None:
    never_started = run_of({"/cpu:0": [("a", 0, 500)]})
    assert same_advice(native, graph_of({"a": "Add"}), [never_started], checkers=[CHECKER]) == {CHECKER: []}


def lines(native: NativeTfprof, times: Mapping[str, int], stacks: Mapping[str, str]) -> list[str]:
    """The report on lines of code, as its lines; the other two views' reports come before it."""
    graph = graph_of(dict.fromkeys(stacks, "Add"))
    advice = same_advice(native, graph, [run_of(on_cpu(times))], op_log_of(stacks), [CHECKER])
    _, _, *report = advice[CHECKER]
    return [line for text in report for line in text.split("\n")]


def test_the_calls_of_the_first_frame_that_has_several(native: NativeTfprof) -> None:
    stacks = {"x": "main > build > layer", "y": "main > build > loss", "z": "main > build > layer"}
    assert lines(native, {"x": 1500, "y": 2000, "z": 2500}, stacks) == [
        "m.py:1:layer, cpu: 4.00ms, accelerator: 0us, total: 4.00ms",
        "m.py:1:loss, cpu: 2.00ms, accelerator: 0us, total: 2.00ms",
    ]


def test_three_calls_of_a_frame_at_most(native: NativeTfprof) -> None:
    stacks = {name: f"main > {name}" for name in "abcd"}
    report = lines(native, {"a": 1000, "b": 4000, "c": 3000, "d": 2000}, stacks)
    assert [line.partition(",")[0] for line in report] == ["m.py:1:b", "m.py:1:c", "m.py:1:d"]


def test_a_call_of_less_than_a_millisecond_is_not_listed(native: NativeTfprof) -> None:
    stacks = {"a": "main > a", "b": "main > b"}
    assert lines(native, {"a": 1000, "b": 999}, stacks) == ["m.py:1:a, cpu: 1.00ms, accelerator: 0us, total: 1.00ms"]
    assert lines(native, {"a": 999, "b": 999}, stacks) == [""]


def test_calls_of_calls_where_there_are_several(native: NativeTfprof) -> None:
    stacks = {"a": "main > one > a", "b": "main > two > b", "c": "main > two > c"}
    assert lines(native, {"a": 9000, "b": 3000, "c": 2000}, stacks) == [
        "m.py:1:one, cpu: 9.00ms, accelerator: 0us, total: 9.00ms",
        "m.py:1:two, cpu: 5.00ms, accelerator: 0us, total: 5.00ms",
        "  m.py:1:b, cpu: 3.00ms, accelerator: 0us, total: 3.00ms",
        "  m.py:1:c, cpu: 2.00ms, accelerator: 0us, total: 2.00ms",
    ]


def test_four_levels_of_calls(native: NativeTfprof) -> None:
    inner = [" > ".join(f"f{depth}" for depth in range(length)) for length in range(1, 7)]
    stacks = {f"n{depth}": f"{stack} > leaf" for depth, stack in enumerate(inner)}
    report = lines(native, dict.fromkeys(stacks, 1000), stacks)
    assert [line.partition(",")[0] for line in report] == [
        "m.py:1:f1",
        "  m.py:1:f2",
        "    m.py:1:f3",
        "      m.py:1:f4",
        "      m.py:1:leaf",
        "    m.py:1:leaf",
        "  m.py:1:leaf",
        "m.py:1:leaf",
    ]


def test_a_single_line_is_no_news(native: NativeTfprof) -> None:
    assert lines(native, {"a": 5000}, {"a": "main > a"}) == []


def test_no_steps(native: NativeTfprof) -> None:
    stacks = {"a": "main > a", "b": "main > b"}
    graph, op_log = graph_of(dict.fromkeys(stacks, "Add")), op_log_of(stacks)
    assert same_advice(native, graph, [], op_log, [CHECKER]) == {CHECKER: []}
    with pytest.warns(tfprof.ProfileWarning, match="no op types or graph nodes, as there are no run metadata"):
        assert list(expensive_operations(tfprof.Profile.from_protos(graph, [], op_log))) == []


def test_no_traces() -> None:
    profile = tfprof.Profile.from_protos(graph_of({"a": "Add"}), run_of(on_cpu({"a": 2000})))
    with pytest.warns(tfprof.ProfileWarning, match="no lines of code, as there are no code traces; give an op_log"):
        assert len(list(expensive_operations(profile))) == 2
