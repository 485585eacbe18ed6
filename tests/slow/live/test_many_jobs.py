"""Sixty-four tasks that write all the time, and six real trainings: who watches is right about each, in little time."""

from __future__ import annotations

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
def test_six_real_jobs_are_told_right(tmp_path: Path) -> None:
    """Each trains for another number of epochs of 100 steps; the third one fails at the end."""
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
    assert [each.returncode for each in running] == [0, 0, 1, 0, 0, 0]
    widget.refresh()
    assert {task["job"]: (task["status"], task["steps"]) for task in widget.tasks} == {
        f"epochs-{epochs}": ("failed" if epochs == 3 else "ended", 100 * epochs) for epochs in range(1, 7)
    }
    assert {(f"epochs-{epochs}", "running") for epochs in range(1, 7)} <= seen
    failed = next(task for task in widget.tasks if task["status"] == "failed")
    assert "ValueError: three is too many" in failed["last_words"]
