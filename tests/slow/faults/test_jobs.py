"""Jobs that are killed at any moment, and full disks: the directory always loads, and nothing is half there."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.jobs.programs import RUN, ended, started
from tests.slow.faults.disk import full_disk, read_only_directory
from tests.slow.faults.reporting_process import MadeUpCapture
from tests.slow.share import share
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.files.jobs import tasks_in
from tfprof_widget.jobs.directory import GONE, JobDirectory
from tfprof_widget.jobs.reporter import Reporter
from tfprof_widget.jobs.settings import JobSettings
from tfprof_widget.lib.safely import UNFINISHED

AT_ONCE = 4
LONGEST = 0.6


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_job_that_is_killed_at_any_moment_leaves_a_directory_that_loads(number: signal.Signals, tmp_path: Path) -> None:
    moments = random.Random(7)
    for _ in range(share(100, AT_ONCE) // AT_ONCE):
        words = [sys.executable, "-m", "tests.slow.faults.reporting_process", str(tmp_path)]
        processes = [started(words, Path.cwd()) for _ in range(AT_ONCE)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        for process in processes:
            time.sleep(moments.uniform(0, LONGEST / AT_ONCE))
            process.send_signal(number)
        assert {ended(process).code for process in processes} <= {-number, 128 + number}
    check(tmp_path, share(100, AT_ONCE), "interrupted" if number == signal.SIGTERM else "running")


def check(directory: Path, count: int, status: str) -> None:
    """All tasks are there, in this status, and what they have is whole; those that were ended handed in."""
    tasks = tasks_in(directory)
    assert len(tasks) == count
    for task in tasks:
        assert task.state()["status"] == status
        assert task.snapshot.exists() or status == "running"
        if task.snapshot.exists():
            assert tfprof.load(task.path).steps == demo_profile().steps
        unfinished = [path for path in task.path.iterdir() if path.name.startswith(UNFINISHED)]
        assert status == "running" or not unfinished
    if not any(task.snapshot.exists() for task in tasks):  # all were killed before the first
        with pytest.raises(tfprof.ProfileError, match="captured nothing"):
            tfprof.load(directory)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tfprof.ProfileWarning)
        assert len(tfprof.load(directory).executions) % len(demo_profile().executions) == 0


@pytest.fixture
def reporter(tmp_path: Path) -> Any:
    made = Reporter(JobSettings(str(tmp_path / "jobs"), title="train"), 7)
    made.capture = made.capturing = MadeUpCapture()
    return made


def test_full_disk_keeps_what_was_there_and_is_told(reporter: Any, capsys: pytest.CaptureFixture[str]) -> None:
    reporter._claim()
    reporter._snapshot()
    reporter.write_state()
    with full_disk():
        reporter._snapshot()
        reporter.write_state()
        reporter.hand_in("ended", 0, "")
    assert "make room there" in " ".join(capsys.readouterr().err.split())
    assert tfprof.load(reporter.directory).steps == demo_profile().steps
    assert json.loads((reporter.directory / "state.json").read_bytes())["status"] == "running"


def test_read_only_directory_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with read_only_directory() as directory:
        made: Any = Reporter(JobSettings(str(directory / "jobs"), title="train"), 7)
        made.capture = made.capturing = MadeUpCapture()
        made._claim()
        made._snapshot()
        made.write_state()
        made.hand_in("ended", 0, "")
    assert "could not be written" in " ".join(capsys.readouterr().err.split())


def test_directory_that_vanishes_is_there_at_the_end(reporter: Any) -> None:
    reporter._claim()
    reporter._snapshot()
    shutil.rmtree(reporter.directory.parent)
    reporter._snapshot()
    shutil.rmtree(reporter.directory.parent)
    reporter.hand_in("ended", 0, "")
    assert tfprof.load(reporter.directory).steps == demo_profile().steps


TRAIN = """
import tensorflow as tf
w = tf.Variable(tf.ones([64, 64]))

@tf.function
def train(x):
    w.assign_sub(1e-6 * tf.matmul(x, w))

while True:
    train(tf.ones([64, 64]))
    print("step", flush=True)
"""


@pytest.mark.parametrize("count", share((10,), ()))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_real_job_that_is_ended_at_any_moment_leaves_what_it_has(
    number: signal.Signals, count: int, tmp_path: Path
) -> None:
    """One that is told to end hands in; one that is killed leaves the last snapshot, if it had written one."""
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    moments = random.Random(7)
    codes = []
    for _ in range(count):
        words = [*RUN, "--quiet", "--out", "jobs", "--interval", "0.2", "train.py"]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        with subprocess.Popen(words, cwd=tmp_path, stdout=pipe, stderr=nowhere, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "step\n"
            time.sleep(moments.uniform(0, 2))
            process.send_signal(number)
            process.stdout.read()
            codes.append(process.wait())
    assert set(codes) <= {-number, 128 + number}
    seen = JobDirectory(tmp_path / "jobs").look()
    assert len(seen) == count
    if number == signal.SIGTERM:
        assert sorted(task.state.exit_code or 0 for task in seen) == sorted(codes)
        assert {task.status for task in seen} == {"interrupted"}
        assert all(task.files.snapshot.exists() for task in seen)
    else:
        assert [(task.status, task.last_words) for task in seen] == [("silent", GONE)] * count
        assert any(task.files.snapshot.exists() for task in seen)
    for task in seen:
        if task.files.snapshot.exists():
            assert "train" in {name.partition(" (")[0] for name in tfprof.load(task.files.path).step_names}
