"""The option-builder reference: every method of it, its examples, and its MobileNet example on a ResNet."""

from __future__ import annotations

from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.documents.resnet import convolutions, resnet
from tests.sketches import drawing, drawn, profile_of, protos_of

Builder = tfprof.ProfileOptionBuilder


def test_users_can_use_pre_built_options() -> None:
    opts = Builder.trainable_variables_parameter()
    assert opts["account_type_regexes"] == ["_trainable_variables"]
    assert opts["select"] == ["params"]


def test_or_build_your_own_options() -> None:
    opts = (
        Builder().with_max_depth(10).with_min_micros(1000).select(["accelerator_micros"]).with_stdout_output().build()
    )
    told = {"max_depth": 10, "min_micros": 1000, "select": ["accelerator_micros"], "output": "stdout"}
    assert opts == Builder().build() | told


def test_or_customize_the_pre_built_options() -> None:
    opts = Builder(Builder.time_and_memory()).with_displaying_options(show_name_regexes=[".*rnn.*"]).build()
    assert opts == Builder.time_and_memory() | {"show_name_regexes": [".*rnn.*"]}


def test_finally_profiling_with_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    graph, (run_meta,), _ = protos_of("""
        rnn/while/MatMul = MatMul(data) 5us 64B
        data             = Const() 2us 64B
    """)
    opts = Builder(Builder.time_and_memory()).with_displaying_options(show_name_regexes=[".*rnn.*"]).build()
    root = tfprof.profile(graph, run_meta=run_meta, cmd="scope", options=opts)
    assert [child.name for child in root.children] == ["rnn"]
    assert root.children[0].total_exec_micros == 5
    assert "rnn/while/MatMul (64B/64B, 5us/5us, 0us/0us, 5us/5us)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("built", "told"),
    [
        (Builder().account_displayed_op_only(True), {"account_displayed_op_only": True}),
        (Builder().order_by("occurrence"), {"order_by": "occurrence"}),
        (Builder().select(["micros", "bytes"]), {"select": ["micros", "bytes"]}),
        (Builder().with_accounted_types([".*gpu:0.*"]), {"account_type_regexes": [".*gpu:0.*"]}),
        (Builder().with_empty_output(), {"output": "none"}),
        (Builder().with_file_output("out"), {"output": "file:outfile=out"}),
        (Builder().with_timeline_output("out.json"), {"output": "timeline:outfile=out.json"}),
        (Builder().with_pprof_output("out.pb.gz"), {"output": "pprof:outfile=out.pb.gz"}),
        (Builder().with_stdout_output(), {"output": "stdout"}),
        (Builder().with_max_depth(3), {"max_depth": 3}),
        (
            Builder().with_min_execution_time(min_micros=1, min_accelerator_micros=2, min_cpu_micros=3),
            {"min_micros": 1, "min_accelerator_micros": 2, "min_cpu_micros": 3},
        ),
        (Builder().with_min_float_operations(4), {"min_float_ops": 4}),
        (
            Builder().with_min_memory(min_bytes=1, min_peak_bytes=2, min_residual_bytes=3, min_output_bytes=4),
            {"min_bytes": 1, "min_peak_bytes": 2, "min_residual_bytes": 3, "min_output_bytes": 4},
        ),
        (Builder().with_min_occurrence(5), {"min_occurrence": 5}),
        (Builder().with_min_parameters(6), {"min_params": 6}),
        (
            Builder().with_node_names(["a"], ["b"], ["c"], ["d"]),
            {
                "start_name_regexes": ["a"],
                "show_name_regexes": ["b"],
                "hide_name_regexes": ["c"],
                "trim_name_regexes": ["d"],
            },
        ),
        (Builder().with_step(7), {"step": 7}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_every_method(built: Any, told: dict[str, Any]) -> None:
    assert built.build() == Builder().build() | told


MODEL = """
    start/a     = Op() 1us
    start/b     = Op() 2us
    start/trim  = Op() 4us
    start/trim/under = Op() 8us
    start/hide  = Op() 16us
    elsewhere/a = Op() 32us
"""


def test_with_node_names_start_then_show_and_not_hide_and_stop_at_trim() -> None:
    options = Builder().with_node_names(
        start_name_regexes=["start"],
        show_name_regexes=["start.*"],
        hide_name_regexes=[".*hide"],
        trim_name_regexes=[".*trim"],
    )
    assert drawn(profile_of(MODEL).view("scope", **options.build()), "micros") == drawing("""
        _TFProfRoot 0/63
          start 0/31
            start/a 1/1
            start/b 2/2
            start/trim 4/12
    """)


def test_only_nodes_eventually_displayed_are_accounted() -> None:
    options = Builder().with_node_names(hide_name_regexes=[".*hide"]).account_displayed_op_only(True)
    view = profile_of(MODEL).view("scope", **options.build())
    assert view.total["micros"][0] == (63 - 16) * view.time_scale


def test_nodes_placed_on_gpu_0() -> None:
    profile = profile_of("""
        on_0 = MatMul() 5us @/job:xx/replica:0/task:0/device:GPU:0
        on_1 = MatMul() 7us @/job:xx/replica:0/task:0/device:GPU:1
    """)
    options = Builder().with_accounted_types([".*gpu:0.*"]).build()
    # If none of a node's properties match the specified regexes, the node is not displayed nor accounted.
    assert drawn(profile.view("scope", **options), "micros") == drawing("""
        _TFProfRoot 0/5
          on_0 5/5
    """)


def test_occurrence_is_the_number_of_graph_nodes_of_an_operation_type() -> None:
    profile = profile_of("""
        a = MatMul() 5us
        b = MatMul() 5us
        c = Add() 50us
    """)
    options = Builder().with_min_occurrence(2).build()
    assert profile.view("op", **options).names == ("MatMul",)


def test_how_to_calculate_a_nets_flops(capsys: pytest.CaptureFixture[str]) -> None:
    graph, _, op_log = protos_of(resnet())
    opts = Builder.float_operation()
    flops = tfprof.profile(graph, op_log=op_log, cmd="op", options=opts)

    opts = Builder.trainable_variables_parameter()
    params = tfprof.profile(graph, op_log=op_log, cmd="op", options=opts)

    in_convolutions = sum(each.float_ops for each in convolutions())
    assert flops.total_float_ops == in_convolutions + 3 * 163_840 + 1_280
    assert params.total_parameters == 464_154
    assert "Conv2D                   17.63b float_ops (100.00%, 100.00%)" in capsys.readouterr().out
