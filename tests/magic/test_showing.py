"""The profile is shown below what the cell shows, or goes where it is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.notebooks.stand_in import StandIn, StandInCapture
from tests.sketches import profile_of
from tfprof_widget.api.view import View


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


class ViewedCapture(StandInCapture):
    """A capture with something to look at."""

    def view(self, view: str) -> View:
        return profile_of("a = Op() 5us | a.py:1:f").view(view)


def test_a_timeline_or_pprof_profile_is_written_of_the_view_it_is_made_of(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stand_in.make = ViewedCapture
    trace, stacks = tmp_path / "run.json", tmp_path / "run.pb.gz"
    shell.run_cell(f"%%tfprof --output timeline:outfile={trace}\npass")
    assert f"Timeline file is written to {trace}.\n" in capsys.readouterr().out
    assert b'"view": "graph view"' in trace.read_bytes()
    shell.run_cell(f"%%tfprof --view scope --quiet --output timeline:outfile={trace}\npass")
    assert b'"view": "scope view"' in trace.read_bytes()
    shell.run_cell(f"%%tfprof --quiet --output pprof:outfile={stacks}\npass")
    assert b"a:f" in gzip.decompress(stacks.read_bytes())
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_written_is_told_and_the_cell_has_run(
    shell: InteractiveShell, stand_in: StandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stand_in.make = ViewedCapture
    trace = tmp_path / "missing" / "run.json"
    ran = shell.run_cell(f"%%tfprof --output timeline:outfile={trace}\nprint('ran')")
    assert ran.success
    written = capsys.readouterr()
    assert written.out == "ran\n"
    assert written.err.startswith(
        f"tfprof: the result is not written: ProfileError: cannot write '{trace}': No such file"
    )


def test_a_cell_that_raises_keeps_its_capture_too(shell: InteractiveShell, tmp_path: Path) -> None:
    shell.run_cell("%%tfprof --quiet --out kept\n1 / 0")
    assert isinstance(shell.user_ns["kept"], StandInCapture)
