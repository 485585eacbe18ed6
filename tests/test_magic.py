"""%%tfprof: a cell behaves as without it, whatever is in the cell and whatever goes wrong on our side."""

from __future__ import annotations

import atexit
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import tfprof_widget
from tests.notebooks.stand_in import CONTEXT, StandIn, StandInCapture, stand_in_module
from tfprof_widget.magic.arguments import ARGUMENTS
from tfprof_widget.magic.completion import candidates
from tfprof_widget.magic.progress import ProgressLine, line_display
from tfprof_widget.options import COLUMNS, OPTIONS, ORDERS, VIEWS

INTERACTIVITIES = ("all", "last", "last_expr", "none", "last_expr_or_assign")

CELLS = {
    "last value": "x = 20\nx + 1",
    "no value": "x = 20",
    "silenced value": "x = 20\nx + 1;",
    "only a comment": "# nothing",
    "await": "import asyncio\nawait asyncio.sleep(0, 'slept')",
    "await in the middle": "import asyncio\nx = await asyncio.sleep(0, 5)\nprint(x)\nx",
    "async with, for and comprehension": """\
import asyncio
async def numbers():
    yield 1
    yield 2
async with asyncio.Lock():
    async for number in numbers():
        print(number)
[number async for number in numbers()]""",
    "line magic": "%pwd",
    "value of a line magic": "where = %pwd\nlen(where) > 0",
    "automagic on a later line is no magic": "x = 1\npwd",
    "shell": "!echo hello",
    "value of a shell command": "lines = !echo hello\nlines",
    "help": "x = 1\nx?",
    "multi-line strings": "text = '''a\n  b\n\n\tc\n'''\nprint(repr(text))\ntext",
    "strings that look like magics": "text = '''\n%%tfprof --all\n%pwd\n!echo\nx?\n'''\ntext",
    "form feed and other line ends": "x = 'a\x0cb'\nx",
    "leading blank lines": "\n\n  \nx = 1\nx",
    "error below blank lines": "\n\n  \nx = 1\n1 / 0",
    "future import": "from __future__ import annotations\ndef f(x: Unknown): return x\nf(3)",
    "prompts": ">>> x = 1\n>>> x + 1\n2",
    "output order": "import sys\nprint(1)\ndisplay(2)\nprint(3, file=sys.stderr)\nsys.stdout.write('4')\n5",
    "unfinished line": "print('no newline', end='')",
    "earlier values": "(_, __, _1, Out[1], In[1])",
    "value stored under _": "_ = 5\n_",
    "functions and classes": "class A:\n    def f(self):\n        return self.g\n    g = 7\nA().f()",
    "local error": "def f(x):\n    y = x - 1\n    return 1 / y\n\nz = 3\nf(1)\nz = 4",
    "error on the first line": "1 / 0",
    "error far below": "x = 1\n" * 40 + "def f():\n    return missing\n" + "y = 2\n" * 10 + "f()",
    "error with a cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "error in a comprehension": "values = [\n    1 / x\n    for x in (1, 0)\n]",
    "error after await": "import asyncio\nawait asyncio.sleep(0)\n1 / 0",
    "error in a line magic": "x = 1\n%cd /no/such/directory/anywhere\n%timeit -n x",
    "error group": "raise ExceptionGroup('two', [ValueError(1), KeyError(2)])",
    "error of eval": "x = 1\neval('1/0')",
    "usage error": "%matplotlib_no_such",
    "syntax error": "x = 1\nx = = 2",
    "syntax error of the compiler": "x = 1\nreturn x",
    "indentation error": "x = 1\n  y = 2",
    "unclosed": "x = (1,\ny = 2",
    "null byte": "x = 1\ny = '\0'",
    "KeyboardInterrupt": "x = 1\nraise KeyboardInterrupt",
    "KeyboardInterrupt after await": "import asyncio\nawait asyncio.sleep(0)\nraise KeyboardInterrupt",
    "SystemExit": "import sys\nsys.exit(3)",
    "display that fails": "class Bad:\n    def __repr__(self):\n        return 1 / 0\nBad()",
    "cell within the cell": "get_ipython().run_cell('inner = 1\\n2')\nget_ipython().run_cell('')\nprint('on')\n3",
    "failing cell within the cell": "get_ipython().run_cell('1/0')\nprint('on')",
    "silent cell within the cell": "get_ipython().run_cell('1', silent=True)\nprint('on')",
    "inspection of the stack": "import inspect\ninspect.currentframe().f_lineno, __name__",
}
CANNOT_BE_PARSED = {"syntax error", "indentation error", "unclosed", "null byte"}
# These stand on the first line or not at all, so the cell to compare with has no comment in its place.
FIRST_LINES = {
    "automagic": "pwd",
    "autocall": "/len 'abc'",
    "another cell magic": "%%capture out\nprint(1)",
    "unknown cell magic": "%%no_such_magic\nx",
    "indented cell": "    x = 1\n    if x:\n        print('''a\n    b''')",
    "cell magic after blank lines": "\n\n%%capture out\nprint(1)",
    "the magic in a cell magic": "%%writefile /dev/null\n%%tfprof",
}


