"""The words of a command: options in every spelling of the documents, and slips that are told."""

from __future__ import annotations

from typing import Any

import pytest

from tfprof_widget.cli.arguments import ARGUMENTS, SHOWN, CommandRequest, read_line, read_words
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.profiles.options import OPTIONS


@pytest.mark.parametrize(
    "line",
    [
        "scope -max_depth 3",
        "scope --max_depth=3",
        "scope --max-depth 3",
        "scope -max-depth=3",
        "-max_depth 3 scope",
        "  scope   -max_depth\t3 ",
        "scope -max_depth 7 -max_depth 3",
        "scope -max_depth '3'",
        'scope "-max_depth" 3',
    ],
)
def test_options_have_one_dash_or_two_and_an_underscore_or_a_dash_inside(line: str) -> None:
    assert read_line(line) == CommandRequest("scope", options={"max_depth": 3})


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-step -1", {"step": -1}),
        ("-select micros,bytes,occurrence", {"select": ("micros", "bytes", "occurrence")}),
        ("-select micros,,bytes,", {"select": ("micros", "bytes")}),
        ("-select ''", {"select": ()}),
        ("-select=", {"select": ()}),
        ("-order_by accelerator_micros", {"order_by": "accelerator_micros"}),
        ("-account_displayed_op_only", {"account_displayed_op_only": True}),
        ("-account_displayed_op_only -step 0", {"account_displayed_op_only": True, "step": 0}),
        ("-account_displayed_op_only true", {"account_displayed_op_only": True}),
        ("-account_displayed_op_only No", {"account_displayed_op_only": False}),
        ("-account_displayed_op_only=0", {"account_displayed_op_only": False}),
        ("--account_displayed_op_only=F", {"account_displayed_op_only": False}),
        ("-trim_name_regexes=", {"trim_name_regexes": ()}),
        ("-trim_name_regexes ''", {"trim_name_regexes": ()}),
        ("-show_name_regexes unit_1_0.*gamma", {"show_name_regexes": ("unit_1_0.*gamma",)}),
        ("-show_name_regexes '.*a b.*'", {"show_name_regexes": (".*a b.*",)}),
        (r"-start_name_regexes a\.b,c\,d", {"start_name_regexes": (r"a\.b", r"c\,d")}),
        (
            r"-hide_name_regexes IsVariableInitialized_[0-9]+,save\/.*,^zeros[0-9_]*",
            {"hide_name_regexes": ("IsVariableInitialized_[0-9]+", r"save\/.*", "^zeros[0-9_]*")},
        ),
        ("-account_type_regexes .*ps.*task:0.*", {"account_type_regexes": (".*ps.*task:0.*",)}),
        ("-device_regexes .*gpu:0", {"device_regexes": (".*gpu:0",)}),
        ("-output timeline:outfile=/tmp/t.json", {"output": "timeline:outfile=/tmp/t.json"}),
        ("-o page.html", {"output": "page.html"}),
        ('--dump_to_file="/tmp/dump"', {"output": "file:outfile=/tmp/dump"}),
        ("--dump_to_file=", {"output": "stdout"}),
        ("-output none -dump_to_file d", {"output": "file:outfile=d"}),
        ("--timing=tfprof", {"timing": "tfprof"}),
    ],
)
def test_values_by_kind(words: str, options: dict[str, Any]) -> None:
    assert read_line(f"scope {words}").options == options


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_of_the_table_is_taken(option: Any) -> None:
    text = {"integer": "0", "flag": "true", "regexes": ".*", "text": "stdout"}.get(option.kind) or option.choices[0]
    assert option.name in read_words(["op", f"--{option.name}={text}"]).options


def test_viz_of_old_lines_has_no_effect_and_says_so() -> None:
    """Natively it printed "Visualizing feature disabled..."; lists of options of that time have `-viz false`."""
    with pytest.warns(ProfileWarning, match=r"viz: visualizing is disabled, .* --output=timeline:outfile=FILE"):
        assert read_line("graph -viz -max_depth 3") == CommandRequest("graph", options={"max_depth": 3})
    assert read_line("graph -viz false") == CommandRequest("graph")


def test_files_are_told_from_options_and_operands() -> None:
    request = read_words(["report", "a", "--graph_path", "~/g.pbtxt", "b", "--run_meta_path=r0,r1", "-o", "page.html"])
    assert request.operands == ("a", "b")
    assert request.files == {"graph_path": "~/g.pbtxt", "run_meta_path": "r0,r1"}
    assert request.options == {"output": "page.html"}


def test_after_help_an_option_wants_no_value() -> None:
    assert read_line("help -max_depth") == CommandRequest("help", ("-max_depth",))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("scope -max_dept 3", "there is no option -max_dept: did you mean -max_depth? `help` lists them"),
        ("scope --zzz", "there is no option --zzz: `help` lists them"),
        ("scope -max_depth", "-max_depth wants a value, as in -max_depth 10"),
        ("scope -select -step 0", "-select wants a value, as in -select bytes"),
        (
            "scope -min_micro 3",
            "there is no option -min_micro: did you mean -min_micros or -min_cpu_micros? `help` lists",
        ),
        ("scope --graph_path -o none", "--graph_path wants a value, as in --graph_path FILE"),
        ("scope -max_depth three", "max_depth is 'three', but must be a whole number"),
        ("scope -max_depth -3", "max_depth is -3, but must be at least 0"),
        ("scope -step -2", "step is -2, but must be at least -1"),
        ("scope -account_displayed_op_only=maybe", "-account_displayed_op_only is 'maybe', but must be true or false,"),
        ("scope -order_by time", "order_by has no 'time'; choose from name, depth, bytes"),
        ("scope -select micros,time", "select has no 'time'; choose from bytes, micros"),
        ("scope -show_name_regexes a(", "show_name_regexes: RE2 refuses 'a('"),
        ("scope -show_name_regexes 'a b", 'cannot read "\'a b": close the quote, or leave it out'),
    ],
)
def test_a_slip_is_told_with_the_way_out(line: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_line(line)
    assert str(caught.value).startswith(complaint)


def test_what_is_shown_in_help_is_what_is_taken() -> None:
    assert {option.name for option in SHOWN} <= ARGUMENTS.keys()
