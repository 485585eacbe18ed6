"""The benchmark runs, on a graph so small that its figures mean nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("area", "measured"),
    [
        ("import", {"python -c 'import tfprof_widget', beside 'pass'"}),
        ("build", {"Profile from bytes", "Profile from messages, which native wants serialized"}),
        ("graph", {"Profile from a tf.Graph", "memory taken beyond the tf.Graph"}),
        ("views", {f"{view} view, other order, timing=exact" for view in ("scope", "graph", "op", "code")}),
    ],
)
def test_area_is_measured(area: str, measured: set[str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    finished = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--nodes", "100", "--only", area, "--json", str(report)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert report.exists(), finished.stderr
    findings = json.loads(report.read_text(encoding="utf-8"))
    assert measured <= {finding["what"] for finding in findings}
    assert all(finding["native"] > 0 and finding["ours"] > 0 for finding in findings)
    assert finished.stdout.count("\n| ") == len(findings) + 1
    assert finished.returncode == (0 if all(finding["passes"] for finding in findings) else 1)
