"""The benchmark runs, on graphs so small and loops so short that its figures mean nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import cutting
from tests.bench.overhead import cell_seconds, shell_with
from tests.slow.share import share

ROOT = Path(__file__).parents[2]


MEASURED = {
    "import": {"python -c 'import tfprof_widget', beside 'pass'"},
    "build": {"Profile from bytes", "Profile from messages, which native wants serialized"},
    "traces": {"peak memory while reading it, beside the file"},
    "graph": {"Profile from a tf.Graph", "memory taken beyond the tf.Graph"},
    "overhead": {
        "cell of 4 session runs, %%tfprof beside untraced",
        "4 session runs, --all beside FULL_TRACE by hand",
        "cell of a Keras fit of 8 steps, %%tfprof beside untraced",
        "cell of 4 tf.function calls, %%tfprof beside untraced",
    },
    "cells": {
        "hooks of an untraced session run",
        "a second in which Python is looked at, of a processor",
        "account of a cell of 10,000 steps",
        "cell of a Keras fit, LSTM, by the clock",
    },
    "views": {f"{view} view, other order, timing=exact" for view in ("scope", "graph", "op", "code")},
    "compare": {"compare two profiles, all layers renamed, of one core, beside reading one"},
    "roofline": {"product of 1,024 beside the roof", "10^9 bytes at the roof, measured twice"},
    "scaling": {"slowest view, other step", "peak memory while loading, beside columns"},
}
"""What is measured of each area, among other things."""


def test_areas_are_measured(tmp_path: Path) -> None:
    areas = share(list(MEASURED), ["views"])
    report = tmp_path / "report.json"
    shutil.copy(ROOT / "docs" / "scaling.md", tmp_path)
    small = ["--nodes", "100", "--steps", "4", "--seconds", "0.1", "--scales", "1000,3000", "--docs", str(tmp_path)]
    finished = subprocess.run(
        [sys.executable, "-m", "tests.bench", *small, "--only", ",".join(areas), "--json", str(report)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert report.exists(), finished.stderr
    findings = json.loads(report.read_text(encoding="utf-8"))
    assert set().union(*(MEASURED[area] for area in areas)) <= {finding["what"] for finding in findings}
    assert all(finding["other"] > 0 and finding["ours"] > 0 for finding in findings)
    assert finished.stdout.count("\n| ") == len(findings) + 1
    assert finished.returncode == (0 if all(finding["passes"] for finding in findings) else 1)


@pytest.mark.skipif(share(False, True), reason="it opens a browser and waits for its charts: make test-slow")
def test_cutting_is_measured() -> None:
    found = list(cutting.findings(nodes=400, steps=3))
    assert [finding.what.partition(":")[0] for finding in found] == ["cut", "cut", *["cut page"] * 3]
    assert all(finding.ours > 0 for finding in found)


def test_a_cell_that_fails_is_no_measurement() -> None:
    with shell_with(work=lambda: 1 / 0) as shell, pytest.raises(ZeroDivisionError):
        cell_seconds(shell, "work()")


def test_a_cell_that_is_profiled_in_vain_is_no_measurement() -> None:
    with shell_with() as shell, pytest.raises(RuntimeError, match="nothing was traced: Nothing was captured"):
        cell_seconds(shell, "%%tfprof --out prof\npass")
