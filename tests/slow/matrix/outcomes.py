"""Runs pytest in an environment, and puts what came of it into one table."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from xml.etree import ElementTree

from tests.slow.matrix.environments import CACHE, Environment
from tests.slow.matrix.parts import ROOT, arguments

PACKAGES = ("Python", "TensorFlow", "Keras", "numpy", "protobuf", "pandas")
HEADINGS = ("environment", *PACKAGES, "passed", "failed", "seconds")
NONE = "none"


@dataclass(frozen=True)
class Outcome:
    """What came of an environment: its versions, and how many tests passed and failed in how many seconds.

    `is_whole` is False where the tests could not be run to their end.
    """

    environment: Environment
    versions: dict[str, str]
    passed: int
    failed: int
    seconds: float
    is_whole: bool = True

    @property
    def is_good(self) -> bool:
        """Whether all tests ran and passed."""
        return self.is_whole and self.passed > 0 and self.failed == 0

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        failed = str(self.failed) if self.is_whole else f"{self.failed}, and broken off"
        known = (self.versions.get(name.lower()) or NONE for name in PACKAGES)
        return (self.environment.name, *known, f"{self.passed:,}", failed, f"{self.seconds:,.0f}")


def run_tests(environment: Environment, versions: dict[str, str]) -> Outcome:
    """Run the tests that are for this environment; they print as they go."""
    report = CACHE / f"{environment.name}.xml"
    report.unlink(missing_ok=True)
    command = [str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}"]
    command += ["--continue-on-collection-errors", *arguments(environment.name)]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    started = perf_counter()
    ended = subprocess.run(command, cwd=ROOT, env=os.environ | quiet, check=False)
    seconds = perf_counter() - started
    passed, failed = counts(report)
    return Outcome(environment, versions, passed, failed, seconds, is_whole=ended.returncode in (0, 1))


def counts(report: Path) -> tuple[int, int]:
    """How many tests passed and failed, by pytest's report; one that was skipped did not pass."""
    if not report.exists():
        return 0, 0
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    failed = sum(int(suite.attrib[kind]) for suite in suites for kind in ("failures", "errors", "skipped"))
    return sum(int(suite.attrib["tests"]) for suite in suites) - failed, failed


def table(outcomes: Iterable[Outcome]) -> str:
    """All outcomes, a line each."""
    rows = [HEADINGS, *(outcome.cells() for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
