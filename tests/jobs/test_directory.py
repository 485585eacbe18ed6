"""What is told of a directory of jobs: who runs, ended, failed or went silent; what is loaded, and what is removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.jobs.states import task
from tfprof_widget.cli import main
from tfprof_widget.ingest.files.jobs import STATE
from tfprof_widget.jobs.directory import GONE, JobDirectory, prune, read_age
from tfprof_widget.jobs.naming import host_name
from tfprof_widget.jobs.table import line, table
from tfprof_widget.profiles.live import LiveState

SHOWN = [
    *("train/worker-0", "running", "1,234", "500", "ms", "250", "ms", "10.0", "%", "30.0", "%"),
    *("MatMul", "125", "ms,", "Conv2D", "62.5", "ms"),
]


class Clocks:
    """Clocks that tests set."""

    def __init__(self, now: float) -> None:
        self.now, self.steady = now, 0.0

    def directory(self, path: Path) -> JobDirectory:
        return JobDirectory(path, clock=lambda: self.now, steady=lambda: self.steady)


def dated(path: Path, when: float) -> None:
    os.utime(path / STATE, (when, when))


@pytest.mark.parametrize(("now", "status"), [(1101.0, "running"), (1130.0, "running"), (1131.0, "silent")])
def test_task_is_silent_after_three_intervals(now: float, status: str, tmp_path: Path) -> None:
    dated(task(tmp_path, "train", "worker-0", interval=10.0), 1100.0)
    (seen,) = Clocks(now).directory(tmp_path).look()
    assert seen.status == status
    assert bool(seen.last_words) == (status == "silent")


def test_clock_that_was_set_back_makes_nobody_silent_and_hides_no_silence(tmp_path: Path) -> None:
    """The task's clock is a day ahead, and so is the date of its file: only the looker's steady clock tells."""
    clocks = Clocks(1100.0)
    path = task(tmp_path, "train", "worker-0", updated=87500.0)
    dated(path, 87500.0)
    directory = clocks.directory(tmp_path)
    assert [seen.status for seen in directory.look()] == ["running"]
    clocks.steady = 31.0
    assert [seen.status for seen in directory.look()] == ["silent"]
    dated(task(tmp_path, "train", "worker-0", updated=87531.0), 87531.0)
    assert [seen.status for seen in directory.look()] == ["running"]


def test_ended_task_is_not_silent_however_long_ago(tmp_path: Path) -> None:
    for name, status in (("a", "ended"), ("b", "failed"), ("c", "interrupted")):
        task(tmp_path, "train", name, status=status, exit_code=0, last_words="bye")
    seen = Clocks(9e9).directory(tmp_path).look()
    assert [(each.status, each.last_words) for each in seen] == [
        ("ended", "bye"),
        ("failed", "bye"),
        ("interrupted", "bye"),
    ]


def test_process_that_is_gone_is_told_at_once_and_one_that_lives_is_not(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    for name, pid in (("gone", process.pid), ("here", os.getpid())):
        dated(task(tmp_path, "train", name, pid=pid, host=host_name()), 1100.0)
    gone, here = Clocks(1101.0).directory(tmp_path).look()
    assert (gone.status, gone.last_words) == ("silent", GONE)
    assert here.status == "running"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"strip": "x", "parts": 3}', b"\xff\xfe", b"[" * 100_000])
def test_state_of_anything_is_read_or_passed_over(content: bytes, tmp_path: Path) -> None:
    (task(tmp_path, "train", "a") / STATE).write_bytes(content)
    task(tmp_path, "train", "b")
    assert "b" in [seen.files.task for seen in JobDirectory(tmp_path).look()]


def test_table_has_a_row_for_each_task_with_its_last_words(tmp_path: Path) -> None:
    dated(task(tmp_path, "train", "worker-0"), 1100.0)
    task(tmp_path, "train", "worker-1", live=LiveState("train.py"), status="failed", last_words="ValueError: nan")
    rows = table(Clocks(1101.0).directory(tmp_path).look())
    assert [each.split() for each in rows[1:]] == [
        SHOWN,
        ["train/worker-1", "failed"],
        ["ValueError:", "nan"],
    ]
    assert max(map(len, table(Clocks(1101.0).directory(tmp_path).look(), 40))) <= 40


def test_name_that_commands_a_terminal_is_written_as_it_is_spelled(tmp_path: Path) -> None:
    task(tmp_path, "train", "a", status="failed", last_words="\x1b[2J gone")
    (seen,) = JobDirectory(tmp_path).look()
    assert "\x1b" not in line(seen)
    assert "\x1b" not in "".join(table([seen]))


def test_load_gives_each_task_as_a_worker_and_passes_over_those_without_profile(tmp_path: Path) -> None:
    for name in ("worker-0", "worker-1"):
        task(tmp_path, "train", name, profiled=True)
    task(tmp_path, "train", "chief-0")
    with pytest.warns(tfprof.ProfileWarning, match="passed over 1 of 3 tasks: chief-0 captured nothing"):
        profile = tfprof.load(tmp_path)
    assert set(profile.step_workers) == {"worker-0", "worker-1"}
    single = tfprof.load(tmp_path / "train" / "worker-0")
    assert (single.step_workers, len(single.executions) * 2) == ((), len(profile.executions))


def test_load_tells_tasks_of_several_jobs_apart(tmp_path: Path) -> None:
    for job in ("one", "two"):
        task(tmp_path, job, "worker-0", profiled=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(tfprof.load(tmp_path).step_workers) == {"one/worker-0", "two/worker-0"}


def test_load_of_a_directory_in_which_nothing_was_captured_says_so(tmp_path: Path) -> None:
    task(tmp_path, "train", "worker-0")
    with pytest.raises(tfprof.ProfileError, match="worker-0 captured nothing"):
        tfprof.load(tmp_path)


def test_damaged_snapshot_is_refused_or_passed_over(tmp_path: Path) -> None:
    task(tmp_path, "train", "worker-0", profiled=True)
    (task(tmp_path, "train", "worker-1") / "snapshot.tfprof").write_bytes(b"\x0a\xff\xff")
    with pytest.raises(tfprof.ProfileError):
        tfprof.load(tmp_path)
    with pytest.warns(tfprof.ProfileWarning, match="skipped 1 of 2 tasks"):
        assert len(tfprof.load(tmp_path, errors="skip").skipped) == 1


def test_only_what_is_over_and_old_is_removed_and_only_files_of_tfprof(tmp_path: Path) -> None:
    for job, status, changed in (("old", "ended", 0.0), ("new", "ended", 90.0), ("long", "running", 0.0)):
        path = task(tmp_path, job, "a", status=status, pid=os.getpid(), host=host_name(), updated=time.time())
        dated(path, changed)
    dated(task(tmp_path, "mixed", "a", status="failed"), 0.0)
    notes = tmp_path / "mixed" / "a" / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    removed = prune(tmp_path, 50.0, now=100.0)
    assert [job.path.name for job in removed] == ["mixed", "old"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["long", "mixed", "new"]
    assert notes.read_text(encoding="utf-8") == "mine"


def test_commands_about_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = str(tmp_path / "empty")
    assert main(["watch", "--once", empty]) == 0
    assert "no jobs in" in capsys.readouterr().out
    assert main(["jobs", empty]) == 1
    task(tmp_path, "train", "a", status="ended", exit_code=0)
    assert main(["watch", str(tmp_path), "--once", "--job", "other"]) == 2
    assert "the jobs are train" in capsys.readouterr().err
    assert main(["trace", str(tmp_path)]) == 1
    assert "no task runs" in capsys.readouterr().err
    assert main(["jobs", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("train: 1 task (1 ended)")
    assert main(["jobs", str(tmp_path), "--prune", "1 year"]) == 2
    assert main(["jobs", str(tmp_path), "--prune", "1s"]) == 0


def test_ages() -> None:
    assert (read_age("2w"), read_age("30s")) == (1209600.0, 30.0)


def test_states_of_a_running_writer_are_small(tmp_path: Path) -> None:
    path = task(tmp_path, "train", "a")
    assert len((path / STATE).read_bytes()) < 10_000
    assert json.loads((path / STATE).read_bytes())["status"] == "running"
