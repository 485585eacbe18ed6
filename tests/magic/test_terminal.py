"""What a capture shows at a terminal, which has no place for a table or a widget."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording


@pytest.fixture
def terminal(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    """A shell that shows text alone, as IPython's own terminal sets itself up."""
    assert shell.display_formatter is not None
    monkeypatch.setattr(InteractiveShell, "_instance", shell)
    shell.display_formatter.active_types = ["text/plain"]
    return shell


@pytest.mark.parametrize("cell", ["kept", "display(kept)"])
def test_a_capture_shows_what_it_prints(
    terminal: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    runs = KindOfRun("", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0)
    profile = profile_of("a = Add() 3us\nb = Mul() 5us")
    terminal.user_ns["kept"] = Capture.of(Recording((GraphRecording(profile, (runs,)),), 1.0, 0.0, 0, ()))
    terminal.run_cell("print(kept)")
    printed = capsys.readouterr().out
    assert "op view, 2 rows" in printed
    assert terminal.run_cell(cell).success
    assert capsys.readouterr().out.removeprefix("Out[0]: ") == printed


def test_an_empty_capture_says_why(terminal: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.user_ns["kept"] = Capture.of(Recording((), 1.0, 0.0, 0, ("nothing ran",)))
    terminal.run_cell("kept")
    assert capsys.readouterr().out == "Out[0]: Nothing was captured: nothing ran\n"
