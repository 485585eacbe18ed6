"""Programs with TensorFlow under `tfprof run`: what is captured, while they run and when they end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.jobs.programs import RUN, Outcome, ended, run, started
from tfprof_widget.jobs.directory import JobDirectory

PATIENCE = 240.0

# Ends when it is told to, after the steps that the tests want to see.
TRAIN = """
import os, sys
import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input([8]), keras.layers.Dense(4, name="hidden"), keras.layers.Dense(1, name="out")])
model.compile("sgd", "mse")
model.fit(np.ones([64, 8], "float32"), np.ones([64, 1], "float32"), epochs=2, verbose=0)

with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    product = tf.matmul(tf.ones([16, 16]), tf.ones([16, 16]), name="product")
    for _ in range(10):
        session.run(product)

@tf.function
def train(x):
    for _ in range(3):
        x = tf.matmul(x, x) / 200.0
    return tf.reduce_sum(x)

print("trained", sys.argv, flush=True)
steps = 0
while not os.path.exists("stop"):
    train(tf.ones([200, 200]))
    steps += 1
print(steps, flush=True)
raise RuntimeError("diverged")
"""


@dataclass
class Job:
    """A program that runs, its directory, and what tests found of it while it ran."""

    folder: Path
    process: subprocess.Popen[str]

    @property
    def directory(self) -> Path:
        return self.folder / "jobs"

    def until(self, ready: Any) -> Any:
        """What `ready` gives, once it gives something; the program must not end before."""
        end = time.monotonic() + PATIENCE
        while not (found := ready()):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.1)
        return found

    def state(self) -> dict[str, Any]:
        """The state of the one task; empty before there is one."""
        for path in self.directory.glob("*/*/state.json"):
            found: dict[str, Any] = json.loads(path.read_bytes())
            return found
        return {}

    def snapshot(self) -> Path | None:
        """The one snapshot, if there is one."""
        return next(self.directory.glob("*/*/snapshot.tfprof"), None)


def command(*words: str, folder: Path) -> Outcome:
    """The outcome of another command of tfprof."""
    return ended(started([*RUN[:-1], *words], folder))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    folder = tmp_path_factory.mktemp("job")
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    words = ["--out", "jobs", "--interval", "2", "--report", "page.html", "train.py", "--epochs", "3"]
    process = started([*RUN, *words], folder)
    yield Job(folder, process)
    if process.poll() is None:
        process.kill()
        process.communicate()


def test_running_job_is_seen_asked_and_ends_as_it_would(job: Job) -> None:
    """One process, as TensorFlow takes long to import: each part waits for what the one before it left."""
    job.until(job.snapshot)
    job.until(lambda: job.state().get("kind") == "train" and job.state()["steps"] > 20)
    assert any(name.startswith("fit: train_step") for name in tfprof.load(job.directory).step_names)

    shown = command("watch", "--once", "jobs", folder=job.folder)
    assert re.search(r"train-\S+/\S+ +(running|silent) +[\d,]+ ", shown.out), shown  # silent where others are busy
    assert shown.code == 0

    asked = command("trace", "jobs", "--steps", "7", "--wait", str(int(PATIENCE)), folder=job.folder)
    assert "snapshot.tfprof" in asked.out, asked
    assert tfprof.load(job.directory).step_names.count("train") >= 7

    (job.folder / "stop").write_text("", encoding="utf-8")
    outcome = ended(job.process)
    assert outcome.code == 1
    printed = outcome.out.splitlines()
    assert printed[0] == "trained ['train.py', '--epochs', '3']"
    error, _, told = outcome.err.partition("RuntimeError: diverged\n")
    assert re.search(r'Traceback .*\n  File ".*train.py", line \d+, in <module>\n    raise Runtime', error), outcome.err
    assert "tfprof" not in error[error.index("Traceback") :]
    assert "The profile is " in " ".join(told.split())
    assert "The page is " in " ".join(told.split())
    assert not re.search(r"\bcells?\b", told)
    assert "product" not in told  # which took next to nothing

    state = job.state()
    assert (state["status"], state["exit_code"]) == ("failed", 1)
    assert state["last_words"].startswith("RuntimeError: diverged (train.py:")
    assert state["steps"] == int(printed[1])
    final = tfprof.load(job.directory)
    assert final.time_budget().cell_seconds > 0
    assert len(final.step_times()) == int(printed[1])
    assert b"<!doctype html>" in (job.folder / "page.html").read_bytes()[:20]


SECRETS = ("SECRETFOLDER", "SECRETSCRIPT", "SECRETARGUMENT", "SECRETLINE", "SECRETTEXT", "SECRETERROR", "SECRETVALUE")
CONFIDENTIAL = """
import multiprocessing, sys

