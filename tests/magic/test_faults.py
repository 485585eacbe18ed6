"""What goes wrong on our side is told, and does not reach the cell."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.magic.shells import hooks, outcome
from tests.notebooks.stand_in import CONTEXT, StandIn, StandInCapture, stand_in_module


class Unshowable(StandInCapture):
    def text(self) -> str:
        raise RuntimeError("cannot be shown")

    def save_report(self, path: str) -> None:
        raise RuntimeError("cannot be saved")


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


def test_a_cell_runs_where_ipython_does_not_tell_which_one_is_running(
    shell: InteractiveShell, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shell itself has the function still, by which it runs this cell; the class that is asked has it no more."""
    monkeypatch.setattr("tfprof_widget.magic.cell.InteractiveShell", SimpleNamespace)
    assert shell.run_cell("%%tfprof\nx = 2\nx + 3", store_history=True).result == 5
    out, err = capsys.readouterr()
    assert out == "Out[1]: 5\n"
    assert re.fullmatch(r"tfprof: cannot profile this cell, for this IPython [^\n]*'run_cell_async'[^\n]*\n", err)
    assert stand_in.events == []


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
