"""The long run: `python -m tests.slow.fuzz --seconds 60` hunts for faults of each target, and prints what was tried.

With TFPROF_FUZZ_INPUTS=1000000 it tries that many inputs, the same number for each target, however long that takes.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.slow.fuzz.corpus import FOLDER, keep, starts
from tests.slow.fuzz.target import Target
from tests.slow.fuzz.targets import TARGETS

LONGEST_INPUT = 20_000
LONGEST_SECONDS = 20
MOST_MEGABYTES = 2_000
_COVERED = re.compile(r"(INITED|DONE).* cov: (\d+)")
_TRIED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


@dataclass(frozen=True)
class Hunt:
    """What came of one target: how much was tried, how much of the code that reached, and the faults by kind.

    `reached` counts those of the reader's `lines` which the inputs reach that libFuzzer kept.
    """

    target: str
    tried: int
    edges: int
    new_edges: int
    reached: int
    lines: int
    faults: tuple[str, ...]

    def line(self) -> str:
        """A line of the table."""
        told = ", ".join(self.faults) or "none"
        counts = f"{self.tried:>10,} {self.edges:>8,} {self.new_edges:>8,} {self.reached / self.lines:>6.0%}"
        return f"{self.target:12} {counts}  {told}"


def main() -> int:
    """Hunt for faults of the chosen targets, print the table, and return 1 if there were any."""
    chosen = _arguments()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow, which reads checkpoints, tells much
    print(f"{'target':12} {'inputs':>10} {'edges':>8} {'new':>8} {'lines':>6}  faults")
    hunts = []
    names = chosen.targets or list(TARGETS)
    limit = f"-max_total_time={chosen.seconds}"
    if "TFPROF_FUZZ_INPUTS" in os.environ:
        limit = f"-runs={math.ceil(int(os.environ['TFPROF_FUZZ_INPUTS']) / len(names))}"
    for name in names:
        hunts.append(hunt(TARGETS[name], limit, chosen.keep))
        print(hunts[-1].line(), flush=True)
    print(f"{sum(each.tried for each in hunts):,} inputs, {sum(len(each.faults) for each in hunts)} faults")
    return 1 if any(each.faults for each in hunts) else 0


def hunt(target: Target, limit: str, kept: Path | None = None) -> Hunt:
    """Run libFuzzer with the option `limit` on a target in a process of its own.

    The smallest input of each fault goes to the corpus.
    """
    with TemporaryDirectory() as directory:
        found = (kept or Path(directory, "found")) / target.name
        found.mkdir(parents=True, exist_ok=True)
        for data in starts(target):
            keep(data, found)
        faults = Path(directory, "faults")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.slow.fuzz.hunt", target.name, str(faults)),
                limit,
                f"-max_len={LONGEST_INPUT}",
                f"-timeout={LONGEST_SECONDS}",
                f"-report_slow_units={LONGEST_SECONDS}",
                f"-rss_limit_mb={MOST_MEGABYTES}",
                f"-artifact_prefix={faults}-",
                *("-print_final_stats=1", "-reload=0", "-verbosity=1", str(found)),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        kinds = [_keep_smallest(folder, target) for folder in sorted(faults.glob("*"))]
        kinds += [_keep_artifact(path, target) for path in sorted(Path(directory).glob("faults-*"))]
        if done.returncode and not kinds:
            kinds = [f"the fuzzer failed: {done.stderr.strip().splitlines()[-1:]}"]
        words = [sys.executable, "-m", "tests.slow.fuzz.lines", target.name, str(found)]
        reached, lines = map(int, subprocess.check_output(words, stderr=subprocess.DEVNULL).split()[-2:])
    covered = {stage: int(edges) for stage, edges in _COVERED.findall(done.stderr)}
    tried = _TRIED.search(done.stderr)
    edges = covered.get("DONE", 0)
    new = edges - covered.get("INITED", 0)
    return Hunt(target.name, int(tried[1]) if tried else 0, edges, new, reached, lines, tuple(kinds))


def _keep_smallest(folder: Path, target: Target) -> str:
    smallest = min(folder.glob("*"), key=lambda path: path.stat().st_size)
    keep(smallest.read_bytes(), FOLDER / target.name)
    return folder.name


def _keep_artifact(path: Path, target: Target) -> str:
    """What libFuzzer itself wrote down: an input that takes too long, or too much memory."""
    if path.name.startswith("faults-slow-unit"):
        return path.name
    keep(path.read_bytes(), FOLDER / target.name)
    return path.name.removeprefix("faults-")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.slow.fuzz",
        description="Hunts for faults in everything that reads, guided by coverage; needs atheris.",
    )
    parser.add_argument("--seconds", type=int, default=60, help="how long to hunt in each target, by default 60")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="go on from what is here, and keep here what is found"
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(TARGETS)}; by default all")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
