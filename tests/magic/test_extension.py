"""The extension loads without slow imports, and comes and goes without a trace."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec, module_from_spec

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import MagicsManager

import tfprof_widget
from tests.magic.shells import hooks
from tests.notebooks.stand_in import StandIn


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


def test_loading_imports_nothing_slow() -> None:
    program = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
import tfprof_widget
tfprof_widget.load_ipython_extension(shell)
print(sorted({"tensorflow", "pandas", "altair", "keras"} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_it_loads_where_ipython_is_old(monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell) -> None:
    """Colab keeps to IPython 7.34, which cannot complete by context."""
    tfprof_widget.unload_ipython_extension(shell)
    for name in ("CompletionContext", "SimpleCompletion", "SimpleMatcherResult", "context_matcher"):
        monkeypatch.delattr(f"IPython.core.completer.{name}")
    before = list(shell.Completer.custom_matchers)
    tfprof_widget.load_ipython_extension(shell)
    assert shell.Completer.custom_matchers == before
    assert shell.run_cell("%tfprof --quiet 2 + 3").result == 5
    tfprof_widget.unload_ipython_extension(shell)
    assert "tfprof" not in shell.magics_manager.magics["cell"]


@pytest.mark.parametrize("name", ["arguments", "cell", "profiling"])
def test_its_modules_import_nothing_that_ipython_may_lack(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Neither what came after IPython 7.34, nor what only types and single arguments need."""
    for missing in ("context_matcher", "CompletionContext", "SimpleCompletion", "SimpleMatcherResult"):
        monkeypatch.delattr(f"IPython.core.completer.{missing}")
    monkeypatch.delattr("IPython.core.magic_arguments.MagicArgumentParser")
    monkeypatch.delattr("IPython.utils.text.DollarFormatter")
    spec = find_spec(f"tfprof_widget.magic.{name}")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))


def test_it_loads_and_goes_where_ipython_has_other_lists(
    shell: InteractiveShell, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then cells run within the magic, and Tab does not know its arguments; all else is as ever."""
    tfprof_widget.unload_ipython_extension(shell)
    capsys.readouterr()
    with monkeypatch.context() as breaking:
        breaking.delattr(InteractiveShell, "input_transformers_post")
        breaking.delattr(shell.Completer, "custom_matchers")
        tfprof_widget.load_ipython_extension(shell)
    told = capsys.readouterr().err
    assert "cells under %%tfprof cannot await here" in told
    assert "cannot complete the arguments of %%tfprof" in told
    assert shell.run_cell("%%tfprof --quiet\n2 + 3").result == 5
    assert stand_in.events == ["enter", "exit"]
    monkeypatch.delattr(MagicsManager, "registry")
    tfprof_widget.unload_ipython_extension(shell)
    assert shell.find_cell_magic("tfprof") is None
