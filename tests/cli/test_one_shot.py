"""One command, one answer: views of files, where the answer goes, and what becomes of slips."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.cli.conftest import NETWORK
from tests.cli.files import Files, written
from tests.sketches import profile_of, protos_of
from tfprof_widget.cli import main
from tfprof_widget.cli.commands import COMMANDS
from tfprof_widget.cli.session import say

Captured = pytest.CaptureFixture[str]
PROFILE = profile_of(NETWORK)


def rows(text: str) -> list[str]:
    """The lines below the legend."""
    return text.partition("node name |")[2].splitlines()[1:]


@pytest.mark.parametrize("view", ["scope", "graph", "op", "code"])
def test_a_view_is_what_the_library_gives(files: Files, capsys: Captured, view: str) -> None:
    assert main([view, *files.words, "--max_depth=100"]) == 0
    assert capsys.readouterr() == (PROFILE.view(view).text(), "")


def test_options_change_the_view(files: Files, capsys: Captured) -> None:
    words = ["-min_micros", "11", "-order_by", "micros", "--select=micros,params", "--step=1", "--timing=tfprof"]
    assert main(["op", *files.words, *words]) == 0
    first, second = rows(capsys.readouterr().out)  # below them 10us are left
    assert first.split()[:2] == ["MatMul", "140us"]
    assert second.split()[:2] == ["Relu", "20us"]


@pytest.mark.parametrize("name", ["graph", "binary_graph"])
def test_a_graph_is_read_as_text_or_binary_whatever_its_name(files: Files, capsys: Captured, name: str) -> None:
    assert main(["scope", f"--graph_path={getattr(files, name)}"]) == 0
    assert rows(capsys.readouterr().out)[:3] == [
        "_TFProfRoot (--/32 params)",
        "  layer (0/32 params)",
        "    layer/MatMul (0/0 params)",
    ]


def test_the_columns_fit_what_the_files_hold(files: Files, capsys: Captured) -> None:
    """The guide's default is params, today's native's micros, which without a run are all 0."""
    main(["op", f"--graph_path={files.graph}"])
    assert "node name | # parameters\n" in capsys.readouterr().out
    main(["op", f"--graph_path={files.graph}", f"--run_meta_path={files.run_meta}"])
    assert "node name | total execution time |" in capsys.readouterr().out


def test_ten_levels_are_shown_as_natively(tmp_path: Path, capsys: Captured) -> None:
    deep = written(protos_of(f"{'/'.join('abcdefghijklm')} = Op() 1us"), tmp_path)
    main(["scope", f"--graph_path={deep.graph}"])
    assert rows(capsys.readouterr().out)[-1].strip() == "a/b/c/d/e/f/g/h/i (0/0 params)"


def test_files_are_steps_in_their_order(files: Files, capsys: Captured) -> None:
    main(["op", *files.words, "--step=1", "--show_name_regexes=Relu", "--select=cpu_micros"])
    (row,) = rows(capsys.readouterr().out)
    assert row.split()[1] == "20us"


def test_files_may_be_named_without_options(files: Files, capsys: Captured) -> None:
    paths = [files.graph, *files.run_meta.split(","), files.op_log]
    assert main(["op", *paths, "--max_depth=100"]) == 0
    assert capsys.readouterr().out == PROFILE.view("op").text()


def test_a_saved_profile_is_read(files: Files, tmp_path: Path, capsys: Captured) -> None:
    path = str(tmp_path / "profile_xx")
    PROFILE.save(path)
    for words in ([f"--profile_path={path}"], ["--profile_path", path], [path]):
        assert main(["code", *words, "--max_depth=100", "--order_by=micros"]) == 0
        assert capsys.readouterr().out == PROFILE.view("code", order_by="micros").text()


def test_the_result_is_written_to_a_file(files: Files, tmp_path: Path, capsys: Captured) -> None:
    for number, option in enumerate(("--dump_to_file={}", "--output=file:outfile={}", "-o=file:outfile={}")):
        target = tmp_path / f"dump{number}"
        assert main(["scope", *files.words, "--max_depth=3", option.format(target)]) == 0
        assert target.read_text() == PROFILE.view("scope", max_depth=3).text()
        assert capsys.readouterr() == ("", f"tfprof: wrote {target}\n")


