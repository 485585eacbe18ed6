"""The option `--engines` of the magic: what may stand behind it, its help, its completion, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from tests.magic.shells import hooks, new_shell


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with new_shell() as shell:
        yield shell


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was to be run on which engines, in place of running it."""
    asked: list[Any] = []
    monkeypatch.setattr(
        "tfprof_widget.magic.profile_on_engines",
        lambda shell, request, code, variables: asked.append((request.engines, request.traced, code)),
    )
    return asked


@pytest.mark.parametrize(
    ("line", "engines", "traced"),
    [
        ("--engines", "", {}),
        ("--engines --all", "", {"trace_all": True}),
        ("--all --engines", "", {"trace_all": True}),
        ("--engines rc", "rc", {}),
        ("--engines=rc --every 3", "rc", {"every": 3}),
        ("-engines rc[:2]", "rc[:2]", {}),
        ("--engines 'rc[[0, 2]]'", "rc[[0, 2]]", {}),
        ("--engines 0:2", "0:2", {}),
    ],
)
def test_the_cell_goes_to_the_engines_that_are_named(
    shell: InteractiveShell, asked: list[Any], line: str, engines: str, traced: dict[str, Any]
) -> None:
    before = hooks(shell)
    shell.run_cell(f"%%tfprof {line}\n%time train()\nawait more()").raise_error()
    assert asked == [(engines, traced, "%time train()\nawait more()\n")]
    assert hooks(shell) == before


def test_one_expression_goes_there_too(shell: InteractiveShell, asked: list[Any]) -> None:
    shell.run_cell("x = 1\n%tfprof --engines rc --all train(x)").raise_error()
    assert asked == [("rc", {"trace_all": True}, "train(x)")]


def test_without_code_there_is_nothing_to_run_there(
    shell: InteractiveShell, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%tfprof --engines rc")
    assert "UsageError: --engines needs the code to run there" in capsys.readouterr().err
    assert asked == []


def test_engines_that_are_not_there_are_a_usage_error(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%tfprof --engines rc\ntrain()")
    written = capsys.readouterr()
    assert written.err.startswith("UsageError: engines: 'rc' cannot be looked up")
    assert "Traceback" not in written.out + written.err


def test_the_option_has_help_and_completes(shell: InteractiveShell) -> None:
    told = " ".join(shell.object_inspect("%%tfprof")["docstring"].split())
    assert "[--engines [ENGINES]]" in told
    assert "Run the code on the engines of an ipyparallel cluster" in told
    with provisionalcompleter():
        found = list(shell.Completer.completions("%%tfprof --eng", 14))
    assert [each.text for each in found] == ["--engines"]
    shell.user_ns["some_client"] = 1
    shell.Completer.use_jedi = False
    with provisionalcompleter():
        found = list(shell.Completer.completions("%%tfprof --engines some_c", 25))
    assert [each.text for each in found] == ["some_client"]