@dataclass(frozen=True)
class Outcome:
    """All that a cell did, as far as a user can tell."""

    out: str
    err: str
    result: str
    error: str
    error_before: str
    variables: dict[str, str]
    values: dict[int, str]
    count: int
    raw_history: list[str]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, CONTEXT, stand_in_module(stand_in))
    return stand_in


@contextmanager
def new_shell(**settings: Any) -> Iterator[InteractiveShell]:
    main, hook = sys.modules["__main__"], sys.excepthook
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}), colors="nocolor", **settings)
    tfprof_widget.load_ipython_extension(shell)
    try:
        yield shell
    finally:
        shell.restore_sys_module_state()
        atexit.unregister(shell.atexit_operations)
        shell.atexit_operations()
        sys.modules["__main__"], sys.excepthook = main, hook


@pytest.fixture
def shell(stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with new_shell() as shell:
        yield shell


def outcome(capfd: pytest.CaptureFixture[str], cell: str, **settings: Any) -> Outcome:
    """Run a cell as the second one in a new shell."""
    with new_shell(**settings) as shell:
        shell.run_cell("'first'", store_history=True)
        before = hooks(shell)
        capfd.readouterr()
        ran = shell.run_cell(cell, store_history=True)
        assert hooks(shell) == before
        assert shell.history_manager is not None
        written = capfd.readouterr()
        hidden = set(shell.user_ns_hidden)
        return Outcome(
            plain(written.out),
            plain(written.err),
            plain(repr(ran.result)) if "Bad" not in cell else "",
            plain(repr(ran.error_in_exec)),
            plain(repr(ran.error_before_exec)),
            {k: plain(repr(v)) for k, v in shell.user_ns.items() if k not in hidden and not k.startswith("_i")},
            {k: plain(repr(v)) for k, v in shell.user_ns["_oh"].items()} if "Bad" not in cell else {},
            shell.execution_count,
            shell.history_manager.input_hist_raw[1:],
        )


def plain(text: str) -> str:
    """Without what is different in each run: addresses and the names under which cells are compiled."""
    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"<ipython-input-\d+-\w+>", "<cell>", text))


def hooks(shell: InteractiveShell) -> Any:
    """All that a magic could leave behind."""
    callbacks = {event: list(functions) for event, functions in shell.events.callbacks.items()}
    lists = [shell.input_transformers_cleanup, shell.input_transformers_post, shell.ast_transformers]
    return callbacks, [list(each) for each in lists], sys.excepthook, sys.displayhook, threading.active_count()


