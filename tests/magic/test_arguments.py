"""The arguments of %%tfprof reach the capture, all have help, and wrong ones are told."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.magic.shells import hooks
from tests.notebooks.stand_in import StandIn
from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.magic.arguments import ARGUMENTS
from tfprof_widget.profiles.options import OPTIONS


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("", {"name": ""}),
        ("--name first", {"name": "first"}),
        ("--name 'my net'", {"name": "my net"}),
        ('--name="my net"', {"name": "my net"}),
        ("--all", {"name": "", "trace_all": True}),
        ("--every 10", {"name": "", "every": 10}),
        ("--overhead 0.05", {"name": "", "overhead": 0.05}),
        ("--steps 10:20", {"name": "", "steps": (10, 20)}),
        ("--steps 10:", {"name": "", "steps": (10, None)}),
        ("--steps :20", {"name": "", "steps": (0, 20)}),
    ],
)
def test_what_to_trace_reaches_the_capture(
    shell: InteractiveShell, stand_in: StandIn, line: str, settings: dict[str, Any]
) -> None:
    assert shell.run_cell(f"%%tfprof {line}\npass").success
    assert stand_in.calls == [settings]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--min_micros 100 --max_depth 5 --view op", {"min_micros": 100, "max_depth": 5, "view": "op"}),
        ("-min_micros 100", {"min_micros": 100}),
        ("--min-micros=100", {"min_micros": 100}),
        ("-min-micros=100", {"min_micros": 100}),
        ("--step -1", {"step": -1}),
        ("--order_by micros --select micros,bytes", {"order_by": "micros", "select": ("micros", "bytes")}),
        ("--show_name_regexes .*conv.*,dense", {"show_name_regexes": (".*conv.*", "dense")}),
        (r"--show_name_regexes conv\d{1,2}$,[a,b]", {"show_name_regexes": (r"conv\d{1,2}$", "[a,b]")}),
        ("--hide_name_regexes ''", {"hide_name_regexes": ()}),
        ("--hide_name_regexes 'a b,c'", {"hide_name_regexes": ("a b", "c")}),
        ("--account_displayed_op_only", {"account_displayed_op_only": True}),
        ("-account_displayed_op_only true", {"account_displayed_op_only": True}),
        ("--account_displayed_op_only=false", {}),
        ("--account_displayed_op_only=No", {}),
        ("--account_displayed_op_only=1", {"account_displayed_op_only": True}),
        ("--account_displayed_op_only --account_displayed_op_only=false", {}),
        ("--min_micros= 100", {"min_micros": 100}),
        ("--hide_name_regexes= --step 0", {"hide_name_regexes": (), "step": 0}),
        ("--hide_name_regexes '--step'", {"hide_name_regexes": ("--step",)}),
        ("--min_micros $limit --max_depth '{limit + 1}'", {"min_micros": 7, "max_depth": 8}),
        ("--timing tfprof", {"timing": "tfprof"}),
    ],
)
def test_what_to_show_reaches_the_capture(shell: InteractiveShell, line: str, options: dict[str, Any]) -> None:
    shell.user_ns["limit"] = 7
    assert shell.run_cell(f"%%tfprof --quiet --out kept {line}\npass").success
    assert shell.user_ns["kept"].options == options


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_of_the_table_is_an_argument_with_help(shell: InteractiveShell, option: Any) -> None:
    value = {"integer": "3", "regexes": "a,b", "choice": option.choices[:1], "choices": ",".join(option.choices)}
    given = "" if option.kind == "flag" else value.get(option.kind, "stdout")
    shell.run_cell(f"%%tfprof --quiet --out kept --{option.name} {given if isinstance(given, str) else given[0]}\npass")
    assert option.name == "output" or option.name in shell.user_ns["kept"].options
    told = " ".join(shell.object_inspect("%%tfprof")["docstring"].split())
    assert f"--{option.name}" in told
    assert option.help in told


@pytest.mark.parametrize(
    "name", ["help", "name", "out", "text", "report", "quiet", "overhead", "every", "steps", "all", "view"]
)
def test_every_argument_of_the_magic_has_help(shell: InteractiveShell, name: str) -> None:
    told = " ".join(shell.object_inspect("%tfprof")["docstring"].split())
    assert f"--{name}" in told
    assert ARGUMENTS[name].help in told


def test_view_that_is_shown_without_one_is_the_one_in_the_help(shell: InteractiveShell) -> None:
    told = " ".join(shell.object_inspect("%%tfprof")["docstring"].split())
    tabs = "overview, layers, scope, graph, op, code, timeline, memory, history, workers, advise"
    default = "(default: overview, or op as text)"
    assert f"The view to show, or another tab of the widget. One of {tabs}. {default}" in told
    runs = KindOfRun("", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0)
    capture = Capture.of(Recording((GraphRecording(profile_of("a = Add() 3us"), (runs,)),), 1.0, 0.0, 0, ()))
    assert capture.widget().view == "overview"
    assert "op view" in capture.text()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--min_micro 3", "there is no option --min_micro: did you mean --min_micros or --min_cpu_micros?"),
        ("--qiet", "there is no option --qiet: did you mean --quiet?"),
        ("--zzzzzz", "there is no option --zzzzzz: %%tfprof? lists them"),
        ("--min_micros", "--min_micros wants a value, as in --min_micros 10"),
        ("--min_micros 1.5", "min_micros is '1.5', but must be a whole number"),
        ("--min_micros -1", "min_micros is -1, but must be at least 0"),
        ("--step -2", "step is -2, but must be at least -1"),
        ("--every 0", "every is 0, but must be at least 1"),
        ("--view ops", "view has no 'ops'; choose from overview, layers, scope, graph, op, code, timeline, "),
        ("--order_by time", "order_by has no 'time'; choose from name, depth"),
        ("--select micros,byts", "select has no 'byts'; choose from bytes, micros"),
        ("--hide_name_regexes (", "hide_name_regexes: RE2 refuses '(': missing )"),
        ("--overhead much", "overhead is 'much', but must be a share above 0"),
        ("--overhead nan", "overhead is 'nan', but must be a share above 0"),
        ("--steps 5", "steps is '5', but must be FIRST:END"),
        ("--steps 5:5", "steps is '5:5', which holds no step"),
        ("--all --every 3", "--every and --all exclude one another"),
        ("--steps 1:2 --overhead 0.1", "--overhead and --steps exclude one another"),
        ("--out a.b", "out is 'a.b', but must be a variable's name"),
        ("--report /no/such/place/a.html", "report is '/no/such/place/a.html', but there is no directory"),
        ("--output tape", "output 'tape': there is no 'tape'; choose from stdout, none, file"),
        (
            "--view op --output timeline:outfile=t",
            "output timeline: the op view has no timeline output; choose the view graph",
        ),
        (
            "--view scope --output pprof:outfile=t",
            "output pprof: the scope view has no pprof output; choose the view code",
        ),
        ("--select device --output pprof:outfile=t", "pprof: select is ['device'], but must hold one of micros"),
        ("--quiet=maybe", "--quiet is 'maybe', but must be true or false, or stand alone"),
        ("--name 'open", "--name wants a value"),
        ("--name=it's", 'cannot read "--name=it\'s": close the quote, or leave it out'),
        ("--name --quiet", "--name wants a value, as in --name first"),
        ("--steps= --quiet", "--steps wants a value, as in --steps 10:20"),
        ("-qiet", "there is no option -qiet: did you mean -quiet?"),
        ("train()", "%%tfprof cannot read 'train()' on its first line; the code goes below it"),
    ],
)
def test_a_wrong_argument_is_told_in_one_line_and_nothing_runs(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    before = hooks(shell)
    ran = shell.run_cell(f"%%tfprof {line}\nprint('ran')")
    written = capsys.readouterr()
    assert type(ran.error_in_exec).__name__ == "UsageError"
    assert written.err.startswith(f"UsageError: {complaint}")
    assert written.err.count("\n") == 1
    assert (written.out, stand_in.calls, hooks(shell)) == ("", [], before)


@pytest.mark.parametrize(
    "cell",
    [
        "%tfprof --help",
        "%tfprof -h",
        "%%tfprof --help",
        "%%tfprof -h --all\nprint('ran')",
        "%tfprof --help print('ran')",
        "%tfprof --engines --help",
        "%tfprof --help\nNone",
    ],
)
def test_help_is_shown_on_demand_and_nothing_is_profiled(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    before = hooks(shell)
    assert shell.run_cell(cell).success
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("%tfprof [--help] [--name TEXT]")
    assert all(option.help in told for option in ARGUMENTS.values())
    assert "ran" not in told.split()
    assert (stand_in.calls, hooks(shell)) == ([], before)


def test_a_help_that_belongs_to_the_code_is_left_to_it(shell: InteractiveShell, stand_in: StandIn) -> None:
    assert shell.run_cell("kept = %tfprof str('--help')").success
    assert (shell.user_ns["kept"], len(stand_in.calls)) == ("--help", 1)


def test_a_magic_without_a_cell_below_is_told_so(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    for cell in ("%%tfprof", "%%tfprof --all\n", "%%tfprof\n\n  \n"):
        assert not shell.run_cell(cell).success
        assert "the cell body is empty" in capsys.readouterr().err