def test_nothing_is_printed_with_output_none(files: Files, capsys: Captured) -> None:
    assert main(["scope", *files.words, "--output=none"]) == 0
    assert capsys.readouterr() == ("", "")


def test_an_empty_view_says_why(files: Files, capsys: Captured) -> None:
    assert main(["op", *files.words, "--show_name_regexes=Conv.*"]) == 0
    shown = capsys.readouterr()
    assert rows(shown.out) == []
    assert "no node passes" in shown.err
    assert "show_name_regexes=['Conv.*']" in shown.err


def test_a_total_alone_needs_no_reason(files: Files, capsys: Captured) -> None:
    assert main(["scope", *files.words, "--max_depth=1"]) == 0
    shown = capsys.readouterr()
    assert len(rows(shown.out)) == 1
    assert shown.err == ""


def test_advise_prints_what_each_checker_reports(files: Files, capsys: Captured) -> None:
    assert main(["advise", *files.words]) == 0
    shown = capsys.readouterr().out
    assert "ExpensiveOperationChecker:\ntop 1 operation type: MatMul, " in shown


def test_flops_tells_what_lacks_a_formula(files: Files, capsys: Captured) -> None:
    assert main(["flops", *files.words, "--step=0"]) == 0
    # Of the 138us of step 0: the op log has MatMul's 120us, and Placeholder and VariableV2 (3us) compute nothing.
    assert capsys.readouterr().out.startswith("float operations are known for 89.1% of the op time\n")


def test_report_is_a_page(files: Files, tmp_path: Path, capsys: Captured) -> None:
    page = tmp_path / "network.html"
    assert main(["report", *files.words, "-o", str(page), "--min_micros=2"]) == 0
    assert "<h3>" in (written := page.read_text())  # the sentence of the overview
    assert "<b>layers view</b>" in written
    assert capsys.readouterr().err == f"tfprof: wrote {page}\n"


def test_merge_makes_one_profile_of_steps_and_profiles(files: Files, tmp_path: Path, capsys: Captured) -> None:
    graph, first, second = files.graph, *files.run_meta.split(",")
    merged = tmp_path / "profile_all"
    assert main(["merge", graph, first, second, files.op_log, "-o", str(merged)]) == 0
    assert f"wrote {merged}" in capsys.readouterr().err
    assert tfprof.load(merged).view("op").text() == PROFILE.view("op").text()


def test_demo_needs_no_files(tmp_path: Path, capsys: Captured) -> None:
    assert main(["demo"]) == 0
    assert rows(capsys.readouterr().out)[0].startswith("MatMul ")
    assert main(["demo", "scope", "--max_depth=2", "--select=params"]) == 0
    assert rows(capsys.readouterr().out)[0] == "_TFProfRoot (--/152.01k params)"
    assert main(["demo", "report", "-o", str(tmp_path / "page.html")]) == 0
    assert main(["demo", "advise"]) == 0


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_help_lists_commands_and_options(words: list[str], capsys: Captured) -> None:
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in ("scope", "advise", "report", "merge", "--graph_path", "--select"))
    assert max(map(len, shown.splitlines())) <= 112


@pytest.mark.parametrize("words", [["help", "scope"], ["scope", "--help"], ["scope", "-h", "--graph_path=missing"]])
def test_help_of_a_command(words: list[str], capsys: Captured) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("tfprof scope [FILES] [OPTIONS]\n  By name scope, as a tree.\n")


@pytest.mark.parametrize("topic", ["max_depth", "-max_depth", "--max-depth"])
def test_help_of_an_option(topic: str, capsys: Captured) -> None:
    assert main(["help", topic]) == 0
    assert capsys.readouterr().out.split()[:3] == ["--max_depth", "NUMBER", "Show"]


def test_every_command_has_help_of_a_line(capsys: Captured) -> None:
    for command in COMMANDS:
        if command != "help":
            assert main(["help", command]) == 0
            assert len(capsys.readouterr().out.splitlines()) in (2, 3)


