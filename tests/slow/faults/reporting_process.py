"""A process that reports on a made-up capture for ever: `python -m tests.slow.faults.reporting_process DIR`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.jobs.states import LIVE
from tfprof_widget.demo import demo_profile
from tfprof_widget.jobs.settings import JobSettings
from tfprof_widget.jobs.task import RunningTask
from tfprof_widget.profiles.live import LiveState


class MadeUpCapture:
    """Stands for a running capture, what opened it, and what it gives."""

    is_empty = False
    has_traced = True
    measurement = SimpleNamespace(runs=("train",))

    def __init__(self) -> None:
        self.profile = demo_profile()
        self.traced = 0

    def live(self) -> LiveState:
        self.traced += 1
        return LiveState(**{**vars(LIVE), "traced": self.traced})

    def so_far(self) -> MadeUpCapture:
        return self

    def save(self, path: Path) -> None:
        self.profile.save(path)

    def overview_sentence(self) -> str:
        return "All is well."

    def __exit__(self, *_: object) -> None:
        """The capture is over."""


def main(directory: str) -> None:
    """Report as often as possible."""
    made: Any = MadeUpCapture()
    task = RunningTask(JobSettings(directory, title="train", interval=0.001))
    task._capturing = task.reporter.capturing = task.reporter.capture = made
    task.begin()
    print("begun", flush=True)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
