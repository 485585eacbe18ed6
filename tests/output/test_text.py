"""What is printed: each view's rows, the help before them, and the short form that a prompt shows."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from tests.oracle.native import NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.sketches import profile_of, protos_of
from tfprof_widget.output.text import banner, said_left_out, summary
from tfprof_widget.profiles.options import COLUMNS, VIEWS, Options

MODEL = """
    images     = Placeholder() 64x784
    layer/w    = VariableV2() 2us 784x10 31360B +_trainable_variables   | mnist.py:8:main > layers.py:3:dense
    layer/mul  = MatMul(images, layer/w) 120us+30us 2560B 1003520flops  | mnist.py:8:main > layers.py:4:dense
    layer      = Relu(layer/mul) 7us 2560B                              | mnist.py:8:main > layers.py:5:dense
    loss       = Mean(layer) 1us                                        | mnist.py:9:main
"""
CPU = "/job:localhost/replica:0/task:0/device:cpu:0"
# View, what is asked, and the rows: asked of native too.
PRINTED = [
    (
        "scope",
        {"select": ["micros", "bytes"]},
        """
        node name | requested bytes | total execution time | accelerator execution time | cpu execution time
        _TFProfRoot (--/39.04KB, --/160us, --/0us, --/160us)
          images (0B/0B, 0us/0us, 0us/0us, 0us/0us)
          layer (2.56KB/39.04KB, 7us/159us, 0us/0us, 7us/159us)
            layer/mul (5.12KB/5.12KB, 150us/150us, 0us/0us, 150us/150us)
            layer/w (31.36KB/31.36KB, 2us/2us, 0us/0us, 2us/2us)
          loss (0B/0B, 1us/1us, 0us/0us, 1us/1us)
        """,
    ),
    (
        "scope",
        {"select": ["params", "occurrence", "input_shapes"], "account_type_regexes": ["VariableV2", "MatMul"]},
        """
        node name | # parameters | op count (run|defined) | input shapes
        _TFProfRoot (--/7.84k params, --/4|--/3, )
          layer (--/7.84k params, --/4|--/3, 0:unknown)
            layer/mul (0/0 params, 2/2|1/1, 0:unknown|1:unknown)
            layer/w (784x10, 7.84k/7.84k params, 1/1|1/1, )
        """,
    ),
    (
        "scope",
        {"select": ["float_ops", "device", "op_types"], "show_name_regexes": ["layer/.*"]},
        f"""
        node name | # float_ops | assigned devices | op types
        _TFProfRoot (--/2.01m flops, _kTFScopeParent)
          layer/mul (2.01m/2.01m flops, {CPU}, {CPU}|MatMul)
          layer/w (0/0 flops, {CPU}, {CPU}|VariableV2|_trainable_variables)
        """,
    ),
    (
        "graph",
        {"select": ["cpu_micros", "op_types"], "max_depth": 3},
        f"""
        node name | cpu execution time | op types
        _TFProfRoot (--/160us, _TFGraphParent)
          loss (1us/160us, {CPU}|Mean)
            layer (7us/159us, {CPU}|Relu)
        """,
    ),
    (
        "op",
        {"select": ["cpu_micros", "occurrence"], "order_by": "micros", "min_micros": 2},
        """
        node name | cpu execution time | op occurrence (run|defined)
        MatMul                          150us (100.00%, 93.75%),        2|1
        Relu                                 7us (6.25%, 4.38%),        1|1
        VariableV2                           2us (1.88%, 1.25%),        1|1
        """,
    ),
    (
        "op",
        {"select": ["bytes", "params", "device"], "account_type_regexes": [".*cpu:0"]},
        f"""
        node name | requested bytes | # parameters | assigned devices
        MatMul                         5.12KB (100.00%, 13.11%),      0 params (100.00%, 0.00%), {CPU}
        Mean                                  0B (0.00%, 0.00%),      0 params (100.00%, 0.00%), {CPU}
        Relu                             2.56KB (86.89%, 6.56%),      0 params (100.00%, 0.00%), {CPU}
        VariableV2                     31.36KB (80.33%, 80.33%), 7.84k params (100.00%, 100.00%), {CPU}
        """,
    ),
    (
        "code",
        {"select": ["cpu_micros", "op_types", "occurrence"]},
        f"""
        node name | cpu execution time | op types | op occurrence (run|defined)
        _TFProfRoot (--/160us, , occurrence N/A in code view)
          mnist.py:8:main (0us/159us, , occurrence N/A in code view)
            layers.py:3:dense (2us/2us, {CPU}|VariableV2|_trainable_variables, occurrence N/A in code view)
            layers.py:4:dense (150us/150us, {CPU}|MatMul, occurrence N/A in code view)
            layers.py:5:dense (7us/7us, {CPU}|Relu, occurrence N/A in code view)
          mnist.py:9:main (1us/1us, {CPU}|Mean, occurrence N/A in code view)
        """,
    ),
]
CASES = pytest.mark.parametrize(("view", "asked", "rows"), PRINTED, ids=[view for view, _, _ in PRINTED])


def after_help(text: str) -> str:
    return text.partition("Profile:\n")[2]


@CASES
def test_rows(view: str, asked: dict[str, Any], rows: str) -> None:
    text = profile_of(MODEL).view(view, **asked, timing="tfprof").text()
    assert after_help(text) == dedent(rows).lstrip("\n")


@CASES
def test_native_prints_these_rows(native: NativeTfprof, view: str, asked: dict[str, Any], rows: str) -> None:
    graph, (run_meta,), op_log = protos_of(MODEL)
    protos = (each.SerializeToString() for each in (graph, run_meta, op_log))
    answer = native.analyze(Request(view, options_proto(DEFAULTS | asked)), *protos)
    assert isinstance(answer, NativeAnswer)
    assert after_help(answer.stdout.decode()).partition("\n======")[0] == dedent(rows).lstrip("\n")


def test_times_by_the_nanosecond_clock() -> None:
    text = profile_of("a = Op() 532ns\nb = Op() 1500ns\nc = Op() 20000ns").view("scope", select=["cpu_micros"]).text()
    assert after_help(text).splitlines()[1:] == [
        "_TFProfRoot (--/22.03us)",
        "  a (532ns/532ns)",
        "  b (1.50us/1.50us)",
        "  c (20us/20us)",
    ]


def test_how_many_ops_are_hidden_below_a_row() -> None:
    view = profile_of(MODEL).view("scope", select=["num_hidden_ops"], hide_name_regexes=["layer/.*", "loss"])
    assert after_help(view.text()).splitlines() == [
        "node name | hidden ops",
        "_TFProfRoot (3 hidden ops)",
        "  images ()",
        "  layer (2 hidden ops)",
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_has_a_sentence_of_help(view: str) -> None:
    for column in COLUMNS:
        head, found, _ = profile_of(MODEL).view(view, select=[column]).text().partition("\n\nProfile:\n")
        assert found
        _, doc, told, *helps = head.split("\n")
        assert doc == "Doc:"
        assert told.startswith("scope: " if view == "graph" else f"{view}: ")  # as natively
        assert all(len(each) > 20 for each in helps)


def test_options_are_printed_before_a_report_on_the_terminal() -> None:
    options = Options.of(
        min_bytes=3, show_name_regexes=["a", "b.*"], select=["micros", "bytes"], account_displayed_op_only=True
    )
    head, _, rest = banner(options, "rows\n").partition("\n==================Model Analysis Report")
    lines = head.strip("\n").splitlines()
    assert lines[0] == "=========================Options============================="
    assert "-min_bytes                  3" in lines
    assert "-show_name_regexes          a,b.*" in lines
    assert "-select                     bytes,micros" in lines
    assert "-account_displayed_op_only  true" in lines
    assert rest.endswith("\nrows\n\n======================End of Report==========================\n")


def test_a_prompt_shows_the_first_rows_and_says_how_many_more_there_are() -> None:
    profile = profile_of("\n".join(f"n{i:04} = Op() 1us" for i in range(1500)))
    lines = repr(profile.view("scope", select=["cpu_micros"])).splitlines()
    assert lines[0] == "scope view, 1,501 rows"
    assert lines[1:3] == ["node name | cpu execution time", "_TFProfRoot (--/1.50ms)"]
    assert lines[-2] == "  n0018 (1us/1us)"
    assert lines[-1] == "... 1,481 rows more: see .text(), .to_dataframe()"


def test_a_prompt_shows_all_rows_of_a_small_view() -> None:
    assert repr(profile_of("a = Op() 1us").view("op", select=["cpu_micros"])).splitlines() == [
        "op view, 1 row",
        "node name | cpu execution time",
        "Op                               1us (100.00%, 100.00%)",
    ]


def test_names_are_printed_as_they_are() -> None:
    profile = profile_of("été/日本 = Op() 1us")
    assert "    été/日本 (1us/1us)\n" in profile.view("scope", select=["cpu_micros"]).text()
    # Native pads the names of op types by bytes: "\u00e9t\u00e9" is five of them.
    row = profile_of("a = été() 1us").view("op", select=["cpu_micros"]).text().splitlines()[-1]
    assert row == "été" + " " * (25 - 5) + "1us (100.00%, 100.00%)".rjust(30)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"account_type_regexes": ["_trainable_variables"]},
            "Nothing to show: no node has the type _trainable_variables; give an op log (--op_log_path), or a tf.Graph,"
            " in which variables are trained.",
        ),
        (
            {"account_type_regexes": ["_checkpoint_variables"]},
            "Nothing to show: no node has the type _checkpoint_variables; give the path of a checkpoint "
            "(--checkpoint_path).",
        ),
        (
            {"select": ["tensor_value"]},
            "tensor_value is empty without a checkpoint; give the path of a checkpoint (--checkpoint_path).",
        ),
    ],
)
def test_what_has_to_be_given_is_named(options: dict[str, Any], told: str) -> None:
    assert summary(profile_of("w = VariableV2() 1us").view("scope", **options)).endswith(told)


def test_nothing_is_named_that_is_there() -> None:
    trained = profile_of("w = VariableV2() 1us +_trainable_variables")
    assert "give" not in summary(trained.view("scope", account_type_regexes=["_trainable_variables"]))
    assert "give" not in summary(profile_of("w = VariableV2() 1us").view("scope", account_type_regexes=["VariableV2"]))
    filtered = trained.view("scope", account_type_regexes=["_trainable_variables"], min_micros=10)
    assert summary(filtered).endswith("no node passes min_micros=10. Loosen one of these.")


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (
            "eager/MatMul = Op() 5us",
            "6 µs of ops of which no line is known "
            "(most ran one by one: put them into a tf.function to see their lines)",
        ),
        (
            "imported = Op() 5us",
            "6 µs of ops of which no line is known (an imported graph has none: build it in this program, "
            "or give an op_log written where it is built)",
        ),
        ("eager/MatMul = Op() 3us", "4 µs of ops of which no line is known"),
    ],
)
def test_a_code_view_says_why_it_knows_no_line_of_most_of_the_op_time(others: str, said: str) -> None:
    profile = profile_of(f"a = Op() 4us | f.py:1:f\nb = Op() 1us\n{others}")
    assert said_left_out(profile.view("code")) == f"Left out: {said}."
