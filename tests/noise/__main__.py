"""Records runs of three kinds of cells, judges comparisons of them, and writes docs/noise.md."""

from __future__ import annotations

import argparse
import os
import pickle
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.comparing.runs import Maker
from tests.noise.cells import CELLS
from tests.noise.judge import Shares, judged
from tfprof_widget.profiles.kept_run import KeptRun

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "noise.md"
ALONE, LOADED = CONDITIONS = ("as the machine was", "beside a load")
MADE_UP = "made up"
MANY = 500
"""So many made up runs tell the ratio that intervals are to hold."""
LOAD = "import numpy as np\na = np.ones((400, 400))\nwhile True: a @ a"
HEAD = """# How often comparisons are wrong

`make noise` wrote this page. It runs three kinds of cells again and again, on the machine as it was and beside a
process that keeps one core busy, and compares runs of which it is known whether they differ.
[Comparing runs](comparing.md) says what the verdicts mean.

- **The same code.** Of the first 60 runs of a kind, four runs at random are compared with four others, and eight with
  eight: the step 2,000 times, the ops 200 times. Besides, runs are compared in the order in which they were made, four
  with the next four ("apart"), so that what slows the machine for a while counts. A verdict of "slower" or "faster" is
  wrong here, and so is each table in which any op has q < 0.05.
- **Planted differences**, five runs against five: a step that is made 10 % slower, and an op, taken at random, that is
  made 20 % or 50 % slower. What is needed to find them depends on how much runs differ among themselves: the columns
  "spread" have the standard deviation, as a share, of a step's median and of the ops' times, the median op.
- **Made up runs**, in the last row, have a noise that is known: runs differ by 2 %, ops by 6 % besides, steps by 5 %.
- **Coverage.** A cell and a slower variant of it run in turns. The ratio of all their runs is taken for the truth, and
  the intervals of four runs against four are to hold it in 19 of 20 comparisons.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=160, help="of each kind of cell; 8 make one comparison apart")
    parser.add_argument("--variants", type=int, default=30)
    parser.add_argument("--keep", type=Path, default=ROOT / ".noise", help="where the runs are kept, and taken from")
    parser.add_argument("--kinds", nargs="*", default=list(CELLS))
    parser.add_argument("--conditions", nargs="*", default=CONDITIONS, choices=CONDITIONS)
    arguments = parser.parse_args()
    arguments.keep.mkdir(exist_ok=True)
    found: dict[tuple[str, str], Shares] = {}
    loads: dict[tuple[str, str], float] = {}
    for condition in arguments.conditions:
        for kind in arguments.kinds:
            file = arguments.keep / f"{kind}-{condition}.pickle".replace(" ", "-")
            if not file.exists():
                _record(kind, condition, file, arguments.runs, arguments.variants)
            runs: dict[str, list[KeptRun]] = pickle.loads(file.read_bytes())
            found[kind, condition] = judged(runs)
            loads[kind, condition] = float(np.median([run.others_cores for run in runs["same"]]))
            print(kind, condition, found[kind, condition], flush=True)
    made = MADE_UP, "2 % a run, 6 % an op"
    found[made], loads[made] = judged(_made_up(arguments.runs)), 0.0
    print(*made, found[made], flush=True)
    PAGE.write_text(_page(found, loads, arguments.runs), encoding="utf-8")


def _made_up(runs: int) -> dict[str, list[KeptRun]]:
    """Runs of 300 ops of the same code, and of code whose step takes a fifth longer."""
    maker = Maker(300)
    return {"same": maker.runs(runs), "turns": maker.runs(MANY), "slower": maker.runs(MANY, factor=1.2)}


def _record(kind: str, condition: str, file: Path, runs: int, variants: int) -> None:
    command = [sys.executable, "-m", "tests.noise.record", kind, str(file), "--runs", str(runs)]
    with _loaded(condition):
        subprocess.run([*command, "--variants", str(variants)], cwd=ROOT, check=True)


@contextmanager
def _loaded(condition: str) -> Iterator[None]:
    """Another process that keeps a core busy, if the condition asks for it."""
    if condition == ALONE:
        yield
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", LOAD], env=environment) as load:
        try:
            yield
        finally:
            load.kill()


def _page(found: dict[tuple[str, str], Shares], loads: dict[tuple[str, str], float], runs: int) -> str:
    columns = (
        "cell", "other processes", "steps, ops", "spread of a step, of ops", "step called, 4 and 8 runs",
        "any op called, 4 and 8 runs", "step, any op called, apart", "10 % slower step found",
        "20 %, 50 % slower op found", "coverage",
    )  # fmt: skip
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for (kind, condition), each in found.items():
        cells = (
            f"{kind}, {condition}",
            f"{loads[kind, condition]:.1f} cores",
            f"{each.steps}, {each.ops}",
            f"{_percent(each.step_spread)}, {_percent(each.op_spread)}",
            " and ".join(_percent(share) for share in each.step_called.values()),
            " and ".join(_percent(share) for share in each.ops_called.values()),
            f"{_percent(each.step_called_apart)}, {_percent(each.ops_called_apart)} of {each.apart}",
            _percent(each.step_found),
            ", ".join(_percent(share) for share in each.op_found.values()),
            _percent(each.coverage),
        )
        lines.append("| " + " | ".join(cells) + " |")
    machine = f"{runs} runs of each kind; {os.cpu_count()} cores, Python {platform.python_version()}."
    return f"{HEAD}{machine}\n\n" + "\n".join(lines) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
