"""What `make demo` runs, where it cannot run; tests/pages runs it whole."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import pytest

from tests.notebooks.shipped import NOTEBOOKS, shipped


@pytest.fixture
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebooks_demo", NOTEBOOKS / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_tensorflow_it_says_what_to_install(demo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def finding(name: str, package: str | None = None) -> Any:
        return None if name == "tensorflow" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", finding)
    with pytest.raises(
        SystemExit, match=r'The demo needs tensorflow\.[^*]+pip install "tfprof-widget\[.*tensorflow\]"'
    ):
        demo.main()


def test_the_cells_whose_lines_it_shows_are_in_the_quickstart(demo: ModuleType) -> None:
    assert set(demo.PRINTED) <= {cell.id for cell in shipped("quickstart").cells}