def work(lr):
    import tensorflow as tf

    @tf.function
    def train(x, how="SECRETVALUE"):
        tf.strings.length("SECRETTEXT")
        return tf.reduce_sum(tf.matmul(x, x))  # SECRETLINE

    for _ in range(30):
        train(tf.ones([64, 64]))
    raise ValueError("/home/SECRETERROR/data.csv")

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=work, args=(0.1,))
    process.start()
    process.join()
    print(process.exitcode)
    import os
    os.environ["DONE"] = "1"
    try:
        work(0.2)
    except ValueError:
        print("caught")
"""


@pytest.fixture(scope="module")
def confidential(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """The folder and outcome of a program that is captured with the process that it forks, without its source."""
    folder = tmp_path_factory.mktemp("SECRETFOLDER")
    (folder / "SECRETSCRIPT.py").write_text(CONFIDENTIAL, encoding="utf-8")
    words = ["--no-source", "--follow", "--json", "--out", "jobs", "--report", "page.html"]
    return folder, run(*words, "SECRETSCRIPT.py", "SECRETARGUMENT", folder=folder)


def test_forked_process_and_its_parent_have_files_of_their_own(confidential: tuple[Path, Outcome]) -> None:
    folder, outcome = confidential
    assert outcome.out.splitlines()[:2] == ["1", "caught"], outcome
    assert outcome.code == 0
    states = {path.parent.name: json.loads(path.read_bytes()) for path in folder.glob("jobs/*/*/state.json")}
    assert sorted(state["status"] for state in states.values()) == ["ended", "failed"]
    assert {state["steps"] for state in states.values()} == {30}
    ends = [(seen.status, seen.state.exit_code, seen.last_words) for seen in JobDirectory(folder / "jobs").look()]
    assert sorted(ends) == [("ended", 0, ""), ("failed", 1, "ValueError")]
    profile = tfprof.load(folder / "jobs")
    assert set(profile.step_workers) == set(states)
    assert "train" in profile.step_names


def test_nothing_of_the_source_is_in_the_bytes(confidential: tuple[Path, Outcome]) -> None:
    folder, outcome = confidential
    files = [path for path in (*folder.glob("jobs/**/*"), folder / "page.html") if path.is_file()]
    assert len(files) == 6
    page = (folder / "page.html").read_text(encoding="utf-8")
    texts = {str(path): path.read_bytes() for path in files} | {"json": outcome.out.partition("caught")[2].encode()}
    parts = list(parts_of(page))
    assert len(parts) >= 2
    texts |= {f"part {number}": each for number, each in enumerate(parts)}
    host = os.uname().nodename.encode()
    for name, content in texts.items():
        for secret in (*(each.encode() for each in SECRETS), b"site-packages"):
            assert secret not in content, (name, secret)
        if b"state" in name.encode() or name == "json":
            assert b'"' + host + b'"' not in content
    assert json.loads(texts["json"])["ops"]
    assert not any(host.decode() in path.parent.name for path in files if path.name == "state.json")


def test_with_source_the_same_words_are_there(job: Job) -> None:
    """The test above would notice: without the option, lines and paths are in the files."""
    snapshot = job.snapshot()
    assert snapshot is not None
    assert b"tf.matmul(x, x)" in snapshot.read_bytes()
    assert str(job.folder).encode() in snapshot.read_bytes()
    page = (job.folder / "page.html").read_text(encoding="utf-8")
    assert any(b"train.py" in part for part in parts_of(page))


def parts_of(page: str) -> Iterator[bytes]:
    """The packed parts of a page, unpacked; those that are not packed twice are skipped."""
    import base64
    import gzip

    for part in re.findall(r'data-part="(?:state|columns-\d+)"[^>]*>([^<]+)<', page):
        yield gzip.decompress(base64.b64decode(part))
