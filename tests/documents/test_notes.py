"""The profiling notes: the command lines that they recommend, and `mnist_profile.py`, shortened to its profiling."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.documents.session import Session
from tests.sketches import drawing, drawn, protos_of

SUMMARIZER = """
    seq2seq_attention/encoder/matmul = MatMul() 300000us 64B | run.py:10:main > model.py:20:_add_seq2seq > ops.py:5:mm
    seq2seq_attention/decoder/matmul = MatMul() 150000us 64B | run.py:10:main > model.py:30:_add_seq2seq > ops.py:5:mm
    seq2seq_attention/decoder/add = Add() 90000us | run.py:10:main > model.py:31:_add_seq2seq
    loss/softmax = SoftmaxCrossEntropyWithLogits() 400000us @/device:CPU:0 | run.py:10:main > loss.py:9:_add_loss
    summary      = Summary() 1000us | run.py:12:main
"""


@pytest.fixture
def tfprof_prompt() -> Session:
    prompt = Session(protos_of(SUMMARIZER))
    prompt.run("set -account_type_regexes .*")
    return prompt


def test_the_time_of_a_line_is_that_of_all_operations_that_it_created(tfprof_prompt: Session) -> None:
    view = tfprof_prompt.view("code -max_depth 10 -select micros -order_by micros")
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/941000
          run.py:10:main 0/940000
            loss.py:9:_add_loss 400000/400000
            model.py:20:_add_seq2seq 0/300000
              ops.py:5:mm 300000/300000
            model.py:30:_add_seq2seq 0/150000
              ops.py:5:mm 150000/150000
            model.py:31:_add_seq2seq 90000/90000
          run.py:12:main 1000/1000
    """)


def test_explore_a_specific_function(tfprof_prompt: Session) -> None:
    view = tfprof_prompt.view("code -start_name_regexes .*_add_seq2seq.* -max_depth 10 -select micros -order_by micros")
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/941000
          model.py:20:_add_seq2seq 0/300000
            ops.py:5:mm 300000/300000
          model.py:30:_add_seq2seq 0/150000
            ops.py:5:mm 150000/150000
          model.py:31:_add_seq2seq 90000/90000
    """)


def test_dive_deeper_where_it_takes_long(tfprof_prompt: Session) -> None:
    line = "code -max_depth 5 -select micros -order_by micros -start_name_regexes .*_add_seq2seq.* -min_micros 100000"
    assert tfprof_prompt.view(line).names == (
        "_TFProfRoot",
        "model.py:20:_add_seq2seq",
        "ops.py:5:mm",
        "model.py:30:_add_seq2seq",
        "ops.py:5:mm",
    )


def test_lines_of_one_file(tfprof_prompt: Session) -> None:
    view = tfprof_prompt.view("code -max_depth 1000 -show_name_regexes .*model.*py.* -select micros -order_by micros")
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/941000
          model.py:20:_add_seq2seq 0/300000
          model.py:30:_add_seq2seq 0/150000
          model.py:31:_add_seq2seq 90000/90000
    """)


def test_the_slowest_op_comes_first(tfprof_prompt: Session) -> None:
    view = tfprof_prompt.view("op -select micros,bytes,occurrence -order_by micros")
    assert drawn(view, "micros", "bytes") == drawing("""
        MatMul 450000/941000 128/128
        SoftmaxCrossEntropyWithLogits 400000/491000 0/0
        Add 90000/91000 0/0
        Summary 1000/1000 0/0
    """)


def test_where_the_expensive_softmax_is_placed(tfprof_prompt: Session) -> None:
    printed = tfprof_prompt.view("op -select micros,device -order_by micros").text().splitlines()
    (row,) = [row for row in printed if row.startswith("SoftmaxCrossEntropyWithLogits")]
    assert row.endswith(", /device:cpu:0")


def test_scopes_that_take_long(tfprof_prompt: Session) -> None:
    view = tfprof_prompt.view("scope -max_depth 30 -select micros -min_micros 100000 -order_by micros")
    assert drawn(view, "micros") == drawing("""
        _TFProfRoot 0/941000
          seq2seq_attention 0/540000
            seq2seq_attention/encoder 0/300000
              seq2seq_attention/encoder/matmul 300000/300000
            seq2seq_attention/decoder 0/240000
              seq2seq_attention/decoder/matmul 150000/150000
          loss 0/400000
            loss/softmax 400000/400000
    """)


def test_mnist_profile(tmp_path: Path) -> None:
    graph, run_metas, _ = protos_of("""
        x        = Placeholder() 1us;1us;4us 1B
        W        = VariableV2() 784x10 2us;2us;2us 31360B
        y/MatMul = MatMul(x, W) 100us;140us;60us 4000B
        y        = Add(y/MatMul, b) 10us;20us;- 4000B
        b        = VariableV2() 10 1us;1us;1us 40B
    """)
    out = tmp_path / "test-100.txt"
    profiler = tfprof.Profiler(graph)
    for i, run_metadata in enumerate(run_metas):
        profiler.add_step(i, run_metadata)

    option_builder = tfprof.ProfileOptionBuilder
    opts = (
        option_builder(option_builder.time_and_memory())
        .with_step(-1)  # with -1, should compute the average of all registered steps.
        .with_file_output(str(out))
        .select(["micros", "bytes", "occurrence"])
        .order_by("micros")
        .build()
    )
    # Profiling infos about ops are saved in 'test-100.txt'
    profiler.profile_operations(options=opts)

    rows = [row.split() for row in out.read_text().partition("(run|defined)\n")[2].splitlines()]
    assert [(row[0], row[1], row[4], row[-1]) for row in rows] == [
        ("MatMul", "4.00KB", "100us", "1|1"),
        ("Add", "4.00KB", "15us", "1|1"),
        ("VariableV2", "31.40KB", "3us", "2|2"),
        ("Placeholder", "1B", "2us", "1|1"),
    ]
