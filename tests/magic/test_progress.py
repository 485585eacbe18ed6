"""The progress line of a long cell: one line, which neither fails nor holds up the cell."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.magic.profiling import ProgressLine, line_display


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
    assert failed.wait(60)
    line.stop()
    assert shown == []
    assert capsys.readouterr() == ("", "")


def test_a_progress_line_that_hangs_does_not_hold_up_the_cell() -> None:
    hanging, release = threading.Event(), threading.Event()

    def hang() -> str:
        hanging.set()
        release.wait(120)
        return "late"

    shown: list[str] = []
    line = ProgressLine(hang, shown.append, after=0.0)
    line.start()
    assert hanging.wait(60)
    line.stop()
    (hung,) = (thread for thread in threading.enumerate() if thread.name == "tfprof progress")
    release.set()
    hung.join(60)
    assert shown == []
