"""Tries edits of eight models, each in a process of its own, and writes the table of docs/what-if.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.what_if.models import MODELS
from tests.what_if.trial import ROUNDS, Trial

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "what-if.md"
MARK = "<!-- `make what-if` writes what follows -->\n"
COLUMNS = ("model, edit", "executions", "threads", "step", "replayed", "predicted", "interval", "measured", "off")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=ROOT / ".what_if", help="where trials are kept, and taken from")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    arguments = parser.parse_args()
    arguments.keep.mkdir(exist_ok=True)
    rounds: list[list[Trial]] = []
    for name in arguments.models:
        file = arguments.keep / f"{name.replace(', ', '-').replace(' ', '-')}.json"
        if not file.exists():
            subprocess.run([sys.executable, "-m", "tests.what_if.trial", name, str(file)], cwd=ROOT, check=True)
        trials = [Trial(**each) for each in json.loads(file.read_text(encoding="utf-8"))]
        for edit in dict.fromkeys(trial.edit for trial in trials):
            rounds.append([trial for trial in trials if trial.edit == edit])
    told = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(told + MARK + "\n" + page(rounds), encoding="utf-8")


def middle(rounds: Sequence[Trial]) -> Trial:
    """The round whose prediction was off by the median of those of its edit; a refused one if most were refused."""
    held = [trial for trial in rounds if not trial.is_refused]
    if 2 * len(held) < len(rounds):
        return next(trial for trial in rounds if trial.is_refused)
    return sorted(held, key=lambda trial: trial.off)[(len(held) - 1) // 2]


def page(rounds: Sequence[Sequence[Trial]]) -> str:
    """What was found, and the table."""
    trials = [middle(each) for each in rounds]
    held = [trial for trial in trials if not trial.is_refused]
    of_all = [trial for each in rounds for trial in each]
    replays = np.abs([trial.replay_off for trial in of_all])
    off = np.abs([trial.off for trial in held])
    models = len({trial.model for trial in trials})
    found = (
        f"{len(trials)} edits of {models} models, {ROUNDS} rounds each; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}. Replayed without any change, steps were "
        f"{_percent(np.median(replays))} off in the median of all {len(of_all)} rounds and {_percent(replays.max())} "
        f"at worst; {sum(trial.is_refused for trial in of_all)} rounds were refused. Of the rounds in the middle, "
        f"predictions were {_percent(np.median(off))} off in the median and {_percent(off.max())} at worst, and "
        f"{sum(trial.is_covered for trial in held)} of {len(held)} intervals hold the measured step."
    )
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS), *map(_line, trials)]
    return f"{found}\n\n" + "\n".join(lines) + "\n"


def _line(trial: Trial) -> str:
    refused = "refused" if trial.is_refused else ""
    cells = (
        f"{trial.model}: {trial.edit}",
        f"{trial.executions}",
        f"{trial.workers}",
        _millis(trial.before),
        _millis(trial.replayed),
        refused or _millis(trial.predicted),
        "" if refused else f"{_millis(trial.low)} to {_millis(trial.high)}",
        _millis(trial.after),
        "" if refused else f"{100 * trial.off:+.1f} %",
    )
    return "| " + " | ".join(cells) + " |"


def _millis(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
