"""Directories of jobs, written without a process that runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.files.jobs import SNAPSHOT, STATE
from tfprof_widget.profiles.live import LiveState, TaskState

ELSEWHERE = "another-host"
LIVE = LiveState(
    "train.py",
    "running",
    100.0,
    runs=1240,
    traced=12,
    kind="train",
    steps=1234,
    first_seconds=0.25,
    step_seconds=0.5,
    parts={"python": 30.0, "input": 10.0, "steps": 60.0},
    costliest=(("MatMul", 0.125), ("Conv2D", 0.0625)),
)


def task(folder: Path, job: str, name: str, *, live: LiveState = LIVE, profiled: bool = False, **state: Any) -> Path:
    """The directory of a task, with its state and, if that is asked for, a profile."""
    path = folder / job / name
    path.mkdir(parents=True, exist_ok=True)
    told = replace(TaskState(live, job, name, 7, ELSEWHERE, started=1000.0, updated=1100.0), **state)
    (path / STATE).write_text(json.dumps(told.to_json()), encoding="utf-8")
    if profiled:
        demo_profile().save(path / SNAPSHOT)
    return path