@pytest.mark.parametrize("words", [["--json"], ["account", "--json"]])
def test_the_account_is_written_as_json(files: Files, capsys: Captured, words: list[str]) -> None:
    assert main([*words, *files.words]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(PROFILE.to_json())


def test_the_account_is_written_as_text(files: Files, capsys: Captured) -> None:
    assert main(["account", *files.words]) == 0
    assert capsys.readouterr().out == f"{PROFILE.time_budget()}\n"
    assert main(["account", f"--graph_path={files.graph}"]) == 1
    assert "nothing was measured" in capsys.readouterr().err


def test_the_demo_writes_json_too(capsys: Captured) -> None:
    assert main(["demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ops"][0]["op"] == "MatMul"


def test_views_write_no_json(files: Files, capsys: Captured) -> None:
    assert main(["op", "--json", *files.words]) == 2
    assert "op writes no JSON: --json is for the account" in capsys.readouterr().err


def test_version(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfprof {tfprof.__version__}\n"


BAD_USAGE = {
    "scop --graph_path=g": "there is no command 'scop': did you mean scope? The commands are scope, graph, op, code,",
    "set -max_depth 3": "there is no command 'set': The commands are ",
    "scope": "scope: name the files, as in --profile_path=FILE or --graph_path=FILE --run_meta_path=FILE,FILE",
    "--max_depth=3": "name the files, as in --profile_path=FILE",
    "scope --grph_path=g": "there is no option --grph_path: did you mean --graph_path? `help` lists them",
    "scope --graph_path={graph} --step=7": "step 7 is not in the profile; its steps are none: no run metadata",
    "scope --graph_path={graph} --output=printer": "output 'printer': there is no 'printer'; choose from stdout, none,",
    "scope --profile_path=p --graph_path={graph} --op_log_path=l": "--profile_path holds all there is: leave out "
    "--graph_path and --op_log_path",
    "scope {graph} --run_meta_path=r": "what kind of file is '{graph}'? Name all files by options, or all without",
    "report {graph}": "report: say where to, as in -o page.html",
    "merge {graph}": "merge: say where to, as in -o profile_all",
    "demo scop": "demo takes no 'scop': did you mean scope? Try one of scope, graph, op, code, layers, account, advise",
    "demo scope extra": "demo takes no 'extra': Try one of",
    "help max_dept": "there is no option -max_dept: did you mean -max_depth?",
}


@pytest.mark.parametrize("line", BAD_USAGE)
def test_bad_usage_is_a_line_and_exit_code_2(files: Files, line: str, capsys: Captured) -> None:
    assert main(line.format(graph=files.graph).split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"tfprof: {BAD_USAGE[line].format(graph=files.graph)}")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("scope --graph_path=/no/such/graph.pbtxt", "/no/such/graph.pbtxt"),
        ("scope --graph_path={op_log}", "{op_log}"),
        ("scope --graph_path={graph} --run_meta_path={graph}", "{graph}"),
        ("scope --profile_path=/no/such/profile_10", "/no/such/profile_10"),
        ("scope /no/such/profile_10", "/no/such/profile_10"),
        ("code --graph_path={graph}", "code view: the profile has no code traces"),
        ("scope --graph_path={graph} --dump_to_file=/no/such/folder/dump", "/no/such/folder/dump"),
        ("report --graph_path={graph} -o /no/such/folder/page.html", "/no/such/folder/page.html"),
    ],
)
def test_bad_input_is_a_line_and_exit_code_1(files: Files, line: str, complaint: str, capsys: Captured) -> None:
    names = {"graph": files.graph, "op_log": files.op_log}
    assert main(line.format(**names).split()) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("tfprof: ")
    assert complaint.format(**names) in shown.err
    assert shown.err.count("\n") == 1


def test_usage_is_checked_before_files_are_read(capsys: Captured) -> None:
    for output in ("printer", "timeline:outfile=run.json", "pprof:outfile=run.gz"):
        assert main(["op", "--graph_path=/no/such/graph", f"--output={output}"]) == 2
    assert "/no/such/graph" not in capsys.readouterr().err


def test_an_error_of_several_lines_is_a_line(capsys: Captured) -> None:
    say("1:1 : Message type\n  has no field")
    assert capsys.readouterr().err == "tfprof: 1:1 : Message type has no field\n"


def test_a_warning_is_a_line_too(tmp_path: Path, capsys: Captured) -> None:
    main(["advise", f"--graph_path={written(protos_of('a = Op()'), tmp_path).graph}"])
    assert all(line.startswith("tfprof: ") for line in capsys.readouterr().err.splitlines())
