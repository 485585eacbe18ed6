"""What the magic keeps of the runs of cells, and racing with earlier code."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.comparing.runs import Maker
from tests.notebooks.stand_in import StandIn, StandInCapture
from tfprof_widget.api import history as module
from tfprof_widget.api import race as racing
from tfprof_widget.api.history import Rings, history
from tfprof_widget.api.race import Race
from tfprof_widget.demo import demo_profile
from tfprof_widget.output.saved import save
from tfprof_widget.profiles.kept_run import KeptRun

MADE = Maker(5)


@dataclass
class KeptCapture(StandInCapture):
    """A capture of a cell in which something ran."""

    is_empty = False
    kept_run: KeptRun = field(default_factory=MADE.run)

    def save(self, path: str | PathLike[str]) -> None:
        save(demo_profile(), path, self.kept_run)


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch, stand_in: StandIn) -> Rings:
    """The rings of this kernel, empty."""
    rings = Rings()
    monkeypatch.setattr(module, "_KERNEL", rings)
    stand_in.make = KeptCapture
    return rings


def test_the_last_runs_of_each_cell_are_kept(shell: InteractiveShell) -> None:
    for code in ("%%tfprof --quiet\nx = 1\nfit(x)", "1 + 1", "%%tfprof --quiet --name wide\nx = 2\nfit(x)"):
        shell.run_cell(code.replace("fit(x)", "repr(x)"), store_history=True)
    assert [(run.label, run.source) for run in history()] == [
        ("In[1]", "x = 1\nrepr(x)"),
        ("In[3]", "x = 2\nrepr(x)"),
    ]
    assert len(history(3)) == 2
    assert history(1).diff().splitlines()[3:] == ["-x = 1", "+x = 2", " repr(x)"]


def test_cells_are_told_apart_by_the_names_that_the_front_end_gives(shell: InteractiveShell) -> None:
    for cell in ("a", "b", "a"):
        shell.run_cell("%%tfprof --quiet\npass", store_history=True, cell_id=cell)
    assert [len(history(cell)) for cell in ("a", "b")] == [2, 1]


def test_an_expression_is_a_cell_of_its_own(shell: InteractiveShell) -> None:
    shell.run_cell("%tfprof --quiet 1 + 1", store_history=True, cell_id="a")
    shell.run_cell("%tfprof --quiet\n2 + 2", store_history=True, cell_id="a")
    assert [(run.cell, run.source) for run in history()] == [("a: 1 + 1", "1 + 1"), ("a", "2 + 2")]


def test_runs_are_kept_on_disk_only_if_asked_for(shell: InteractiveShell, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shell.run_cell("%%tfprof --quiet\npass", store_history=True)
    assert not folder.exists()
    for _ in range(2):
        shell.run_cell(f"%%tfprof --quiet --keep {folder}\npass", store_history=True)
    assert [run.label for run in history(folder)] == ["In[2]", "In[3]"]


def test_nothing_is_kept_where_nothing_ran(shell: InteractiveShell, stand_in: StandIn) -> None:
    stand_in.make = StandInCapture
    shell.run_cell("%%tfprof --quiet\npass", store_history=True)
    assert not history()


def test_a_fault_of_the_history_leaves_the_result(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "keep_run", lambda run: 1 / 0)
    shell.run_cell("%%tfprof\npass", store_history=True)
    said = capsys.readouterr()
    assert said.out == "PROFILE {}\n"
    assert "this run is not kept in the history: ZeroDivisionError" in said.err


@pytest.fixture
def raced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], float]]:
    """The races that were asked for: the names in order, and the seconds; each callable is called once."""
    asked: list[tuple[list[str], float]] = []

    def race(callables: dict[str, Any], seconds: float) -> Race:
        asked.append((list(callables), seconds))
        for each in callables.values():
            each()
        return Race([racing._Runner(name, call) for name, call in callables.items()], 0, 1)

    monkeypatch.setattr(racing, "race", race)
    return asked


def test_a_cell_races_with_a_callable(
    shell: InteractiveShell, raced: list[tuple[list[str], float]], capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("called = []\ndef old(): called.append('old')", store_history=True)
    shell.run_cell("%%tfprof --against old --seconds 5 --out found\ncalled.append('new')", store_history=True)
    assert raced == [(["old", "this cell"], 5.0)]
    assert shell.user_ns["called"] == ["old", "new"]
    assert isinstance(shell.user_ns["found"], Race)
    assert capsys.readouterr().out.startswith("From old to this cell it cannot be told whether a call changed")


def test_a_cell_races_with_an_earlier_run(shell: InteractiveShell, raced: list[tuple[list[str], float]]) -> None:
    shell.run_cell("called = []")
    shell.run_cell("%%tfprof --quiet\ncalled.append('old')", store_history=True)
    label = history()[-1].label
    shell.run_cell(f"%%tfprof --quiet --against {label}\ncalled.append('new')", store_history=True)
    assert raced == [([label, "this cell"], 30.0)]
    assert shell.user_ns["called"] == ["old", "old", "new"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%%tfprof --against nobody\npass", "that is neither a callable nor an earlier run"),
        ("%%tfprof --seconds 5\npass", "name what the code is raced with by --against"),
        ("%tfprof --against print", "--against needs the code to race"),
        ("%%tfprof --keep /no/such/place\npass", "keep is '/no/such/place', but must be a directory"),
    ],
)
def test_what_is_not_understood(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    shell.run_cell(line, store_history=True)
    told = capsys.readouterr()
    assert said in told.out + told.err
