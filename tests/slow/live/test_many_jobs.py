"""Sixty-four tasks that write all the time, and six real trainings: who watches is right about each, in little time."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tests.jobs_told import TRAINING, write_task
from tests.slow.share import share
from tfprof_widget.cli import main

TASKS = 64
ROUNDS = share(30, 3)
MOST_WORK = 0.1
"""The seconds of one core that a refresh may take."""

TRAIN = """
import sys
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
images, digits = np.ones((3200, 784), np.float32), np.zeros(3200, np.int64)
model.fit(images, digits, batch_size=32, epochs=int(sys.argv[1]), verbose=0)
if sys.argv[1] == "3":
    raise ValueError("three is too many")
if sys.argv[1] == "4":
    raise SystemExit(44)
"""


def test_many_writers_are_each_seen_as_they_are(tmp_path: Path) -> None:
    """Each of four threads writes for sixteen tasks, round after round; a refresh sees every task whole."""
    over = threading.Event()

    def write(places: range) -> None:
        number = 0
        while not over.is_set():
            number += 1
            for place in places:
                told = replace(TRAINING, steps=number, runs=number + place, strip=(float(number),) * 200)
                write_task(tmp_path, f"job-{place % 8}", f"task-{place}", told)

    def write_once() -> None:
        for place in range(TASKS):
            write_task(tmp_path, f"job-{place % 8}", f"task-{place}")

    write_once()
    widget = tfprof.watch(tmp_path)
    writers = [threading.Thread(target=write, args=(range(TASKS)[first::4],)) for first in range(4)]
    for writer in writers:
        writer.start()
    try:
        works = []
        for _ in range(ROUNDS):
            began = time.thread_time()
            widget.refresh()
            works.append(time.thread_time() - began)
            assert len(widget.tasks) == TASKS
            for task in widget.tasks:
                place = int(task["task"].removeprefix("task-"))
                assert task["status"] == "running"
                assert task["runs"] in (312, task["steps"] + place)
                assert set(task["strip"]) in ({0.1, 0.125, 0.25}, {float(task["steps"])})
    finally:
        over.set()
        for writer in writers:
            writer.join()
    assert sorted(works)[len(works) // 2] < MOST_WORK


@pytest.mark.skipif(share(False, True), reason="six trainings at once take minutes: make test-slow")
def test_six_real_jobs_are_told_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each trains for another number of epochs of 100 steps; the third one fails at the end, the fourth by its code."""
    script, jobs = tmp_path / "train.py", tmp_path / "jobs"
    script.write_text(TRAIN, encoding="utf-8")
    command = [sys.executable, "-m", "tfprof_widget", "run", "--out", str(jobs), "--interval", "1", "--quiet"]
    with (tmp_path / "log").open("w") as log:
        running = [
            subprocess.Popen([*command, "--job", f"epochs-{epochs}", str(script), str(epochs)], stdout=log, stderr=log)
            for epochs in range(1, 7)
        ]
        widget = tfprof.watch(jobs)
        seen = set()
        while any(each.poll() is None for each in running):
            widget.refresh()
            seen |= {(task["job"], task["status"]) for task in widget.tasks}
            time.sleep(0.5)
    assert [each.returncode for each in running] == [0, 0, 1, 44, 0, 0]
    widget.refresh()
    codes = {3: 1, 4: 44}
    assert {task["job"]: (task["status"], task["exit_code"], task["steps"]) for task in widget.tasks} == {
        f"epochs-{epochs}": ("failed" if epochs in codes else "ended", codes.get(epochs, 0), 100 * epochs)
        for epochs in range(1, 7)
    }
    assert {(f"epochs-{epochs}", "running") for epochs in range(1, 7)} <= seen
    assert main(["watch", "--once", str(jobs)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for epochs, words in zip(
        range(1, 7), [None, None, "ValueError: three is too many", "exit code 44", None, None], strict=True
    ):
        status = "failed" if epochs in codes else "ended"
        (row,) = (number for number, line in enumerate(lines) if line.startswith(f"epochs-{epochs}/"))
        assert re.match(rf"\S+ +{status} +{100 * epochs} ", lines[row])
        assert words is None or words in lines[row + 1]
