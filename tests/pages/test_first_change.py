"""The first change that docs/developing.md walks through works: its module passes its test, its entries fit in."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE.partition("## A first change")[2], re.DOTALL | re.MULTILINE)
MODULE, ENTRIES, WORDS, TEST, *_ = BLOCKS
NAME = "tfprof_widget.analysis.advisor.debugging"


def test_the_module_passes_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(NAME)
    exec(MODULE, vars(module))
    monkeypatch.setitem(sys.modules, NAME, module)
    tests: dict[str, object] = {}
    exec(TEST, tests)
    found = [test for name, test in tests.items() if name.startswith("test_")]
    assert len(found) == 2
    for test in found:
        assert callable(test)
        test()


def test_the_entries_are_like_those_around_them() -> None:
    imported, checker = (line for line in ENTRIES.splitlines() if line)
    runner = (ROOT / "tfprof_widget" / "analysis" / "advisor" / "runner.py").read_text(encoding="utf-8")
    assert imported == "from tfprof_widget.analysis.advisor.debugging import debugging"
    assert imported.replace("debugging import debugging", "cluster import cluster") in runner.replace(
        ", parameter_servers", ""
    )
    assert checker.replace("Debugging", "Layout").replace("debugging", "layout") in runner.splitlines()
    shape = r'^    "\w+Checker": Words\(\n        ".*",\n        ".*",\n    \),$'
    assert len(re.findall(shape, WORDS, re.MULTILINE)) == 1
    assert len(re.findall(shape, runner, re.MULTILINE)) > 1
