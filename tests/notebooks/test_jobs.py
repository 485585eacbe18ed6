"""Two scripts run by `tfprof run` in a notebook: each has its row, the failed one too, and one profile has both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.notebook import Notebook, told
from tests.notebooks.shipped import executed, outputs_of, printed

EXAMPLES, EPOCHS = 2560, 3


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder: Path = tmp_path_factory.mktemp("jobs")
    with executed("jobs", folder) as notebook:
        yield notebook
    assert list(folder.iterdir()) == []


def test_scripts_end_as_without_tfprof(jobs: Notebook) -> None:
    (codes,) = outputs_of(jobs, "wait")
    assert told(codes) == "[0, 1]"


def test_each_task_says_how_it_ended_and_how_many_steps_it_made(jobs: Notebook) -> None:
    ended, failed = sorted(printed(jobs, "stand").splitlines())
    assert ended == f"ended 0  {EPOCHS * EXAMPLES // 32} steps"
    assert failed.startswith("failed 1 OSError: no room for the model on the disk (train.py:")
    assert failed.endswith(f" {EPOCHS * EXAMPLES // 512} steps")


def test_the_tasks_are_a_widget_with_a_table_for_readers_without_one(jobs: Notebook) -> None:
    live, kept = outputs_of(jobs, "watch")
    assert "application/vnd.jupyter.widget-view+json" in live.data
    assert "data-tfprof=" in kept.data["text/html"]


def test_both_are_workers_of_one_profile(jobs: Notebook) -> None:
    assert jobs.value("len(set(profile.step_workers))") == 2
