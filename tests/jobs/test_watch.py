"""`tfprof watch` at a terminal and where there is none: it shows news of running tasks until Ctrl-C."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from tests.cli.pseudo_terminal import CTRL_C, PseudoTerminal
from tests.jobs.programs import RUN, ended, started
from tests.jobs.states import LIVE, task

WATCH = "Ctrl-C ends watching"


def test_terminal_shows_a_table_that_changes_until_ctrl_c(tmp_path: Path) -> None:
    path = task(tmp_path, "train", "worker-0", status="ended", live=replace(LIVE, steps=41))
    assert path.is_dir()
    with PseudoTerminal("watch", str(tmp_path), columns=100) as terminal:
        shown = terminal.until(WATCH)
        assert "task" in shown
        assert "train/worker-0  ended     41" in shown
        assert max(map(len, shown.splitlines())) <= 100
        task(tmp_path, "train", "worker-0", status="failed", last_words="ValueError: nan", live=replace(LIVE, steps=42))
        shown = terminal.until("ValueError: nan")
        assert "train/worker-0  failed    42" in shown
        terminal.type(CTRL_C)
        assert terminal.wait() == 0


def test_pipe_gets_a_line_for_each_news(tmp_path: Path) -> None:
    process = started([*RUN[:-1], "watch", str(tmp_path)], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("no jobs in")
    for steps in (41, 42):
        task(tmp_path, "train", "worker-0", status="ended", live=replace(LIVE, steps=steps))
        assert process.stdout.readline().startswith(f"train/worker-0: ended, step {steps}, 500 ms a step")
    process.send_signal(signal.SIGINT)
    outcome = ended(process)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
