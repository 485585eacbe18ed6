"""A module is handed over as soon as it is imported, and imports go on as they would."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tfprof_widget.capturing.hooks import when_imported

NAME = "imported_by_a_test"


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / f"{NAME}.py"
    path.write_text("ANSWER = 42\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield path
    sys.modules.pop(NAME, None)
    assert sys.meta_path == finders


def test_module_is_handed_over_when_it_is_whole() -> None:
    seen: list[int] = []
    with when_imported(NAME, lambda module: seen.append(module.ANSWER)):
        assert seen == []
        module = importlib.import_module(NAME)
        assert seen == [42]
        assert importlib.import_module(NAME) is module
    assert seen == [42]
    assert "exec_module" not in vars(module.__loader__)


def test_module_that_is_there_is_handed_over_at_once() -> None:
    importlib.import_module(NAME)
    seen: list[ModuleType] = []
    with when_imported(NAME, seen.append):
        assert seen == [sys.modules[NAME]]


class SharedLoader(Loader):
    """Loads all modules, and another one before each; pytest's own loader is such a one too."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name.startswith(NAME) else None

    def create_module(self, spec: ModuleSpec) -> None:
        if spec.name == NAME:
            importlib.import_module(f"{NAME}_in_turn")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["ANSWER"] = 42


def test_other_modules_of_the_same_loader_are_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    loader: Any = SharedLoader()
    monkeypatch.setattr(sys, "meta_path", [loader, *sys.meta_path])
    seen: list[str] = []
    with when_imported(NAME, lambda module: seen.append(module.__name__)):
        importlib.import_module(NAME)
    monkeypatch.undo()
    assert seen == [NAME]
    assert sys.modules.pop(f"{NAME}_in_turn").ANSWER == 42
    assert vars(loader) == {}


def test_two_may_wait() -> None:
    seen: list[str] = []
    with when_imported(NAME, lambda _: seen.append("outer")), when_imported(NAME, lambda _: seen.append("inner")):
        importlib.import_module(NAME)
    assert seen == ["outer", "inner"]


def test_nobody_waits_after_the_block() -> None:
    seen: list[ModuleType] = []
    with when_imported(NAME, seen.append):
        pass
    importlib.import_module(NAME)
    assert seen == []


class EndsBlock:
    """A finder that finds nothing; while it is asked, as in another thread, the block ends that waits for a module."""

    def __init__(self, block: AbstractContextManager[None]) -> None:
        self.block = block

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == NAME:
            self.block.__exit__(None, None, None)


def test_block_that_ends_while_a_module_is_looked_for_hides_no_finder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The finders that remain are the path's, which is skipped if one before it goes from the list at that time."""
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    block = when_imported("imported_by_nobody", lambda module: None)
    block.__enter__()
    sys.meta_path.insert(1, EndsBlock(block))
    answer, left = importlib.import_module(NAME).ANSWER, len(sys.meta_path)
    monkeypatch.undo()
    assert (answer, left) == (42, 2)


def test_module_that_fails_is_not_handed_over(module: Path) -> None:
    module.write_text("1 / 0\n", encoding="utf-8")
    seen: list[ModuleType] = []
    with when_imported(NAME, seen.append), pytest.raises(ZeroDivisionError):
        importlib.import_module(NAME)
    assert seen == []


def test_missing_module_is_missing() -> None:
    with when_imported("nowhere_to_be_found", lambda _: None), pytest.raises(ModuleNotFoundError):
        importlib.import_module("nowhere_to_be_found")


def test_tensorflow_may_be_imported_by_what_is_captured() -> None:
    """What the code sets before it imports TensorFlow has its effect, for nothing of ours imports it."""
    code = """
import sys
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.capturing.sampling import EVERYTHING
from tfprof_widget.capturing.session_hooks import hooked_sessions

recorder = SessionSource(EVERYTHING)
with hooked_sessions(recorder):
    assert "tensorflow" not in sys.modules
    import tensorflow.compat.v1 as tf
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.constant(1.0, name="one"))
print([(runs.name, runs.traced) for graph in recorder.recorded().graphs for runs in graph.kinds])
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.stdout == "[('one', 1)]\n", finished.stderr
