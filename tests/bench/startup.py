"""Times the import of the package in fresh interpreters, beside interpreters that import nothing."""

from __future__ import annotations

import subprocess
import sys

from tests.bench.finding import Finding
from tests.bench.gauges import seconds
from tests.bench.target import AtMost

MOST = AtMost(0.15)
ROUNDS = 15


def findings() -> list[Finding]:
    """The findings on importing the package, and on using all of it."""
    programs = {
        "import tfprof_widget": MOST,
        "from tfprof_widget import *": None,
    }
    taken: dict[str, list[float]] = {"pass": [], **{program: [] for program in programs}}
    for _ in range(ROUNDS):
        for program in taken:
            taken[program].append(seconds(_run, program))
    median = {program: sorted(each)[ROUNDS // 2] for program, each in taken.items()}
    return [
        Finding(f"python -c {program!r}, beside 'pass'", 0, "s", median["pass"], median[program], target)
        for program, target in programs.items()
    ]


def _run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
