"""What a task writes while it runs, with captures that are made up, and without TensorFlow."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.jobs.states import LIVE
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.files.jobs import REQUESTS, SNAPSHOT, STATE
from tfprof_widget.jobs import reporter as reporting
from tfprof_widget.jobs.directory import JobDirectory
from tfprof_widget.jobs.reporter import Reporter
from tfprof_widget.jobs.requests import answers, ask
from tfprof_widget.jobs.settings import JobSettings
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.live import LiveState, TaskState


class MadeUp:
    """Stands for a running capture, and for what opened it."""

    is_empty = False
    measurement = SimpleNamespace(runs=("train",))

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.saved = Event()
        self.fails = False

    def live(self) -> LiveState:
        return LIVE

    def so_far(self) -> MadeUp:
        return self

    def save(self, path: Path) -> None:
        if self.fails:
            raise ProfileError(f"cannot write '{path}': there is no room")
        demo_profile().save(path)
        self.saved.set()

    def trace_next(self, steps: int) -> None:
        self.asked.append(steps)

    @property
    def has_traced(self) -> bool:
        return bool(self.asked)


@pytest.fixture
def reporter(tmp_path: Path) -> Any:
    made = Reporter(JobSettings(str(tmp_path), title="train", interval=0.1, quiet=True), os.getpid())
    made.capture = made.capturing = MadeUp()
    yield made
    made.stop()
    made.forget_signals()


def nothing(_: int) -> None:
    """Take a signal."""


def test_snapshot_and_state_are_written_while_it_runs(reporter: Any, tmp_path: Path) -> None:
    reporter.start(nothing)
    assert reporter.capture.saved.wait(60)
    reporter.stop()
    state = TaskState.of_json(json.loads((reporter.directory / STATE).read_bytes()))
    assert (state.status, state.live.steps, state.pid, state.interval) == ("running", LIVE.steps, os.getpid(), 0.1)
    assert tfprof.load(tmp_path).steps == demo_profile().steps


def test_request_is_answered_by_a_snapshot(reporter: Any, tmp_path: Path) -> None:
    reporter.start(nothing)
    state = json.loads((reporter.directory / STATE).read_bytes())
    (reporter.directory / STATE).write_text(json.dumps({**state, "host": ""}), encoding="utf-8")
    directory = JobDirectory(tmp_path)
    request, asked = ask(directory, "", 5)
    ((task, has_answered),) = answers(directory, request, asked, 60.0)
    assert (reporter.capture.asked, has_answered, task.files.path) == ([5], True, reporter.directory)
    assert (reporter.directory / SNAPSHOT).exists()
    assert list((reporter.directory.parent / REQUESTS).iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[5]", b'{"steps": 0}', b'{"steps": true}', b'{"steps": 1e9}', b"\xff"]
)
def test_request_of_anything_changes_nothing(content: bytes, reporter: Any) -> None:
    reporter.start(nothing)
    folder = reporter.directory.parent / REQUESTS
    folder.mkdir()
    (folder / "odd.json").write_bytes(content)
    (folder / "right.json").write_text('{"steps": 3}', encoding="utf-8")
    while not reporter.capture.asked:
        assert reporter._thread.is_alive()
        reporter._over.wait(0.05)
    assert reporter.capture.asked == [3]


def test_request_from_before_the_task_is_not_for_it(tmp_path: Path) -> None:
    made = Reporter(JobSettings(str(tmp_path), job="train", interval=0.1), os.getpid())
    (tmp_path / "train" / REQUESTS).mkdir(parents=True)
    (tmp_path / "train" / REQUESTS / "old.json").write_text('{"steps": 3}', encoding="utf-8")
    made.capture = made.capturing = MadeUp()
    made.start(nothing)
    assert made.capture.saved.wait(60)
    made.stop()
    made.forget_signals()
    assert made.capture.asked == []


def test_directory_that_vanishes_is_made_again(reporter: Any, tmp_path: Path) -> None:
    reporter.start(nothing)
    shutil.rmtree(reporter.directory.parent, ignore_errors=True)
    reporter.stop()
    reporter.hand_in("ended", 0, "")
    assert tfprof.load(tmp_path).steps == demo_profile().steps


def test_what_cannot_be_written_is_told_at_the_end(
    reporter: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter.settings = JobSettings(reporter.settings.out, quiet=False)
    reporter.start(nothing)
    reporter.stop()
    reporter.capture.fails = True
    monkeypatch.setattr(MadeUp, "overview_sentence", lambda _: "All is well.", raising=False)
    reporter.hand_in("ended", 0, "")
    assert "All is well. The profile could not be written: cannot write" in " ".join(capsys.readouterr().err.split())


def test_snapshots_take_a_hundredth_of_the_time(reporter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of the thread's work that says that each took two seconds, the next one is due in 200."""
    worked = iter([5.0, 7.0])
    monkeypatch.setattr(reporting, "thread_time", lambda: next(worked))
    monkeypatch.setattr(reporting, "monotonic", lambda: 1000.0)
    reporter._claim()
    reporter._snapshot()
    assert reporter._next_snapshot == 1200.0


def test_nothing_is_written_again_while_nothing_new_is_traced(reporter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(reporting, "monotonic", lambda: now[0])
    reporter._claim()
    assert reporter._is_due()
    reporter._snapshot()
    reporter._next_snapshot = 0.0
    assert not reporter._is_due()
    now[0] += reporting.RARE * 0.1
    assert reporter._is_due()


def test_no_snapshot_follows_one_that_is_too_large(reporter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "MOST_BYTES", 10)
    reporter._claim()
    assert reporter._is_due()
    reporter._snapshot()
    monkeypatch.setattr(reporting, "monotonic", lambda: 1e9)
    assert not reporter._is_due()
