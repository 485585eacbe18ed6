"""Where profiles that are merged know different things of a node or a step."""

from __future__ import annotations

from dataclasses import replace

from tests.sketches import protos_of
from tfprof_widget import merge
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.tables import ExecutedKernel

PROTOS = protos_of("a = MatMul() 10us;20us;30us 5flops 2x2 | main.py:1:main")


def part(step: int, number: int | None = None) -> Profile:
    return Profile.from_protos(PROTOS.graph, {step if number is None else number: PROTOS.run_metas[step]})


def test_of_kernels_that_differ_the_first_in_the_order_of_words_stands() -> None:
    one = replace(part(0), kernels={"a": ExecutedKernel("_ZKernel")})
    other = replace(part(1), kernels={"a": ExecutedKernel("_AKernel")})
    for parts in ([one, other], [other, one], [merge([part(2), one]), other]):
        assert merge(parts).kernels == {"a": ExecutedKernel("_AKernel")}


def test_of_float_operations_that_differ_the_most_stand_however_they_are_grouped() -> None:
    none, some, more = part(0), part(1), part(2)
    some = replace(some, nodes=replace(some.nodes, float_ops=some.nodes.float_ops + 7))
    more = replace(more, nodes=replace(more.nodes, float_ops=more.nodes.float_ops + 900))
    for parts in ([none, some, more], [more, some, none], [merge([none, more]), some], [merge([none, some]), more]):
        assert merge(parts).nodes.float_ops.tolist() == [900]


def test_a_graph_tells_the_op_of_a_node_of_which_a_run_has_the_name_only() -> None:
    ghost = Profile.from_protos(None, {1: PROTOS.run_metas[1]})
    assert ghost.nodes.ops == ("a",)
    merged = merge([ghost, part(0)])
    assert merged.nodes.ops == ("MatMul",)
    assert "MatMul" in merged.nodes.type_names
    assert "a" not in merged.nodes.type_names
    assert merged.nodes.parameters.tolist() == [4]


def test_a_step_has_the_name_that_any_of_its_runs_tells() -> None:
    named = replace(part(0), step_names=("train",))
    for parts in ([named, part(1, 0)], [part(1, 0), named]):
        assert merge(parts).step_names == ("train",)


def test_a_stack_that_one_profile_tells_is_that_of_the_node() -> None:
    told = Profile.from_protos(PROTOS.graph, {0: PROTOS.run_metas[0]}, PROTOS.op_log)
    for parts in ([told, part(1)], [part(1), told]):
        assert merge(parts).has_traces


def test_graphs_that_are_the_same_are_kept_once() -> None:
    assert len(merge([part(0), part(1)]).graphs) == 1
