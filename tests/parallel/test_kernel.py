"""While engines run, their outputs come and a line tells how far they are; in a real kernel Ctrl-C ends all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.notebooks.kernel import Kernel, running_kernel, shown


@pytest.fixture(scope="module")
def kernel(cluster: Any) -> Iterator[Kernel]:
    """A kernel that finds the cluster as the one that runs under its profile."""
    with running_kernel() as kernel:
        kernel.run("%load_ext tfprof_widget")
        yield kernel


def test_outputs_are_told_apart_by_engine_and_the_result_comes_last(kernel: Kernel) -> None:
    outputs, reply = kernel.run("%%tfprof --engines --text\nprint('from', get_ipython().kernel.engine_id)\n7")
    assert reply["status"] == "ok"
    *own, last = [text for _, text in shown(outputs)]
    assert {"[stdout:0] from 0\n", "[stdout:1] from 1\n"} < set(own)
    assert last.startswith("Nothing was captured: ")


def test_an_interrupt_ends_the_cell_and_the_next_one_runs(kernel: Kernel, tmp_path: Path) -> None:
    cell = f"""%%tfprof --engines --text
import pathlib, time
begun = pathlib.Path({str(tmp_path)!r}, "begun")
if get_ipython().kernel.engine_id:
    begun.touch()
    while True:
        time.sleep(0.01)
while not begun.exists():
    time.sleep(0.01)
raise ValueError("now")
"""
    outputs, reply = kernel.run(cell, interrupt_at="[0:execute]")
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    (told,) = [text for _, text in shown(outputs) if "Nothing was captured" in text]
    assert "engine 0 failed: ValueError: now; it is not in the profile" in told
    assert "engine 1 failed: KeyboardInterrupt; it is not in the profile" in told
    _, reply = kernel.run("%%tfprof --engines --quiet\n5")
    assert reply["status"] == "ok"


def test_a_line_tells_how_many_engines_are_done(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown: list[str] = []

    def show(line: str) -> None:
        shown.append(line)
        if "1 of 2" in line:
            (tmp_path / "over").touch()

    monkeypatch.setattr("tfprof_widget.magic.profiling.line_display", lambda shell: show)
    waiting = f"""
import pathlib, time
while get_ipython().kernel.engine_id and not pathlib.Path({str(tmp_path / "over")!r}).exists():
    time.sleep(0.01)
"""
    shell.run_cell(f"%%tfprof --engines --text\n{waiting}").raise_error()
    assert shown[-2:] == ["tfprof: 1 of 2 engines have run the cell", ""]
