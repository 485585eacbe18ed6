"""What is shipped is whole, small, and works where only it and its dependencies are installed."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.packaging.commands import ROOT, contents, run

MOST_BYTES = 1_500_000
SHIPPED = (
    "py.typed",
    "_protos/descriptors.binpb",
    "recorded/graph.binpb",
    "recorded/op_log.binpb",
    "recorded/run_meta.binpb",
    "static/THIRD_PARTY_NOTICES.txt",
    "static/carried.js.gz",
    "static/charts.js.gz",
    "static/opener.js",
    "static/panels.js.gz",
    "static/widget.js",
)

LISTS_IMPORTS = """
import sys
import tfprof_widget
slow = {"IPython", "altair", "anywidget", "google.protobuf", "numpy", "pandas", "prompt_toolkit", "re2", "tensorflow"}
print(sorted(slow & set(sys.modules)))
"""

PROFILES_THE_DEMO = """
import sys
import tfprof_widget.demo
tfprof_widget.demo.main()
print("tensorflow" in sys.modules)
"""

ASKS_FOR_TYPES = """
import tfprof_widget
reveal_type(tfprof_widget.load("profile").view("op"))
"""

READS_THE_PACKAGE_ONLY = """
[mypy]
follow_imports = skip
[mypy-tfprof_widget.*]
follow_imports = silent
"""


def test_import_waits_with_everything_slow(installed: Path, tmp_path: Path) -> None:
    assert run(str(installed), "-c", LISTS_IMPORTS, cwd=tmp_path) == "[]\n"


def test_profile_without_tensorflow(installed: Path, tmp_path: Path) -> None:
    printed = run(str(installed), "-c", PROFILES_THE_DEMO, cwd=tmp_path)
    assert "MatMul" in printed
    assert printed.endswith("\nFalse\n")


def test_users_get_the_types(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(ASKS_FOR_TYPES)
    (tmp_path / "mypy.ini").write_text(READS_THE_PACKAGE_ONLY)
    options = (f"--python-executable={installed}", f"--cache-dir={tmp_path}", "--config-file=mypy.ini")
    printed = run(sys.executable, "-m", "mypy", *options, "asks.py", cwd=tmp_path)
    assert 'Revealed type is "tfprof_widget.api.view.View"' in printed


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    files = contents(wheel)
    for name in SHIPPED:
        assert files[f"tfprof_widget/{name}"] == (ROOT / "tfprof_widget" / name).read_bytes()
    assert {name.split("/")[0].split("-")[0] for name in files} == {"tfprof_widget"}


def test_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
