"""`make demo` does what the README says: here with the recipe of the Makefile and the environment of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pages.commands import finished
from tests.pages.markdown import ROOT

# What `make` would set up first is there already.
READY = (".venv/notebooks", "tfprof_widget/static/opener.js")


def test_the_demo_runs_to_its_end_without_asking_anything(tmp_path: Path) -> None:
    for name in ("Makefile", "js", "notebooks", "tfprof_widget"):
        (tmp_path / name).symlink_to(ROOT / name)
    words = ["make", "demo", f"BIN={Path(sys.executable).parent}", *(f"--assume-old={path}" for path in READY)]
    ran = finished(words, tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    made = {path.suffix for path in (tmp_path / "demo").iterdir()}
    assert {".ipynb", ".html", ".svg"} <= made  # the notebook, the page and the chart
    assert "MatMul" in ran.stdout
    assert all(f"demo/{path.name}" in ran.stdout for path in (tmp_path / "demo").iterdir() if path.suffix in made)
