"""The bar shows to someone who waits, on a terminal or in a notebook, and to nobody else."""

from __future__ import annotations

import io
import sys
from time import monotonic, sleep
from types import SimpleNamespace

import pytest

from tfprof_widget.ingest.files import reading as module
from tfprof_widget.ingest.files.reading import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.001)


def shown_while_reading_one_file(stream: io.StringIO) -> str:
    """What was written by the time that something was, or long after it should have been."""
    with progress("loading", 200) as advance:
        advance("read profile_0", 100)
        until = monotonic() + 60
        while "profile_0" not in stream.getvalue() and monotonic() < until:
            sleep(0.01)
        return stream.getvalue()


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert "loading:  50%" in shown_while_reading_one_file(terminal)
    assert terminal.getvalue().split("\r")[-2].strip() == ""  # it is gone


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", output := io.StringIO())
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert "loading:  50%" in shown_while_reading_one_file(output)


def test_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(module, "Thread", None)
    with progress("loading", 200) as advance:
        advance("read profile_0", 200)
    assert log.getvalue() == ""


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY_SECONDS", 60.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress("loading", 200) as advance:
        advance("read profile_0", 100)
        advance("took in profile_0", 100)
    assert terminal.getvalue().strip() == ""
