"""What tasks of jobs tell, written by hand for tests of those who look."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tfprof_widget.ingest.files.jobs import STATE
from tfprof_widget.profiles.live import LiveState, TaskState

TRAINING = LiveState(
    what="train.py",
    phase="running",
    seconds=100.0,
    runs=312,
    traced=14,
    kind="train",
    steps=312,
    first_seconds=0.1,
    step_seconds=0.125,
    strip=(0.1, 0.1, 0.125, 0.25, 0.125),
    parts={"first": 10.0, "steps": 40.0, "python": 30.0, "input": 20.0},
    costliest=(("MatMul", 0.05), ("Relu", 0.01)),
)
"""A tenth of the time first steps, four steps, three Python, two waiting for input; a step takes a quarter longer."""


def write_task(directory: Path, job: str, task: str, live: LiveState = TRAINING, **told: Any) -> Path:
    """Write how a task stands, as of now, which goes silent in three hours only; gives its directory."""
    path = directory / job / task
    path.mkdir(parents=True, exist_ok=True)
    now = time.time()
    state = TaskState(live, job, task, **{"started": now - live.seconds, "updated": now, "interval": 3600.0, **told})
    beside = path / ".state"
    beside.write_text(json.dumps(state.to_json()), encoding="utf-8")
    beside.replace(path / STATE)
    return path
