"""The widget with the tasks of jobs: what the page is told, what it may ask for, and when nobody looks any more."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.jobs_told import TRAINING, write_task
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.files.jobs import REQUESTS, SNAPSHOT, STATE
from tfprof_widget.widget.jobs import JobsWidget, jobs_html, jobs_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two jobs; the task of the second one failed."""
    now = time.time()
    for task in ("worker-0", "worker-1", "worker-10", "worker-9"):
        write_task(tmp_path, "train", task, started=now - 200)
    write_task(tmp_path, "again", "worker-0", status="failed", exit_code=1, last_words="ValueError: <no> data")
    return tmp_path


def ask(widget: JobsWidget, request: str, task: str = "") -> None:
    widget._handle_custom_msg({"request": request, "task": task}, [])


def row(widget: JobsWidget, name: str) -> Any:
    return next(each for each in widget.tasks if each["name"] == name)


def test_a_row_for_each_task_in_order(folder: Path) -> None:
    widget = tfprof.watch(folder)
    order = ["train/worker-0", "train/worker-1", "train/worker-9", "train/worker-10", "again/worker-0"]
    assert [each["name"] for each in widget.tasks] == order
    told = row(widget, "train/worker-1")
    assert (told["status"], told["steps"], told["step_seconds"], told["has_profile"]) == ("running", 312, 0.125, False)
    assert [(key, share) for key, _, _, share, _ in told["parts"]] == [
        ("first", 10),
        ("steps", 40),
        ("python", 30),
        ("input", 20),
    ]
    failed = row(widget, "again/worker-0")
    assert (failed["status"], failed["exit_code"], failed["last_words"]) == ("failed", 1, "ValueError: <no> data")


def test_a_task_that_told_nothing_for_long_is_silent(folder: Path) -> None:
    write_task(folder, "train", "worker-0", host="elsewhere", updated=time.time() - 31, interval=10.0)
    before = time.time() - 31
    os.utime(folder / "train" / "worker-0" / STATE, (before, before))
    widget = tfprof.watch(folder)
    assert row(widget, "train/worker-0")["status"] == "silent"
    assert "nothing was heard for 3" in row(widget, "train/worker-0")["last_words"]
    assert row(widget, "train/worker-1")["status"] == "running"


def test_what_changed_is_told_and_what_is_half_written_is_passed_over(folder: Path) -> None:
    widget = tfprof.watch(folder)
    write_task(folder, "train", "worker-0", replace(TRAINING, steps=400))
    (folder / "train" / "worker-1" / STATE).write_bytes(b'{"steps": 3')
    (folder / "train" / "empty").mkdir()
    widget.refresh()
    assert row(widget, "train/worker-0")["steps"] == 400
    assert all(each["task"] != "empty" for each in widget.tasks)


def test_a_click_shows_the_last_profile(folder: Path) -> None:
    demo_profile().save(folder / "train" / "worker-0" / SNAPSHOT)
    widget = tfprof.watch(folder)
    assert row(widget, "train/worker-0")["has_profile"]
    ask(widget, "open", "train/worker-0")
    assert widget._opened["task"] == "train/worker-0"
    assert widget._shown_profile is not None
    assert widget._opened["widget"] == f"anywidget:{widget._shown_profile.model_id}"
    assert len(widget._shown_profile.profile.nodes) == 81
    ask(widget, "close")
    assert widget._opened == {}


def test_a_profile_that_cannot_be_read_is_told(folder: Path) -> None:
    (folder / "train" / "worker-0" / SNAPSHOT).write_bytes(b"half a file")
    widget = tfprof.watch(folder)
    ask(widget, "open", "train/worker-0")
    assert widget._opened == {}
    assert widget._said.startswith("train/worker-0 cannot be shown: ProfileError: ")


def test_a_job_is_asked_by_a_file(folder: Path) -> None:
    widget = tfprof.watch(folder)
    ask(widget, "trace", "train/worker-1")
    (request,) = (folder / "train" / REQUESTS).iterdir()
    assert json.loads(request.read_bytes())["steps"] == 5
    assert "train was asked to trace 5 steps" in widget._said
    ask(widget, "trace", "again/worker-0")
    assert "again cannot be asked: ProfileError: no task runs" in widget._said


def test_messages_that_name_no_task_are_passed_over(folder: Path) -> None:
    widget = tfprof.watch(folder)
    ask(widget, "open", "../../etc/passwd")
    ask(widget, "trace", "no/such")
    ask(widget, "dance")
    assert widget._opened == {}


def test_the_thread_looks_while_there_is_a_view(folder: Path) -> None:
    looked = threading.Semaphore(0)

    def look() -> list[Any]:
        looked.release()
        return []

    widget = JobsWidget("jobs", look, open_profile=lambda path: demo_profile().widget(), ask=lambda job, steps: None)
    assert looked.acquire(timeout=60)
    ask(widget, "shown")
    ask(widget, "shown")
    assert looked.acquire(timeout=60)
    ask(widget, "hidden")
    refreshing = widget._refreshing
    assert refreshing is not None
    assert not refreshing.is_over
    ask(widget, "hidden")
    refreshing._thread.join(60)
    assert not refreshing._thread.is_alive()
    ask(widget, "shown")
    assert looked.acquire(timeout=60)
    widget.close()
    assert widget._refreshing is not None
    widget._refreshing._thread.join(60)
    assert not widget._refreshing._thread.is_alive()


def test_a_directory_that_cannot_be_read_for_a_while_is_told() -> None:
    looks = iter(range(10**6))

    def look() -> list[Any]:
        if next(looks) == 1:
            raise OSError("stale file handle")
        return []

    widget = JobsWidget("jobs", look, open_profile=lambda path: demo_profile().widget(), ask=lambda job, steps: None)
    told = threading.Event()
    widget.observe(lambda change: told.set(), "_said")
    widget.start()
    assert told.wait(60)
    assert "stale file handle" in widget._said
    widget.close()


def test_what_a_notebook_keeps_is_a_table_without_scripts(folder: Path) -> None:
    seen = tfprof.watch(folder)._seen
    html = jobs_html(seen)
    assert html.count("<tr>") == 6
    assert "ValueError: &lt;no&gt; data" in html
    assert "again/worker-0 · failed: ValueError: <no> data · 312 · 125 ms" in jobs_text(seen)
