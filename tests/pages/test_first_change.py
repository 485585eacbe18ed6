"""The first change that docs/developing.md walks through works: its module passes its test."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "developing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE.partition("## A first change")[2], re.DOTALL | re.MULTILINE)
MODULE, _, _, TEST, *_ = BLOCKS
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