@pytest.mark.filterwarnings("ignore:To exit")  # IPython's own advice after sys.exit
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_does_what_it_does_with_the_magic_commented_out(
    cell: str, stand_in: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    without = outcome(capfd, f"# %%tfprof --quiet\n{CELLS[cell]}")
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{CELLS[cell]}")
    assert with_magic == replace(without, raw_history=[line.removeprefix("# ") for line in without.raw_history])
    assert stand_in.events == ([] if cell in CANNOT_BE_PARSED else ["enter", "exit"])


@pytest.mark.parametrize("cell", FIRST_LINES)
def test_a_first_line_does_what_it_does_without_the_magic(
    cell: str, stand_in: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    without = outcome(capfd, FIRST_LINES[cell])
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{FIRST_LINES[cell]}")
    assert with_magic == replace(without, raw_history=with_magic.raw_history)
    assert stand_in.events == ["enter", "exit"]


@pytest.mark.parametrize("interactivity", INTERACTIVITIES)
def test_what_is_displayed_is_the_user_s_setting(
    interactivity: str, stand_in: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    code = "x = 1\nx\nx + 1\ny = 3"
    without = outcome(capfd, f"# %%tfprof --quiet\n{code}", ast_node_interactivity=interactivity)
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{code}", ast_node_interactivity=interactivity)
    assert with_magic == replace(without, raw_history=[line.removeprefix("# ") for line in without.raw_history])
    assert stand_in.events == ["enter", "exit"]


def test_the_profile_comes_below_what_the_cell_shows(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%tfprof --view op --min_micros 5\nprint('printed')\n'value'", store_history=True)
    assert capsys.readouterr().out == "printed\nOut[1]: 'value'\nPROFILE {'min_micros': 5, 'view': 'op'}\n"


def test_when_the_cell_raises_the_profile_is_shown_all_the_same(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = shell.run_cell("%%tfprof\n1 / 0")
    assert isinstance(ran.error_in_exec, ZeroDivisionError)
    out = capsys.readouterr().out
    assert "ZeroDivisionError: division by zero" in out
    assert out.endswith("PROFILE {}\n")


def test_the_result_goes_where_it_is_told(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, text = tmp_path / "page.html", tmp_path / "profile.txt"
    shell.run_cell(f"%%tfprof --quiet --out kept --report {page}\npass")
    assert capsys.readouterr() == ("", "")
    assert isinstance(shell.user_ns["kept"], StandInCapture)
    assert page.read_text() == "REPORT"
    shell.run_cell(f"%%tfprof --view op --output file:outfile={text}\npass")
    assert capsys.readouterr() == ("", "")
    assert text.read_text() == "PROFILE {'view': 'op'}"
    shell.run_cell("%%tfprof --output none\npass")
    assert capsys.readouterr() == ("", "")
    shell.run_cell("%%tfprof --text\npass")
    assert capsys.readouterr().out == "PROFILE {}\n"


def test_a_cell_that_raises_keeps_its_capture_too(shell: InteractiveShell, tmp_path: Path) -> None:
    shell.run_cell("%%tfprof --quiet --out kept\n1 / 0")
    assert isinstance(shell.user_ns["kept"], StandInCapture)


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
    "name", ["name", "out", "text", "report", "quiet", "overhead", "every", "steps", "all", "view"]
)
def test_every_argument_of_the_magic_has_help(shell: InteractiveShell, name: str) -> None:
    told = " ".join(shell.object_inspect("%tfprof")["docstring"].split())
    assert f"--{name}" in told
    assert ARGUMENTS[name].help in told


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--min_micro 3", "there is no argument --min_micro: did you mean --min_micros or --min_cpu_micros?"),
        ("--qiet", "there is no argument --qiet: did you mean --quiet?"),
        ("--zzzzzz", "there is no argument --zzzzzz: %%tfprof? lists what there is"),
        ("--min_micros", "--min_micros wants a value, as in --min_micros 10"),
        ("--min_micros 1.5", "min_micros is '1.5', but must be a whole number"),
        ("--min_micros -1", "min_micros is -1, but must be at least 0"),
        ("--step -2", "step is -2, but must be at least -1"),
        ("--every 0", "every is 0, but must be at least 1"),
        ("--view ops", "view has no 'ops'; choose from scope, graph, op, code"),
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
        ("--quiet=maybe", "--quiet is a flag: write it alone, or with true or false"),
        ("--name 'open", "--name wants a value"),
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


def test_a_magic_without_a_cell_below_is_told_so(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    for cell in ("%%tfprof", "%%tfprof --all\n", "%%tfprof\n\n  \n"):
        assert not shell.run_cell(cell).success
        assert "the cell body is empty" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["call", "enter", "exit"])
@pytest.mark.parametrize("code", ["x = 1\nx", "import asyncio\nawait asyncio.sleep(0, 1)", "1 / 0"])
def test_a_fault_of_the_capture_is_told_and_does_not_reach_the_cell(
    stand_in: StandIn, capfd: pytest.CaptureFixture[str], place: str, code: str
) -> None:
    without = outcome(capfd, f"# %%tfprof --quiet\n{code}")
    stand_in.fault = place
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{code}")
    assert replace(with_magic, err="", raw_history=[]) == replace(without, raw_history=[])
    assert re.fullmatch(rf"tfprof: [^\n]* this: RuntimeError: broken at {place}\n", with_magic.err)


@pytest.mark.parametrize("name", ["restore_first_line", "EndOfCell"])
def test_a_fault_of_the_magic_is_told_and_does_not_reach_the_cell(
    shell: InteractiveShell,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(f"tfprof_widget.magic.{name}", broken)
    before = hooks(shell)
    assert shell.run_cell("%%tfprof\n5", store_history=True).result == 5
    assert capsys.readouterr() == ("Out[1]: 5\n", "tfprof: cannot profile this: RuntimeError: broken\n")
    assert hooks(shell) == before
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, CONTEXT, stand_in_module(stand_in))
    assert shell.run_cell("%%tfprof --quiet\n5").success
    assert stand_in.events == ["enter", "exit"]


class Unshowable(StandInCapture):
    def text(self) -> str:
        raise RuntimeError("cannot be shown")

    def save_report(self, path: str) -> None:
        raise RuntimeError("cannot be saved")


def test_a_fault_of_the_result_is_told_and_what_can_be_given_is_given(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stand_in.make = Unshowable
    before = hooks(shell)
    ran = shell.run_cell(f"%%tfprof --out kept --report {tmp_path / 'a.html'}\n5", store_history=True)
    assert ran.result == 5
    assert "kept" in shell.user_ns
    assert capsys.readouterr() == (
        "Out[1]: 5\n",
        "tfprof: has no report: RuntimeError: cannot be saved\n"
        "tfprof: has no profile of this: RuntimeError: cannot be shown\n",
    )
    assert hooks(shell) == before


@pytest.mark.parametrize("place", ["enter", "exit"])
def test_an_interrupt_in_our_own_code_leaves_no_hook(
    shell: InteractiveShell, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupted(self: StandIn, at: str) -> None:
        if at == place:
            raise KeyboardInterrupt

    monkeypatch.setattr(StandIn, "_fail_at", interrupted)
    before = hooks(shell)
    shell.run_cell("%%tfprof\nx = 1")
    assert hooks(shell) == before
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, CONTEXT, stand_in_module(stand_in))
    stand_in.events.clear()
    assert shell.run_cell("%%tfprof\nx = 1").success
    assert stand_in.events == ["enter", "exit"]


def test_a_profiled_cell_within_a_profiled_cell_belongs_to_the_outer_one(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%tfprof\nget_ipython().run_cell('%%tfprof\\nx = 1')\n%tfprof 1 + 1\nprint(x)")
    assert stand_in.events == ["enter", "exit"]
    written = capsys.readouterr()
    assert written.out == "1\nPROFILE {}\n"
    assert written.err.count("this cell is being profiled already") == 2


def test_the_magic_may_stand_below_another(shell: InteractiveShell, stand_in: StandIn) -> None:
    assert shell.run_cell("%%capture out\n%%tfprof\nprint('printed')").success
    assert shell.user_ns["out"].stdout == "printed\nPROFILE {}\n"
    assert stand_in.events == ["enter", "exit"]


def test_a_cell_run_silently_is_profiled_to_its_end_as_well(shell: InteractiveShell, stand_in: StandIn) -> None:
    before = hooks(shell)
    shell.run_cell("%%tfprof --quiet\nx = 1", silent=True)
    assert stand_in.events == ["enter", "exit"]
    assert hooks(shell) == before


def test_what_another_thread_runs_does_not_end_the_cell(shell: InteractiveShell, stand_in: StandIn) -> None:
    def run_there() -> list[str]:
        thread = threading.Thread(target=shell.events.trigger, args=("post_execute",))
        thread.start()
        thread.join()
        return list(stand_in.events)

    shell.user_ns["run_there"] = run_there
    assert shell.run_cell("%%tfprof --quiet\nrun_there()").result == ["enter"]
    assert stand_in.events == ["enter", "exit"]


def test_the_next_cell_ends_the_profile_of_one_that_never_told_its_end(
    shell: InteractiveShell, stand_in: StandIn
) -> None:
    before = hooks(shell)
    cell = shell.run_cell_async("x = 1", transformed_cell=shell.transform_cell("%%tfprof --quiet\nx = 1"))
    with pytest.raises(StopIteration):
        cell.send(None)
    assert stand_in.events == ["enter"]
    shell.run_cell("y = 1")
    assert stand_in.events == ["enter", "exit"]
    assert hooks(shell) == before


def test_an_expression_is_profiled_and_its_value_given(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = shell.run_cell("%tfprof --view op [len('a b'), {'--all': 1}]", store_history=True)
    assert ran.result == [3, {"--all": 1}]
    assert capsys.readouterr().out == "PROFILE {'view': 'op'}\nOut[1]: [3, {'--all': 1}]\n"
    assert shell.run_cell("value = %tfprof --quiet 5 + 6").success
    assert shell.user_ns["value"] == 11
    assert shell.run_cell("%tfprof --quiet other = 7").success
    assert shell.user_ns["other"] == 7
    assert shell.run_cell("%tfprof --quiet 5;").result is None
    assert shell.run_cell("%tfprof --quiet -- -5").result == -5
    assert stand_in.events == ["enter", "exit"] * 5


def test_an_expression_sees_local_variables(shell: InteractiveShell) -> None:
    assert shell.run_cell("def f(a):\n    b = %tfprof --quiet a + 1\n    return b\nf(3)").result == 4


def test_an_expression_that_fails_is_profiled_and_fails(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = shell.run_cell("%tfprof --quiet 1 / 0")
    assert isinstance(ran.error_in_exec, ZeroDivisionError)
    assert "----> 1 1 / 0" in capsys.readouterr().out
    assert stand_in.events == ["enter", "exit"]


def test_what_an_expression_cannot_be_is_told(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%tfprof await f()")
    assert capsys.readouterr().err == ("UsageError: %tfprof cannot await; %%tfprof on the first line of the cell can\n")
    assert isinstance(shell.run_cell("%tfprof 1 +").error_in_exec, SyntaxError)
    assert stand_in.calls == []


def test_without_an_expression_the_rest_of_the_cell_is_profiled(shell: InteractiveShell, stand_in: StandIn) -> None:
    shell.user_ns["events"] = stand_in.events
    shell.run_cell("before = list(events)\n%tfprof --quiet\nafter = list(events)")
    assert (shell.user_ns["before"], shell.user_ns["after"]) == ([], ["enter"])
    assert stand_in.events == ["enter", "exit"]
    with pytest.raises(Exception, match="no cell is running"):
        shell.run_line_magic("tfprof", "")


def test_the_cell_magic_can_be_called_as_a_function(shell: InteractiveShell, stand_in: StandIn) -> None:
    assert shell.run_cell_magic("tfprof", "--quiet", "x = 4\nx + 1") == 5
    assert shell.user_ns["x"] == 4
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("tfprof", "--quiet", "1 / 0")
    assert stand_in.events == ["enter", "exit"] * 2


def test_a_progress_line_is_one_line_of_a_terminal(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line_display(shell) is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    show = line_display(shell)
    assert show is not None
    monkeypatch.setenv("COLUMNS", "20")
    show("3 runs traced, MatMul 1.5 s")
    show("")
    assert capsys.readouterr() == ("", "\r3 runs traced, MatM\x1b[K\r\x1b[K")


@pytest.mark.parametrize("fault", ["progress", "show"])
def test_a_progress_line_that_fails_ends_silently(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    def failing(*_: Any) -> Any:
        failed.set()
        raise RuntimeError(fault)

    failed = threading.Event()
    shown: list[str] = []
    progress = failing if fault == "progress" else lambda: "3 runs"
    line = ProgressLine(progress, failing if fault == "show" else shown.append, after=0.0)
    line.start()
    assert failed.wait(5)
    line.stop()
    assert shown == []
    assert capsys.readouterr() == ("", "")


def test_a_progress_line_that_hangs_does_not_hold_up_the_cell() -> None:
    hanging, release = threading.Event(), threading.Event()

    def hang() -> str:
        hanging.set()
        release.wait(30)
        return "late"

    shown: list[str] = []
    line = ProgressLine(hang, shown.append, after=0.0)
    line.start()
    assert hanging.wait(5)
    began = time.monotonic()
    line.stop()
    assert time.monotonic() - began < 5
    release.set()
    for thread in threading.enumerate():
        if thread.name == "tfprof progress":
            thread.join(5)
    assert shown == []


@pytest.mark.parametrize(
    ("before_cursor", "expected"),
    [
        ("%%tfprof --min_mic", ["--min_micros"]),
        ("%%tfprof -min-mic", ["--min_micros"]),
        ("%%tfprof --view op --q", ["--quiet"]),
        ("%%tfprof --", [f"--{name}" for name in ARGUMENTS]),
        ("%%tfprof --view ", list(VIEWS)),
        ("%%tfprof --view=", list(VIEWS)),
        ("%%tfprof --view s", ["scope"]),
        ("%tfprof -order-by acc", ["accelerator_micros"]),
        ("%%tfprof --order_by ", list(ORDERS)),
        ("%%tfprof --select micros,par", ["params"]),
        ("%%tfprof --select ", list(COLUMNS)),
        ("x = 1\nvalue = %tfprof --vi", ["--view"]),
    ],
)
@pytest.mark.parametrize("use_jedi", [True, False])
def test_tab_completes_arguments_and_choices(
    shell: InteractiveShell, before_cursor: str, expected: list[str], use_jedi: bool
) -> None:
    shell.Completer.use_jedi = use_jedi
    with provisionalcompleter():
        found = list(shell.Completer.completions(before_cursor, len(before_cursor)))
    assert sorted(each.text for each in found) == sorted(expected)
    start = max(before_cursor.rfind(mark) for mark in " =,") + 1
    assert {each.start for each in found} == {start}


@pytest.mark.parametrize("before_cursor", ["x = --mi", "%%timeit --mi", "%%tfprof", "%tfprof len", "%tfprof --all pri"])
def test_tab_leaves_the_rest_to_others(before_cursor: str) -> None:
    assert candidates(before_cursor) is None


def test_names_complete_behind_the_arguments(shell: InteractiveShell) -> None:
    shell.user_ns["some_long_name"] = 1
    shell.Completer.use_jedi = False  # which knows no names behind any magic
    with provisionalcompleter():
        found = list(shell.Completer.completions("%tfprof --all some_lo", 21))
    assert [each.text for each in found] == ["some_long_name"]


def test_the_extension_comes_and_goes_without_a_trace(shell: InteractiveShell, stand_in: StandIn) -> None:
    shell.run_cell("%unload_ext tfprof_widget")
    tfprof_widget.unload_ipython_extension(shell)
    bare = hooks(shell), list(shell.Completer.custom_matchers), sorted(shell.magics_manager.magics["cell"])
    assert not shell.run_cell("%%tfprof\n1").success
    for _ in range(2):
        tfprof_widget.load_ipython_extension(shell)
    assert shell.run_cell("%%tfprof --quiet\n1").result == 1
    assert stand_in.events == ["enter", "exit"]
    tfprof_widget.unload_ipython_extension(shell)
    now = hooks(shell), list(shell.Completer.custom_matchers), sorted(shell.magics_manager.magics["cell"])
    assert now == bare


def test_the_extension_may_go_while_a_cell_is_profiled(shell: InteractiveShell, stand_in: StandIn) -> None:
    shell.run_cell("%%tfprof --quiet\n%unload_ext tfprof_widget")
    tfprof_widget.unload_ipython_extension(shell)
    assert stand_in.events == ["enter", "exit"]


def test_loading_is_quick_and_imports_nothing_slow() -> None:
    program = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
import tfprof_widget
began = time.perf_counter()
tfprof_widget.load_ipython_extension(shell)
print(time.perf_counter() - began, sorted({"tensorflow", "pandas", "altair", "keras"} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, imported = ran.stdout.split(" ", 1)
    assert imported.strip() == "[]"
    assert float(seconds) < 1.0


def test_without_ipython_the_error_names_what_to_install() -> None:
    program = "import sys; sys.modules['IPython'] = None; import tfprof_widget.magic"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stderr.rstrip().endswith('ImportError: %%tfprof needs IPython: pip install "tfprof-widget[notebook]"')
