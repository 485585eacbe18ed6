"""The profile of a cell ends with the cell: nested, silent, in threads, and where the end was not told."""

from __future__ import annotations

import threading

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.magic.shells import hooks
from tests.notebooks.stand_in import StandIn


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
