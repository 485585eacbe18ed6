"""%tfprof profiles an expression, the rest of a cell, or what a program gives it."""

from __future__ import annotations

import tokenize

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.notebooks.stand_in import StandIn


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


def test_options_need_not_be_python(
    shell: InteractiveShell, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython looks for a semicolon with Python's tokenizer, which refuses a backslash from Python 3.12 on."""

    def refuse(_: str) -> bool:
        raise tokenize.TokenError("unexpected character after line continuation character")

    monkeypatch.setattr("IPython.core.displayhook.DisplayHook.semicolon_at_end_of_expression", staticmethod(refuse))
    assert shell.run_line_magic("tfprof", r"--quiet --show_name_regexes conv\d 2 + 3") == 5
    assert stand_in.events == ["enter", "exit"]


def test_a_semicolon_silences_a_nested_magic_too(shell: InteractiveShell, stand_in: StandIn) -> None:
    assert (
        shell.run_cell_magic("tfprof", "--quiet", "value = get_ipython().run_line_magic('tfprof', '5;')\nvalue") is None
    )
